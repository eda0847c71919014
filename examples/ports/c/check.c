/* check FILE...: plays golden vectors and compares every intermediate value.
 * Exit status: 0 all pass, 1 a case fails, 2 a file is broken, 3 nothing was checked. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admm.h"
#include "json.h"

static const char *place = ""; /* the file or case that is being read */

static void broken(const char *what) {
  fprintf(stderr, "%s: %s\n", place, what);
  exit(2);
}

static const struct json *need(const struct json *object, const char *key) {
  const struct json *member = json_get(object, key);
  if (!member) broken(key);
  return member;
}

static void *memory(size_t count, size_t size) {
  void *block = calloc(count + 1, size);
  if (!block) abort();
  return block;
}

/* ---- numbers -------------------------------------------------------------------------------------------- */

static double from_bits(const char *hex) {
  uint64_t bits = strtoull(hex, NULL, 16);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ["0.1", "3fb999999999999a"]: both forms must be the same number, bit for bit. */
static double number(const struct json *pair) {
  if (pair->kind != JSON_ARRAY || pair->count != 2) broken("a number must be a decimal and its bits");
  const char *decimal = pair->first->text, *hex = pair->first->next->text;
  double exact = from_bits(hex), value = strtod(decimal, NULL);
  if (memcmp(&exact, &value, sizeof exact) && !(isnan(exact) && isnan(value))) broken("a decimal and its bits differ");
  return exact;
}

static double optional(const struct json *object, const char *key) {
  const struct json *pair = json_get(object, key);
  return pair ? number(pair) : NAN;
}

/* The place of a finite double in the order of doubles; both zeros have place 0. */
static int64_t order(double value) {
  int64_t magnitude;
  double size = fabs(value);
  memcpy(&magnitude, &size, sizeof magnitude);
  return value < 0 ? -magnitude : magnitude;
}

static int admits(const struct json *expected, double got) {
  const char *kind = need(expected, "kind")->text;
  if (!isfinite(got)) return 0;
  if (!strcmp(kind, "enclosure")) return number(need(expected, "low")) <= got && got <= number(need(expected, "high"));
  int64_t steps = order(got) - order(from_bits(need(expected, "bits")->text));
  int64_t most = strcmp(kind, "ulp") ? 0 : (int64_t)strtoll(need(expected, "ulp")->text, NULL, 10);
  return -most <= steps && steps <= most;
}

/* The nearest double to the exact decimal is the one whose bits are given. */
static int rounds_to_its_bits(const struct json *expected) {
  return order(strtod(need(expected, "exact")->text, NULL)) == order(from_bits(need(expected, "bits")->text));
}

/* ---- cases ---------------------------------------------------------------------------------------------- */

/* Rows after each other, with a 1 in front of each if `ones`. */
static struct table table(const struct json *rows, size_t ones) {
  struct table t = {NULL, 0, 0};
  size_t size = 0, i = 0;
  if (!rows) return t;
  for (const struct json *row = rows->first; row; row = row->next, t.rows++) {
    size += row->count + ones;
    if (row == rows->first) t.columns = row->count + ones;
    else if (t.columns != row->count + ones) broken("rows of different lengths");
  }
  t.v = memory(size, sizeof *t.v);
  for (const struct json *row = rows->first; row; row = row->next) {
    if (ones) t.v[i++] = 1;
    for (const struct json *m = row->first; m; m = m->next) t.v[i++] = number(m);
  }
  return t;
}

static long *integers(const struct json *list) {
  long *values = memory(list->count, sizeof *values), *next = values;
  for (const struct json *m = list->first; m; m = m->next) *next++ = strtol(m->text, NULL, 10);
  return values;
}

static long **lists(const struct json *outer, size_t **sizes) {
  long **values = memory(outer->count, sizeof *values);
  size_t i = 0;
  *sizes = memory(outer->count, sizeof **sizes);
  for (const struct json *inner = outer->first; inner; inner = inner->next, i++) {
    (*sizes)[i] = inner->count;
    values[i] = integers(inner);
  }
  return values;
}

static struct regularizer read_regularizer(const struct json *object) {
  const struct json *shape = json_get(object, "shape"), *groups = json_get(object, "groups");
  struct regularizer reg = {.name = need(object, "name")->text,
                            .lambda = optional(object, "lambda"),
                            .l1_ratio = optional(object, "l1_ratio"),
                            .a = optional(object, "a"),
                            .gamma = optional(object, "gamma")};
  if (shape) {
    long *sides = integers(shape);
    reg.rows = sides[0];
    reg.columns = sides[1];
  }
  if (groups) {
    reg.groups = groups->count;
    reg.group = lists(groups, &reg.group_size);
  }
  return reg;
}

static void read_start(struct run *r, const struct json *initial) {
  const char *names[3] = {"x", "z", "y"};
  for (int i = 0; initial && i < 3; i++) {
    struct json row = *need(initial, names[i]), one = {.kind = JSON_ARRAY, .first = &row, .count = 1};
    row.next = NULL;
    r->start[i] = table(&one, 0);
  }
}

static struct run read_case(const struct json *test) {
  const struct json *noise = need(test, "noise"), *batches = json_get(test, "batches"), *eta = need(test, "eta");
  const struct json *release = json_get(test, "release"), *batch = json_get(test, "batch");
  struct run r = {.algorithm = need(test, "algorithm")->text,
                  .loss = need(test, "loss")->text,
                  .release = release ? release->text : NULL,
                  .reg = read_regularizer(need(test, "regularizer")),
                  .rho = optional(test, "rho"),
                  .sigma = optional(test, "sigma"),
                  .clip = optional(test, "clip"),
                  .normalise = optional(test, "normalise"),
                  .T = eta->count};
  size_t ones = need(test, "intercept")->kind == JSON_TRUE, k = 0;
  r.eta = memory(r.T, sizeof *r.eta);
  for (const struct json *m = eta->first; m; m = m->next) r.eta[k++] = number(m);
  r.features = table(need(test, "features"), ones);
  r.n = r.features.rows;
  r.p = r.features.columns;
  r.labels = need(test, "labels")->count;
  r.label = integers(need(test, "labels"));
  r.batch = batch ? strtol(batch->text, NULL, 10) : 0;
  if (batches) {
    r.batches = batches->count;
    r.member = lists(batches, &r.batch_size);
  }
  r.gradient_noise = table(json_get(noise, "gradient"), 0);
  r.x_noise = table(json_get(noise, "x"), 0);
  r.z_noise = table(json_get(noise, "z"), 0);
  r.y_noise = table(json_get(noise, "y"), 0);
  read_start(&r, json_get(test, "initial"));
  return r;
}

/* ---- playing -------------------------------------------------------------------------------------------- */

static int expects_refusal(const struct json *error, const char *kind) {
  if (!error) return 0;
  for (const struct json *m = need(error, "kinds")->first; m; m = m->next)
    if (!strcmp(m->text, kind)) return 1;
  return 0;
}

static int compare(const struct json *expected, const struct run *r, const struct trace *trace) {
  const char *names[4] = {"gradient", "x", "z", "y"};
  const double *values[4] = {trace->gradient, trace->x, trace->z, trace->y};
  for (size_t k = 0; k < r->T; k++)
    for (int v = 0; v < 4; v++) {
      const struct json *row = need(expected, names[v])->first;
      for (size_t i = 0; row && i < k; i++) row = row->next;
      if (!row || row->count != r->p) broken("expected values of another shape");
      size_t j = 0;
      for (const struct json *entry = row->first; entry; entry = entry->next, j++) {
        double got = values[v][k * r->p + j];
        if (!rounds_to_its_bits(entry)) broken("an exact value does not round to its bits");
        if (admits(entry, got)) continue;
        printf("failed %s: %s[%zu] after iteration %zu is %.17g, expected %s (%s)\n", place, names[v], j, k + 1, got,
               need(entry, "exact")->text, need(entry, "kind")->text);
        return 0;
      }
    }
  return 1;
}

static int play(const struct json *test) {
  static const char *kinds[] = {"a result", "invalid-data", "invalid-parameters"};
  const struct json *error = json_get(test, "error");
  place = need(test, "id")->text;
  struct run r = read_case(test);
  size_t size = r.T * r.p, each = sizeof(double);
  struct trace trace = {memory(size, each), memory(size, each), memory(size, each), memory(size, each)};
  enum outcome outcome = replay(&r, &trace);
  if (outcome == DONE && !error) return compare(need(test, "expected"), &r, &trace);
  if (outcome != DONE && expects_refusal(error, kinds[outcome])) return 1;
  printf("failed %s: the answer is %s\n", place, kinds[outcome]);
  return 0;
}

static char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) broken("cannot be opened");
  size_t size = 0, room = 1 << 16;
  char *text = malloc(room);
  for (size_t got; text && (got = fread(text + size, 1, room - size - 1, file)) > 0;) {
    size += got;
    if (room - size < 2) text = realloc(text, room *= 2);
  }
  if (!text) abort();
  text[size] = 0;
  fclose(file);
  return text;
}

int main(int count, char **paths) {
  size_t passed = 0, failed = 0;
  for (int i = 1; i < count; i++) {
    place = paths[i];
    struct json *file = json_parse(contents(paths[i]));
    if (!file || file->kind != JSON_OBJECT) broken("not JSON, or cut off");
    if (strcmp(need(file, "format")->text, "dpadmm-vectors") || strcmp(need(file, "version")->text, "1"))
      broken("not dpadmm-vectors of version 1");
    const struct json *cases = need(file, "cases");
    if (cases->count != strtoul(need(file, "count")->text, NULL, 10)) broken("cases are missing");
    for (const struct json *test = cases->first; test; test = test->next) *(play(test) ? &passed : &failed) += 1;
  }
  printf("%zu passed, %zu failed, 0 skipped\n", passed, failed);
  return failed ? 1 : passed ? 0 : 3;
}
