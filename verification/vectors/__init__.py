r"""Golden vectors: inputs and every intermediate value, for ports in any language (docs/reference/vectors.md).

1. :mod:`~verification.vectors.model` is the file format; ``data/schema.json`` is generated from it.
2. :mod:`~verification.vectors.grid`, :mod:`~verification.vectors.edges` and :mod:`~verification.vectors.invalid` list
   the cases, :mod:`~verification.vectors.flags` the bugs that they catch.
3. :mod:`~verification.vectors.exact` computes each case in 60 digits: the value.
4. :mod:`~verification.vectors.enclosure` and :mod:`~verification.vectors.forms` compute it in balls: the tolerance.
5. :mod:`~verification.vectors.files` writes and reads ``data/*.json``; they are not edited by hand.
6. :mod:`~verification.vectors.checking` runs an implementation through them over the wire.
"""
