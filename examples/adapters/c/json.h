/* JSON in, as a tree; arrays of numbers in both forms of the protocol, in and out. */
#ifndef JSON_H
#define JSON_H
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_OBJECT };

struct json {
  enum json_kind kind;
  double number; /* true is 1, false is 0 */
  char *text;
  char *key; /* of a member of an object */
  struct json *child, *next;
  size_t count;
};

/* Memory that lives until the end of the request. */
void *scratch(size_t size);
void scratch_free(void);

/* Ends the request with an `error` answer; never returns. */
_Noreturn void refuse(const char *kind, const char *format, ...);

struct json *json_parse(char *line);
const struct json *json_get(const struct json *object, const char *key);
double json_number(const struct json *object, const char *key, double otherwise);
const char *json_text(const struct json *object, const char *key);

struct array {
  double *values;
  size_t size, columns; /* columns: the length of the last axis */
};
struct array array_read(const struct json *wire, const char *name);
void array_write(const char *name, const double *values, size_t size, const size_t *shape, int axes);
#endif
