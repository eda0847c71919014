/* One run on these records, with your own randomness: every number that leaves it; returns how many (at most 10000). */
static int train(const struct dataset *d, double *to) {
  FILL_IN("1: write everything that one run releases, return how many numbers");
  return 0;
}

static double largest[10000]; /* what leaves a run, before its size is known */

static const char START[] = "{\"protocol\":1,\"name\":\"my-algorithm\"}";

/* `count` independent runs. */
static int handle(const char *what, const struct value *request, const struct dataset *d, double id) {
  if (strcmp(what, "trials")) return 0;
  int count = (int)number(request, "count"), size = 0;
  double *all = NULL;
  for (int i = 0; i < count; i++) {
    size = train(d, largest);
    if (!all) all = allocate((size_t)count * size * sizeof *all);
    memcpy(all + (size_t)i * size, largest, (size_t)size * sizeof *all);
  }
  char shape[40];
  snprintf(shape, sizeof shape, "%d,%d", count, size);
  printf("{\"id\":%.0f,\"result\":{", id);
  print_array("released", all, (size_t)count * size, shape);
  puts("}}");
  return 1;
}
