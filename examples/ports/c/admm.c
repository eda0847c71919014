#include "admm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "validate.h"

static double *numbers(size_t count) {
  double *v = calloc(count + 1, sizeof *v);
  if (!v) abort();
  return v;
}

double length(const double *v, size_t count, size_t stride) {
  double largest = 0, sum = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(v[i * stride]));
  if (largest == 0) return 0;
  for (size_t i = 0; i < count; i++) sum += v[i * stride] / largest * (v[i * stride] / largest);
  return largest * sqrt(sum);
}

/* ---- proximal maps -------------------------------------------------------------------------------------- */

static double soft(double w, double t) { return w > t ? w - t : -w > t ? w + t : 0; }

static double scad(double w, double lambda, double a, double tau) {
  if (fabs(w) > a * lambda) return w;
  if (fabs(w) <= lambda * (1 + tau)) return soft(w, tau * lambda);
  return ((a - 1) * w - copysign(a * lambda * tau, w)) / (a - 1 - tau);
}

static void group_l1(const struct regularizer *reg, double t, double *w) {
  for (size_t g = 0; g < reg->groups; g++) {
    size_t size = reg->group_size[g];
    double *members = numbers(size);
    for (size_t i = 0; i < size; i++) members[i] = w[reg->group[g][i]];
    double norm = length(members, size, 1), kept = norm > t ? 1 - t / norm : 0;
    for (size_t i = 0; i < size; i++) w[reg->group[g][i]] *= kept;
    free(members);
  }
}

/* One sweep of one-sided Jacobi rotations; a tends to U diag(s), v to the right singular vectors. */
static int sweep(double *a, double *v, size_t rows, size_t columns) {
  int turned = 0;
  for (size_t p = 0; p < columns; p++)
    for (size_t q = p + 1; q < columns; q++) {
      double alpha = 0, beta = 0, gamma = 0;
      for (size_t i = 0; i < rows; i++) {
        double l = a[i * columns + p], r = a[i * columns + q];
        alpha += l * l, beta += r * r, gamma += l * r;
      }
      if (gamma == 0 || fabs(gamma) <= 1e-17 * sqrt(alpha * beta)) continue;
      turned = 1;
      double zeta = (beta - alpha) / (2 * gamma);
      double t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t), s = c * t;
      for (size_t i = 0; i < rows + columns; i++) {
        double *row = i < rows ? a + i * columns : v + (i - rows) * columns, l = row[p], r = row[q];
        row[p] = c * l - s * r;
        row[q] = s * l + c * r;
      }
    }
  return turned;
}

static void nuclear(size_t rows, size_t columns, double t, double *w) {
  double *a = numbers(rows * columns), *v = numbers(columns * columns);
  memcpy(a, w, rows * columns * sizeof *a);
  for (size_t i = 0; i < columns; i++) v[i * columns + i] = 1;
  for (int i = 0; i < 60 && sweep(a, v, rows, columns); i++) {
  }
  for (size_t k = 0; k < columns; k++) {
    double s = length(a + k, rows, columns), kept = s > t ? (s - t) / s : 0;
    for (size_t i = 0; i < rows; i++) a[i * columns + k] *= kept;
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      double sum = 0;
      for (size_t k = 0; k < columns; k++) sum += a[i * columns + k] * v[j * columns + k];
      w[i * columns + j] = sum;
    }
  free(a);
  free(v);
}

