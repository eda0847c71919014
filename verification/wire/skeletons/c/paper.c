struct parameters {
  double lambda, rho, sigma, clip;
  int batch, iterations;
  const double *eta;
};

/* The gradient of the loss at one record, *clipped* to norm q->clip; p numbers into g. */
static void record_gradient(const double *features, double label, const double *x, int p, const struct parameters *q,
                            double *g) {
  FILL_IN("1: write one record's clipped gradient into g");
}

/* One ADMM iteration from the noisy mean gradient g: change x, z, y in place. */
static void update(double *x, double *z, double *y, const double *g, double eta, int p, const struct parameters *q) {
  FILL_IN("2: update x, z, y");
}

/* Your own randomness: q->batch of `count` record indices, and p noise values. */
static void draw(int count, int p, const struct parameters *q, int *batch, double *noise) {
  FILL_IN("3: write the batch and the noise of one iteration");
}

/* Extend this when your code can do more (mpadmm, other losses, seed, ...). `released`: every value that leaves your
 * implementation, honestly; what is not listed cannot be checked. */
static const char START[] =
    "{\"protocol\":1,\"name\":\"my-admm\",\"version\":\"0.1\",\"language\":\"c\","
    "\"algorithms\":[\"ssadmm\"],\"losses\":[\"logistic\"],\"regularizers\":[\"l1\"],"
    "\"capabilities\":[\"replay\",\"trials\",\"every-iterate\",\"clip\",\"initial\"],"
    "\"released\":{\"ssadmm\":[\"x\",\"z\",\"y\"]}}";

/* The parameters, if they make sense with the records. */
static struct parameters checked(const struct value *request, const struct dataset *d) {
  const struct value *v = get(request, "parameters"), *intercept = get(v, "intercept");
  size_t steps;
  int ignored;
  known(v, " loss regularizer lambda options rho eta iterations batch sigma clip intercept initial ");
  require(!strcmp(text(request, "algorithm"), "ssadmm") && !strcmp(text(v, "loss"), "logistic") &&
              !strcmp(text(v, "regularizer"), "l1") && !(intercept && intercept->kind == TRUE),
          "offered is ssadmm with logistic loss and l1, without intercept");
  struct parameters q = {number(v, "lambda"), number(v, "rho"), number(v, "sigma"), number(v, "clip"),
                         (int)number(v, "batch"), (int)number(v, "iterations"), NULL};
  require(q.rho > 0 && q.clip > 0 && q.lambda >= 0 && q.sigma >= 0, "rho, clip > 0; lambda, sigma >= 0");
  q.eta = unpack(get(v, "eta"), &steps, &ignored);
  require((double)steps == number(v, "iterations") && finite_all(q.eta, steps), "eta must hold a step an iteration");
  for (size_t k = 0; k < steps; k++) require(q.eta[k] > 0, "eta must be > 0");
  require(q.batch >= 1 && q.batch <= d->n && number(v, "batch") == q.batch, "batch must lie in 1..n");
  for (int i = 0; i < d->n; i++)
    if (fabs(d->labels[i]) != 1) fail("invalid-data", "labels must be -1 or 1");
  return q;
}

static void start_at(const struct value *parameters, const char *name, int p, double *to) {
  const struct value *initial = get(parameters, "initial");
  size_t size;
  int ignored;
  memset(to, 0, (size_t)p * sizeof *to);
  if (!initial || initial->kind != OBJECT) return;
  double *from = unpack(get(initial, name), &size, &ignored);
  require((int)size == p && finite_all(from, size), "initial points must be finite, one entry a column");
  memcpy(to, from, (size_t)p * sizeof *to);
}

