#!/usr/bin/env node
// An honest implementation of ssADMM and mpADMM behind the adapter protocol, version 1 (docs/reference/protocol.md).
//     dpadmm conform -- node adapter.mjs
import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { iterate, LOSSES, prepare, Refusal, REGULARIZERS, sigmas } from "./admm.mjs";
import { Random } from "./random.mjs";
import { validateParameters, validateRecords, validateReplay } from "./validate.mjs";

const NAMES = ["x", "z", "y"];
const datasets = new Map();

const handlers = {
  start: () => ({
    protocol: 1,
    name: "admm in JavaScript",
    version: "1",
    language: "javascript",
    algorithms: ["ssadmm", "mpadmm"],
    losses: LOSSES,
    regularizers: REGULARIZERS,
    capabilities: ["replay", "trials", "every-iterate", "seed", "clip", "normalise", "intercept", "initial",
      "primal-release", "noise-multiplier"],
    released: { ssadmm: NAMES, mpadmm: NAMES },
  }),

  data: ({ name, features, labels }) => {
    const rows = unpack(features);
    validateRecords(rows, labels);
    datasets.set(name, { rows, labels });
    return { records: rows.length, columns: rows[0].length };
  },

  replay: (request) => {
    const { parameters: q } = request;
    const data = prepare(datasets.get(request.data), q);
    const noise = Object.fromEntries(Object.entries(request.noise).map(([name, array]) => [name, unpack(array)]));
    const initial = q.initial && Object.fromEntries(NAMES.map((name) => [name, unpack(q.initial[name])]));
    validateReplay(q, request.batches, noise, initial, data.labels.length, data.records[0].s.length);
    const everyone = data.labels.map((_, i) => i);
    const path = run(data, q, (k) => ({
      members: request.batches?.[k] ?? everyone,
      noise: Object.fromEntries(Object.entries(noise).map(([name, rows]) => [name, rows[k]])),
    }));
    const shape = [path.length, path[0].x.length];
    return Object.fromEntries(NAMES.map((name) => [name, pack(path.flatMap((state) => state[name]), shape)]));
  },

  trials: (request) => {
    const { parameters: q, count } = request;
    const data = prepare(datasets.get(request.data), q);
    const [n, p, T] = [data.labels.length, data.records[0].s.length, q.eta.length];
    const last = request.show === "last";
    const shape = last ? [count, p] : [count, T, p];
    const out = Object.fromEntries(NAMES.map((name) => [name, new Float64Array(shape.reduce((a, b) => a * b))]));
    const key = keyOf(request.seed);
    const deviations = sigmas(q, n);
    const noised = q.batch !== undefined ? ["gradient"] : q.release === "primal" ? ["x"] : ["x", "y", "z"];
    const everyone = data.labels.map((_, i) => i);
    let place = 0;
    for (let trial = 0; trial < count; trial++) {
      const random = new Random(key, trial);
      const path = run(data, q, (k) => ({
        members: q.batch === undefined ? everyone : random.subset(n, q.batch),
        noise: Object.fromEntries(noised.map((name) =>
          [name, Array.from({ length: p }, () => deviations[k] * random.normal())])),
      }));
      for (const state of last ? path.slice(-1) : path) {
        for (const name of NAMES) out[name].set(state[name], place);
        place += p;
      }
    }
    return Object.fromEntries(NAMES.map((name) => [name, pack(out[name], shape)]));
  },

  stop: () => ({}),
};

// All iterates; `draw(k)` gives the batch and noise of iteration k.
function run(data, q, draw) {
  const p = data.records[0].s.length;
  let state = Object.fromEntries(NAMES.map((name) =>
    [name, q.initial ? unpack(q.initial[name]) : new Array(p).fill(0)]));
  return q.eta.map((eta, k) => {
    const { members, noise } = draw(k);
    state = iterate(data, q, members, state, eta, noise);
    if (!NAMES.every((name) => state[name].every(Number.isFinite)))
      throw new Refusal("invalid-parameters", `iterate ${k + 1} is not finite`);
    return state;
  });
}

// A key of its own for every seed; without one, 256 bits of the system's entropy.
function keyOf(seed) {
  if (seed === undefined) {
    const bytes = randomBytes(32);
    return Array.from({ length: 8 }, (_, i) => bytes.readInt32LE(4 * i));
  }
  return [seed | 0, Math.floor(seed / 2 ** 32) | 0, 0x64706164, 0x6d6d, 1, 2, 3, 4];
}

function pack(flat, shape) {
  const values = Float64Array.from(flat);
  return { shape, base64: Buffer.from(values.buffer).toString("base64") }; // little-endian machines
}

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
      throw new Refusal("invalid-data", `no such data set: ${request.data}`);
    if (request.parameters !== undefined) validateParameters(request.parameters);
    answer.result = handlers[request.request](request);
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    answer.error = { kind: error.kind ?? "internal", message: String(error.message || error) };
  }
  say(JSON.stringify(answer));
  if (request.request === "stop") process.exit(0);
}
