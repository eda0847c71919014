// An adapter for dpadmm: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//
// Fill in the lines marked FILL_IN with calls of your implementation; below the line of dashes nothing needs to be
// changed. Log to std::cerr, never to std::cout. Build: c++ -std=c++17 -O2 -o adapter adapter.cpp
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using row = std::vector<double>;
using rows = std::vector<row>;

struct dataset {
  rows features;
  row labels;
};

// A value of JSON; of an object, `parts` are the members.
struct json {
  enum { nothing, boolean, numeric, string, list, object } kind = nothing;
  double value = 0;
  std::string text;
  std::vector<json> items;
  std::map<std::string, json> parts;

  const json &operator[](const std::string &key) const {
    static const json missing;
    auto found = parts.find(key);
    return found == parts.end() ? missing : found->second;
  }
};

// Answered with `error`: its kind, and what is wrong.
struct refused : std::runtime_error {
  std::string kind;
  refused(const std::string &of, const std::string &message) : std::runtime_error(message), kind(of) {}
};

inline void require(bool good, const std::string &message, const std::string &kind = "invalid-parameters") {
  if (!good) throw refused(kind, message);
}
#define FILL_IN(what) throw refused("internal", "FILL IN " what)

double uniform();  // in (0, 1), from the system's entropy
double normal();
bool finite(const row &values);
double number(const json &from, const std::string &key);                            // finite, or an error
void known(const json &parameters, std::initializer_list<const char *> names);      // others are refused
row flatten(const json &array);                                                     // all numbers of nested lists
rows unpack(const json &array, const std::string &kind = "invalid-parameters");     // of an array of two axes
row joined(const rows &from);
std::string pack(const row &values, std::initializer_list<std::size_t> shape);      // an array, as JSON
extern std::map<std::string, dataset> datasets;

@FACE@

// ---------------------------------------------------------------------------------------------------------------------

std::map<std::string, dataset> datasets;

double uniform() {
  static std::random_device source;  // 32 bits each
  std::uint64_t word = (static_cast<std::uint64_t>(source()) << 32) | source();
  return (static_cast<double>(word >> 11) + 0.5) / 9007199254740992.0;
}