/* One iteration on a given batch and noise. */
static void iterate(const struct dataset *d, const struct parameters *q, int k, const int *batch, const double *noise,
                    double *x, double *z, double *y) {
  double *mean = allocate((size_t)d->p * sizeof *mean), *g = allocate((size_t)d->p * sizeof *g);
  memcpy(mean, noise, (size_t)d->p * sizeof *mean);
  for (int i = 0; i < q->batch; i++) {
    record_gradient(d->features + (size_t)batch[i] * d->p, d->labels[batch[i]], x, d->p, q, g);
    for (int j = 0; j < d->p; j++) mean[j] += g[j] / q->batch;
  }
  update(x, z, y, mean, q->eta[k], d->p, q);
}

/* `count` runs; on given batches and noise, or on the implementation's own. */
static void run(const struct value *request, const struct dataset *d, const struct parameters *q, int count, int last,
                const int *batches, const double *noise) {
  int p = d->p, kept = last ? 1 : q->iterations, *own = allocate((size_t)q->batch * sizeof *own);
  size_t size = (size_t)count * kept * p;
  double *all[3], *state[3], *drawn = allocate((size_t)p * sizeof *drawn);
  const char *names[3] = {"x", "z", "y"};
  for (int i = 0; i < 3; i++) {
    all[i] = allocate((size + 1) * sizeof(double));
    state[i] = allocate((size_t)p * sizeof(double));
  }
  for (int trial = 0; trial < count; trial++) {
    for (int i = 0; i < 3; i++) start_at(get(request, "parameters"), names[i], p, state[i]);
    for (int k = 0; k < q->iterations; k++) {
      const int *batch = batches ? batches + (size_t)k * q->batch : own;
      if (!batches) draw(d->n, p, q, own, drawn);
      iterate(d, q, k, batch, noise ? noise + (size_t)k * p : drawn, state[0], state[1], state[2]);
      size_t place = ((size_t)trial * kept + (last ? 0 : k)) * p;
      for (int i = 0; i < 3; i++) memcpy(all[i] + place, state[i], (size_t)p * sizeof(double));
    }
  }
  char shape[80];
  if (batches) snprintf(shape, sizeof shape, "%d,%d", q->iterations, p);
  else if (last) snprintf(shape, sizeof shape, "%d,%d", count, p);
  else snprintf(shape, sizeof shape, "%d,%d,%d", count, q->iterations, p);
  printf("{\"id\":%.0f,\"result\":{", number(request, "id"));
  for (int i = 0; i < 3; i++) {
    if (i) putchar(',');
    print_array(names[i], all[i], size, shape);
  }
  puts("}}");
}

/* The batches of a request: q->batch distinct records for every iteration. */
static int *given_batches(const struct value *request, const struct dataset *d, const struct parameters *q) {
  size_t size;
  int width;
  double *given = unpack(get(request, "batches"), &size, &width);
  require(width == q->batch && size == (size_t)width * q->iterations, "batches must fit the parameters");
  int *batches = allocate(size * sizeof *batches);
  for (size_t i = 0; i < size; i++) {
    require(given[i] >= 0 && given[i] < d->n && given[i] == floor(given[i]), "batches must name records");
    batches[i] = (int)given[i];
    for (size_t j = i - i % (size_t)width; j < i; j++) require(batches[j] != batches[i], "a batch has a record twice");
  }
  return batches;
}

static int handle(const char *what, const struct value *request, const struct dataset *d, double id) {
  (void)id;
  if (!strcmp(what, "replay")) { /* nothing here may be random */
    struct parameters q = checked(request, d);
    size_t size;
    int width, *batches = given_batches(request, d, &q);
    double *noise = unpack(get(get(request, "noise"), "gradient"), &size, &width);
    require(width == d->p && size == (size_t)width * q.iterations && finite_all(noise, size),
            "noise must be finite, of shape iterations x columns");
    run(request, d, &q, 1, 0, batches, noise);
    return 1;
  }
  if (!strcmp(what, "trials")) {
    struct parameters q = checked(request, d);
    run(request, d, &q, (int)number(request, "count"), !strcmp(text(request, "show"), "last"), NULL, NULL);
    return 1;
  }
  return 0;
}
