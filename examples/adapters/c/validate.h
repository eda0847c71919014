/* What must be refused before anything is computed: parameters that cannot carry a privacy claim. */
#ifndef VALIDATE_H
#define VALIDATE_H
#include "admm.h"
#include "json.h"

void validate_parameters(const struct json *parameters, const struct settings *s, size_t p);
void validate_batch(const size_t *batch, size_t m, size_t n);
#endif
