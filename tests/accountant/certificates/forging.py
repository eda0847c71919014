"""Forgeries of certificates: every field changed in turn, of every mechanism and every method.

A forgery is caught (exit 1, 2 or 3, with a message: never a fault, never longer than 30 s), or what the check then says
is certified is true: its ends enclose no less than the honest ones, to the width that the second route states.

`python -m tests.accountant.certificates.forging [--each N]` checks all of them, or a random N of each certificate, as a
user does (`dpadmm account --check`) and writes the counts to forgeries.json.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import random
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from accountant import (
    DPADMM,
    DPSGD,
    DPSVRG,
    Gaussian,
    Laplace,
    Ledger,
    MpADMM,
    ObjP,
    Poisson,
    Pure,
    Sensitivity,
    SsADMM,
    certificate,
    epsilon,
    read_certificate,
    recheck,
)
from accountant.certificates.certificate import read_ledger, read_mechanism
from accountant.lower_end import adaptive_lower
from accountant.numbers import decimal_string, fraction_of
from dpadmm.cli import account as _loaded_before_forking  # noqa: F401
from dpadmm.cli import main as command_line

BOOKS: Final[dict[str, Ledger]] = {
    "ssadmm": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=200).ledger(),
    "ssadmm, discrete": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=20, noise="discrete").ledger(),
    "ssadmm, one step": SsADMM(records=1000, batch=100, noise_multiplier=1, iterations=1).ledger(),
    "dpsgd": DPSGD(records=1000, batch=100, sigma="0.06", clip=1, iterations=100).ledger(),
    "dpsvrg": DPSVRG(
        records=1000, batch=100, iterations=10, inner=5, anchor_sigma="0.01", sigma="0.2", clip=1
    ).ledger(),
    "mpadmm": MpADMM(records=1000, eta=["1", "0.5"], rho="0.5", clip=1, sigma="0.01", iterations=2).ledger(),
    "mpadmm, separate": MpADMM(
        records=1000, eta=1, rho="0.5", clip=1, sigma="0.01", iterations=10, accounting="separate"
    ).ledger(),
    "mpadmm, printed": MpADMM(
        records=1000, eta=4, rho="0.5", clip=1, sigma="0.01", iterations=10, sensitivity=Sensitivity.PRINTED
    ).ledger(),
    "dpadmm": DPADMM(records=1000, eta=1, rho="0.5", clip=1, sigma="0.1", iterations=5).ledger(),
    "objp": ObjP(records=1000, epsilon="0.01", iterations=100).ledger(),
    "laplace": Laplace(noise_multiplier=40, iterations=30).ledger(),
    "pure": Pure(epsilon=["0.1", "0.2", "0.3"], iterations=3).ledger(),
    "poisson": Poisson(sampling_rate="0.01", noise_multiplier=2, iterations=100).ledger(),
    "gaussian": Gaussian(noise_multiplier=30, iterations=50).ledger(),
    "gaussian, discrete": Gaussian(noise_multiplier=30, iterations=50, noise="discrete").ledger(),
    "phases": SsADMM(records=1000, batch=50, noise_multiplier=3, iterations=50).ledger()
    + Gaussian(noise_multiplier=40, iterations=2).ledger()
    + Pure(epsilon="0.01", iterations=2).ledger(),
    "with replacement": SsADMM(
        records=100, batch=10, noise_multiplier=3, iterations=20, sampling="with-replacement"
    ).ledger(),
    "fixed order": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=35, sampling="fixed-order").ledger(),
    "shuffle": SsADMM(records=1000, batch=100, noise_multiplier=1, iterations=35, sampling="shuffle").ledger(),
    "a group": SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=5, group_size=2).ledger(),
    "a group, poisson": Poisson(sampling_rate="0.01", noise_multiplier=2, iterations=20, group_size=3).ledger(),
    "adversary": SsADMM(records=10, batch=1, noise_multiplier=3, iterations=120).ledger(),
    "adversary, few steps": SsADMM(records=1000, batch=10, noise_multiplier=1, iterations=5).ledger(),
    "adversary, many steps": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=300).ledger(),
    "laplace, delta 0": Laplace(noise_multiplier=40, iterations=30).ledger(),
    "laplace, few steps": Laplace(noise_multiplier=4, iterations=2).ledger(),
    "gaussian, one step": Gaussian(noise_multiplier=1, iterations=1).ledger(),
    "ssadmm, few steps": SsADMM(records=1000, batch=100, noise_multiplier=1, iterations=3).ledger(),
    "ssadmm, many steps": SsADMM(records=48842, batch=221, noise_multiplier=4, iterations=2210).ledger(),
    "poisson, few steps": Poisson(sampling_rate="0.01", noise_multiplier=1, iterations=3).ledger(),
    "poisson, many steps": Poisson(sampling_rate="0.02", noise_multiplier=2, iterations=1000).ledger(),
    "with replacement, few steps": SsADMM(
        records=100, batch=10, noise_multiplier=1, iterations=2, sampling="with-replacement"
    ).ledger(),
}
METHODS: Final = {
    "adversary": ["adversary"],
    "adversary, few steps": ["adversary"],
    "adversary, many steps": ["adversary"],
    "laplace, delta 0": ["pure"],
}
DELTA: Final = {"laplace, delta 0": "0", "adversary, many steps": "1e-8"}
QUICK: Final = tuple(
    name
    for name in BOOKS
    if name in {"ssadmm, discrete", "ssadmm, one step"}
    or not name.startswith(
        ("a group", "adversary", "with replacement", "poisson", "ssadmm", "phases", "dpsgd", "dpsvrg")
    )
)
"""Certificates that are checked in less than half a second."""
FACTORS: Final = ("0", "0.001", "0.9", "0.999", "1.001", "1.1", "1000")
WHOLE: Final = (-(10**9), -6, -1, 0, 1, 2, 10**5, 10**30)
TEXTS: Final = ("", "nan", "NaN", "inf", "-inf", "-1", "1e99999", "0x10", "1_0", " 1", "profile", "\u0661", "9" * 6000)
OTHER_TYPES: Final[tuple[object, ...]] = (None, True, 7, 0.5, "x", [], {}, [1], {"a": 1})
RAW: Final = ("NaN", "Infinity", "1e999", "9" * 5000, '"\\ud800"', "[" * 2000)
"""Values that are no JSON, or that few readers survive."""
MOVED: Final = ("0.98", "0.985", "0.99", "0.993", "0.995", "0.998", "0.999")
"""Upper ends lowered by 0.1 to 2 %: less than a second route of some width would notice."""
FINER: Final = {
    "adversary": Fraction(1, 1000),
    "adversary, few steps": Fraction(1, 500),
    "adversary, many steps": Fraction(1, 500),
    "a group": Fraction(1, 400),
    "a group, poisson": Fraction(1, 400),
}
FINER_OTHERS: Final = Fraction(1, 4000)
"""What the lattices and grids of a check may prove less than the price: they may be finer."""
SECONDS: Final = 30
RECORD: Final = Path(__file__).with_name("forgeries.json")
PAGE: Final = Path(__file__).parents[3] / "docs" / "evidence" / "forgeries.md"
WRONG: Final = ("MISSED", "FAULT", "TOO LONG")

Document = dict[str, object]
Path_ = tuple[str | int, ...]


def honest(name: str) -> Document:
    """The certificate of a book, as plain JSON."""
    report = epsilon(BOOKS[name], DELTA.get(name, "1e-6"), methods=METHODS.get(name), digits=12)
    document: Document = json.loads(json.dumps(certificate(report).to_json()))
    return document


def forgeries(document: Document) -> Iterator[tuple[str, str]]:
    """Yield (where, text with one thing changed), each with the old digest and with one that fits."""
    for where, forged in _changed_documents(document):
        if forged != document:
            yield where, json.dumps(forged)
            if where != "digest" and "digest" in forged:
                yield f"{where} (signed)", json.dumps(resigned(forged))
    text = json.dumps(document)
    for key, value in document.items():
        one = f'"{key}": {json.dumps(value)}'
        yield f"{key} twice", text.replace(one, f"{one}, {one}", 1)
        for raw in RAW:
            yield f"{key} raw", text.replace(one, f'"{key}": {raw}', 1)
    yield "cut", text[: len(text) // 2]
    yield "nothing", ""


def _changed_documents(document: Document) -> Iterator[tuple[str, Document]]:
    for path in _paths(document):
        where = ".".join(map(str, path))
        value = _at(document, path)
        changes: list[object] = [each for each in OTHER_TYPES if type(each) is not type(value)]
        if not isinstance(value, dict | list):
            changes = [*_changes(value), *changes]
        elif isinstance(value, list) and value:
            changes += [value[1:], [*value, value[-1]], value[::-1]]
        elif isinstance(value, dict):
            changes += [{**value, "extra": "1"}]
        for change in changes:
            forged = copy.deepcopy(document)
            _at(forged, path[:-1])[path[-1]] = change  # type: ignore[index]  # plain JSON
            yield where, forged
        forged = copy.deepcopy(document)
        del _at(forged, path[:-1])[path[-1]]  # type: ignore[attr-defined]  # plain JSON
        yield f"without {where}", forged
    yield "extra", {**copy.deepcopy(document), "extra": 1}
    yield from _designed(document)


def _designed(document: Document) -> Iterator[tuple[str, Document]]:
    """Yield forgeries that a liar who knows the format would try: several fields changed to fit."""
    book = document["ledger"]
    assert isinstance(book, dict)
    upper, methods = document["epsilon"]["upper"], document["methods"]  # type: ignore[index]  # plain JSON
    everything = {**book, "realisable": book["steps"]}
    for kept in (document["mechanisms"], []):
        forged = {**copy.deepcopy(document), "ledger": everything, "mechanisms": kept}
        yield "all is attained", {**forged, "epsilon": {"lower": upper, "upper": upper}}
        yield "lower is upper", {**forged, "ledger": book, "epsilon": {"lower": upper, "upper": upper}}
    assert isinstance(methods, dict)
    for name, record in methods.items():
        for factor in ("0.5", "0.9", *MOVED):
            smaller = decimal_string(Fraction(record["upper"]) * Fraction(factor), 12, "down")
            least = {**record, "epsilon": smaller, "upper": smaller, "lower": "0"}
            end = min(smaller, upper, key=Fraction)
            changed = {**copy.deepcopy(document), "methods": {**methods, name: least}}
            yield f"{name} smaller", {**changed, "epsilon": {"lower": "0", "upper": end}}


def _paths(value: object, path: Path_ = ()) -> Iterator[Path_]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _paths(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _paths(each, (*path, place))


def _changes(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + change for change in (-1, 1))
        yield from WHOLE
    elif isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            yield from ("", value + "x")
            return
        for factor in FACTORS:
            yield decimal_string(number * Fraction(factor), 12, "down")
        yield from TEXTS


def _at(document: object, path: Path_) -> object:
    for part in path:
        document = document[part]  # type: ignore[index]  # plain JSON
    return document


def resigned(document: Document) -> Document:
    """The document with a digest that fits."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return {**rest, "digest": hashlib.sha256(text.encode("ascii")).hexdigest()}


