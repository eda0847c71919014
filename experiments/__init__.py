r"""The paper's section 5, repeated: every algorithm, every data set, every figure.

1. :mod:`.config` says what is run; the TOML files beside it are the studies. Nothing is hidden in code.
2. :mod:`.data` and :mod:`.synthetic` bring the records, :mod:`.folds` splits them.
3. :mod:`.noise` asks the accountant how much noise each (algorithm, epsilon, accounting) needs.
4. :mod:`.loops` trains all cells of a fold at once, on top of the reference's own update functions.
5. :mod:`.runner` walks through folds and repeats, with checkpoints; :mod:`.tables` makes tidy results of them.
6. :mod:`.figures`, :mod:`.statements` and :mod:`.document` show what came out.
"""
