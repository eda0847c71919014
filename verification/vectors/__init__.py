r"""Golden vectors: inputs and every intermediate value, for ports in any language (docs/reference/vectors.md).

1. :mod:`~verification.vectors.model` is the file format; ``data/schema.json`` is generated from it.
2. :mod:`~verification.vectors.files` reads ``data/*.json``; they are not edited by hand. In a checkout
   ``tools/golden_vectors`` writes them.
3. :mod:`~verification.vectors.checking` runs an implementation through them over the wire, and
   :mod:`~verification.vectors.suspects` says which bug a failure looks like.
"""
