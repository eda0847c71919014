/* An honest implementation of ssADMM and mpADMM behind the adapter protocol, version 1 (docs/reference/protocol.md).
 *
 *     make            builds ./adapter
 *     dpadmm conform -- ./adapter
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admm.h"
#include "json.h"
#include "random.h"
#include "validate.h"

jmp_buf refused;
char refusal_kind[32], refusal_message[256];

/* ---- data sets ------------------------------------------------------------------------------------------ */

struct dataset {
  char name[80];
  size_t n, p;
  double *features, *labels;
  struct dataset *next;
};
static struct dataset *datasets;

static struct dataset *find(const char *name) {
  for (struct dataset *d = datasets; d; d = d->next)
    if (!strcmp(d->name, name)) return d;
  return NULL;
}

static double *duplicate(const double *values, size_t size) {
  double *copy = malloc((size + 1) * sizeof *copy);
  if (!copy) refuse("internal", "out of memory");
  return memcpy(copy, values, size * sizeof *copy);
}

static struct dataset *keep(const struct json *request) {
  struct array features = array_read(json_get(request, "features"), "features");
  struct array labels = array_read(json_get(request, "labels"), "labels");
  const char *name = json_text(request, "name");
  if (!features.columns || features.size != labels.size * features.columns)
    refuse("invalid-data", "features must be n x p with n labels");
  for (size_t i = 0; i < features.size; i++)
    if (!isfinite(features.values[i]))
      refuse("invalid-data", "features must be finite, got %g in row %zu", features.values[i], i / features.columns);
  for (size_t i = 0; i < labels.size; i++)
    if (fabs(labels.values[i]) != 1) refuse("invalid-data", "labels must be -1 or 1, got %g", labels.values[i]);
  struct dataset *d = find(name);
  if (!d) {
    d = calloc(1, sizeof *d);
    if (!d) refuse("internal", "out of memory");
    snprintf(d->name, sizeof d->name, "%s", name);
    d->next = datasets;
    datasets = d;
  }
  free(d->features);
  free(d->labels);
  d->n = labels.size;
  d->p = features.columns;
  d->features = duplicate(features.values, features.size);
  d->labels = duplicate(labels.values, labels.size);
  return d;
}

/* The column of ones goes in front, and counts when the rows are normalised. */
static struct data prepare(const struct dataset *d, const struct json *parameters) {
  size_t extra = json_number(parameters, "intercept", 0) != 0, p = d->p + extra;
  double target = json_number(parameters, "normalise", 0);
  double *features = scratch(d->n * p * sizeof *features + 1);
  for (size_t i = 0; i < d->n; i++) {
    double *row = features + i * p;
    if (extra) row[0] = 1;
    memcpy(row + extra, d->features + i * d->p, d->p * sizeof *row);
    double norm = length(row, p);
    if (isinf(norm)) refuse("invalid-data", "row %zu is too long to measure", i);
    if (target > 0 && norm > target)
      for (size_t j = 0; j < p; j++) row[j] = row[j] / norm * target;
  }
  struct data out = {d->n, p, features, d->labels};
  return out;
}

/* ---- parameters ----------------------------------------------------------------------------------------- */

static void read_groups(struct settings *s, const struct json *options, size_t p) {
  const struct json *groups = json_get(options, "groups");
  struct array members = array_read(groups, "groups");
  size_t *sizes = scratch((groups->count + 1) * sizeof *sizes), *flat = scratch((members.size + 1) * sizeof *flat);
  size_t g = 0;
  for (const struct json *group = groups->child; group; group = group->next) sizes[g++] = group->count;
  for (size_t i = 0; i < members.size; i++) {
    flat[i] = (size_t)members.values[i];
    if (members.values[i] < 0 || flat[i] >= p) refuse("invalid-parameters", "groups name a coordinate beyond p");
  }
  s->groups = groups->count;
  s->group_sizes = sizes;
  s->group_members = flat;
}

static struct settings read_settings(const struct json *v, size_t n, size_t p) {
  const char *loss = json_text(v, "loss"), *regularizer = json_text(v, "regularizer");
  struct array eta = array_read(json_get(v, "eta"), "eta");
  struct settings s = {.lambda = json_number(v, "lambda", 0),
                       .l1_ratio = json_number(json_get(v, "options"), "l1_ratio", 0.5),
                       .rho = json_number(v, "rho", 0),
                       .eta = eta.values,
                       .iterations = eta.size,
                       .batch = (size_t)json_number(v, "batch", 0),
                       .clip = json_number(v, "clip", 0)};
  if (!strcmp(loss, "logistic")) s.loss = LOGISTIC;
  else if (!strcmp(loss, "huber")) s.loss = HUBER;
  else refuse("invalid-parameters", "no such loss: %s", loss);
  if (!strcmp(regularizer, "none")) s.regularizer = NONE;
  else if (!strcmp(regularizer, "l1")) s.regularizer = L1;
  else if (!strcmp(regularizer, "elastic-net")) s.regularizer = ELASTIC_NET;
  else if (!strcmp(regularizer, "group-l1")) s.regularizer = GROUP_L1;
  else refuse("invalid-parameters", "no such regularizer: %s", regularizer);
  if (s.regularizer == GROUP_L1) read_groups(&s, json_get(v, "options"), p);
  if (!(s.rho > 0) || !s.iterations || s.batch > n) refuse("invalid-parameters", "rho, eta or batch out of range");
  return s;
}

