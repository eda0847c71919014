#define KNOWN " iterations scale bound " /* the parameters of your claim file; others are refused */

/* The scale of the noise and the sensitivity that you claim, of every release. */
static void protection(const struct value *parameters, int records, int columns, double *scale, double *sensitivity) {
  FILL_IN("1: write scale and sensitivity");
}

/* The next value before its noise, from the records and the k values released so far (row by row); returns its size,
 * the same for every k. */
static int before(const struct dataset *d, const double *released, int k, const struct value *parameters, double *to) {
  FILL_IN("2: write the next value before its noise, return its size (at most 10000)");
  return 0;
}

/* Your own noise: so many numbers. */
static void noise(int size, const struct value *parameters, double *to) {
  FILL_IN("3: write the noise of one release");
}

static double largest[10000]; /* a value before its size is known */

static const char START[] =
    "{\"protocol\":1,\"name\":\"my-algorithm\",\"version\":\"0.1\",\"language\":\"c\","
    "\"declared\":[\"my-algorithm\"],\"capabilities\":[\"record\",\"trials\"]}";

static const struct value *checked(const struct value *request) {
  const struct value *q = get(request, "parameters");
  known(q, KNOWN);
  double releases = number(q, "iterations");
  require(releases >= 1 && releases == floor(releases), "iterations must be a number of releases");
  return q;
}

/* What leaves and what protects it (docs/reference/declaration.md); say here what is different in yours. */
static void declare(const struct value *request, double id) {
  const struct value *q = checked(request);
  double scale, sensitivity;
  protection(q, (int)number(request, "records"), (int)number(request, "columns"), &scale, &sensitivity);
  printf("{\"id\":%.0f,\"result\":{\"name\":\"my-algorithm\",\"neighbours\":\"replace-one\",\"iterations\":%.0f,"
         "\"bound\":{\"kind\":\"normalise\",\"radius\":%.17g},\"values\":[{\"name\":\"value\",\"noise\":\"gaussian\","
         "\"norm\":\"l2\",\"scale\":%.17g,\"sensitivity\":%.17g}]}}\n",
         id, number(q, "iterations"), number(q, "bound"), scale, sensitivity);
}

/* Released, before and noise of every release, in three arrays; returns the size of a value. `outputs` are taken as
 * released in place of what the run would release. */
static int run(const struct value *request, const struct dataset *d, const struct value *outputs, double *shown[3]) {
  const struct value *q = checked(request);
  int releases = (int)number(q, "iterations"), width = 0, size = 0;
  size_t count = 0;
  double *given = outputs ? unpack(outputs, &count, &width) : NULL;
  for (int k = 0; k < releases; k++) {
    size = before(d, k ? shown[0] : NULL, k, q, largest);
    for (int i = 0; i < 3 && !k; i++) shown[i] = allocate((size_t)releases * size * sizeof(double));
    double *value = shown[1] + (size_t)k * size, *added = shown[2] + (size_t)k * size, *own = shown[0] + (size_t)k * size;
    memcpy(value, largest, (size_t)size * sizeof *value);
    noise(size, q, added);
    for (int j = 0; j < size; j++) {
      size_t at = (size_t)k * size + j;
      own[j] = at < count ? given[at] : value[j] + added[j];
    }
  }
  return size;
}

static int handle(const char *what, const struct value *request, const struct dataset *d, double id) {
  double *shown[3] = {NULL, NULL, NULL};
  char shape[40];
  const char *names[3] = {"released", "before", "noise"};
  int inside = !strcmp(what, "record");
  if (!strcmp(what, "declare")) {
    declare(request, id);
    return 1;
  }
  if (!inside && strcmp(what, "trials")) return 0;
  int count = inside ? 1 : (int)number(request, "count"), releases = (int)number(get(request, "parameters"), "iterations");
  double **all = allocate((size_t)count * sizeof *all);
  int size = 0;
  for (int i = 0; i < count; i++) { /* run first, print then: an error must be the only answer */
    size = run(request, d, inside ? get(get(request, "outputs"), "value") : NULL, shown);
    all[i] = shown[0];
  }
  snprintf(shape, sizeof shape, "%d,%d", releases, size);
  printf("{\"id\":%.0f,\"result\":{%s", id, inside ? "\"values\":{\"value\":{" : "\"runs\":[");
  for (int i = 0; i < (inside ? 3 : count); i++) {
    fputs(i ? "," : "", stdout);
    fputs(inside ? "" : "{\"released\":{", stdout);
    print_array(inside ? names[i] : "value", inside ? shown[i] : all[i], (size_t)releases * size, shape);
    fputs(inside ? "" : "}}", stdout);
  }
  puts(inside ? "}}}}" : "]}}");
  return 1;
}
