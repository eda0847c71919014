using parameters = std::map<std::string, double>;

// The scale of the noise and the sensitivity that you claim, of every release.
void protection(const parameters &q, std::size_t records, std::size_t columns, double &scale, double &sensitivity) {
  FILL_IN("1: set scale and sensitivity");
}

// The next value before its noise, from the records and the values released so far.
row before(const dataset &d, const rows &released, const parameters &q) {
  FILL_IN("2: return the next value before its noise");
}

// Your own noise: so many numbers.
row noise(std::size_t size, const parameters &q) {
  FILL_IN("3: return the noise of one release");
}

static std::string start() {
  return R"({"protocol":1,"name":"my-algorithm","version":"0.1","language":"c++",)"
         R"("declared":["my-algorithm"],"capabilities":["record","trials"]})";
}

static parameters checked(const json &request) {
  const json &given = request["parameters"];
  known(given, {"iterations", "scale", "bound"});  // the parameters of your claim file; others are refused
  parameters q;
  for (const char *name : {"iterations", "scale", "bound"}) q[name] = number(given, name);
  require(q["iterations"] >= 1 && q["iterations"] == std::floor(q["iterations"]), "iterations must be a number of releases");
  return q;
}

// What leaves and what protects it (docs/reference/declaration.md); say here what is different in yours.
static std::string declare(const json &request) {
  parameters q = checked(request);
  double scale = 0, sensitivity = 0;
  protection(q, static_cast<std::size_t>(number(request, "records")), static_cast<std::size_t>(number(request, "columns")),
             scale, sensitivity);
  std::ostringstream out;
  out.precision(17);
  out << R"({"name":"my-algorithm","neighbours":"replace-one","iterations":)" << q["iterations"]
      << R"(,"bound":{"kind":"normalise","radius":)" << q["bound"]
      << R"(},"values":[{"name":"value","noise":"gaussian","norm":"l2","scale":)" << scale << R"(,"sensitivity":)"
      << sensitivity << "}]}";
  return out.str();
}

// Released, before and noise of every release; `outputs` are taken as released in place of what the run would release.
static std::vector<rows> run(const json &request, const json &outputs) {
  parameters q = checked(request);
  const dataset &d = datasets.at(request["data"].text);
  rows given = outputs.kind == json::nothing ? rows() : unpack(outputs), released, befores, noises;
  for (std::size_t k = 0; static_cast<double>(k) < q["iterations"]; k++) {
    row value = before(d, released, q), added = noise(value.size(), q), own = value;
    for (std::size_t j = 0; j < own.size(); j++) own[j] += added[j];
    released.push_back(k < given.size() ? given[k] : own);
    befores.push_back(value);
    noises.push_back(added);
  }
  return {released, befores, noises};
}

static std::string packed(const rows &all) { return pack(joined(all), {all.size(), all[0].size()}); }

// One run from the inside.
static std::string record(const json &request) {
  std::vector<rows> shown = run(request, request["outputs"]["value"]);
  return "{\"values\":{\"value\":{\"released\":" + packed(shown[0]) + ",\"before\":" + packed(shown[1]) +
         ",\"noise\":" + packed(shown[2]) + "}}}";
}

// `count` independent runs as in production.
static std::string trials(const json &request) {
  std::string runs;
  for (int i = 0; i < number(request, "count"); i++)
    runs += std::string(i ? "," : "") + "{\"released\":{\"value\":" + packed(run(request, json())[0]) + "}}";
  return "{\"runs\":[" + runs + "]}";
}

static const std::map<std::string, std::string (*)(const json &)> handlers = {
    {"declare", declare}, {"record", record}, {"trials", trials}};
