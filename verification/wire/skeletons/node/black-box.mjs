// One run on these records, with your own randomness: every number that leaves it, as an array.
function train(rows, labels) {
  throw new Error("FILL IN 1: return everything that one run releases");
}

function start() {
  return { protocol: 1, name: "my-algorithm" };
}

// `count` independent runs.
function trials({ data, count }) {
  const { rows, labels } = datasets.get(data);
  return { released: pack(Array.from({ length: count }, () => train(rows, labels))) };
}

const handlers = { trials };
