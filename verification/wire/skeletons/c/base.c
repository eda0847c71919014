/* An adapter for dpadmm: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
 *
 * Fill in the lines marked FILL_IN with calls of your implementation; below the line of dashes nothing needs to be
 * changed. Log to stderr, never to stdout. Build: cc -O2 -o adapter adapter.c -lm
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NOTHING, TRUE, NUMBER, STRING, LIST, OBJECT };
struct value {
  enum kind kind;
  double number;
  char *text;
  const char *key;
  struct value *child, *next; /* of a list or an object */
  int count;
};

struct dataset {
  char name[80];
  int n, p;
  double *features, *labels; /* row by row */
  struct dataset *next;
};

/* Answers with `error`; does not return. */
static void fail(const char *kind, const char *message);
static void require(int good, const char *message); /* else invalid-parameters */
#define FILL_IN(what) fail("internal", "FILL IN " what)

static double uniform(void); /* in (0, 1), from the system's entropy */
static double normal(void);
static int finite_all(const double *values, size_t count);
static void *allocate(size_t size); /* freed after every request */
static struct value *get(const struct value *object, const char *key);
static double number(const struct value *object, const char *key); /* finite, or an error */
static const char *text(const struct value *object, const char *key);
static void known(const struct value *parameters, const char *names); /* names between spaces; others are refused */
static double *unpack(const struct value *v, size_t *size, int *columns); /* row by row */
static void print_array(const char *name, const double *values, size_t size, const char *shape);

@FACE@

/* ---------------------------------------------------------------------------------------------------------------- */

static jmp_buf failed; /* an error becomes an answer, never a crash */
static char error_message[200];
static const char *error_kind;

static void fail(const char *kind, const char *message) {
  error_kind = kind;
  snprintf(error_message, sizeof error_message, "%s", message);
  longjmp(failed, 1);
}

static void require(int good, const char *message) {
  if (!good) fail("invalid-parameters", message);
}

