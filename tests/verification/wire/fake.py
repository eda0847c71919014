"""An adapter that misbehaves on purpose: ``python fake.py MODE``. Standard library only, so that it starts at once.

Its mathematics is a toy (the answer is a sum of what it was given), because the tests that use it are about the
wire. ``honest`` must pass the smoke test; every other mode must be caught, by name.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time
from typing import cast

mode = sys.argv[1]
Json = dict[str, object]
data: dict[str, list[float]] = {}
columns: dict[str, int] = {}
reserved: list[mmap.mmap] = []


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def numbers(array: object) -> list[float]:
    if isinstance(array, dict):
        raw = base64.b64decode(array["base64"])
        return list(struct.unpack(f"<{len(raw) // 8}d", raw))
    if isinstance(array, list):
        return [value for part in array for value in numbers(part)]
    return [float(cast(float, array))]


def packed(values: list[float], *shape: int) -> Json:
    return {"shape": list(shape), "base64": base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()}


def start(_: Json) -> Json:
    released = ["x", "z", "y", "extra"] if mode == "missing-value" else ["x", "z", "y"]
    return {
        "protocol": 0 if mode == "old-protocol" else 1,
        "name": "fake",
        "version": "1",
        "language": "python",
        "algorithms": ["ssadmm"],
        "losses": ["logistic"],
        "regularizers": ["l1"],
        "capabilities": ["replay", "trials", "every-iterate", "seed", "clip"],
        "released": {"ssadmm": released},
    }


def keep(request: Json) -> Json:
    features = cast("dict[str, list[int]] | list[list[float]]", request["features"])
    name = str(request["name"])
    width = features["shape"][1] if isinstance(features, dict) else len(features[0])
    data[name], columns[name] = numbers(features), width
    count = len(cast("list[int]", request["labels"]))
    return {"records": count, "columns": width + (mode == "wrong-data-shape")}


def replay(request: Json) -> Json:
    noise = numbers(cast(Json, request["noise"])["gradient"])
    total = sum(data[str(request["data"])])
    if mode == "ignores-noise":
        noise = [0.0] * len(noise)
    if mode == "ignores-data":
        total = 0.0
    if mode == "random-replay":
        total += random.random()
    steps = cast(int, cast(Json, request["parameters"])["iterations"])
    return iterates([value + total for value in noise], steps, len(noise) // steps)


def trials(request: Json) -> Json:
    parameters, name = cast(Json, request["parameters"]), str(request["data"])
    seed = request.get("seed") if mode != "ignores-seed" else None
    rng = random.Random(cast(int, seed)) if seed is not None else random.SystemRandom()
    steps, count = cast(int, parameters["iterations"]), cast(int, request["count"])
    shape = [count, columns[name]] if request["show"] == "last" else [count, steps, columns[name]]
    size = 1
    for axis in shape:
        size *= axis
    data[name]  # an unknown name must be refused
    return iterates([rng.gauss(0, 1) for _ in range(size)], *shape)


def stop(_: Json) -> Json:
    return {}


def iterates(values: list[float], *shape: int) -> Json:
    if mode == "nan":
        values = [float("nan"), *values[1:]]
    if mode == "json-nan":
        return {"x": [[float("nan")]], "z": [[0.0]], "y": [[0.0]]}
    if mode == "ragged":
        return {"x": [[0.0], [0.0, 1.0]], "z": [[0.0]], "y": [[0.0]]}
    if mode == "truncated-base64":
        return {"x": packed(values[1:], *shape), "z": packed(values, *shape), "y": packed(values, *shape)}
    if mode == "not-base64":
        return {"x": {"shape": list(shape), "base64": "!!!"}, "z": packed(values, *shape), "y": packed(values, *shape)}
    if mode == "wrong-shape":
        shape = (*shape[:-2], shape[-1], shape[-2])
    result: Json = {name: packed(values, *shape) for name in ("x", "z", "y")}
    if mode == "undeclared-value":
        result["released"] = {"dual": packed(values, *shape)}
    return result


def misbehave(request: Json) -> None:  # noqa: PLR0912 - one branch a mode
    """Do the wrong thing before answering, in the modes that do."""
    kind = request["request"]
    print(f"working on {kind}", file=sys.stderr, flush=True)
    if mode == f"crash-at-{kind}":
        sys.exit(f"fatal: could not {kind}")
    if mode == f"abort-at-{kind}":
        os.abort()
    if mode == f"hang-at-{kind}":
        time.sleep(3600)
    if mode == f"print-at-{kind}":
        print("loading ...")
    if mode == f"huge-at-{kind}":
        for _ in range(1 << 14):
            sys.stdout.write("7" * (1 << 16))
    if mode == f"drip-at-{kind}":
        while True:
            sys.stdout.write(" ")
            sys.stdout.flush()
            time.sleep(0.05)
    if mode == f"hog-at-{kind}":
        hoard = [bytes(1 << 26) for _ in range(1 << 10)]
        print(len(hoard), file=sys.stderr)
    if mode == "reserves" and kind == "start":
        reserved.append(mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ))
    if mode == f"close-at-{kind}":
        os.close(1)
        time.sleep(3600)
    if mode == "noisy-stderr":
        sys.stderr.write("x" * 300_000 + "\n")
    if mode == "forks-children" and kind == "start":
        subprocess.Popen(["sleep", "3600"])
    if mode == "forks-nameless" and kind == "start":
        subprocess.Popen(["env", "-i", "sleep", "3600"])
    if mode == "forks-daemon" and kind == "start":
        subprocess.Popen(["sleep", "3600"], start_new_session=True, stdout=2)
    if mode == "fork-then-hang" and kind == "trials":
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
        time.sleep(3600)


def answer(request: Json) -> Json:
    handlers = {"start": start, "data": keep, "replay": replay, "trials": trials, "stop": stop}
    kind = str(request["request"])
    try:
        result: Json = {"result": handlers[kind](request)}
    except KeyError as error:
        result = {"error": {"kind": "invalid-data", "message": str(error)}}
    if mode == "refuses" and kind in ("replay", "trials"):
        result = {"error": {"kind": "internal", "message": "not today"}}
    if mode == "accepts-unknown-data" and "error" in result:
        result = {"result": iterates([0.0] * 12, 1, 3, 4)}
    if mode == "two-parts" and kind == "data":
        result["error"] = {"kind": "internal", "message": "and a result"}
    if mode == "no-part" and kind == "data":
        result = {}
    if mode == "extra-field" and kind == "data":
        result["comment"] = "hello"
    if mode == "bad-capability" and kind == "start":
        cast("dict[str, list[str]]", result["result"])["capabilities"].append("telepathy")
    return result


def main() -> None:
    if mode == "crash-before-start":
        sys.exit("fatal: no such library")
    if mode == "banner":
        say("fake 1.0, ready")
    for served, line in enumerate(sys.stdin, start=1):
        request = cast(Json, json.loads(line))
        misbehave(request)
        identity = cast(int, request["id"]) + (100 if mode == "wrong-id" and served == 2 else 0)
        text = json.dumps({"id": identity, **answer(request)})
        if mode == "garbage" and served == 3:
            text = text[: len(text) // 2]
        if mode == "old-answer" and served == 3:
            text = json.dumps({"id": 1, "result": start(request)})
        say(text)
        if mode == "answers-twice" and served == 2:
            say(text)
        if mode == "babbles" and request["request"] == "stop":
            say("bye")
        if request["request"] == "stop":
            if mode == "lingers":
                time.sleep(3600)
            sys.exit(3 if mode == "bad-exit" else 0)


main()
