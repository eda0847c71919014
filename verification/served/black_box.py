"""The other end for a function in Python: ``serve_function(train)`` makes it an adapter for `dpadmm audit --black-box`.

``train(features, labels, rng)`` returns what one run releases: an array, or arrays by name.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import JsonValue, TypeAdapter

from verification.served.serve import on_standard_streams, raised, write_line
from verification.wire.arrays import Floats, WireArray, pack, unpack
from verification.wire.messages import PROTOCOL
from verification.wire.records import Records

Released: TypeAlias = "ArrayLike | Mapping[str, ArrayLike]"
Train: TypeAlias = Callable[[Floats, NDArray[np.int64] | Floats, np.random.Generator], Released]
Batch: TypeAlias = Callable[[Records, int, np.random.Generator], dict[str, Floats]]
_ARRAY: TypeAdapter[WireArray] = TypeAdapter(WireArray)
_LABELS: TypeAdapter[list[int] | list[float]] = TypeAdapter(list[int] | list[float])


def serve_function(train: Train, name: str = "black box") -> None:
    """Answer requests on stdin with runs of ``train`` until `stop`; stray prints go to stderr, not onto the wire."""
    serve_batches(lambda records, count, rng: repeated(train, records, count, rng), name)


def serve_batches(run: Batch, name: str = "black box") -> None:
    """The same for a function that makes many runs at once: arrays by name, their first axis the run."""
    on_standard_streams(lambda source, sink: answer_streams(run, name, source, sink))


def answer_streams(run: Batch, name: str, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests from one stream on another."""
    data: dict[str, Records] = {}
    while line := source.readline():
        request = json.loads(line)
        write_line(sink, json.dumps({"id": request["id"], **_answer(run, name, data, request)}).encode() + b"\n")
        if request["request"] == "stop":
            return


def repeated(train: Train, records: Records, count: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return ``count`` runs, stacked; runs of different lengths are filled up with NaN, which the audit also sees."""
    runs = [train(records.features.copy(), records.labels.copy(), rng) for _ in range(count)]
    named = [run if isinstance(run, Mapping) else {"released": run} for run in runs]
    return {
        key: _stacked([run.get(key, ()) for run in named]) for key in dict.fromkeys(k for run in named for k in run)
    }


def _stacked(values: list[ArrayLike]) -> Floats:
    rows = [np.asarray(value, dtype=np.float64).ravel() for value in values]
    stacked = np.full((len(rows), max(row.size for row in rows)), np.nan)
    for target, row in zip(stacked, rows, strict=True):
        target[: row.size] = row
    return stacked


def _answer(run: Batch, name: str, data: dict[str, Records], request: dict[str, JsonValue]) -> dict[str, object]:
    try:
        match request["request"]:
            case "start":
                return {"result": {"protocol": PROTOCOL, "name": name}}
            case "data":
                records = _records(request)
                data[str(request["name"])] = records
                return {"result": {"records": records.count}}
            case "trials":
                rng = np.random.default_rng(TypeAdapter(int | None).validate_python(request.get("seed")))
                count = TypeAdapter(int).validate_python(request["count"])
                values = run(data[str(request["data"])], count, rng)
                return {"result": {key: pack(array).model_dump() for key, array in values.items()}}
            case "stop":
                return {"result": {}}
            case other:
                return {"skipped": {"reason": f"{other} is not offered: this is a black box"}}
    except Exception as error:  # whatever it is, it must become an answer: the harness decides what it means
        traceback.print_exc()
        return {"error": {"kind": "internal", "message": raised(error)[:2000]}}


def _records(request: dict[str, JsonValue]) -> Records:
    features = unpack(_ARRAY.validate_python(request["features"]), "features")
    return Records(features, np.array(_LABELS.validate_python(request["labels"])))
