// ssADMM and mpADMM of Chen and Lee 2020, in plain arrays.

export class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const dot = (a, b) => a.reduce((sum, value, j) => sum + value * b[j], 0);

// Minus the slope of the loss at a margin.
const PUSH = {
  logistic: (margin) => (margin > 0 ? Math.exp(-margin) / (1 + Math.exp(-margin)) : 1 / (1 + Math.exp(margin))),
  huber: (margin) => Math.min(1, Math.max(0, 1.5 - margin)), // h = 1/2
};

const soften = (w, t) => Math.sign(w) * Math.max(Math.abs(w) - t, 0);

const PROXIMAL = {
  none: (w) => w,
  l1: (w, q) => w.map((value) => soften(value, q.lambda / q.rho)),
  "elastic-net": (w, q) => {
    const t = q.lambda / q.rho, r = q.options.l1_ratio;
    return w.map((value) => soften(value, t * r) / (1 + t * (1 - r)));
  },
  scad: (w, q) => {
    const { lambda, options: { a } } = q, tau = 1 / q.rho;
    if (!(a > 1 + tau)) throw new Refusal("invalid-parameters", `scad needs a > 1 + 1/rho, got a=${a}`);
    return w.map((value) => {
      const size = Math.abs(value);
      if (size > a * lambda) return value;
      if (size <= lambda * (1 + tau)) return soften(value, tau * lambda);
      return ((a - 1) * value - Math.sign(value) * a * lambda * tau) / (a - 1 - tau);
    });
  },
  mcp: (w, q) => {
    const { lambda, options: { gamma } } = q, tau = 1 / q.rho;
    if (!(gamma > tau)) throw new Refusal("invalid-parameters", `mcp needs gamma > 1/rho, got gamma=${gamma}`);
    return w.map((value) =>
      Math.abs(value) > gamma * lambda ? value : soften(value, tau * lambda) / (1 - tau / gamma));
  },
};

export const LOSSES = Object.keys(PUSH);
export const REGULARIZERS = Object.keys(PROXIMAL);

// How far the proximal map can stretch a distance; 1 for the convex ones.
function stretch(q) {
  const tau = 1 / q.rho;
  if (q.regularizer === "scad") return (q.options.a - 1) / (q.options.a - 1 - tau);
  if (q.regularizer === "mcp") return q.options.gamma / (q.options.gamma - tau);
  return 1;
}

// The intercept goes in front, and counts when a row is normalised.
export function prepare({ rows, labels }, q) {
  const prepared = rows.map((row, i) => {
    const full = q.intercept ? [1, ...row] : row;
    const norm = Math.hypot(...full);
    if (!Number.isFinite(norm)) throw new Refusal("invalid-data", `row ${i} is too long to measure`);
    if (q.normalise === undefined || norm <= q.normalise) return { s: full, norm };
    return { s: full.map((value) => (value / norm) * q.normalise), norm: q.normalise };
  });
  return { records: prepared, labels };
}

function gradient({ records, labels }, q, members, x) {
  const sum = new Array(x.length).fill(0);
  for (const i of members) {
    const { s, norm } = records[i];
    let weight = PUSH[q.loss](labels[i] * dot(s, x));
    if (q.clip !== undefined) weight = Math.min(weight, q.clip / norm);
    if (norm > 0) s.forEach((value, j) => { sum[j] -= weight * labels[i] * value; });
  }
  return sum.map((value) => value / members.length);
}

const plus = (a, b) => (b === undefined ? a : a.map((value, j) => value + b[j]));

// One iteration: `noise` has `gradient` (ssADMM), `x` (release primal) or `x`, `z`, `y` (release all).
export function iterate(data, q, members, { x, z, y }, eta, noise) {
  const g = plus(gradient(data, q, members, x), noise.gradient);
  const weight = 1 / (q.rho + 1 / eta);
  let x1 = x.map((value, j) => weight * (value / eta + q.rho * z[j] - y[j] - g[j]));
  const primal = noise.z === undefined;
  if (primal) x1 = plus(x1, noise.x);
  const z1 = PROXIMAL[q.regularizer](x1.map((value, j) => value + y[j] / q.rho), q);
  const y1 = y.map((value, j) => value + q.rho * (x1[j] - z1[j]));
  return primal ? { x: x1, z: z1, y: y1 } : { x: plus(x1, noise.x), z: plus(z1, noise.z), y: plus(y1, noise.y) };
}

// The deviation of each iteration's noise: given, or the multiplier times the sensitivity (one record replaced).
export function sigmas(q, n) {
  if (q.sigma !== undefined) return q.eta.map(() => q.sigma);
  const C = q.clip ?? q.normalise;
  if (q.batch !== undefined) return q.eta.map(() => (q.noise_multiplier * 2 * C) / q.batch);
  const L = stretch(q), rho2 = q.rho ** 2;
  const joint = q.release === "all" ? Math.sqrt(1 + Math.max(rho2, L ** 2 + rho2 * (L - 1) ** 2)) : 1;
  return q.eta.map((eta) => (q.noise_multiplier * joint * 2 * C * eta) / (n * (1 + eta * q.rho)));
}
