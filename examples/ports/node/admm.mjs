// ssADMM and mpADMM of Chen and Lee 2020 on given batches and noise: a port written from the formulas alone.
import { proximal } from "./proximal.mjs";

// Input that cannot carry a privacy claim.
export class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const need = (good, message, kind = "invalid-parameters") => { if (!good) throw new Refusal(kind, message); };
const positive = (value) => Number.isFinite(value) && value > 0;
const allFinite = (rows) => rows.every((row) => row.every(Number.isFinite));
const shaped = (rows, T, p) => rows?.length === T && rows.every((row) => row.length === p) && allFinite(rows);
const distinct = (list, limit) =>
  new Set(list).size === list.length && list.every((i) => Number.isInteger(i) && i >= 0 && i < limit);

// The largest entry is divided out, so that no square over- or underflows.
export function norm(v) {
  const largest = v.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return largest === 0 ? 0 : largest * Math.sqrt(v.reduce((sum, value) => sum + (value / largest) ** 2, 0));
}

// Intercept first, then rows to the length asked for, then times the label.
function preparedRows({ features, labels, intercept, normalise }) {
  need(features.length && features[0].length && features.length === labels.length, "n x p and n labels", "invalid-data");
  need(allFinite(features), "features must be finite", "invalid-data");
  need(labels.every((label) => Math.abs(label) === 1), "labels must be -1 or 1", "invalid-data");
  return features.map((row, i) => {
    const full = intercept ? [1, ...row] : row, size = norm(full);
    need(Number.isFinite(size), `row ${i} is too long to measure`, "invalid-data");
    const scaled = normalise === undefined || size === 0 ? full : full.map((value) => (value / size) * normalise);
    return scaled.map((value) => value * labels[i]);
  });
}

const OPTIONS = {
  none: () => true,
  l1: () => true,
  "elastic-net": ({ l1_ratio: r }) => r >= 0 && r <= 1,
  "group-l1": ({ groups }, tau, p) =>
    groups?.length > 0 && groups.every((group) => group.length) && distinct(groups.flat(), p),
  nuclear: ({ shape }, tau, p) => shape !== undefined && shape[0] * shape[1] === p,
  scad: ({ a }, tau) => a > 2 && a > 1 + tau,
  mcp: ({ gamma }, tau) => gamma > 1 && gamma > tau,
};

function validate(run, n, p) {
  const { regularizer: reg, rho, clip, normalise, eta, noise, batches, batch } = run;
  need((clip === undefined) !== (normalise === undefined), "exactly one of clip and normalise");
  need(positive(clip ?? normalise) && positive(rho) && eta.every(positive), "clip, normalise, rho, eta must be > 0");
  need(run.sigma >= 0 && reg.lambda >= 0 && Number.isFinite(reg.lambda), "sigma and lambda must be >= 0");
  need(OPTIONS[reg.name](reg, 1 / rho, p), `bad options of ${reg.name}`);
  const noised = run.algorithm === "ssadmm" ? ["gradient"] : run.release === "primal" ? ["x"] : ["x", "y", "z"];
  need(Object.keys(noise).sort().join() === noised.join(), `noise must be for ${noised}`);
  need(noised.every((name) => shaped(noise[name], eta.length, p)), "noise of the wrong shape, or not finite");
  need(!run.initial || shaped(Object.values(run.initial), 3, p), "initial of the wrong length, or not finite");
  if (run.algorithm !== "ssadmm") return;
  need(batch >= 1 && batches.length === eta.length, "one batch an iteration");
  need(batches.every((list) => list.length === batch && distinct(list, n)), `batches of ${batch} distinct records`);
}

// Minus the slope of the loss at a margin; the huberized hinge has h = 1/2.
const PUSH = {
  logistic: (margin) => { const small = Math.exp(-Math.abs(margin)); return (margin > 0 ? small : 1) / (1 + small); },
  huber: (margin) => Math.min(Math.max(1.5 - margin, 0), 1),
};

function meanGradient(run, rows, x, members) {
  const g = x.map(() => 0);
  for (const i of members) {
    const size = norm(rows[i]);
    let weight = PUSH[run.loss](rows[i].reduce((sum, value, j) => sum + value * x[j], 0));
    if (run.clip !== undefined && weight * size > run.clip) weight = run.clip / size;
    rows[i].forEach((value, j) => { g[j] -= weight * value; });
  }
  return g.map((value) => value / members.length);
}

// Every mean gradient and every (x, z, y); throws Refusal where there must be none.
export function replay(run) {
  const rows = preparedRows(run), everyone = [...rows.keys()], p = rows[0].length;
  validate(run, rows.length, p);
  const { rho, noise, release } = run, trace = { gradient: [], x: [], z: [], y: [] };
  const zero = new Array(p).fill(0);
  let { x, z, y } = run.initial ?? { x: zero, z: zero, y: zero };
  for (const [k, eta] of run.eta.entries()) {
    const plus = (v, name) => v.map((value, j) => value + noise[name][k][j]);
    const mean = meanGradient(run, rows, x, run.batches?.[k] ?? everyone);
    const g = release === undefined ? plus(mean, "gradient") : mean;
    x = x.map((value, j) => (-g[j] - y[j] + rho * z[j] + value / eta) / (rho + 1 / eta));
    if (release === "primal") x = plus(x, "x");
    z = proximal(run.regularizer, x.map((value, j) => value + y[j] / rho), rho);
    y = y.map((value, j) => value + rho * (x[j] - z[j]));
    if (release === "all") [x, z, y] = [plus(x, "x"), plus(z, "z"), plus(y, "y")];
    need(allFinite([mean, x, z, y]), `iterate ${k + 1} is not finite`);
    for (const [name, value] of Object.entries({ gradient: mean, x, z, y })) trace[name].push(value);
  }
  return trace;
}
