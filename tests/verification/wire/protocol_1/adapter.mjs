#!/usr/bin/env node
// An adapter for dpadmm, protocol 1: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//
// Fill in the three lines marked FILL IN with calls of your implementation, then run:
//     dpadmm adapter smoke -- node adapter.mjs
//     dpadmm conform -- node adapter.mjs
// Log with console.error, never with console.log. Extend `start` when your code can do more.
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";

const datasets = new Map();

// The gradient of the loss at one record, *clipped* to norm parameters.clip; an array of p numbers.
function recordGradient(features, label, x, parameters) {
  const v = label * features.reduce((s, a, i) => s + a * x[i], 0), g = features.map((a) => -label * a / (1 + Math.exp(v))), norm = Math.hypot(...g); return g.map((a) => a * Math.min(1, parameters.clip / norm));
}

// One ADMM iteration from the noisy mean gradient: return the new [x, z, y].
function update(x, z, y, gradient, eta, parameters) {
  const { rho } = parameters, t = parameters.lambda / rho, x1 = x.map((a, i) => (-gradient[i] - y[i] + rho * z[i] + a / eta) / (rho + 1 / eta)), z1 = x1.map((a, i) => Math.max(a + y[i] / rho - t, 0) + Math.min(a + y[i] / rho + t, 0)); return [x1, z1, y.map((d, i) => d + rho * (x1[i] - z1[i]))];
}

// Your own randomness: a batch of `size` of `count` record indices, and `dimension` noise values.
function draw(count, size, dimension, sigma) {
  const u = () => 1 - Math.random(), all = [...Array(count).keys()]; for (let i = 0; i < size; i++) { const j = i + Math.floor(Math.random() * (count - i)); [all[i], all[j]] = [all[j], all[i]]; } return [all.slice(0, size), Array.from({ length: dimension }, () => sigma * Math.sqrt(-2 * Math.log(u())) * Math.cos(2 * Math.PI * u()))];
}

const handlers = {
  start: () => ({
    protocol: 1,
    name: "my-admm",
    version: "0.1",
    language: "javascript",
    algorithms: ["ssadmm"],
    losses: ["logistic"],
    regularizers: ["l1"],
    capabilities: ["replay", "trials", "every-iterate", "clip", "initial"],
    // Every value that leaves your implementation, honestly: what is not listed cannot be checked.
    released: { ssadmm: ["x", "z", "y"] },
  }),

  data: ({ name, features, labels }) => {
    const rows = unpack(features);
    datasets.set(name, { rows, labels });
    return { records: rows.length, columns: rows[0].length };
  },

  // Batches and noise come with the request; nothing here may be random.
  replay: (request) => {
    const noise = unpack(request.noise.gradient);
    return packRun(run(request, request.batches.map((batch, k) => [batch, noise[k]])));
  },

  // `count` independent runs with the implementation's own batches and noise.
  trials: (request) => {
    const { parameters } = request;
    const { rows } = datasets.get(request.data);
    const runs = [];
    for (let trial = 0; trial < request.count; trial++) {
      const draws = parameters.eta.map(() => draw(rows.length, parameters.batch, rows[0].length, parameters.sigma));
      const iterates = run(request, draws);
      runs.push(request.show === "last" ? iterates.at(-1) : iterates);
    }
    return packRun(runs);
  },

  stop: () => ({}),
};

// All iterates {x, z, y}, for given batches and noise.
function run(request, draws) {
  const { parameters } = request;
  const { rows, labels } = datasets.get(request.data);
  const p = rows[0].length;
  let [x, z, y] = ["x", "z", "y"].map((name) =>
    parameters.initial ? unpack(parameters.initial[name]) : new Array(p).fill(0));
  return draws.map(([batch, noise], k) => {
    const mean = noise.slice();
    for (const i of batch)
      recordGradient(rows[i], labels[i], x, parameters).forEach((value, j) => { mean[j] += value / batch.length; });
    [x, z, y] = update(x, z, y, mean, parameters.eta[k], parameters);
    return { x, z, y };
  });
}

function packRun(iterates) {
  const pick = (nested, name) => (Array.isArray(nested) ? nested.map((part) => pick(part, name)) : nested[name]);
  return Object.fromEntries(["x", "z", "y"].map((name) => [name, pack(pick(iterates, name))]));
}

// Nested arrays to row-major little-endian float64 in base64, with the shape.
function pack(nested) {
  const shape = [];
  for (let level = nested; Array.isArray(level); level = level[0]) shape.push(level.length);
  const flat = nested.flat(shape.length);
  const bytes = Buffer.alloc(8 * flat.length);
  flat.forEach((value, i) => bytes.writeDoubleLE(value, 8 * i));
  return { shape, base64: bytes.toString("base64") };
}

// A packed array, or one that is nested arrays already, to nested arrays.
function unpack(array) {
  if (Array.isArray(array)) return array;
  const bytes = Buffer.from(array.base64, "base64");
  let flat = Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(8 * i));
  for (const width of array.shape.slice(1).reverse())
    flat = Array.from({ length: flat.length / width }, (_, i) => flat.slice(i * width, (i + 1) * width));
  return flat;
}

// A pipe may take part of a long line, or ask to be tried again.
function say(text) {
  let rest = Buffer.from(text + "\n");
  while (rest.length) {
    try { rest = rest.subarray(writeSync(1, rest)); } catch (error) { if (error.code !== "EAGAIN") throw error; }
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const request = JSON.parse(line);
  const answer = { id: request.id };
  try {
    if (request.data !== undefined && !datasets.has(request.data))
      answer.error = { kind: "invalid-data", message: `no such data set: ${request.data}` };
    else answer.result = handlers[request.request](request);
  } catch (error) {
    console.error(error);
    answer.error = { kind: "internal", message: String(error.message || error) };
  }
  say(JSON.stringify(answer));
  if (request.request === "stop") process.exit(0);
}
