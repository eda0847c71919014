"""The general mutation tool: it changes what runs, everybody sees it, and its record is whole, explained and true."""

from __future__ import annotations

import ast
import functools
import os
import signal
import sys
import zlib

import numpy as np
import pytest

from accountant import pld_quadrature
from reference import mpadmm, updates
from tests.mutants import jury, record
from tests.mutants.exchange import exchange, function_behind, functions_of
from tests.mutants.general import judge, key_of, pool_of, run
from tests.mutants.jury import Judge
from tests.mutants.operators import changes, marked, mutated
from tests.mutants.scope import GUESSES, LEFT_OUT, every_module, modules, mutants_of, path_of
from tests.mutants.score import DOCUMENT, document, possible
from tests.mutants.survivors import explained

OF_THIS_PYTHON = pytest.mark.skipif(
    sys.version_info[:2] != record.PYTHON, reason=f"the record is one of Python {'.'.join(map(str, record.PYTHON))}"
)
ONE = np.ones(1)
SOURCE = '''
def f(a):
    """1 + 1."""
    if a < 0:
        raise ValueError(f"{a + 1}")
    b = a + 1
    b = a + 1
    return -a * 2

class C:
    def f(self):
        return 1 if self else 2
'''


def test_the_operators_change_what_runs_and_nothing_else() -> None:
    found = [(change.function, change.text) for change in changes(SOURCE)]
    assert ("f", "if a «< → <=» 0:") in found
    assert ("f", "return -a «* → /» 2") in found
    assert ("f", "return «- → »a * 2") in found
    assert ("C.f", "return «1 if self else 2 → 2 if self else 1»") in found
    assert ("f", "b = a + «1 → 2»") in found
    assert not any("1 + 1" in text or "ValueError" in text for _, text in found)


def test_no_two_mutants_have_one_name() -> None:
    found = [(change.function, change.text) for change in changes(SOURCE)]
    assert len(set(found)) == len(found)
    assert ("f", "b = a «+ → -» 1 (statement 2 of its kind)") in found


def test_a_number_too_large_to_add_one_to_is_changed_as_well() -> None:
    assert [change.text for change in changes("def f():\n    return 1e90\n")] == ["return «1e → 2e»+90"]


def test_each_mutant_differs_from_the_source_and_from_all_others() -> None:
    texts = [ast.unparse(mutated(SOURCE, change)) for change in changes(SOURCE)]
    assert len({*texts, ast.unparse(ast.parse(SOURCE))}) == len(texts) + 1


def test_what_is_different_is_marked_by_words() -> None:
    assert marked("bits = 256", "bits = 257") == "bits = «256 → 257»"
    assert marked("a is b", "a is not b") == "a is « → not»b"


def test_exchanged_code_is_seen_by_everybody_who_imported_the_function() -> None:
    imported = vars(mpadmm)["update_y"]
    [function] = [f for f in functions_of(updates) if f.__name__ == "update_y"]
    assert function is imported
    before = function.__code__
    try:
        assert exchange(updates, ast.parse("def update_y(y, x, z, *, rho):\n    return y\n")) == {"update_y"}
        assert imported(1.0, 2.0, 3.0, rho=4.0) == 1.0
    finally:
        function.__code__ = before


def test_exchanged_code_is_not_answered_for_by_a_cache() -> None:
    assert pld_quadrature._unit_rule()[0][0] < 0.1
    [mutant] = [c for c in mutants_of("accountant.pld_quadrature") if "(1 + root) «/ → *» 2)" in c.text]
    sees_it = Judge("who asks again", 1.0, lambda: bool(pld_quadrature._unit_rule()[0][0] < 0.1))
    assert judge("accountant.pld_quadrature", mutant, [sees_it]) == "who asks again"


