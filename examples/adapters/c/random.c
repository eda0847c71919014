#define _GNU_SOURCE
#include "random.h"

#include <math.h>
#include <sys/random.h>

#include "json.h"

static uint64_t splitmix(uint64_t *counter) {
  uint64_t z = *counter += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void random_seed(struct random *r, uint64_t seed, uint64_t trial) {
  /* Both numbers are mixed before they meet, so that seed 1 trial 0 and seed 0 trial 1 have nothing in common. */
  uint64_t a = seed, b = trial ^ 0xd1b54a32d192ed03u;
  uint64_t counter = splitmix(&a);
  counter ^= splitmix(&b) * 0xff51afd7ed558ccdu;
  for (int i = 0; i < 4; i++) r->state[i] = splitmix(&counter);
  r->has_spare = 0;
}

uint64_t random_entropy(void) {
  uint64_t word;
  if (getrandom(&word, sizeof word, 0) != sizeof word) refuse("internal", "the system has no entropy to give");
  return word;
}

static uint64_t rotate(uint64_t x, int k) { return x << k | x >> (64 - k); }

static uint64_t next(struct random *r) {
  uint64_t *s = r->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

uint64_t random_below(struct random *r, uint64_t bound) {
  uint64_t rejected = -bound % bound, word; /* 2^64 mod bound words would favour the small results */
  do word = next(r);
  while (word < rejected);
  return word % bound;
}

static double symmetric_uniform(struct random *r) {
  return (double)(int64_t)(next(r) >> 11 << 1 | 1) * 0x1p-53 - 1; /* odd multiples of 2^-53 in (-1, 1) */
}

double random_normal(struct random *r) {
  if (r->has_spare) {
    r->has_spare = 0;
    return r->spare;
  }
  double u, v, s;
  do {
    u = symmetric_uniform(r);
    v = symmetric_uniform(r);
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  double factor = sqrt(-2 * log(s) / s);
  r->spare = v * factor;
  r->has_spare = 1;
  return u * factor;
}

void random_subset(struct random *r, size_t *order, size_t n, size_t m) {
  for (size_t i = 0; i < m; i++) {
    size_t j = i + random_below(r, n - i), held = order[i];
    order[i] = order[j];
    order[j] = held;
  }
}
