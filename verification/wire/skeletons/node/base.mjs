#!/usr/bin/env node
// An adapter for dpadmm: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//
// Fill in the lines marked FILL IN with calls of your implementation; below the line of dashes nothing needs to be
// changed. Log with console.error, never with console.log.
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";

const datasets = new Map(); // by name: rows of features, labels

@FACE@

// ---------------------------------------------------------------------------------------------------------------------

// Answered with `error`: its kind, and what is wrong.
class Refused extends Error {
  constructor(kind, message) { super(message); this.kind = kind; }
}

function require(good, message, kind = "invalid-parameters") {
  if (!good) throw new Refused(kind, message);
}

function finite(values) {
  return Array.isArray(values) && values.every(Number.isFinite);
}

// What this adapter does not know must not be ignored.
function known(parameters, names) {
  const unknown = Object.keys(parameters).filter((name) => !names.includes(name));
  require(!unknown.length, `unknown parameters: ${unknown.join(", ")}`);
}

function data({ name, features, labels }) {
  const rows = unpack(features);
  const p = rows[0]?.length;
  require(p && rows.length === labels.length, "features must be n x p, with n labels", "invalid-data");
  const good = rows.every((row) => row.length === p && finite(row)) && finite(labels);
  require(good, "features and labels must be finite, rows of one length", "invalid-data");
  datasets.set(name, { rows, labels });
  return { records: rows.length, columns: p };
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
  require(bytes.length === array.shape.reduce((a, b) => a * b, 8), "base64 and shape do not fit", "invalid-data");
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

const all = { ...handlers, start, data, stop: () => ({}) };
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const request = JSON.parse(line);
  const answer = { id: request.id };
  try {
    const there = request.data === undefined || datasets.has(request.data);
    require(there, `no such data set: ${request.data}`, "invalid-data");
    if (request.request in all) answer.result = all[request.request](request);
    else answer.skipped = { reason: `${request.request} is not offered` };
  } catch (error) {
    if (!error.kind) console.error(error);
    answer.error = { kind: error.kind ?? "internal", message: String(error.message || error) };
  }
  say(JSON.stringify(answer));
  if (request.request === "stop") process.exit(0);
}
