"""The help texts of `dpadmm account`."""

from __future__ import annotations

HELP = """Price a mechanism: a certified enclosure of epsilon at delta.

Numbers are exact: 1e-8, 0.1 and 1/3 mean what they say. `epsilon.upper` holds for every data set;
`epsilon.lower` is what a concrete pair of neighbouring data sets attains, where one is known.

\b
dpadmm account ssadmm --records 48842 --batch 221 \\
    --noise-multiplier 4 --iterations 2210 --delta 1e-8
dpadmm account mpadmm --records 48842 --eta 1 --rho 0.5 \\
    --clip 1 --sigma 0.01 --iterations 50 --delta 1e-8
dpadmm account ssadmm ... --format json > price.json
dpadmm account --check price.json
"""

LEDGER_HELP = """A run that changed on the way: the steps of a file, priced together.

FILE is TOML, or JSON if its name ends in .json. `algorithm` names a command of `dpadmm account`, the other fields
are its options (`noise_multiplier` for --noise-multiplier). Decimals mean what they say.

\b
[[step]]                        # 1000 iterations ...
algorithm = "ssadmm"
records = 48842
batch = 221
noise_multiplier = 4
iterations = 1000
[[step]]                        # ... then larger batches and more noise
algorithm = "ssadmm"
records = 48842
batch = 442
noise_multiplier = 6.5
iterations = 500

\b
dpadmm account ledger run.toml --delta 1e-8
"""
