"""Does an implementation do what its privacy proof assumes? Checks over the wire, mostly without statistics.

1. `check` says what a check is: what it catches, the claims it rests on, what it needs, its false-alarm probability.
2. `context` and `observe` ask the questions: noiseless runs, and the batches and noise inside honest-looking runs.
3. `tails` holds the exact or conservative tail probabilities that every statistical check uses.
4. One file a family: `updates`, `sensitivity`, `clipping`, `batches`, `noise`, `determinism`, `scale`.
5. `registry` lists them all; `runner` runs them within a false-alarm probability and a time budget.
"""