/* sigma of iteration k: as given, or the multiplier times the sensitivity under replacement of one record. */
static double sigma_of(const struct json *v, const struct settings *s, size_t n, size_t k) {
  double sigma = json_number(v, "sigma", -1), bound = s->clip > 0 ? s->clip : json_number(v, "normalise", 0);
  if (sigma >= 0) return sigma;
  double multiplier = json_number(v, "noise_multiplier", 0);
  if (s->batch) return multiplier * 2 * bound / (double)s->batch;
  double primal = 2 * bound * s->eta[k] / ((double)n * (1 + s->eta[k] * s->rho));
  double joint = strcmp(json_text(v, "release"), "all") ? 1 : sqrt(1 + fmax(1, s->rho * s->rho));
  return multiplier * joint * primal;
}

static void start_at(const struct json *v, struct state *state, size_t p) {
  const struct json *initial = json_get(v, "initial");
  double *parts[3] = {state->x, state->z, state->y};
  const char *names[3] = {"x", "z", "y"};
  for (int i = 0; i < 3; i++) {
    memset(parts[i], 0, p * sizeof *parts[i]);
    if (!initial) continue;
    struct array a = array_read(json_get(initial, names[i]), names[i]);
    if (a.size != p) refuse("invalid-parameters", "initial %s must have %zu entries", names[i], p);
    memcpy(parts[i], a.values, p * sizeof *parts[i]);
  }
}

/* ---- runs ----------------------------------------------------------------------------------------------- */

struct output {
  double *x, *z, *y;
  size_t place;
};

static void keep_state(struct output *out, const struct state *v, size_t p) {
  for (size_t j = 0; j < p; j++)
    if (!isfinite(v->x[j]) || !isfinite(v->z[j]) || !isfinite(v->y[j]))
      refuse("invalid-parameters", "an iterate is not finite");
  memcpy(out->x + out->place, v->x, p * sizeof(double));
  memcpy(out->z + out->place, v->z, p * sizeof(double));
  memcpy(out->y + out->place, v->y, p * sizeof(double));
  out->place += p;
}

static double *numbers(size_t count) { return scratch((count + 1) * sizeof(double)); }

static struct state new_state(size_t p) {
  struct state state = {numbers(p), numbers(p), numbers(p)};
  return state;
}

static void replay(const struct json *request, const struct data *d, const struct settings *s, struct output *out) {
  const struct json *noise = json_get(request, "noise"), *v = json_get(request, "parameters");
  struct state state = new_state(d->p);
  struct work work = {numbers(d->p)};
  size_t all = s->iterations * d->p;
  start_at(v, &state, d->p);
  if (s->batch) {
    struct array batches = array_read(json_get(request, "batches"), "batches");
    struct array gamma = array_read(json_get(noise, "gradient"), "noise.gradient");
    size_t *batch = scratch(s->batch * sizeof *batch);
    if (batches.size != s->iterations * s->batch || gamma.size != all)
      refuse("invalid-parameters", "batches or noise of the wrong size");
    for (size_t k = 0; k < s->iterations; k++) {
      for (size_t i = 0; i < s->batch; i++) batch[i] = (size_t)batches.values[k * s->batch + i];
      validate_batch(batch, s->batch, d->n);
      ss_iteration(d, s, k, batch, gamma.values + k * d->p, &state, &work);
      keep_state(out, &state, d->p);
    }
    return;
  }
  int primal = !strcmp(json_text(v, "release"), "primal");
  struct array x = array_read(json_get(noise, "x"), "noise.x"), z = {0}, y = {0};
  if (!primal) {
    z = array_read(json_get(noise, "z"), "noise.z");
    y = array_read(json_get(noise, "y"), "noise.y");
  }
  if (x.size != all || (!primal && (z.size != all || y.size != all)))
    refuse("invalid-parameters", "noise of the wrong size");
  for (size_t k = 0; k < s->iterations; k++) {
    size_t at = k * d->p;
    mp_iteration(d, s, k, x.values + at, primal ? NULL : z.values + at, primal ? NULL : y.values + at, &state, &work);
    keep_state(out, &state, d->p);
  }
}

static void draw(struct random *r, double sigma, double *noise, size_t p) {
  for (size_t j = 0; j < p; j++) noise[j] = sigma * random_normal(r);
}

