const KNOWN = ["iterations", "scale", "bound"]; // the parameters of your claim file; others are refused

// The scale of the noise and the sensitivity that you claim, of every release.
function protection(parameters, records, columns) {
  throw new Error("FILL IN 1: return [scale, sensitivity]");
}

// The next value before its noise, from the records and the values released so far; an array of numbers.
function before(rows, labels, released, parameters) {
  throw new Error("FILL IN 2: return the next value before its noise");
}

// Your own noise: so many numbers.
function noise(size, parameters) {
  throw new Error("FILL IN 3: return the noise of one release");
}

function start() {
  const offered = { declared: ["my-algorithm"], capabilities: ["record", "trials"] };
  return { protocol: 1, name: "my-algorithm", version: "0.1", language: "javascript", ...offered };
}

// What leaves and what protects it (docs/reference/declaration.md); say here what is different in yours.
function declare(request) {
  const q = checked(request);
  const [scale, sensitivity] = protection(q, request.records, request.columns);
  const value = { name: "value", noise: "gaussian", norm: "l2", scale, sensitivity };
  const bound = { kind: "normalise", radius: q.bound };
  return { name: "my-algorithm", neighbours: "replace-one", bound, iterations: q.iterations, values: [value] };
}

function checked({ parameters: q }) {
  known(q, KNOWN);
  require(finite(KNOWN.map((name) => q[name])), `${KNOWN.join(", ")} must be there, and be numbers`);
  require(q.iterations >= 1 && Number.isInteger(q.iterations), "iterations must be a number of releases");
  return q;
}

// One run from the inside; `outputs` are taken as released in place of what the run would release.
function record(request) {
  const { released, befores, noises } = run(request, request.outputs?.value);
  return { values: { value: { released: pack(released), before: pack(befores), noise: pack(noises) } } };
}

// `count` independent runs as in production.
function trials(request) {
  const once = () => ({ released: { value: pack(run(request).released) } });
  return { runs: Array.from({ length: request.count }, once) };
}

// Released, before and noise of every release.
function run(request, outputs) {
  const q = checked(request);
  const { rows, labels } = datasets.get(request.data);
  const given = outputs ? unpack(outputs) : [];
  const [released, befores, noises] = [[], [], []];
  for (let k = 0; k < q.iterations; k++) {
    befores.push(before(rows, labels, released, q));
    noises.push(noise(befores[k].length, q));
    released.push(given[k] ?? befores[k].map((value, j) => value + noises[k][j]));
  }
  return { released, befores, noises };
}

const handlers = { declare, record, trials };
