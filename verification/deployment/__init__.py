"""The implementation as it will run: the claimed size, the claimed parameters, no seed.

1. `claimed` says what is run; `scenes` makes data on which noise, batches and clipping can be read off a run.
2. `noise_tests`, `batch_tests` and `contributions` turn what was read off into tail probabilities.
3. `silent`, `marked`, `mixed`, `whole_replay`, `last_model` and `rare` each run the implementation once or many times.
4. `probe` runs them all within a budget of time and false alarms, and says what was covered at which size.
"""