def test_what_properties_methods_and_caches_call_is_found() -> None:
    def plain(thing: object) -> object:
        return thing

    members: tuple[object, ...] = (property(plain), staticmethod(plain), classmethod(plain), functools.cache(plain))
    assert [function_behind(member) for member in (*members, functools.cached_property(plain))] == [plain] * 5
    assert function_behind(3) is None


def test_every_function_in_scope_can_be_exchanged() -> None:
    for name in modules():
        module = __import__(name.removesuffix(".__init__"), fromlist=["_"])
        there = {function.__qualname__ for function in functions_of(module)}
        assert {change.function.partition(".<locals>")[0] for change in mutants_of(name)} <= there, name


@pytest.mark.parametrize(
    ("passes", "answer"),
    [
        (lambda: bool(updates.update_y(ONE, 2 * ONE, 3 * ONE, rho=4.0)[0] == -3.0), "who calls it"),
        (lambda: True, ""),
        (lambda: bool(1 / 0), "who calls it"),
    ],
)
def test_a_judge_notices_by_failing_or_raising(passes: object, answer: str) -> None:
    [mutant] = [c for c in mutants_of("reference.updates") if c.text == "return y «+ → -» rho * (x - z)"]
    assert callable(passes)
    assert judge("reference.updates", mutant, [Judge("who calls it", 1.0, passes)]) == answer


def test_a_mutant_that_never_ends_is_noticed() -> None:
    def forever() -> bool:
        while True:
            pass

    [mutant] = [c for c in mutants_of("reference.updates") if c.text == "return y «+ → -» rho * (x - z)"]
    assert judge("reference.updates", mutant, [Judge("who never ends", -9.0, forever)]) == "time limit"


def test_tests_that_are_not_there_have_no_verdict() -> None:
    [mutant] = [c for c in mutants_of("reference.updates") if c.text == "return y «+ → -» rho * (x - z)"]
    missing = functools.partial(jury.tests_pass, [f"{__file__}::test_no_such"])
    with pytest.raises(RuntimeError, match="not be asked"):
        judge("reference.updates", mutant, [Judge("who is not there", 1.0, missing)])


def test_a_mutant_that_somebody_ends_has_no_verdict() -> None:
    def ended() -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return True

    [mutant] = [c for c in mutants_of("reference.updates") if c.text == "return y «+ → -» rho * (x - z)"]
    with pytest.raises(RuntimeError, match="no verdict"):
        judge("reference.updates", mutant, [Judge("who is ended", 1.0, ended)])


def test_what_is_left_out_exists_and_has_mutants() -> None:
    assert set(LEFT_OUT) <= set(every_module())
    for module, functions in GUESSES.items():
        assert functions <= {change.function for change in changes(path_of(module).read_text("utf-8"))}


@OF_THIS_PYTHON
def test_every_mutant_has_been_tried_and_the_page_says_what_came_of_it() -> None:
    untried = possible() - set(record.read(record.KEPT))
    assert not untried, "run python -m tests.mutants.general --jobs 2, then python -m tests.mutants.score"
    assert DOCUMENT.read_text("utf-8") == document(), "run python -m tests.mutants.score"


@OF_THIS_PYTHON
def test_every_survivor_is_explained_and_every_explanation_is_about_a_survivor() -> None:
    survivors = {key for key, tried in record.read(record.KEPT).items() if not tried.by}
    assert survivors == set(explained())


@OF_THIS_PYTHON
@pytest.mark.slow
def test_a_random_sample_of_mutants_is_what_the_record_says() -> None:
    """Another sample whenever the record changes; a mutant that is noticed may be noticed by somebody else now."""
    known = record.read(record.KEPT)
    pool = pool_of(modules(), zlib.crc32(record.KEPT.read_bytes()))
    tried = run(pool, seconds=180)
    assert len(tried) >= 10
    lost = {entry.key for entry in tried if not entry.by and known[entry.key].by}
    again = run([mutant for mutant in pool if key_of(*mutant) in lost], every=True)
    assert [entry for entry in again if not entry.by] == []
