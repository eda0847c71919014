  /** One run on these records, with your own randomness: every number that leaves it. */
  static double[] train(double[][] rows, double[] labels) {
    throw fillIn("1: return everything that one run releases");
  }

  static Object start() { return Map.of("protocol", 1, "name", "my-algorithm"); }

  /** `count` independent runs. */
  static Object trials(Map<String, Object> request) {
    Dataset d = datasets.get(request.get("data"));
    List<double[]> released = new ArrayList<>();
    for (int i = 0; i < (int) number(request, "count"); i++) released.add(train(d.rows, d.labels));
    return Map.of("released", pack(joined(released), released.size(), released.get(0).length));
  }

  static final Map<String, Function<Map<String, Object>, Object>> handlers = Map.of("trials", Adapter::trials);
