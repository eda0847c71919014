/* An adapter for dpadmm, protocol 1: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
 *
 * Fill in the three lines marked FILL_IN with calls of your implementation, then run:
 *     cc -O2 -o adapter adapter.c -lm
 *     dpadmm adapter smoke -- ./adapter
 *     dpadmm conform -- ./adapter
 * Log to stderr, never to stdout. Extend `start` when your code can do more.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf failed; /* an error becomes an answer, never a crash */
static const char *error_kind, *error_message;

static void fail(const char *kind, const char *message) {
  error_kind = kind;
  error_message = message;
  longjmp(failed, 1);
}
#define FILL_IN(what) fail("internal", "FILL IN " what)

struct parameters {
  double lambda, rho, sigma, clip;
  int batch, iterations;
  const double *eta;
};

/* The gradient of the loss at one record, *clipped* to norm q->clip; p numbers into g. */
static void record_gradient(const double *features, double label, const double *x, int p, const struct parameters *q,
                            double *g) {
  { double v = 0, s = 0; for (int j = 0; j < p; j++) v += label * features[j] * x[j]; for (int j = 0; j < p; j++) { g[j] = -label * features[j] / (1 + exp(v)); s += g[j] * g[j]; } s = sqrt(s); for (int j = 0; j < p && s > q->clip; j++) g[j] *= q->clip / s; }
}

/* One ADMM iteration from the noisy mean gradient g: change x, z, y in place. */
static void update(double *x, double *z, double *y, const double *g, double eta, int p, const struct parameters *q) {
  for (int j = 0; j < p; j++) { double r = q->rho, w, t = q->lambda / r; x[j] = (-g[j] - y[j] + r * z[j] + x[j] / eta) / (r + 1 / eta); w = x[j] + y[j] / r; z[j] = w > t ? w - t : w < -t ? w + t : 0; y[j] += r * (x[j] - z[j]); }
}

/* Your own randomness: q->batch of `count` record indices, and p noise values. */
static void draw(int count, int p, const struct parameters *q, int *batch, double *noise) {
  { for (int i = 0; i < q->batch; i++) { retry: batch[i] = rand() % count; for (int j = 0; j < i; j++) if (batch[j] == batch[i]) goto retry; } for (int j = 0; j < p; j++) noise[j] = q->sigma * sqrt(-2 * log((rand() + 1.0) / (RAND_MAX + 1.0))) * cos(6.283185307179586 * rand() / (RAND_MAX + 1.0)); }
}

/* ---- JSON: a tree of values, kept in one block that every request frees ---------------------------------- */

enum kind { NOTHING, NUMBER, STRING, LIST, OBJECT };
struct value {
  enum kind kind;
  double number;
  char *text;
  const char *key;
  struct value *child, *next; /* of a list or an object */
  int count;
};

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
    v->kind = *cursor == 'n' ? NOTHING : NUMBER;
    v->number = *cursor == 't';
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

static double number(const struct value *object, const char *key, double otherwise) {
  const struct value *v = get(object, key);
  return v && v->kind == NUMBER ? v->number : otherwise;
}

static const char *text(const struct value *object, const char *key) {
  const struct value *v = get(object, key);
  return v && v->kind == STRING ? v->text : "";
}

/* ---- arrays: base64 little-endian float64 with a shape, or lists ------------------------------------------ */

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