def checked(text: str) -> tuple[int, float, str]:
    """Check a text as a user does; return exit code (or the negative of the signal), CPU seconds, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        file, said = Path(folder) / "forged.json", Path(folder) / "said"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _check_in_child(file, said)
        _, status, usage = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, said.read_text("utf-8")


def _check_in_child(file: Path, said: Path) -> None:
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        descriptor = os.open(said, os.O_WRONLY | os.O_CREAT)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        sys.argv = ["dpadmm", "account", "--check", str(file)]
        command_line()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def lowered(name: str, factor: str) -> Iterator[Document]:
    """Yield the certificate of a book with the upper end of each method lowered, and the price with it; resigned."""
    document = honest(name)
    methods = document["methods"]
    assert isinstance(methods, dict)
    for method, record in methods.items():
        end = decimal_string(Fraction(record["upper"]) * Fraction(factor), 12, "down")
        smaller = {**record, "epsilon": end, "upper": end, "lower": "0"}
        changed = {**copy.deepcopy(document), "methods": {method: smaller}}
        yield resigned({**changed, "epsilon": {"lower": "0", "upper": end}})


def least_provable(ledger: Ledger, delta: str) -> Fraction:
    """Return the largest lower end that this program proves for the steps, the adaptive adversary's included."""
    attained = fraction_of(epsilon(ledger, delta).epsilon.lower)
    return max(attained, adaptive_lower(ledger, Fraction(delta), None) or Fraction(0)) if ledger.sound else attained


