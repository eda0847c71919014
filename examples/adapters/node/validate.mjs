// What must be refused before anything is computed: input that cannot carry a privacy claim.
import { Refusal } from "./admm.mjs";

function require(good, message) {
  if (!good) throw new Refusal("invalid-parameters", message);
}
const positive = (value) => Number.isFinite(value) && value > 0;

export function validateRecords(rows, labels) {
  const refuse = (message) => { throw new Refusal("invalid-data", message); };
  if (!rows.length || !rows[0].length || rows.length !== labels.length)
    refuse(`features must be n x p with n labels, got ${rows.length} rows and ${labels.length} labels`);
  rows.forEach((row, i) => { if (!row.every(Number.isFinite)) refuse(`features must be finite, row ${i} is not`); });
  if (!labels.every((label) => Math.abs(label) === 1)) refuse("labels must be -1 or 1");
}

const OPTIONS = {
  "elastic-net": ({ l1_ratio: r }) => r >= 0 && r <= 1,
  scad: ({ a }, tau) => a > 2 && a > 1 + tau,
  mcp: ({ gamma }, tau) => gamma > 1 && gamma > tau,
};

export function validateParameters(q) {
  require((q.clip === undefined) !== (q.normalise === undefined), "exactly one of clip and normalise");
  require(positive(q.clip ?? q.normalise), "clip or normalise must be > 0");
  require((q.sigma === undefined) !== (q.noise_multiplier === undefined), "exactly one of sigma and noise_multiplier");
  require((q.sigma ?? q.noise_multiplier) >= 0, "sigma must be >= 0");
  require(positive(q.rho), `rho must be > 0, got ${q.rho}`);
  require(q.lambda >= 0 && Number.isFinite(q.lambda), `lambda must be >= 0, got ${q.lambda}`);
  require(q.eta.length === q.iterations && q.eta.every(positive), "eta must hold a step > 0 for every iteration");
  const fits = OPTIONS[q.regularizer];
  require(fits === undefined || fits(q.options, 1 / q.rho), `${q.regularizer} with options ${JSON.stringify(q.options)}`);
}

const NOISED = (q) => (q.batch !== undefined ? ["gradient"] : q.release === "primal" ? ["x"] : ["x", "y", "z"]);
const hasShape = (rows, T, p) => rows.length === T && rows.every((row) => row.length === p);

export function validateReplay(q, batches, noise, initial, n, p) {
  const T = q.eta.length;
  require(Object.keys(noise).sort().join() === NOISED(q).join(), `noise must be for ${NOISED(q)}`);
  require(Object.values(noise).every((rows) => hasShape(rows, T, p)), `noise must have shape ${T} x ${p}`);
  require(Object.values(initial ?? {}).every((point) => point.length === p), `initial must have ${p} entries`);
  if (q.batch === undefined) return;
  require(q.batch >= 1 && q.batch <= n, `batch must lie in 1..${n}, got ${q.batch}`);
  require(hasShape(batches, T, q.batch), `batches must be ${T} lists of ${q.batch} records`);
  for (const batch of batches) {
    require(new Set(batch).size === batch.length, `a batch holds a record twice: ${batch}`);
    require(batch.every((i) => Number.isInteger(i) && i >= 0 && i < n), `a batch names a record beyond 0..${n - 1}`);
  }
}
