#include "json.h"

#include <stdlib.h>
#include <string.h>

static const char *at;

static void skip(void) { at += strspn(at, " \t\r\n"); }

static struct json *fresh(enum json_kind kind) {
  struct json *node = calloc(1, sizeof *node);
  if (!node) abort();
  node->kind = kind;
  node->text = "";
  return node;
}

static char *copy(const char *from, size_t size) {
  char *text = calloc(size + 1, 1);
  if (!text) abort();
  return memcpy(text, from, size);
}

static char *string(void) {
  const char *start = ++at;
  while (*at && *at != '"') at += *at == '\\' && at[1] ? 2 : 1;
  return *at ? copy(start, (size_t)(at++ - start)) : NULL;
}

static struct json *value(void);

static struct json *members(enum json_kind kind, char end) {
  struct json *list = fresh(kind), **tail = &list->first;
  at++;
  for (skip(); *at != end; skip()) {
    const char *key = NULL;
    if (list->count && *at++ != ',') return NULL;
    skip();
    if (kind == JSON_OBJECT) {
      if (*at != '"' || !(key = string())) return NULL;
      skip();
      if (*at++ != ':') return NULL;
    }
    struct json *member = value();
    if (!member) return NULL;
    member->key = key;
    *tail = member;
    tail = &member->next;
    list->count++;
  }
  at++;
  return list;
}

static struct json *word(const char *spelled, enum json_kind kind) {
  size_t size = strlen(spelled);
  if (strncmp(at, spelled, size)) return NULL;
  at += size;
  return fresh(kind);
}

static struct json *text_or_number(void) {
  struct json *node = fresh(*at == '"' ? JSON_STRING : JSON_NUMBER);
  if (node->kind == JSON_STRING) {
    node->text = string();
    return node->text ? node : NULL;
  }
  size_t size = strspn(at, "+-.eE0123456789");
  node->text = copy(at, size);
  at += size;
  return size ? node : NULL;
}

static struct json *value(void) {
  skip();
  switch (*at) {
    case '{': return members(JSON_OBJECT, '}');
    case '[': return members(JSON_ARRAY, ']');
    case 'n': return word("null", JSON_NULL);
    case 't': return word("true", JSON_TRUE);
    case 'f': return word("false", JSON_FALSE);
    default: return text_or_number();
  }
}

struct json *json_parse(const char *text) {
  at = text;
  struct json *root = value();
  skip();
  return root && !*at ? root : NULL;
}

const struct json *json_get(const struct json *object, const char *key) {
  for (const struct json *m = object->first; m; m = m->next)
    if (m->key && !strcmp(m->key, key)) return m->kind == JSON_NULL ? NULL : m;
  return NULL;
}