def certified_end(said: str) -> Fraction:
    """Return the upper end that a check says is certified."""
    line = next(line for line in said.splitlines() if line.startswith("certified: epsilon"))
    return Fraction(line.split(" at delta")[0].rpartition(" ")[2].rstrip("]"))


def claims_no_more(text: str, said: str, name: str) -> bool:
    """Whether what the check says is certified is true of the certificate's own mechanisms, priced honestly."""
    read, finer = read_certificate(text), FINER.get(name, FINER_OTHERS)
    ledger = replace(read_ledger(read.ledger), mechanisms=tuple(map(read_mechanism, read.mechanisms)))
    report = epsilon(ledger, read.delta, methods=METHODS.get(name), digits=read.digits)
    true = certificate(report).epsilon
    attained = "not certified: the lower end" in said or Fraction(read.epsilon.lower) <= Fraction(true.lower) * (
        1 + finer
    )
    return attained and certified_end(said) >= Fraction(true.upper) * (1 - finer)


def verdict(name: str, text: str) -> tuple[str, float]:
    """One of caught (with the exit code), harmless, MISSED, FAULT, TOO LONG; and CPU seconds."""
    code, seconds, said = checked(text)
    if code < 0:
        return "TOO LONG", seconds
    if code in {1, 2, 3}:
        return (f"caught, exit {code}", seconds) if said.startswith("error: ") else ("FAULT", seconds)
    if code:
        return "FAULT", seconds
    return ("harmless" if claims_no_more(text, said, name) else "MISSED"), seconds