double normal() {
  double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

bool finite(const row &values) {
  for (double value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

double number(const json &from, const std::string &key) {
  const json &found = from[key];
  require(found.kind == json::numeric && std::isfinite(found.value), key + " must be a finite number");
  return found.value;
}

void known(const json &parameters, std::initializer_list<const char *> names) {
  std::set<std::string> all(names.begin(), names.end());
  for (const auto &part : parameters.parts) require(all.count(part.first) > 0, "unknown parameter: " + part.first);
}

row flatten(const json &array) {
  row out;
  if (array.kind == json::numeric) out.push_back(array.value);
  for (const json &item : array.items)
    for (double value : flatten(item)) out.push_back(value);
  return out;
}

static const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

rows unpack(const json &array, const std::string &kind) {
  row flat;
  std::size_t width = 0;
  if (array.kind == json::list) {
    flat = flatten(array);
    bool nested = !array.items.empty() && array.items[0].kind == json::list;
    width = nested ? array.items[0].items.size() : array.items.size();
  } else if (array.kind == json::object) {
    std::string bytes;
    std::uint32_t bits = 0;
    int have = 0;
    for (char letter : array["base64"].text) {
      if (letter == '=') break;
      std::size_t found = alphabet.find(letter);
      require(found != std::string::npos, "not base64", kind);
      bits = bits << 6 | static_cast<std::uint32_t>(found);
      if ((have += 6) >= 8) bytes.push_back(static_cast<char>(bits >> (have -= 8) & 255));
    }
    double size = sizeof(double);
    for (double axis : flatten(array["shape"])) {
      size *= axis;
      width = axis >= 0 ? static_cast<std::size_t>(axis) : 0;
    }
    require(static_cast<double>(bytes.size()) == size, "base64 and shape do not fit", kind);
    flat.resize(bytes.size() / sizeof(double));
    if (!flat.empty()) std::memcpy(flat.data(), bytes.data(), bytes.size());  // little-endian machines
  }
  require(width > 0 && flat.size() % width == 0, "an array must be there, with rows of one length", kind);
  rows out;
  for (std::size_t i = 0; i < flat.size(); i += width)
    out.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(i), flat.begin() + static_cast<std::ptrdiff_t>(i + width));
  return out;
}

row joined(const rows &from) {
  row out;
  for (const row &part : from) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::string pack(const row &values, std::initializer_list<std::size_t> shape) {
  std::string axes, code, bytes(values.size() * sizeof(double), '\0');
  if (!values.empty()) std::memcpy(&bytes[0], values.data(), bytes.size());
  for (std::size_t axis : shape) axes += (axes.empty() ? "" : ",") + std::to_string(axis);
  auto byte = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    code += {alphabet[word >> 18], alphabet[word >> 12 & 63], alphabet[word >> 6 & 63], alphabet[word & 63]};
  }
  std::size_t missing = (3 - bytes.size() % 3) % 3;
  code.replace(code.size() - missing, missing, missing, '=');
  return "{\"shape\":[" + axes + "],\"base64\":\"" + code + "\"}";
}

// A reader of JSON; the protocol's own strings need no escapes beyond these.
struct reader {
  const std::string &text;
  std::size_t at = 0;

  char next() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) at++;
    return at < text.size() ? text[at] : '\0';
  }

  std::string quoted() {
    std::string out;
    for (at++; at < text.size() && text[at] != '"'; at++) out += text[at] == '\\' && at + 1 < text.size() ? text[++at] : text[at];
    at++;
    return out;
  }

  json parse() {
    json out;
    char first = next();
    if (first == '"') {
      out.kind = json::string;
      out.text = quoted();
    } else if (first == '[' || first == '{') {
      out.kind = first == '{' ? json::object : json::list;
      at++;
      while (next() && next() != ']' && next() != '}') {
        if (next() == ',') {
          at++;
        } else if (out.kind == json::list) {
          out.items.push_back(parse());
        } else {
          std::string key = quoted();
          require(next() == ':', "not JSON");
          at++;
          out.parts[key] = parse();
        }
      }
      at++;
    } else if (first == 't' || first == 'f' || first == 'n') {
      out.kind = first == 'n' ? json::nothing : json::boolean;
      out.value = first == 't';
      while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at]))) at++;
    } else {
      char *end = nullptr;
      out.kind = json::numeric;
      out.value = std::strtod(text.c_str() + at, &end);
      require(end != text.c_str() + at, "not JSON");
      at = static_cast<std::size_t>(end - text.c_str());
    }
    return out;
  }
};

static std::string keep(const json &request) {
  const std::string bad = "invalid-data";
  rows features = unpack(request["features"], bad);
  row labels = request["labels"].kind == json::object ? joined(unpack(request["labels"], bad)) : flatten(request["labels"]);
  require(features.size() == labels.size(), "features must be n x p, with n labels", bad);
  require(finite(joined(features)) && finite(labels), "features and labels must be finite", bad);
  std::size_t columns = features[0].size();
  datasets[request["name"].text] = {features, labels};
  return "{\"records\":" + std::to_string(labels.size()) + ",\"columns\":" + std::to_string(columns) + "}";
}

static std::string answer(const json &request) {
  const std::string what = request["request"].text;
  if (request["data"].kind == json::string)
    require(datasets.count(request["data"].text) > 0, "no such data set", "invalid-data");
  if (what == "start") return "\"result\":" + start();
  if (what == "data") return "\"result\":" + keep(request);
  if (what == "stop") return "\"result\":{}";
  auto handler = handlers.find(what);
  if (handler == handlers.end()) return "\"skipped\":{\"reason\":\"not offered\"}";
  return "\"result\":" + handler->second(request);
}

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    json request;
    std::string said;
    auto failed = [&](const std::string &kind, const std::string &message) {  // an error becomes an answer, never a crash
      said = "\"error\":{\"kind\":\"" + kind + "\",\"message\":\"" + message + "\"}";
    };
    try {
      request = reader{line}.parse();
      said = answer(request);
    } catch (const refused &cause) {
      failed(cause.kind, cause.what());
    } catch (const std::exception &) {
      failed("internal", "an exception of the standard library");
    }
    std::ostringstream id;
    id << static_cast<long long>(request["id"].value);
    std::cout << "{\"id\":" << id.str() << "," << said << "}" << std::endl;
    if (request["request"].text == "stop") break;
  }
  return 0;
}
