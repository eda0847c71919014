  // The parameters of your claim file; others are refused.
  static final List<String> KNOWN = List.of("iterations", "scale", "bound");

  /** The scale of the noise and the sensitivity that you claim, of every release. */
  static double[] protection(Map<String, Double> parameters, int records, int columns) {
    throw fillIn("1: return {scale, sensitivity}");
  }

  /** The next value before its noise, from the records and the values released so far. */
  static double[] before(double[][] rows, double[] labels, List<double[]> released, Map<String, Double> parameters) {
    throw fillIn("2: return the next value before its noise");
  }

  /** Your own noise: so many numbers. */
  static double[] noise(int size, Map<String, Double> parameters) {
    throw fillIn("3: return the noise of one release");
  }

  static Object start() {
    return Map.of("protocol", 1, "name", "my-algorithm", "version", "0.1", "language", "java",
        "declared", List.of("my-algorithm"), "capabilities", List.of("record", "trials"));
  }

  /** What leaves and what protects it (docs/reference/declaration.md); say here what is different in yours. */
  static Object declare(Map<String, Object> request) {
    Map<String, Double> q = checked(request);
    double[] told = protection(q, (int) number(request, "records"), (int) number(request, "columns"));
    var value = Map.of("name", "value", "noise", "gaussian", "norm", "l2", "scale", told[0], "sensitivity", told[1]);
    var bound = Map.of("kind", "normalise", "radius", q.get("bound"));
    return Map.of("name", "my-algorithm", "neighbours", "replace-one", "bound", bound,
        "iterations", q.get("iterations").intValue(), "values", List.of(value));
  }

  static Map<String, Double> checked(Map<String, Object> request) {
    Map<String, Object> given = object(request.get("parameters"));
    known(given, KNOWN);
    Map<String, Double> q = new HashMap<>();
    for (String name : KNOWN) q.put(name, number(given, name));
    double releases = q.get("iterations");
    require(releases >= 1 && releases == Math.rint(releases), "iterations must be a number of releases");
    return q;
  }

  record Shown(List<double[]> released, List<double[]> befores, List<double[]> noises) {}

  /** One run from the inside; `outputs` are taken as released in place of what the run would release. */
  static Object record(Map<String, Object> request) {
    Object outputs = request.get("outputs");
    Shown run = run(request, outputs == null ? null : object(outputs).get("value"));
    Integer[] shape = {run.released.size(), run.released.get(0).length};
    return Map.of("values", Map.of("value", Map.of("released", pack(joined(run.released), shape),
        "before", pack(joined(run.befores), shape), "noise", pack(joined(run.noises), shape))));
  }

  /** `count` independent runs as in production. */
  static Object trials(Map<String, Object> request) {
    List<Object> runs = new ArrayList<>();
    for (int i = 0; i < (int) number(request, "count"); i++) {
      List<double[]> released = run(request, null).released;
      Map<String, Object> value = pack(joined(released), released.size(), released.get(0).length);
      runs.add(Map.of("released", Map.of("value", value)));
    }
    return Map.of("runs", runs);
  }

  /** Released, before and noise of every release. */
  static Shown run(Map<String, Object> request, Object outputs) {
    Map<String, Double> q = checked(request);
    Dataset d = datasets.get(request.get("data"));
    double[][] given = outputs == null ? new double[0][] : unpack(outputs);
    Shown run = new Shown(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    for (int k = 0; k < q.get("iterations"); k++) {
      double[] value = before(d.rows, d.labels, run.released, q), added = noise(value.length, q), own = value.clone();
      for (int j = 0; j < own.length; j++) own[j] += added[j];
      run.released.add(k < given.length ? given[k] : own);
      run.befores.add(value);
      run.noises.add(added);
    }
    return run;
  }

  static final Map<String, Function<Map<String, Object>, Object>> handlers =
      Map.of("declare", Adapter::declare, "record", Adapter::record, "trials", Adapter::trials);
