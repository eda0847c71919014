#ifndef PORT_VALIDATE_H
#define PORT_VALIDATE_H
#include "admm.h"

int data_are_valid(const struct run *run);
int parameters_are_valid(const struct run *run);
#endif
