// An adapter for dpadmm: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//
// Fill in the lines marked FILL IN with calls of your implementation; below the line of dashes nothing needs to be
// changed. Log to System.err, never to System.out. No build is needed: java Adapter.java
import java.io.*;
import java.nio.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public class Adapter {
  record Dataset(double[][] rows, double[] labels) {}

  static final Map<String, Dataset> datasets = new HashMap<>();
  static final Random random = new java.security.SecureRandom();

@FACE@

  // -------------------------------------------------------------------------------------------------------------------

  /** Answered with `error`: its kind, and what is wrong. */
  static class Refused extends RuntimeException {
    final String kind;
    Refused(String kind, String message) { super(message); this.kind = kind; }
  }

  static void require(boolean good, String message) { require(good, message, "invalid-parameters"); }

  static void require(boolean good, String message, String kind) { if (!good) throw new Refused(kind, message); }

  /** Thrown by the lines that are not filled in yet. */
  static RuntimeException fillIn(String what) { return new Refused("internal", "FILL IN " + what); }

  static boolean finite(double... values) { return Arrays.stream(values).allMatch(Double::isFinite); }

  /** What this adapter does not know must not be ignored. */
  static void known(Map<String, Object> parameters, List<String> names) {
    for (String name : parameters.keySet()) require(names.contains(name), "unknown parameter: " + name);
  }

  static double number(Map<String, Object> from, String key) {
    boolean good = from.get(key) instanceof Double value && Double.isFinite(value);
    require(good, key + " must be a finite number");
    return (Double) from.get(key);
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> object(Object value) {
    require(value instanceof Map, "an object is missing");
    return (Map<String, Object>) value;
  }

  static double[] flatten(Object value) {
    if (value instanceof Double one) return new double[] {one};
    if (!(value instanceof List<?> parts)) return new double[0];
    return parts.stream().flatMapToDouble(part -> Arrays.stream(flatten(part))).toArray();
  }

  /** Rows of an array of two axes; one of one axis is one row. */
  static double[][] unpack(Object array) { return unpack(array, "invalid-parameters"); }

  static double[][] unpack(Object array, String fault) {
    double[] flat;
    int width;
    if (array instanceof List<?> list) {
      flat = flatten(list);
      width = !list.isEmpty() && list.get(0) instanceof List<?> row ? row.size() : list.size();
    } else {
      Map<String, Object> packed = object(array);
      byte[] raw = Base64.getDecoder().decode((String) packed.getOrDefault("base64", ""));
      double[] shape = flatten(packed.get("shape"));
      double size = Arrays.stream(shape).reduce(8, (a, b) -> a * b);
      require(shape.length > 0 && raw.length == size, "base64 and shape do not fit", fault);
      flat = new double[raw.length / 8];
      ByteBuffer.wrap(raw).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(flat);
      width = (int) shape[shape.length - 1];
    }
    boolean good = width > 0 && flat.length % width == 0;
    require(good, "an array must be there, with rows of one length", fault);
    double[][] rows = new double[flat.length / width][];
    for (int i = 0; i < rows.length; i++) rows[i] = Arrays.copyOfRange(flat, i * width, (i + 1) * width);
    return rows;
  }

  static double[] joined(List<double[]> rows) { return rows.stream().flatMapToDouble(Arrays::stream).toArray(); }

  /** Row-major little-endian float64 in base64, with the shape. */
  static Map<String, Object> pack(double[] values, Integer... shape) {
    ByteBuffer bytes = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (double value : values) bytes.putDouble(value);
    return Map.of("shape", List.of(shape), "base64", Base64.getEncoder().encodeToString(bytes.array()));
  }

  static Object data(Map<String, Object> request) {
    double[][] rows = unpack(request.get("features"), "invalid-data");
    double[] labels = flatten(request.get("labels"));
    require(rows.length == labels.length, "features must be n x p, with n labels", "invalid-data");
    boolean good = finite(joined(List.of(rows))) && finite(labels);
    require(good, "features and labels must be finite", "invalid-data");
    datasets.put((String) request.get("name"), new Dataset(rows, labels));
    return Map.of("records", rows.length, "columns", rows[0].length);
  }

  /** JSON: objects are maps, lists are lists, numbers are doubles. */
  static class Json {
    final String text;
    int at = 0;
    Json(String text) { this.text = text; }

    char peek() {
      while (at < text.length() && text.charAt(at) <= ' ') at++;
      return at < text.length() ? text.charAt(at) : 0;
    }

    String string() {
      StringBuilder out = new StringBuilder();
      for (at++; text.charAt(at) != '"'; at++) {
        if (text.charAt(at) == '\\') at++; // the protocol's own strings need no escapes beyond these
        out.append(text.charAt(at));
      }
      at++;
      return out.toString();
    }

    Object value() {
      char first = peek();
      if (first == '"') return string();
      if (first == '[' || first == '{') {
        Map<String, Object> pairs = new HashMap<>();
        List<Object> list = new ArrayList<>();
        for (at++; peek() != ']' && peek() != '}';) {
          if (peek() == ',') { at++; continue; }
          if (first == '[') { list.add(value()); continue; }
          String key = string();
          peek();
          at++; // the colon
          pairs.put(key, value());
        }
        at++;
        return first == '[' ? list : pairs;
      }
      int start = at;
      while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) at++;
      String word = text.substring(start, at);
      return switch (word) { case "null" -> null; case "true" -> true; case "false" -> false;
        default -> Double.valueOf(word); };
    }

    static String write(Object value) {
      if (value instanceof Map<?, ?> map)
        return map.entrySet().stream().map(e -> write(e.getKey()) + ":" + write(e.getValue()))
            .collect(Collectors.joining(",", "{", "}"));
      if (value instanceof List<?> list)
        return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
      if (value instanceof String string) return '"' + string.replaceAll("[\\\\\"\\p{Cntrl}]", "'") + '"';
      return String.valueOf(value);
    }
  }

  static Map<String, Object> answer(Map<String, Object> request) {
    String what = (String) request.get("request");
    String key = "result";
    Object told;
    try {
      Object name = request.get("data");
      require(name == null || datasets.containsKey(name), "no such data set: " + name, "invalid-data");
      if (what.equals("start")) told = start();
      else if (what.equals("data")) told = data(request);
      else if (what.equals("stop")) told = Map.of();
      else if (handlers.containsKey(what)) told = handlers.get(what).apply(request);
      else { key = "skipped"; told = Map.of("reason", what + " is not offered"); }
    } catch (Refused error) {
      key = "error";
      told = Map.of("kind", error.kind, "message", error.getMessage());
    } catch (RuntimeException error) { // an error becomes an answer, never a crash
      error.printStackTrace();
      key = "error";
      told = Map.of("kind", "internal", "message", error.toString());
    }
    return Map.of("id", ((Double) request.get("id")).longValue(), key, told);
  }

  public static void main(String[] args) throws IOException {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
    var output = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 20);
    for (String line; (line = input.readLine()) != null;) {
      Map<String, Object> request = object(new Json(line).value());
      output.write(Json.write(answer(request)));
      output.newLine();
      output.flush();
      if ("stop".equals(request.get("request"))) return;
    }
  }
}
