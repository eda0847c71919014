  record Parameters(double lambda, double rho, double sigma, double clip, int batch, double[] eta) {}

  record Draw(int[] batch, double[] noise) {}

  /** The gradient of the loss at one record, *clipped* to norm q.clip; p numbers. */
  static double[] recordGradient(double[] features, double label, double[] x, Parameters q) {
    throw fillIn("1: return one record's clipped gradient");
  }

  /** One ADMM iteration from the noisy mean gradient: the new x, z, y. */
  static double[][] update(double[] x, double[] z, double[] y, double[] gradient, double eta, Parameters q) {
    throw fillIn("2: return the new x, z, y");
  }

  /** Your own randomness: a batch of q.batch of `count` record indices, and `dimension` noise values. */
  static Draw draw(int count, int dimension, Parameters q) {
    throw fillIn("3: return the batch and the noise of one iteration");
  }

  static Object start() {
    Map<String, Object> told = new HashMap<>(Map.of("protocol", 1, "name", "my-admm", "version", "0.1", "language", "java"));
    // Extend these when your code can do more (mpadmm, other losses, seed, ...).
    told.putAll(Map.of("algorithms", List.of("ssadmm"), "losses", List.of("logistic"), "regularizers", List.of("l1")));
    told.put("capabilities", List.of("replay", "trials", "every-iterate", "clip", "initial"));
    // Every value that leaves your implementation, honestly: what is not listed cannot be checked.
    told.put("released", Map.of("ssadmm", List.of("x", "z", "y")));
    return told;
  }

  static final List<String> KNOWN = List.of("loss", "regularizer", "lambda", "options", "rho", "eta", "iterations",
      "batch", "sigma", "clip", "intercept", "initial");

  /** The parameters, if they make sense with the records. */
  static Parameters checked(Map<String, Object> request) {
    Map<String, Object> v = object(request.get("parameters"));
    Dataset d = datasets.get(request.get("data"));
    known(v, KNOWN);
    boolean offered = "ssadmm".equals(request.get("algorithm")) && "logistic".equals(v.get("loss"))
        && "l1".equals(v.get("regularizer")) && !Boolean.TRUE.equals(v.get("intercept"));
    require(offered, "offered is ssadmm with logistic loss and l1, without intercept");
    Parameters q = new Parameters(number(v, "lambda"), number(v, "rho"), number(v, "sigma"), number(v, "clip"),
        (int) number(v, "batch"), flatten(v.get("eta")));
    require(q.rho > 0 && q.clip > 0 && q.lambda >= 0 && q.sigma >= 0, "rho, clip > 0; lambda, sigma >= 0");
    boolean steps = finite(q.eta) && q.eta.length > 0 && q.eta.length == number(v, "iterations");
    require(steps && Arrays.stream(q.eta).allMatch(eta -> eta > 0), "eta must hold a step size > 0 for every iteration");
    require(q.batch >= 1 && q.batch <= d.rows.length, "batch must lie in 1.." + d.rows.length);
    boolean labelled = Arrays.stream(d.labels).allMatch(label -> Math.abs(label) == 1);
    require(labelled, "labels must be -1 or 1", "invalid-data");
    return q;
  }

  /** Where to start: x, z or y. */
  static double[] initial(Map<String, Object> request, String name, int p) {
    Object points = object(request.get("parameters")).get("initial");
    if (points == null) return new double[p];
    double[] point = joined(List.of(unpack(object(points).get(name))));
    require(point.length == p && finite(point), "initial points must have " + p + " finite entries");
    return point;
  }

  /** Batches and noise come with the request; nothing here may be random. */
  static Object replay(Map<String, Object> request) {
    Parameters q = checked(request);
    Dataset d = datasets.get(request.get("data"));
    double[][] batches = unpack(request.get("batches")), noise = unpack(object(request.get("noise")).get("gradient"));
    boolean good = batches.length == q.eta.length && Arrays.stream(batches).allMatch(batch -> batch.length == q.batch
        && Arrays.stream(batch).distinct().count() == q.batch
        && Arrays.stream(batch).allMatch(i -> i == Math.rint(i) && i >= 0 && i < d.rows.length));
    require(good, "batches must hold distinct records");
    good = noise.length == q.eta.length && noise[0].length == d.rows[0].length && finite(joined(List.of(noise)));
    require(good, "noise must be finite, of shape iterations x columns");
    IntFunction<Draw> given = k -> new Draw(Arrays.stream(batches[k]).mapToInt(i -> (int) i).toArray(), noise[k]);
    return packed(run(request, q, 1, false, given), q.eta.length, d.rows[0].length);
  }

  /** `count` independent runs with the implementation's own batches and noise. */
  static Object trials(Map<String, Object> request) {
    Parameters q = checked(request);
    Dataset d = datasets.get(request.get("data"));
    int count = (int) number(request, "count"), n = d.rows.length, p = d.rows[0].length;
    boolean last = "last".equals(request.get("show"));
    List<List<double[]>> all = run(request, q, count, last, k -> draw(n, p, q));
    return last ? packed(all, count, p) : packed(all, count, q.eta.length, p);
  }

  /** All iterates x, z, y, or the last ones, for given batches and noise. */
  static List<List<double[]>> run(Map<String, Object> request, Parameters q, int count, boolean last, IntFunction<Draw> drawn) {
    Dataset d = datasets.get(request.get("data"));
    List<List<double[]>> all = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    int p = d.rows[0].length;
    for (int trial = 0; trial < count; trial++) {
      double[][] state = {initial(request, "x", p), initial(request, "z", p), initial(request, "y", p)};
      for (int k = 0; k < q.eta.length; k++) {
        Draw draw = drawn.apply(k);
        double[] mean = draw.noise.clone();
        for (int i : draw.batch) {
          double[] gradient = recordGradient(d.rows[i], d.labels[i], state[0], q);
          for (int j = 0; j < p; j++) mean[j] += gradient[j] / draw.batch.length;
        }
        state = update(state[0], state[1], state[2], mean, q.eta[k], q);
        for (int i = 0; i < 3 && (!last || k + 1 == q.eta.length); i++) all.get(i).add(state[i]);
      }
    }
    return all;
  }

  static Object packed(List<List<double[]>> all, Integer... shape) {
    return Map.of("x", pack(joined(all.get(0)), shape), "z", pack(joined(all.get(1)), shape),
        "y", pack(joined(all.get(2)), shape));
  }

  static final Map<String, Function<Map<String, Object>, Object>> handlers =
      Map.of("replay", Adapter::replay, "trials", Adapter::trials);
