// The minimiser over z of penalty(z) + rho/2 |z - w|^2, for every regularizer.
import { norm } from "./admm.mjs";

const soft = (w, t) => (w > t ? w - t : -w > t ? w + t : 0);

function scad(w, { lambda, a }, tau) {
  if (Math.abs(w) > a * lambda) return w;
  if (Math.abs(w) <= lambda * (1 + tau)) return soft(w, tau * lambda);
  return ((a - 1) * w - Math.sign(w) * a * lambda * tau) / (a - 1 - tau);
}

function groupL1(w, { groups }, t) {
  const z = [...w];
  for (const group of groups) {
    const size = norm(group.map((i) => w[i])), kept = size > t ? 1 - t / size : 0;
    for (const i of group) z[i] = w[i] * kept;
  }
  return z;
}

// One sweep of one-sided Jacobi rotations; a tends to U diag(s), v to the right singular vectors.
function sweep(a, v) {
  const columns = v.length;
  let turned = false;
  for (let p = 0; p < columns; p++) {
    for (let q = p + 1; q < columns; q++) {
      let alpha = 0, beta = 0, gamma = 0;
      for (const row of a) { alpha += row[p] ** 2; beta += row[q] ** 2; gamma += row[p] * row[q]; }
      if (gamma === 0 || Math.abs(gamma) <= 1e-17 * Math.sqrt(alpha * beta)) continue;
      turned = true;
      const zeta = (beta - alpha) / (2 * gamma);
      const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
      const c = 1 / Math.sqrt(1 + t * t), s = c * t;
      for (const row of [...a, ...v]) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
    }
  }
  return turned;
}

function nuclear(w, { shape: [rows, columns] }, t) {
  const a = Array.from({ length: rows }, (_, i) => w.slice(i * columns, (i + 1) * columns));
  const v = Array.from({ length: columns }, (_, i) => Array.from({ length: columns }, (_, j) => (i === j ? 1 : 0)));
  for (let i = 0; i < 60 && sweep(a, v); i++);
  const kept = v.map((_, k) => { const s = norm(a.map((row) => row[k])); return s > t ? (s - t) / s : 0; });
  return a.flatMap((row) => v.map((right) => row.reduce((sum, value, k) => sum + value * kept[k] * right[k], 0)));
}

export function proximal(reg, w, rho) {
  const { lambda, l1_ratio: r, gamma } = reg, t = lambda / rho, tau = 1 / rho;
  switch (reg.name) {
    case "none": return w;
    case "l1": return w.map((value) => soft(value, t));
    case "elastic-net": return w.map((value) => soft(value, t * r) / (1 + t * (1 - r)));
    case "group-l1": return groupL1(w, reg, t);
    case "nuclear": return nuclear(w, reg, t);
    case "scad": return w.map((value) => scad(value, reg, tau));
    case "mcp": return w.map((value) =>
      (Math.abs(value) > gamma * lambda ? value : soft(value, tau * lambda) / (1 - tau / gamma)));
    default: throw new Error(`unknown regularizer ${reg.name}`);
  }
}
