#include "validate.h"

#include <math.h>

static void require(int good, const char *what) {
  if (!good) refuse("invalid-parameters", "%s", what);
}

static int positive(double value) { return isfinite(value) && value > 0; }

static void validate_options(const struct json *v, const struct settings *s, size_t p) {
  const struct json *options = json_get(v, "options");
  if (s->regularizer == ELASTIC_NET)
    require(options && json_get(options, "l1_ratio") && s->l1_ratio >= 0 && s->l1_ratio <= 1,
            "elastic-net needs l1_ratio in [0, 1]");
  if (s->regularizer != GROUP_L1) return;
  char *taken = scratch(p + 1);
  require(s->groups > 0, "group-l1 needs groups");
  for (size_t g = 0, i = 0; g < s->groups; g++) {
    require(s->group_sizes[g] > 0, "a group is empty");
    for (size_t end = i + s->group_sizes[g]; i < end; i++)
      require(!taken[s->group_members[i]]++, "groups must be disjoint");
  }
}

void validate_parameters(const struct json *v, const struct settings *s, size_t p) {
  const struct json *clip = json_get(v, "clip"), *normalise = json_get(v, "normalise");
  const struct json *sigma = json_get(v, "sigma"), *multiplier = json_get(v, "noise_multiplier");
  require(!clip != !normalise, "exactly one of clip and normalise bounds the gradients");
  require(positive(clip ? clip->number : normalise->number), "clip or normalise must be > 0");
  require(!sigma != !multiplier, "exactly one of sigma and noise_multiplier");
  require((sigma ? sigma->number : multiplier->number) >= 0, "sigma must be >= 0");
  require(positive(s->rho), "rho must be > 0");
  require(isfinite(s->lambda) && s->lambda >= 0, "lambda must be >= 0");
  for (size_t k = 0; k < s->iterations; k++) require(positive(s->eta[k]), "every step size must be > 0");
  validate_options(v, s, p);
}

void validate_batch(const size_t *batch, size_t m, size_t n) {
  char *taken = scratch(n + 1);
  for (size_t i = 0; i < m; i++) {
    if (batch[i] >= n) refuse("invalid-parameters", "a batch names record %zu of %zu", batch[i], n);
    require(!taken[batch[i]]++, "a batch holds a record twice");
  }
}
