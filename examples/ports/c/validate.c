/* What must be refused: input that cannot carry a privacy claim. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int positive(double v) { return isfinite(v) && v > 0; }

static int finite_table(const struct table *t) {
  for (size_t i = 0; t->v && i < t->rows * t->columns; i++)
    if (!isfinite(t->v[i])) return 0;
  return 1;
}

static int shaped(const struct table *t, size_t rows, size_t columns) {
  return t->v && t->rows == rows && t->columns == columns && finite_table(t);
}

int data_are_valid(const struct run *r) {
  if (!r->n || !r->p || r->features.columns != r->p || r->labels != r->n) return 0;
  for (size_t i = 0; i < r->n; i++)
    if ((r->label[i] != 1 && r->label[i] != -1) || !isfinite(length(r->features.v + i * r->p, r->p, 1))) return 0;
  return finite_table(&r->features);
}

/* Each entry below `limit`, none twice. */
static int distinct(const long *members, size_t count, size_t limit, char *seen) {
  for (size_t i = 0; i < count; i++)
    if (members[i] < 0 || (size_t)members[i] >= limit || seen[members[i]]++) return 0;
  return 1;
}

static int batches_are_valid(const struct run *r) {
  int good = r->batches == r->T && r->batch >= 1 && (size_t)r->batch <= r->n;
  for (size_t k = 0; good && k < r->T; k++) {
    char *seen = calloc(r->n, 1);
    if (!seen) abort();
    good = r->batch_size[k] == (size_t)r->batch && distinct(r->member[k], r->batch_size[k], r->n, seen);
    free(seen);
  }
  return good;
}

static int groups_are_valid(const struct regularizer *reg, size_t p) {
  char *seen = calloc(p, 1);
  if (!seen) abort();
  int good = reg->groups > 0;
  for (size_t g = 0; good && g < reg->groups; g++)
    good = reg->group_size[g] > 0 && distinct(reg->group[g], reg->group_size[g], p, seen);
  free(seen);
  return good;
}

static int regularizer_is_valid(const struct regularizer *reg, double rho, size_t p) {
  if (!isfinite(reg->lambda) || reg->lambda < 0) return 0;
  if (!strcmp(reg->name, "elastic-net")) return reg->l1_ratio >= 0 && reg->l1_ratio <= 1;
  if (!strcmp(reg->name, "scad")) return reg->a > 2 && reg->a > 1 + 1 / rho;
  if (!strcmp(reg->name, "mcp")) return reg->gamma > 1 && reg->gamma > 1 / rho;
  if (!strcmp(reg->name, "nuclear")) return reg->rows > 0 && reg->rows * reg->columns == (long)p;
  if (!strcmp(reg->name, "group-l1")) return groups_are_valid(reg, p);
  return !strcmp(reg->name, "none") || !strcmp(reg->name, "l1");
}

static int noise_is_valid(const struct run *r) {
  if (!r->release) return shaped(&r->gradient_noise, r->T, r->p);
  if (!strcmp(r->release, "primal")) return shaped(&r->x_noise, r->T, r->p);
  return shaped(&r->x_noise, r->T, r->p) && shaped(&r->z_noise, r->T, r->p) && shaped(&r->y_noise, r->T, r->p);
}

int parameters_are_valid(const struct run *r) {
  if (!positive(r->rho) || !(r->sigma >= 0) || isnan(r->clip) == isnan(r->normalise)) return 0;
  if (!positive(isnan(r->clip) ? r->normalise : r->clip)) return 0;
  for (size_t k = 0; k < r->T; k++)
    if (!positive(r->eta[k])) return 0;
  for (int i = 0; i < 3; i++)
    if (r->start[i].v && !shaped(&r->start[i], 1, r->p)) return 0;
  if (!regularizer_is_valid(&r->reg, r->rho, r->p) || !noise_is_valid(r)) return 0;
  return r->release != NULL || batches_are_valid(r);
}
