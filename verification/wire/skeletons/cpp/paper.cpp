struct parameters {
  double lambda, rho, sigma, clip;
  std::size_t batch;
  row eta;
};

// The gradient of the loss at one record, *clipped* to norm q.clip; p numbers.
row record_gradient(const row &features, double label, const row &x, const parameters &q) {
  FILL_IN("1: return one record's clipped gradient");
}

// One ADMM iteration from the noisy mean gradient: change x, z, y in place.
void update(row &x, row &z, row &y, const row &gradient, double eta, const parameters &q) {
  FILL_IN("2: update x, z, y");
}

// Your own randomness: q.batch of `count` record indices, and `dimension` noise values.
void draw(std::size_t count, std::size_t dimension, const parameters &q, std::vector<std::size_t> &batch, row &noise) {
  FILL_IN("3: set the batch and the noise of one iteration");
}

static std::string start() {
  // Extend this when your code can do more (mpadmm, other losses, seed, ...). `released`: every value that leaves your
  // implementation, honestly; what is not listed cannot be checked.
  return R"({"protocol":1,"name":"my-admm","version":"0.1","language":"c++",)"
         R"("algorithms":["ssadmm"],"losses":["logistic"],"regularizers":["l1"],)"
         R"("capabilities":["replay","trials","every-iterate","clip","initial"],)"
         R"("released":{"ssadmm":["x","z","y"]}})";
}

// The parameters, the records, and where to start, if all of it makes sense.
struct setting {
  parameters q;
  const dataset &d;
  rows initial;
  std::size_t columns;
};

static setting checked(const json &request) {
  const json &v = request["parameters"];
  const dataset &d = datasets.at(request["data"].text);
  known(v, {"loss", "regularizer", "lambda", "options", "rho", "eta", "iterations", "batch", "sigma", "clip", "intercept",
            "initial"});
  bool offered = request["algorithm"].text == "ssadmm" && v["loss"].text == "logistic" && v["regularizer"].text == "l1";
  require(offered && !(v["intercept"].kind == json::boolean && v["intercept"].value != 0),
          "offered is ssadmm with logistic loss and l1, without intercept");
  double size = number(v, "batch"), most = static_cast<double>(d.labels.size());
  require(size >= 1 && size <= most && size == std::floor(size), "batch must lie in 1..n");
  parameters q{number(v, "lambda"), number(v, "rho"), number(v, "sigma"), number(v, "clip"), static_cast<std::size_t>(size),
               joined(unpack(v["eta"]))};
  require(q.rho > 0 && q.clip > 0 && q.lambda >= 0 && q.sigma >= 0, "rho, clip > 0; lambda, sigma >= 0");
  bool steps = finite(q.eta) && static_cast<double>(q.eta.size()) == number(v, "iterations");
  for (double eta : q.eta) steps = steps && eta > 0;
  require(steps, "eta must hold a step size > 0 for every iteration");
  for (double label : d.labels) require(std::fabs(label) == 1, "labels must be -1 or 1", "invalid-data");
  std::size_t columns = d.features[0].size();
  rows initial(3, row(columns));
  for (std::size_t i = 0; i < 3; i++) {
    if (v["initial"].kind == json::object) initial[i] = joined(unpack(v["initial"][std::string(1, "xzy"[i])]));
    require(initial[i].size() == columns && finite(initial[i]), "initial points must be finite, one entry a column");
  }
  return {q, d, initial, columns};
}

using drawing = std::function<void(std::size_t, std::vector<std::size_t> &, row &)>;

// All iterates x, z, y, or the last ones, for given batches and noise.
static rows run(const setting &s, std::size_t count, bool last, const drawing &drawn) {
  rows all(3);
  for (; count > 0; count--) {
    rows state = s.initial;
    for (std::size_t k = 0; k < s.q.eta.size(); k++) {
      std::vector<std::size_t> batch;
      row mean;
      drawn(k, batch, mean);
      row g = mean;
      for (std::size_t i : batch) {
        row one = record_gradient(s.d.features[i], s.d.labels[i], state[0], s.q);
        for (std::size_t j = 0; j < g.size(); j++) g[j] += one[j] / static_cast<double>(batch.size());
      }
      update(state[0], state[1], state[2], g, s.q.eta[k], s.q);
      for (std::size_t i = 0; i < 3 && (!last || k + 1 == s.q.eta.size()); i++)
        all[i].insert(all[i].end(), state[i].begin(), state[i].end());
    }
  }
  return all;
}

static std::string packed(const rows &all, std::initializer_list<std::size_t> shape) {
  return "{\"x\":" + pack(all[0], shape) + ",\"z\":" + pack(all[1], shape) + ",\"y\":" + pack(all[2], shape) + "}";
}

// Batches and noise come with the request; nothing here may be random.
static std::string replay(const json &request) {
  setting s = checked(request);
  rows batches = unpack(request["batches"]), noise = unpack(request["noise"]["gradient"]);
  std::size_t steps = s.q.eta.size();
  require(batches.size() == steps && batches[0].size() == s.q.batch, "batches must have the size of the parameters");
  require(noise.size() == steps && noise[0].size() == s.columns && finite(joined(noise)),
          "noise must be finite, of shape iterations x columns");
  std::vector<std::vector<std::size_t>> chosen;
  for (const row &batch : batches) {
    std::set<double> distinct(batch.begin(), batch.end());
    bool good = distinct.size() == batch.size();
    for (double i : batch) good = good && i >= 0 && i < static_cast<double>(s.d.labels.size()) && i == std::floor(i);
    require(good, "batches must hold distinct records");
    chosen.emplace_back(batch.begin(), batch.end());
  }
  rows all = run(s, 1, false, [&](std::size_t k, std::vector<std::size_t> &batch, row &mean) {
    batch = chosen[k];
    mean = noise[k];
  });
  return packed(all, {steps, s.columns});
}

// `count` independent runs with the implementation's own batches and noise.
static std::string trials(const json &request) {
  setting s = checked(request);
  auto count = static_cast<std::size_t>(number(request, "count"));
  bool last = request["show"].text == "last";
  rows all = run(s, count, last, [&](std::size_t, std::vector<std::size_t> &batch, row &mean) {
    draw(s.d.labels.size(), s.columns, s.q, batch, mean);
  });
  return last ? packed(all, {count, s.columns}) : packed(all, {count, s.q.eta.size(), s.columns});
}

static const std::map<std::string, std::string (*)(const json &)> handlers = {{"replay", replay}, {"trials", trials}};
