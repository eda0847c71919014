/* ssADMM and mpADMM of Chen and Lee 2020 on given batches and noise: a port written from the formulas alone. */
#ifndef PORT_ADMM_H
#define PORT_ADMM_H
#include <stddef.h>

/* A table of numbers; rows of different lengths have columns = NOT_A_TABLE. */
#define NOT_A_TABLE ((size_t)-1)
struct table {
  double *v;
  size_t rows, columns;
};

enum outcome { DONE, INVALID_DATA, INVALID_PARAMETERS };

struct regularizer {
  const char *name;
  double lambda, l1_ratio, a, gamma; /* NAN where absent */
  size_t groups, *group_size;        /* groups is 0 where absent */
  long **group;
  long rows, columns; /* of the matrix; 0 where absent */
};

struct run {
  const char *algorithm, *loss, *release; /* release is NULL for ssadmm */
  struct regularizer reg;
  double rho, sigma, clip, normalise; /* clip, normalise: NAN where absent */
  size_t T, n, p;                     /* p counts the intercept */
  double *eta;
  struct table features; /* n x p, the intercept already in front */
  size_t labels;
  long *label;
  long batch;
  size_t batches, *batch_size; /* batches is 0 for mpadmm */
  long **member;
  struct table gradient_noise, x_noise, z_noise, y_noise; /* v is NULL where absent */
  struct table start[3];                                  /* x, z, y as one row each; v is NULL: 0 */
};

struct trace {
  double *gradient, *x, *z, *y; /* T x p each */
};

/* Runs it, or says why it must not be run. */
enum outcome replay(struct run *run, struct trace *trace);
/* Euclidean length without overflow or underflow on the way. */
double length(const double *v, size_t count, size_t stride);
#endif
