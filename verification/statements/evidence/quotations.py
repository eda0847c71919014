r"""Errata of the text: short fragments of the paper that contradict each other. Statements E6, E7, E19.

A fragment is quoted with its place. Where DPADMM_PAPER names the paper's LaTeX source, every fragment must be found
there word for word; without it the contradiction between the fragments is all that is checked.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind

SOURCE = "DPADMM_PAPER"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A few words of the paper."""

    place: str
    text: str


SWAPPED = (
    Fragment("section 5.2", r"DP-ADMM  \cite{wang2019differential}, ADMM-objP \cite{huang2019dp}"),
    Fragment("section 4.1", r"proposed in \cite{huang2019dp} (DP-ADMM)"),
    Fragment("section 4.1", r"ADMM-objP method (DPLL in \cite{wang2019differential})"),
)
LEMMAS = (
    Fragment("section 3.2", r"\begin{lemma}[Gaussian Mechanism]"),
    Fragment("section 3.2", r"\begin{lemma}[RDP for subsampled mechanism]"),
    Fragment("section 3.2", r"\begin{lemma}[RDP composition]"),
    Fragment("proof of Theorem 1", "by Lemma 4, Algorithm 1"),
)
TYPOS = (
    Fragment("equation (13)", r"-\nabla f(x, B_k) - y^k"),
    Fragment("equation (14)", r"y^k + \rho(x-z)"),
    Fragment("proof of Theorem 1", r"$d_s\in B$ and $d_s\in B'$"),
    Fragment("section 5.3", r"normalize to make $\|x_i\|\leq 1$"),
)


def swapped_citations() -> Evidence:
    """E6: section 5.2 cites for each baseline the paper that section 4.1 cites for the other."""
    return _quoted("citations of the baselines", SWAPPED, _citations_contradict)


def _citations_contradict() -> tuple[bool, str]:
    baselines = dict(re.findall(r"(DP-ADMM|ADMM-objP)\s+\\cite\{(\w+)\}", SWAPPED[0].text))
    earlier = {
        "DP-ADMM": re.findall(r"\\cite\{(\w+)\}", SWAPPED[1].text)[0],
        "ADMM-objP": re.findall(r"\\cite\{(\w+)\}", SWAPPED[2].text)[0],
    }
    swapped = all(baselines[name] != earlier[name] for name in earlier) and set(baselines.values()) == set(
        earlier.values()
    )
    return swapped, f"section 5.2: {baselines}; section 4.1: {earlier}"


def missing_lemma() -> Evidence:
    """E7: three lemmas are stated, the proofs cite a fourth."""
    return _quoted("number of the composition lemma", LEMMAS, _fourth_of_three)


def _fourth_of_three() -> tuple[bool, str]:
    stated = [fragment for fragment in LEMMAS if fragment.text.startswith(r"\begin{lemma}")]
    cited = int(re.findall(r"Lemma (\d)", LEMMAS[-1].text)[0])
    return cited > len(stated), f"{len(stated)} lemmas are stated, Lemma {cited} is cited"


def typos() -> Evidence:
    """E19: superscripts and names that cannot be meant as printed."""
    return _quoted("typos", TYPOS, _typos_contradict)


def _typos_contradict() -> tuple[bool, str]:
    unindexed = "(x, B_k)" in TYPOS[0].text and "(x-z)" in TYPOS[1].text
    same_record = re.findall(r"\$(d\w+)\\in", TYPOS[2].text)
    model_for_data = "x_i" in TYPOS[3].text
    holds = unindexed and len(set(same_record)) == 1 and model_for_data
    return holds, "; ".join(f"{fragment.place}: {fragment.text}" for fragment in TYPOS)


def _quoted(name: str, fragments: tuple[Fragment, ...], contradiction: object) -> Evidence:
    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - text
        if not callable(contradiction):
            raise TypeError("a contradiction is a function")
        holds, witness = contradiction()
        missing = not_in_source(fragments)
        where = "compared with the source" if os.environ.get(SOURCE) else f"quoted; set {SOURCE} to compare"
        return EvidenceResult.check(
            holds and not missing, f"not in the source: {missing}" if missing else where, witness=witness
        )

    return Evidence(name, Kind.QUOTATION, run)


def not_in_source(fragments: tuple[Fragment, ...]) -> list[str]:
    """The fragments that the source, where there is one, does not hold."""
    path = os.environ.get(SOURCE)
    if not path:
        return []
    source = " ".join(Path(path).read_text("utf-8").split())
    return [fragment.text for fragment in fragments if " ".join(fragment.text.split()) not in source]