static void proximal(const struct regularizer *reg, double rho, size_t p, double *w) {
  double t = reg->lambda / rho, tau = 1 / rho;
  if (!strcmp(reg->name, "group-l1")) group_l1(reg, t, w);
  if (!strcmp(reg->name, "nuclear")) nuclear((size_t)reg->rows, (size_t)reg->columns, t, w);
  for (size_t j = 0; j < p; j++) {
    if (!strcmp(reg->name, "l1")) w[j] = soft(w[j], t);
    if (!strcmp(reg->name, "elastic-net")) w[j] = soft(w[j], t * reg->l1_ratio) / (1 + t * (1 - reg->l1_ratio));
    if (!strcmp(reg->name, "scad")) w[j] = scad(w[j], reg->lambda, reg->a, tau);
    if (!strcmp(reg->name, "mcp") && fabs(w[j]) <= reg->gamma * reg->lambda)
      w[j] = soft(w[j], tau * reg->lambda) / (1 - tau / reg->gamma);
  }
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

/* Minus the slope of the loss at a margin. */
static double push(const char *loss, double margin) {
  if (!strcmp(loss, "huber")) return fmin(fmax(1.5 - margin, 0), 1); /* h = 1/2 */
  double small = exp(-fabs(margin));
  return (margin > 0 ? small : 1) / (1 + small);
}

/* Rows to the length asked for, the intercept counted, and times the label. */
static void prepare(struct run *r) {
  for (size_t i = 0; i < r->n; i++) {
    double *row = r->features.v + i * r->p, norm = length(row, r->p, 1);
    for (size_t j = 0; j < r->p; j++) {
      if (!isnan(r->normalise) && norm > 0) row[j] = row[j] / norm * r->normalise;
      row[j] *= (double)r->label[i];
    }
  }
}

static void mean_gradient(const struct run *r, size_t k, const double *x, double *g) {
  size_t count = r->release ? r->n : r->batch_size[k];
  memset(g, 0, r->p * sizeof *g);
  for (size_t i = 0; i < count; i++) {
    const double *row = r->features.v + (r->release ? i : (size_t)r->member[k][i]) * r->p;
    double margin = 0, norm = length(row, r->p, 1);
    for (size_t j = 0; j < r->p; j++) margin += row[j] * x[j];
    double weight = push(r->loss, margin);
    if (!isnan(r->clip) && weight * norm > r->clip) weight = r->clip / norm;
    for (size_t j = 0; j < r->p; j++) g[j] -= weight * row[j];
  }
  for (size_t j = 0; j < r->p; j++) g[j] /= (double)count;
}

/* ---- the iteration -------------------------------------------------------------------------------------- */

static void add(double *to, const struct table *noise, size_t k, size_t p) {
  for (size_t j = 0; noise->v && j < p; j++) to[j] += noise->v[k * p + j];
}

static int keep(double *to, const double *values, size_t p) {
  memcpy(to, values, p * sizeof *to);
  for (size_t j = 0; j < p; j++)
    if (!isfinite(values[j])) return 0;
  return 1;
}

enum outcome replay(struct run *r, struct trace *trace) {
  if (!data_are_valid(r)) return INVALID_DATA;
  if (!parameters_are_valid(r)) return INVALID_PARAMETERS;
  int all = r->release && !strcmp(r->release, "all"), finite = 1;
  size_t p = r->p;
  double rho = r->rho, *g = numbers(p), *v[3] = {numbers(p), numbers(p), numbers(p)};
  double *x = v[0], *z = v[1], *y = v[2];
  for (int i = 0; i < 3; i++)
    if (r->start[i].v) memcpy(v[i], r->start[i].v, p * sizeof *v[i]);
  prepare(r);
  for (size_t k = 0; k < r->T && finite; k++) {
    double eta = r->eta[k];
    mean_gradient(r, k, x, g);
    finite = keep(trace->gradient + k * p, g, p);
    add(g, &r->gradient_noise, k, p);
    for (size_t j = 0; j < p; j++) x[j] = (-g[j] - y[j] + rho * z[j] + x[j] / eta) / (rho + 1 / eta);
    if (!all) add(x, &r->x_noise, k, p);
    for (size_t j = 0; j < p; j++) z[j] = x[j] + y[j] / rho;
    proximal(&r->reg, rho, p, z);
    for (size_t j = 0; j < p; j++) y[j] += rho * (x[j] - z[j]);
    if (all) add(x, &r->x_noise, k, p), add(z, &r->z_noise, k, p), add(y, &r->y_noise, k, p);
    finite = finite && keep(trace->x + k * p, x, p) && keep(trace->z + k * p, z, p) && keep(trace->y + k * p, y, p);
  }
  free(g);
  for (int i = 0; i < 3; i++) free(v[i]);
  return finite ? DONE : INVALID_PARAMETERS;
}
