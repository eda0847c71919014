"""Two JavaScript sources in Node, declared: ``python noise_apps.py laplace|gaussian|privatize``.

`laplace` and `gaussian` are those of PHACDataHub/statscan-phac-diffpriv-collab,
webapp/src/utility/noiseFunctions.jsx, on one answer between -1 and 1. `privatize` is gittyeric/differential-privacy
(as npm installs it), on the sum of such answers; its option debugDangerously shows the noise.
"""

import json
import sys

from foreign import Interpreter, source

from dpadmm.declaring import serve_declared

WHICH = sys.argv[1]
if WHICH == "privatize":
    HERE = source("gittyeric/differential-privacy", "node_modules/differential-privacy")
    START = "Object.defineProperty(globalThis, 'crypto', {writable: true});"  # it sets this, which Node 20 forbids
    START += f"globalThis.theirs = require({json.dumps(str(HERE.resolve()))});"
else:
    HERE = source("PHACDataHub/statscan-phac-diffpriv-collab", "webapp/src/utility/noiseFunctions.jsx")
    TEXT = json.dumps(HERE.read_text(encoding="utf-8"))
    START = f"globalThis.theirs = await import('data:text/javascript,' + encodeURIComponent({TEXT}));"
NODE = Interpreter("node", START)


def declare(parameters, _records, _columns):
    """Laplace noise of scale sensitivity/epsilon is what a claim of epsilon and nothing else needs."""
    value = {
        "name": "answer",
        "noise": "laplace",
        "scale": 2.0 / parameters["epsilon"],
        "norm": "l1",
        "sensitivity": 2.0,
    }
    return {"neighbours": "replace-one", "bound": {"kind": "domain", "box": [-1.0, 1.0]}, "values": [value]}


def run(data, parameters, run):
    """Release once."""
    answers = json.dumps(data.features[:, 0].tolist())
    if WHICH == "privatize":
        before, noise = NODE.ask(
            "const sum = view => { let s = 0; view.forEach(x => { s += x }); return s; };"
            f"const options = {{maxEpsilon: {parameters['epsilon']}, debugDangerously: true,"
            "newShadowIterator: view => view.newShadowIterator()};"
            f"const r = await theirs.privatize(sum, options)(theirs.newArrayView({answers}));"
            "show(r.privateResult); show(r.noiseAdded)"
        )
        run.release("answer", before, noise)
        return
    before = data.features[:1, 0]
    (released,) = NODE.ask(f"show(theirs.addNoise({float(before[0])!r}, 2, {parameters['epsilon']}, '{WHICH}'))")
    run.release("answer", before, released - before)


if __name__ == "__main__":
    serve_declared(f"js-{WHICH}", declare, run, seeded=False)
