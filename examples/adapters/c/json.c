#include "json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern jmp_buf refused;
extern char refusal_kind[32], refusal_message[256];

struct block {
  struct block *next;
};
static struct block *blocks;

void refuse(const char *kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  snprintf(refusal_kind, sizeof refusal_kind, "%s", kind);
  vsnprintf(refusal_message, sizeof refusal_message, format, arguments);
  va_end(arguments);
  longjmp(refused, 1);
}

void *scratch(size_t size) {
  struct block *block = calloc(1, sizeof *block + size);
  if (!block) refuse("internal", "out of memory");
  block->next = blocks;
  blocks = block;
  return block + 1;
}

void scratch_free(void) {
  while (blocks) {
    struct block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

/* ---- parsing -------------------------------------------------------------------------------------------- */

static char *at;

static char peek(void) {
  while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n') at++;
  return *at;
}

static void expect(char c) {
  if (peek() != c) refuse("invalid-parameters", "JSON: expected %c", c);
  at++;
}

static char *string(void) {
  expect('"');
  char *start = at, *out = at;
  while (*at != '"') {
    if (!*at) refuse("invalid-parameters", "JSON: a string does not end");
    if (*at == '\\' && at[1]) at++; /* names and base64 need no more than this */
    *out++ = *at++;
  }
  at++;
  *out = 0;
  return start;
}

static struct json *value(void);

static void members(struct json *parent, char end) {
  struct json **last = &parent->child;
  at++;
  while (peek() != end) {
    if (parent->count) expect(',');
    char *key = NULL;
    if (end == '}') {
      peek();
      key = string();
      expect(':');
    }
    *last = value();
    (*last)->key = key;
    last = &(*last)->next;
    parent->count++;
  }
  at++;
}

static int word(const char *expected) {
  size_t length = strlen(expected);
  if (strncmp(at, expected, length)) return 0;
  at += length;
  return 1;
}

static struct json *value(void) {
  struct json *v = scratch(sizeof *v);
  char c = peek();
  if (c == '"') {
    v->kind = JSON_STRING;
    v->text = string();
  } else if (c == '[') {
    v->kind = JSON_LIST;
    members(v, ']');
  } else if (c == '{') {
    v->kind = JSON_OBJECT;
    members(v, '}');
  } else if (word("null")) {
    v->kind = JSON_NULL;
  } else {
    v->kind = JSON_NUMBER;
    if (word("true")) v->number = 1;
    else if (!word("false")) {
      char *end;
      v->number = strtod(at, &end);
      if (end == at) refuse("invalid-parameters", "JSON: not a value");
      at = end;
    }
  }
  return v;
}

struct json *json_parse(char *line) {
  at = line;
  return value();
}

const struct json *json_get(const struct json *object, const char *key) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  for (const struct json *v = object->child; v; v = v->next)
    if (!strcmp(v->key, key)) return v->kind == JSON_NULL ? NULL : v;
  return NULL;
}

double json_number(const struct json *object, const char *key, double otherwise) {
  const struct json *v = json_get(object, key);
  return v && v->kind == JSON_NUMBER ? v->number : otherwise;
}

const char *json_text(const struct json *object, const char *key) {
  const struct json *v = json_get(object, key);
  return v && v->kind == JSON_STRING ? v->text : "";
}

/* ---- arrays --------------------------------------------------------------------------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t numbers_in(const struct json *v) {
  if (v->kind == JSON_NUMBER) return 1;
  size_t total = 0;
  for (const struct json *c = v->child; c; c = c->next) total += numbers_in(c);
  return total;
}

static double *flatten(const struct json *v, double *out) {
  if (v->kind == JSON_NUMBER) *out++ = v->number;
  for (const struct json *c = v->child; c; c = c->next) out = flatten(c, out);
  return out;
}

static double little_endian(const unsigned char *bytes) {
  uint64_t word = 0;
  double number;
  for (int i = 7; i >= 0; i--) word = word << 8 | bytes[i];
  memcpy(&number, &word, sizeof number);
  return number;
}

static struct array from_base64(const struct json *wire, const char *name) {
  static signed char inverse[256];
  if (!inverse['B'])
    for (int i = 0; i < 64; i++) inverse[(unsigned char)digits[i]] = (signed char)i;
  const char *code = json_text(wire, "base64");
  size_t length = strlen(code), filled = 0;
  unsigned char *bytes = scratch(length + 8);
  uint32_t bits = 0;
  int have = 0;
  for (size_t i = 0; i < length && code[i] != '='; i++) {
    int digit = inverse[(unsigned char)code[i]];
    if (!digit && code[i] != 'A') refuse("invalid-parameters", "%s is not base64", name);
    bits = bits << 6 | (uint32_t)digit;
    have += 6;
    if (have >= 8) {
      have -= 8;
      bytes[filled++] = (unsigned char)(bits >> have);
    }
  }
  struct array a = {scratch(filled + 8), filled / 8, 1};
  for (size_t i = 0; i < a.size; i++) a.values[i] = little_endian(bytes + 8 * i);
  size_t product = 1;
  const struct json *shape = json_get(wire, "shape");
  for (const struct json *axis = shape ? shape->child : NULL; axis; axis = axis->next) {
    a.columns = (size_t)axis->number;
    product *= a.columns;
  }
  if (product != a.size || filled % 8) refuse("invalid-parameters", "%s does not fit its shape", name);
  return a;
}

struct array array_read(const struct json *wire, const char *name) {
  if (!wire) refuse("invalid-parameters", "%s is missing", name);
  if (wire->kind == JSON_OBJECT) return from_base64(wire, name);
  struct array a = {NULL, numbers_in(wire), wire->count};
  a.values = scratch((a.size + 1) * sizeof(double));
  flatten(wire, a.values);
  const struct json *row = wire->child;
  while (row && row->kind == JSON_LIST) {
    a.columns = row->count;
    row = row->child;
  }
  return a;
}

void array_write(const char *name, const double *values, size_t size, const size_t *shape, int axes) {
  printf("\"%s\":{\"shape\":[", name);
  for (int i = 0; i < axes; i++) printf(i ? ",%zu" : "%zu", shape[i]);
  fputs("],\"base64\":\"", stdout);
  size_t length = 8 * size, used = 0;
  unsigned char *bytes = scratch(length + 3);
  char *text = scratch(length / 3 * 4 + 8);
  for (size_t i = 0; i < size; i++) {
    uint64_t word;
    memcpy(&word, values + i, sizeof word);
    for (int j = 0; j < 8; j++) bytes[8 * i + (size_t)j] = (unsigned char)(word >> 8 * j);
  }
  for (size_t i = 0; i < length; i += 3) {
    uint32_t v = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
    text[used++] = digits[v >> 18];
    text[used++] = digits[v >> 12 & 63];
    text[used++] = i + 1 < length ? digits[v >> 6 & 63] : '=';
    text[used++] = i + 2 < length ? digits[v & 63] : '=';
  }
  text[used] = 0;
  fputs(text, stdout);
  fputs("\"}", stdout);
}