static void trial(const struct json *v, const struct data *d, const struct settings *s, struct random *r,
                  size_t *order, struct state *state, struct work *work, double *noise, int last,
                  struct output *out) {
  int primal = !strcmp(json_text(v, "release"), "primal");
  size_t p = d->p;
  start_at(v, state, p);
  for (size_t k = 0; k < s->iterations; k++) {
    double sigma = sigma_of(v, s, d->n, k);
    draw(r, sigma, noise, p);
    if (s->batch) {
      random_subset(r, order, d->n, s->batch);
      ss_iteration(d, s, k, order, noise, state, work);
    } else if (primal) {
      mp_iteration(d, s, k, noise, NULL, NULL, state, work);
    } else {
      draw(r, sigma, noise + p, 2 * p);
      mp_iteration(d, s, k, noise, noise + p, noise + 2 * p, state, work);
    }
    if (!last || k + 1 == s->iterations) keep_state(out, state, p);
  }
}

static void trials(const struct json *request, const struct data *d, const struct settings *s, size_t count, int last,
                   struct output *out) {
  const struct json *v = json_get(request, "parameters"), *given = json_get(request, "seed");
  uint64_t seed = given ? (uint64_t)given->number : random_entropy();
  struct state state = new_state(d->p);
  struct work work = {numbers(d->p)};
  double *noise = numbers(3 * d->p);
  size_t *order = scratch((d->n + 1) * sizeof *order);
  for (size_t t = 0; t < count; t++) {
    struct random r;
    random_seed(&r, seed, t);
    for (size_t i = 0; i < d->n; i++) order[i] = i; /* each trial is a function of its seed and number alone */
    trial(v, d, s, &r, order, &state, &work, noise, last, out);
  }
}

static void run(const struct json *request, int replaying) {
  const struct dataset *stored = find(json_text(request, "data"));
  if (!stored) refuse("invalid-data", "no such data set: %s", json_text(request, "data"));
  const struct json *v = json_get(request, "parameters");
  struct data d = prepare(stored, v);
  struct settings s = read_settings(v, d.n, d.p);
  validate_parameters(v, &s, d.p);
  if ((s.batch == 0) == !strcmp(json_text(request, "algorithm"), "ssadmm"))
    refuse("invalid-parameters", "batch belongs to ssadmm");
  size_t count = replaying ? 1 : (size_t)json_number(request, "count", 1);
  int last = !replaying && !strcmp(json_text(request, "show"), "last");
  size_t kept = last ? 1 : s.iterations, size = count * kept * d.p;
  struct output out = {numbers(size), numbers(size), numbers(size), 0};
  if (replaying) replay(request, &d, &s, &out);
  else trials(request, &d, &s, count, last, &out);
  size_t shape[3] = {count, kept, d.p};
  const size_t *axes = replaying ? shape + 1 : shape;
  int dimensions = replaying ? 2 : 3;
  if (last) {
    shape[1] = d.p;
    dimensions = 2;
  }
  printf("{\"id\":%.0f,\"result\":{", json_number(request, "id", 0));
  array_write("x", out.x, size, axes, dimensions);
  putchar(',');
  array_write("z", out.z, size, axes, dimensions);
  putchar(',');
  array_write("y", out.y, size, axes, dimensions);
  puts("}}");
}

static const char description[] =
    "{\"protocol\":1,\"name\":\"admm in C\",\"version\":\"1\",\"language\":\"c\","
    "\"algorithms\":[\"ssadmm\",\"mpadmm\"],\"losses\":[\"logistic\",\"huber\"],"
    "\"regularizers\":[\"l1\",\"none\",\"elastic-net\",\"group-l1\"],"
    "\"capabilities\":[\"replay\",\"trials\",\"every-iterate\",\"seed\",\"clip\",\"normalise\",\"intercept\","
    "\"initial\",\"primal-release\",\"noise-multiplier\"],"
    "\"released\":{\"ssadmm\":[\"x\",\"z\",\"y\"],\"mpadmm\":[\"x\",\"z\",\"y\"]}}";

static void answer(const struct json *request) {
  const char *kind = json_text(request, "request");
  double id = json_number(request, "id", 0);
  if (!strcmp(kind, "start")) {
    printf("{\"id\":%.0f,\"result\":%s}\n", id, description);
  } else if (!strcmp(kind, "data")) {
    struct dataset *d = keep(request);
    printf("{\"id\":%.0f,\"result\":{\"records\":%zu,\"columns\":%zu}}\n", id, d->n, d->p);
  } else if (!strcmp(kind, "replay") || !strcmp(kind, "trials")) {
    run(request, !strcmp(kind, "replay"));
  } else if (!strcmp(kind, "stop")) {
    printf("{\"id\":%.0f,\"result\":{}}\n", id);
  } else {
    refuse("invalid-parameters", "no such request: %s", kind);
  }
}

int main(void) {
  static struct json *request; /* static: must survive the jump back */
  static char *line;
  static size_t capacity;
  int stop = 0;
  while (!stop && getline(&line, &capacity, stdin) > 0) {
    request = NULL;
    if (!setjmp(refused)) {
      request = json_parse(line);
      answer(request);
    } else {
      printf("{\"id\":%.0f,\"error\":{\"kind\":\"%s\",\"message\":\"%s\"}}\n", json_number(request, "id", 0),
             refusal_kind, refusal_message);
    }
    fflush(stdout);
    stop = !strcmp(json_text(request, "request"), "stop");
    scratch_free();
  }
  free(line);
  return 0;
}