def forge(name: str, each: int | None, chance: random.Random) -> tuple[Counter[str], float, list[str]]:
    """Try the forgeries of one certificate, all or a random sample: counts, the longest, and what went wrong."""
    document = honest(name)
    recheck(read_certificate(json.dumps(document)))  # what children need is loaded once, and an honest one must stand
    tried = list(forgeries(document))
    chosen = tried if each is None or each >= len(tried) else chance.sample(tried, each)
    counts: Counter[str] = Counter()
    longest, wrong = 0.0, []
    for where, text in chosen:
        found, seconds = verdict(name, text)
        counts[found] += 1
        longest = max(longest, seconds)
        if found.isupper():
            wrong.append(f"{name}: {where}: {found}")
            print(wrong[-1], flush=True)
    return counts, longest, wrong


def page() -> str:
    """Return the page of what was recorded."""
    document = json.loads(RECORD.read_text("utf-8"))
    record, each = document["certificates"], document["sample of each"]
    columns = ("caught, exit 1", "caught, exit 2", "caught, exit 3", "harmless", *WRONG)
    total = sum(entry["forgeries"] for entry in record.values())
    wrong = sum(entry.get(column, 0) for entry in record.values() for column in WRONG)
    chosen = "all of them" if each is None else "a random sample of each certificate's"
    lines = [
        "# Forged certificates",
        "",
        "Generated by `python -m tests.accountant.certificates.forging --page` from what the same command without",
        "`--page` recorded; do not edit.",
        "",
        "Every field of a certificate is changed in turn, by small and large amounts, to other types, to no number,",
        "away and twice, with the old digest and with one that fits; and a liar who knows the format changes several",
        f"to fit. {total} forgeries were checked by `dpadmm account --check` ({chosen}); {wrong} were missed, ended in",
        f"a fault or took more than {SECONDS} s. Harmless: the check passes, and what it says is certified is true.",
        "",
        "| certificate | forgeries | " + " | ".join(columns) + " | longest, CPU s |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for name, entry in record.items():
        cells = " | ".join(str(entry.get(column, 0)) for column in columns)
        lines.append(f"| {name} | {entry['forgeries']} | {cells} | {entry['longest']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Try all, write the counts, and exit 1 where one was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, help="a random sample of so many of each certificate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(BOOKS), default=list(BOOKS), help="others stay as recorded")
    parser.add_argument(
        "--page", action="store_true", help="only write docs/evidence/forgeries.md from what was recorded"
    )
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(), "utf-8")
        return 0
    record = json.loads(RECORD.read_text("utf-8"))["certificates"] if RECORD.exists() else {}
    failed = []
    for name in options.only:
        counts, longest, wrong = forge(name, options.each, random.Random(f"{options.seed} {name}"))
        failed += wrong
        record[name] = {"forgeries": counts.total(), **dict(sorted(counts.items())), "longest": round(longest, 1)}
        print(name, record[name], flush=True)
        kept = {each: record[each] for each in BOOKS if each in record}
        RECORD.write_text(json.dumps({"sample of each": options.each, "certificates": kept}, indent=1) + "\n", "utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