/* The numbers of an array, row by row; *columns becomes the length of its last axis. */
static double *unpack(const struct value *v, size_t *size, int *columns) {
  if (!v) fail("invalid-parameters", "an array is missing");
  if (v->kind == LIST) {
    double *out = allocate(((*size = count_numbers(v)) + 1) * sizeof *out);
    flatten(v, out);
    *columns = v->child && v->child->kind == LIST ? v->child->count : v->count;
    return out;
  }
  const char *code = text(v, "base64");
  size_t length = strlen(code), filled = 0;
  unsigned char *bytes = allocate(length + 8);
  uint32_t bits = 0;
  for (size_t i = 0, have = 0; i < length && code[i] != '='; i++) {
    const char *found = strchr(alphabet, code[i]);
    if (!found) fail("invalid-data", "not base64");
    bits = bits << 6 | (uint32_t)(found - alphabet);
    if ((have += 6) >= 8) bytes[filled++] = (unsigned char)(bits >> (have -= 8));
  }
  struct value *shape = get(v, "shape");
  *columns = 1;
  for (struct value *axis = shape ? shape->child : NULL; axis; axis = axis->next) *columns = (int)axis->number;
  *size = filled / sizeof(double);
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

/* ---- data sets ---------------------------------------------------------------------------------------------- */

static struct dataset {
  char name[80];
  int n, p;
  double *features, *labels;
  struct dataset *next;
} *datasets;

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
  if (!p || size != n * (size_t)p) fail("invalid-data", "features and labels do not fit");
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

/* ---- runs --------------------------------------------------------------------------------------------------- */

static struct parameters read_parameters(const struct value *v) {
  size_t steps;
  int ignored;
  struct parameters q = {number(v, "lambda", 0), number(v, "rho", 1), number(v, "sigma", 0), number(v, "clip", 1),
                         (int)number(v, "batch", 1), (int)number(v, "iterations", 1), NULL};
  q.eta = unpack(get(v, "eta"), &steps, &ignored);
  if ((int)steps != q.iterations) fail("invalid-parameters", "eta must hold one step size an iteration");
  return q;
}

static void start_at(const struct value *parameters, const char *name, int p, double *to) {
  struct value *initial = get(parameters, "initial");
  size_t size;
  int ignored;
  memset(to, 0, (size_t)p * sizeof *to);
  if (!initial) return;
  double *from = unpack(get(initial, name), &size, &ignored);
  if ((int)size != p) fail("invalid-parameters", "the initial point has another dimension");
  memcpy(to, from, (size_t)p * sizeof *to);
}

/* One iteration on a given batch and noise. */
static void iterate(const struct dataset *d, const struct parameters *q, int k, const int *batch, const double *noise,
                    double *x, double *z, double *y) {
  double *mean = allocate((size_t)d->p * sizeof *mean), *g = allocate((size_t)d->p * sizeof *g);
  memcpy(mean, noise, (size_t)d->p * sizeof *mean);
  for (int i = 0; i < q->batch; i++) {
    if (batch[i] < 0 || batch[i] >= d->n) fail("invalid-parameters", "no such record");
    record_gradient(d->features + (size_t)batch[i] * d->p, d->labels[batch[i]], x, d->p, q, g);
    for (int j = 0; j < d->p; j++) mean[j] += g[j] / q->batch;
  }
  update(x, z, y, mean, q->eta[k], d->p, q);
}

static void run(const struct value *request, int count, int last, const double *batches, const double *noise) {
  const struct dataset *d = find(text(request, "data"));
  if (!d) fail("invalid-data", "no such data set");
  struct value *v = get(request, "parameters");
  struct parameters q = read_parameters(v);
  int p = d->p, kept = last ? 1 : q.iterations, *batch = allocate((size_t)q.batch * sizeof *batch);
  size_t size = (size_t)count * kept * p;
  double *all[3], *state[3], *drawn = allocate((size_t)p * sizeof *drawn);
  const char *names[3] = {"x", "z", "y"};
  for (int i = 0; i < 3; i++) {
    all[i] = allocate((size + 1) * sizeof(double));
    state[i] = allocate((size_t)p * sizeof(double));
  }
  for (int trial = 0; trial < count; trial++) {
    for (int i = 0; i < 3; i++) start_at(v, names[i], p, state[i]);
    for (int k = 0; k < q.iterations; k++) {
      if (batches) {
        for (int i = 0; i < q.batch; i++) batch[i] = (int)batches[k * q.batch + i];
        memcpy(drawn, noise + (size_t)k * p, (size_t)p * sizeof *drawn);
      } else {
        draw(d->n, p, &q, batch, drawn);
      }
      iterate(d, &q, k, batch, drawn, state[0], state[1], state[2]);
      size_t place = ((size_t)trial * kept + (last ? 0 : k)) * p;
      for (int i = 0; i < 3; i++) memcpy(all[i] + place, state[i], (size_t)p * sizeof(double));
    }
  }
  char shape[80];
  if (batches) snprintf(shape, sizeof shape, "%d,%d", q.iterations, p);
  else if (last) snprintf(shape, sizeof shape, "%d,%d", count, p);
  else snprintf(shape, sizeof shape, "%d,%d,%d", count, q.iterations, p);
  printf("{\"id\":%.0f,\"result\":{", number(request, "id", 0));
  for (int i = 0; i < 3; i++) {
    if (i) putchar(',');
    print_array(names[i], all[i], size, shape);
  }
  puts("}}");
}

static void answer(const struct value *request) {
  const char *kind = text(request, "request");
  double id = number(request, "id", 0);
  size_t size;
  int ignored;
  if (!strcmp(kind, "start")) {
    /* `released`: every value that leaves your implementation, honestly; what is not listed cannot be checked. */
    printf("{\"id\":%.0f,\"result\":{\"protocol\":1,\"name\":\"my-admm\",\"version\":\"0.1\",\"language\":\"c\","
           "\"algorithms\":[\"ssadmm\"],\"losses\":[\"logistic\"],\"regularizers\":[\"l1\"],"
           "\"capabilities\":[\"replay\",\"trials\",\"every-iterate\",\"clip\",\"initial\"],"
           "\"released\":{\"ssadmm\":[\"x\",\"z\",\"y\"]}}}\n", id);
  } else if (!strcmp(kind, "data")) {
    struct dataset *d = keep(request);
    printf("{\"id\":%.0f,\"result\":{\"records\":%d,\"columns\":%d}}\n", id, d->n, d->p);
  } else if (!strcmp(kind, "replay")) {
    double *batches = unpack(get(request, "batches"), &size, &ignored);
    double *noise = unpack(get(get(request, "noise"), "gradient"), &size, &ignored);
    run(request, 1, 0, batches, noise);
  } else if (!strcmp(kind, "trials")) {
    run(request, (int)number(request, "count", 1), !strcmp(text(request, "show"), "last"), NULL, NULL);
  } else {
    printf("{\"id\":%.0f,\"result\":{}}\n", id);
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
    else
      printf("{\"id\":%.0f,\"error\":{\"kind\":\"%s\",\"message\":\"%s\"}}\n", number(request, "id", 0), error_kind,
             error_message);
    fflush(stdout);
    int stop = !strcmp(text(request, "request"), "stop");
    free_all();
    if (stop) break;
  }
  free(line);
  return 0;
}
