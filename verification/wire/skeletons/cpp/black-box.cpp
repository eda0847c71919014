// One run on these records, with your own randomness: every number that leaves it.
row train(const rows &features, const row &labels) {
  FILL_IN("1: return everything that one run releases");
}

static std::string start() { return R"({"protocol":1,"name":"my-algorithm"})"; }

// `count` independent runs.
static std::string trials(const json &request) {
  const dataset &d = datasets.at(request["data"].text);
  rows released;
  for (int i = 0; i < number(request, "count"); i++) released.push_back(train(d.features, d.labels));
  require(!released.empty(), "count must be at least 1");
  return "{\"released\":" + pack(joined(released), {released.size(), released[0].size()}) + "}";
}

static const std::map<std::string, std::string (*)(const json &)> handlers = {{"trials", trials}};
