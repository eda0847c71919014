#include "admm.h"

#include <math.h>
#include <string.h>

double length(const double *v, size_t p) {
  double largest = 0, sum = 0;
  for (size_t j = 0; j < p; j++) largest = fmax(largest, fabs(v[j]));
  if (largest == 0) return 0;
  for (size_t j = 0; j < p; j++) sum += v[j] / largest * (v[j] / largest);
  return largest * sqrt(sum);
}

/* Minus the derivative of the loss at a margin; between 0 and 1. */
static double push(enum loss loss, double margin) {
  if (loss == LOGISTIC) return margin > 0 ? exp(-margin) / (1 + exp(-margin)) : 1 / (1 + exp(margin));
  const double h = 0.5;
  if (margin > 1 + h) return 0;
  if (margin < 1 - h) return 1;
  return (1 + h - margin) / (2 * h);
}

void mean_gradient(const struct data *d, const struct settings *s, const size_t *batch, size_t m, const double *x,
                   double *gradient) {
  memset(gradient, 0, d->p * sizeof *gradient);
  for (size_t i = 0; i < m; i++) {
    size_t row = batch ? batch[i] : i;
    const double *features = d->features + row * d->p;
    double margin = 0;
    for (size_t j = 0; j < d->p; j++) margin += features[j] * x[j];
    double weight = push(s->loss, margin * d->labels[row]);
    if (s->clip > 0) {
      double norm = length(features, d->p);
      if (weight * norm > s->clip) weight = s->clip / norm;
    }
    for (size_t j = 0; j < d->p; j++) gradient[j] -= weight * d->labels[row] * features[j] / (double)m;
  }
}

static double shrink(double w, double t) { return copysign(fmax(fabs(w) - t, 0), w); }

static void proximal(const struct settings *s, size_t p, double *w) {
  double t = s->lambda / s->rho;
  switch (s->regularizer) {
    case NONE:
      break;
    case L1:
      for (size_t j = 0; j < p; j++) w[j] = shrink(w[j], t);
      break;
    case ELASTIC_NET:
      for (size_t j = 0; j < p; j++) w[j] = shrink(w[j], t * s->l1_ratio) / (1 + t * (1 - s->l1_ratio));
      break;
    case GROUP_L1:
      for (size_t g = 0, start = 0; g < s->groups; start += s->group_sizes[g++]) {
        double squares = 0;
        for (size_t i = 0; i < s->group_sizes[g]; i++) squares = hypot(squares, w[s->group_members[start + i]]);
        double factor = squares > t ? 1 - t / squares : 0;
        for (size_t i = 0; i < s->group_sizes[g]; i++) w[s->group_members[start + i]] *= factor;
      }
      break;
  }
}

/* x moves by a step towards minus the gradient and towards z: the same minimiser as the paper's quotient. */
static void move_x(const struct settings *s, double eta, const double *gradient, struct state *v, size_t p) {
  double step = eta / (1 + eta * s->rho);
  for (size_t j = 0; j < p; j++) v->x[j] += step * (s->rho * (v->z[j] - v->x[j]) - v->y[j] - gradient[j]);
}

static void move_z_and_y(const struct settings *s, struct state *v, size_t p) {
  for (size_t j = 0; j < p; j++) v->z[j] = v->x[j] + v->y[j] / s->rho;
  proximal(s, p, v->z);
  for (size_t j = 0; j < p; j++) v->y[j] += s->rho * (v->x[j] - v->z[j]);
}

static void add(double *to, const double *what, size_t p) {
  for (size_t j = 0; j < p; j++) to[j] += what[j];
}

void ss_iteration(const struct data *d, const struct settings *s, size_t k, const size_t *batch, const double *noise,
                  struct state *state, struct work *work) {
  mean_gradient(d, s, batch, s->batch, state->x, work->gradient);
  add(work->gradient, noise, d->p);
  move_x(s, s->eta[k], work->gradient, state, d->p);
  move_z_and_y(s, state, d->p);
}

void mp_iteration(const struct data *d, const struct settings *s, size_t k, const double *x_noise,
                  const double *z_noise, const double *y_noise, struct state *state, struct work *work) {
  mean_gradient(d, s, NULL, d->n, state->x, work->gradient);
  move_x(s, s->eta[k], work->gradient, state, d->p);
  if (!z_noise) add(state->x, x_noise, d->p);
  move_z_and_y(s, state, d->p);
  if (z_noise) {
    add(state->x, x_noise, d->p);
    add(state->z, z_noise, d->p);
    add(state->y, y_noise, d->p);
  }
}
