// node check.mjs FILE...: plays golden vectors and compares every intermediate value.
// Exit status: 0 all pass, 1 a case fails, 2 a file is broken, 3 nothing was checked.
import { readFileSync } from "node:fs";
import { Refusal, replay } from "./admm.mjs";

class Broken extends Error {}

const view = new DataView(new ArrayBuffer(8));
const fromBits = (hex) => { view.setBigUint64(0, BigInt(`0x${hex}`)); return view.getFloat64(0); };
const toBits = (value) => { view.setFloat64(0, value); return view.getBigUint64(0).toString(16).padStart(16, "0"); };
const WORDS = { inf: Infinity, "-inf": -Infinity, nan: NaN };

// ["0.1", "3fb999999999999a"]: both forms must be the same number, bit for bit.
function number(pair) {
  if (pair === undefined) return undefined;
  const [decimal, hex] = pair;
  const value = decimal in WORDS ? WORDS[decimal] : Number(decimal);
  if (toBits(value) !== hex) throw new Broken(`${decimal} is not the number with bits ${hex}`);
  return value;
}
const vector = (pairs) => pairs.map(number);
const matrix = (rows) => rows.map(vector);
const each = (object, read) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, read(value)]));

function read(test) {
  const { lambda, l1_ratio, a, gamma } = test.regularizer;
  return {
    ...test,
    regularizer: { ...test.regularizer, ...each({ lambda, l1_ratio, a, gamma }, number) },
    rho: number(test.rho),
    sigma: number(test.sigma),
    clip: number(test.clip),
    normalise: number(test.normalise),
    eta: vector(test.eta),
    features: matrix(test.features),
    noise: each(test.noise, matrix),
    initial: test.initial && each(test.initial, vector),
  };
}

// The place of a finite number in the order of doubles; both zeros have place 0.
function order(value) {
  view.setFloat64(0, Math.abs(value));
  const magnitude = view.getBigInt64(0);
  return value < 0 ? -magnitude : magnitude;
}

function admits(expected, got) {
  const nearest = fromBits(expected.bits);
  if (order(Number(expected.exact)) !== order(nearest)) throw new Broken(`${expected.exact} does not round to its bits`);
  if (!Number.isFinite(got)) return false;
  if (expected.kind === "enclosure") return number(expected.low) <= got && got <= number(expected.high);
  const steps = order(got) - order(nearest), most = BigInt(expected.ulp ?? 0);
  return -most <= steps && steps <= most;
}

// What is wrong with a case; empty if nothing is.
function play(test) {
  let trace;
  try {
    trace = replay(read(test));
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return test.error?.kinds.includes(refusal.kind) ? "" : `refused as ${refusal.kind}: ${refusal.message}`;
  }
  if (test.error) return `accepted what must be refused: ${test.error.about}`;
  for (const k of test.eta.keys())
    for (const name of ["gradient", "x", "z", "y"])
      for (const [j, value] of test.expected[name][k].entries())
        if (!admits(value, trace[name][k][j]))
          return `${name}[${j}] after iteration ${k + 1} is ${trace[name][k][j]}, expected ${value.exact} (${value.kind})`;
  return "";
}

function load(path) {
  const file = JSON.parse(readFileSync(path, "utf8"));
  if (file.format !== "dpadmm-vectors" || file.version !== 1) throw new Broken("not dpadmm-vectors of version 1");
  if (file.cases.length !== file.count) throw new Broken("cases are missing");
  return file.cases;
}

let passed = 0, failed = 0;
for (const path of process.argv.slice(2)) {
  try {
    for (const test of load(path)) {
      const wrong = play(test);
      if (wrong) console.log(`failed ${test.id}: ${wrong}`);
      if (wrong) failed += 1; else passed += 1;
    }
  } catch (error) {
    if (!(error instanceof Broken || error instanceof SyntaxError || error.code)) throw error;
    console.error(`${path}: ${error.message}`);
    process.exit(2);
  }
}
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : passed ? 0 : 3;
