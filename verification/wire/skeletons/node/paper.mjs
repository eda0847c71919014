// The gradient of the loss at one record, *clipped* to norm parameters.clip; an array of p numbers.
function recordGradient(features, label, x, parameters) {
  throw new Error("FILL IN 1: return one record's clipped gradient");
}

// One ADMM iteration from the noisy mean gradient: return the new [x, z, y].
function update(x, z, y, gradient, eta, parameters) {
  throw new Error("FILL IN 2: return the new [x, z, y]");
}

// Your own randomness: a batch of `size` of `count` record indices, and `dimension` noise values.
function draw(count, size, dimension, sigma) {
  throw new Error("FILL IN 3: return [batch, noise] of one iteration");
}

function start() {
  return {
    protocol: 1,
    name: "my-admm",
    version: "0.1",
    language: "javascript",
    // Extend these when your code can do more (mpadmm, other losses, seed, ...).
    algorithms: ["ssadmm"],
    losses: ["logistic"],
    regularizers: ["l1"],
    capabilities: ["replay", "trials", "every-iterate", "clip", "initial"],
    // Every value that leaves your implementation, honestly: what is not listed cannot be checked.
    released: { ssadmm: ["x", "z", "y"] },
  };
}

const KNOWN =
  "loss regularizer lambda options rho eta iterations batch sigma clip intercept initial".split(" ");

// The parameters, the records, and where to start, if all of it makes sense.
function checked({ algorithm, data, parameters: q }) {
  const { rows, labels } = datasets.get(data);
  const p = rows[0].length;
  known(q, KNOWN);
  const offered = algorithm === "ssadmm" && q.loss === "logistic" && q.regularizer === "l1" && !q.intercept;
  require(offered, "offered is ssadmm with logistic loss and l1, without intercept");
  require(finite([q.lambda, q.rho, q.sigma, q.clip]), "lambda, rho, sigma and clip must be finite");
  require(q.rho > 0 && q.clip > 0 && q.lambda >= 0 && q.sigma >= 0, "rho, clip > 0; lambda, sigma >= 0");
  const steps = finite(q.eta) && q.eta.every((eta) => eta > 0) && q.eta.length === q.iterations;
  require(steps, "eta must hold a step size > 0 for every iteration");
  require(Number.isInteger(q.batch) && q.batch >= 1 && q.batch <= rows.length, `batch must lie in 1..${rows.length}`);
  require(labels.every((label) => Math.abs(label) === 1), "labels must be -1 or 1", "invalid-data");
  const initial = ["x", "z", "y"].map((name) => (q.initial ? unpack(q.initial[name]) : new Array(p).fill(0)));
  require(initial.every((point) => point.length === p && finite(point)), `initial points must have ${p} finite entries`);
  return { q, rows, labels, initial, p };
}

// Batches and noise come with the request; nothing here may be random.
function replay(request) {
  const { q, rows, p } = checked(request);
  const noise = unpack(request.noise.gradient);
  const distinct = (batch) => batch.length === q.batch && new Set(batch).size === q.batch;
  const good = request.batches.length === q.iterations && request.batches.every(distinct);
  const there = request.batches.flat().every((i) => Number.isInteger(i) && i >= 0 && i < rows.length);
  require(good && there, "batches must hold distinct records");
  const shaped = noise.length === q.iterations && noise.every((row) => row.length === p && finite(row));
  require(shaped, "noise must be finite, of shape iterations x columns");
  return packed(run(request, request.batches.map((batch, k) => [batch, noise[k]])));
}

// `count` independent runs with the implementation's own batches and noise.
function trials(request) {
  const { q, rows, p } = checked(request);
  const runs = Array.from({ length: request.count }, () => {
    const iterates = run(request, q.eta.map(() => draw(rows.length, q.batch, p, q.sigma)));
    return request.show === "last" ? iterates.at(-1) : iterates;
  });
  return packed(runs);
}

// All iterates {x, z, y}, for given batches and noise.
function run(request, draws) {
  const { q, rows, labels, initial } = checked(request);
  let [x, z, y] = initial;
  return draws.map(([batch, noise], k) => {
    const mean = noise.slice();
    for (const i of batch)
      recordGradient(rows[i], labels[i], x, q).forEach((value, j) => { mean[j] += value / batch.length; });
    [x, z, y] = update(x, z, y, mean, q.eta[k], q);
    return { x, z, y };
  });
}

function packed(iterates) {
  const pick = (nested, name) => (Array.isArray(nested) ? nested.map((part) => pick(part, name)) : nested[name]);
  return Object.fromEntries(["x", "z", "y"].map((name) => [name, pack(pick(iterates, name))]));
}

const handlers = { replay, trials };
