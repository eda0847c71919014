/* Private ADMM for regularised classification: ssADMM and mpADMM of Chen and Lee 2020, written record by record. */
#ifndef ADMM_H
#define ADMM_H
#include <stddef.h>

enum loss { LOGISTIC, HUBER };
enum regularizer { NONE, L1, ELASTIC_NET, GROUP_L1 };

struct data {
  size_t n, p;
  const double *features, *labels;
};

struct settings {
  enum loss loss;
  enum regularizer regularizer;
  double lambda, l1_ratio, rho;
  const double *eta;
  size_t iterations, batch; /* batch 0: all records, mpADMM */
  double clip;              /* 0: the records are normalised */
  size_t groups;
  const size_t *group_sizes, *group_members;
};

struct state {
  double *x, *z, *y;
};

/* Work space of p numbers. */
struct work {
  double *gradient;
};

void mean_gradient(const struct data *d, const struct settings *s, const size_t *batch, size_t m, const double *x,
                   double *gradient);
/* Algorithm 1: the noise goes onto the gradient. */
void ss_iteration(const struct data *d, const struct settings *s, size_t k, const size_t *batch, const double *noise,
                  struct state *state, struct work *work);
/* Algorithm 2: the noise goes onto x, z and y; with z_noise NULL onto x alone, and z and y follow from the noisy x. */
void mp_iteration(const struct data *d, const struct settings *s, size_t k, const double *x_noise,
                  const double *z_noise, const double *y_noise, struct state *state, struct work *work);
/* Euclidean length without overflow. */
double length(const double *v, size_t p);
#endif
