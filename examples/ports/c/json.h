/* A small JSON reader: all of the grammar but \u escapes, which are kept as written. Memory lives until the end. */
#ifndef PORT_JSON_H
#define PORT_JSON_H
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
  enum json_kind kind;
  const char *text; /* the string, or the number as written; "" otherwise */
  const char *key;  /* of a member of an object */
  struct json *first, *next;
  size_t count;
};

struct json *json_parse(const char *text);                                /* NULL if it is not JSON */
const struct json *json_get(const struct json *object, const char *key);  /* NULL if absent or null */
#endif