static double uniform(void) {
  static FILE *source;
  uint64_t word;
  if (!source) source = fopen("/dev/urandom", "rb");
  if (!source || fread(&word, sizeof word, 1, source) != 1) fail("internal", "no entropy");
  return ((double)(word >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

static int finite_all(const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return 0;
  return 1;
}

static char *cursor;
static struct block { struct block *next; } *blocks;

static void *allocate(size_t size) {
  struct block *block = calloc(1, sizeof *block + size);
  if (!block) fail("internal", "out of memory");
  block->next = blocks;
  blocks = block;
  return block + 1;
}

static void free_all(void) {
  while (blocks) {
    struct block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

static void skip_space(void) { while (*cursor == ' ' || *cursor == '\t' || *cursor == '\n' || *cursor == '\r') cursor++; }

static char *parse_string(void) { /* in place; the protocol's own strings need no escapes beyond these */
  char *start = ++cursor, *out = start;
  for (; *cursor && *cursor != '"'; cursor++) *out++ = *cursor == '\\' && cursor[1] ? *++cursor : *cursor;
  if (*cursor) cursor++;
  *out = 0;
  return start;
}

static struct value *parse(void) {
  struct value *v = allocate(sizeof *v);
  skip_space();
  if (*cursor == '"') {
    v->kind = STRING;
    v->text = parse_string();
  } else if (*cursor == '[' || *cursor == '{') {
    int object = *cursor++ == '{';
    struct value **last = &v->child;
    v->kind = object ? OBJECT : LIST;
    for (skip_space(); *cursor && *cursor != ']' && *cursor != '}'; skip_space()) {
      char *key = NULL;
      if (*cursor == ',') { cursor++; continue; }
      if (object) {
        key = parse_string();
        skip_space();
        cursor++; /* the colon */
      }
      *last = parse();
      (*last)->key = key;
      last = &(*last)->next;
      v->count++;
    }
    if (*cursor) cursor++;
  } else if (*cursor == 't' || *cursor == 'f' || *cursor == 'n') {
    v->kind = *cursor == 't' ? TRUE : NOTHING;
    while (*cursor >= 'a' && *cursor <= 'z') cursor++;
  } else {
    char *end;
    v->kind = NUMBER;
    v->number = strtod(cursor, &end);
    if (end == cursor) fail("invalid-parameters", "not JSON");
    cursor = end;
  }
  return v;
}

static struct value *get(const struct value *object, const char *key) {
  for (struct value *v = object ? object->child : NULL; v; v = v->next)
    if (v->key && !strcmp(v->key, key)) return v;
  return NULL;
}

static double number(const struct value *object, const char *key) {
  const struct value *v = get(object, key);
  char message[80];
  snprintf(message, sizeof message, "%.40s must be a finite number", key);
  require(v && v->kind == NUMBER && isfinite(v->number), message);
  return v->number;
}

static const char *text(const struct value *object, const char *key) {
  const struct value *v = get(object, key);
  return v && v->kind == STRING ? v->text : "";
}

static void known(const struct value *parameters, const char *names) {
  char name[80];
  for (struct value *v = parameters ? parameters->child : NULL; v; v = v->next) {
    snprintf(name, sizeof name, " %.70s ", v->key);
    if (!strstr(names, name)) fail("invalid-parameters", "there is an unknown parameter");
  }
}

static const char *array_fault; /* the kind of error of an array that cannot be read */
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t count_numbers(const struct value *v) {
  size_t total = v->kind == NUMBER;
  for (struct value *c = v->child; c; c = c->next) total += count_numbers(c);
  return total;
}

static double *flatten(const struct value *v, double *out) {
  if (v->kind == NUMBER) *out++ = v->number;
  for (struct value *c = v->child; c; c = c->next) out = flatten(c, out);
  return out;
}

static double *unpack(const struct value *v, size_t *size, int *columns) {
  if (!v) fail(array_fault, "an array is missing");
  if (v->kind == LIST) {
    double *out = allocate(((*size = count_numbers(v)) + 1) * sizeof *out);
    flatten(v, out);
    *columns = v->child && v->child->kind == LIST ? v->child->count : v->count;
    if (!*columns || *size % (size_t)*columns) fail(array_fault, "rows of an array must have one length");
    return out;
  }
  const char *code = text(v, "base64");
  size_t length = strlen(code), filled = 0;
  unsigned char *bytes = allocate(length + 8);
  uint32_t bits = 0;
  for (size_t i = 0, have = 0; i < length && code[i] != '='; i++) {
    const char *found = strchr(alphabet, code[i]);
    if (!found) fail(array_fault, "not base64");
    bits = bits << 6 | (uint32_t)(found - alphabet);
    if ((have += 6) >= 8) bytes[filled++] = (unsigned char)(bits >> (have -= 8));
  }
  struct value *shape = get(v, "shape");
  double numbers = 1;
  *columns = 0;
  for (struct value *axis = shape ? shape->child : NULL; axis; axis = axis->next) {
    *columns = (int)axis->number;
    numbers *= axis->number;
  }
  *size = filled / sizeof(double);
  if (*columns < 1 || (double)*size != numbers) fail(array_fault, "base64 and shape do not fit");
  return (double *)bytes; /* little-endian machines */
}

static void print_array(const char *name, const double *values, size_t size, const char *shape) {
  const unsigned char *b = (const unsigned char *)values;
  size_t n = size * sizeof *values;
  printf("\"%s\":{\"shape\":[%s],\"base64\":\"", name, shape);
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v = (uint32_t)b[i] << 16 | (i + 1 < n ? (uint32_t)b[i + 1] << 8 : 0) | (i + 2 < n ? b[i + 2] : 0);
    putchar(alphabet[v >> 18]);
    putchar(alphabet[v >> 12 & 63]);
    putchar(i + 1 < n ? alphabet[v >> 6 & 63] : '=');
    putchar(i + 2 < n ? alphabet[v & 63] : '=');
  }
  fputs("\"}", stdout);
}

static struct dataset *datasets;

static struct dataset *find(const char *name) {
  for (struct dataset *d = datasets; d; d = d->next)
    if (!strcmp(d->name, name)) return d;
  return NULL;
}

static void *copy(const void *from, size_t size) {
  void *to = malloc(size + 1);
  if (!to) fail("internal", "out of memory");
  return memcpy(to, from, size);
}

static struct dataset *keep(const struct value *request) {
  size_t size, n;
  int p, ignored;
  double *features = unpack(get(request, "features"), &size, &p);
  double *labels = unpack(get(request, "labels"), &n, &ignored);
  struct dataset *d = find(text(request, "name"));
  if (size != n * (size_t)p) fail("invalid-data", "features must be n x p, with n labels");
  if (!finite_all(features, size) || !finite_all(labels, n)) fail("invalid-data", "features and labels must be finite");
  if (!d) {
    d = calloc(1, sizeof *d);
    if (!d) fail("internal", "out of memory");
    snprintf(d->name, sizeof d->name, "%s", text(request, "name"));
    d->next = datasets;
    datasets = d;
  }
  free(d->features);
  free(d->labels);
  d->n = (int)n;
  d->p = p;
  d->features = copy(features, size * sizeof *features);
  d->labels = copy(labels, n * sizeof *labels);
  return d;
}

static void answer(const struct value *request) {
  const char *what = text(request, "request"), *name = text(request, "data");
  double id = number(request, "id");
  array_fault = strcmp(what, "data") ? "invalid-parameters" : "invalid-data";
  if (*name && !find(name)) fail("invalid-data", "no such data set");
  if (!strcmp(what, "start")) {
    printf("{\"id\":%.0f,\"result\":%s}\n", id, START);
  } else if (!strcmp(what, "data")) {
    struct dataset *d = keep(request);
    printf("{\"id\":%.0f,\"result\":{\"records\":%d,\"columns\":%d}}\n", id, d->n, d->p);
  } else if (!strcmp(what, "stop")) {
    printf("{\"id\":%.0f,\"result\":{}}\n", id);
  } else if (!handle(what, request, find(name), id)) {
    printf("{\"id\":%.0f,\"skipped\":{\"reason\":\"not offered\"}}\n", id);
  }
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) {
    static struct value *request;
    request = NULL;
    cursor = line;
    if (!setjmp(failed)) answer(request = parse());
    else {
      struct value *id = get(request, "id");
      printf("{\"id\":%.0f,\"error\":{\"kind\":\"%s\",\"message\":\"%s\"}}\n", id ? id->number : 0, error_kind,
             error_message);
    }
    fflush(stdout);
    int stop = !strcmp(text(request, "request"), "stop");
    free_all();
    if (stop) break;
  }
  free(line);
  return 0;
}
