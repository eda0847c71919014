/* xoshiro256** (Blackman and Vigna 2018), normal values by Marsaglia's polar method, subsets by partial shuffling. */
#ifndef RANDOM_H
#define RANDOM_H
#include <stddef.h>
#include <stdint.h>

struct random {
  uint64_t state[4];
  double spare;
  int has_spare;
};

/* The stream of one trial of one seed; streams of different trials and seeds are unrelated. */
void random_seed(struct random *r, uint64_t seed, uint64_t trial);
/* 64 bits of the system's entropy. */
uint64_t random_entropy(void);
/* Uniform below the bound, exactly. */
uint64_t random_below(struct random *r, uint64_t bound);
double random_normal(struct random *r);
/* The first m places of a shuffle of 0..n-1; `order` has n places and keeps being shuffled. */
void random_subset(struct random *r, size_t *order, size_t n, size_t m);
#endif
