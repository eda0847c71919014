"""DpEvents at the command line: ours beside dp-accounting's, where that is installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import click

from accountant.dp_events import Event, event_document, object_of_event
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.words import Neighbours
from dpadmm.cli import _accounting as shared


def write_event(ledger: Ledger, path: Path) -> None:
    """Write the ledger as an event file; refuse what no event describes."""
    path.write_text(json.dumps(event_document(ledger), indent=2) + "\n", "utf-8")


def theirs(event: Event, neighbours: Neighbours, delta: str) -> str:
    """Return what dp-accounting answers, as lines of a table."""
    if importlib.util.find_spec("dp_accounting") is None:
        return "dp-accounting is not installed: theirs is not shown"
    import dp_accounting
    from dp_accounting import pld, rdp

    relation = {
        Neighbours.REPLACE_ONE: dp_accounting.NeighboringRelation.REPLACE_ONE,
        Neighbours.ADD_OR_REMOVE: dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    }[neighbours]
    rows = [("dp-accounting (not certified)", "epsilon")]
    composed = object_of_event(event)
    for name, kind in (("RdpAccountant", rdp.RdpAccountant), ("PLDAccountant", pld.PLDAccountant)):
        try:
            accountant = kind(neighboring_relation=relation)
            answer = repr(float(accountant.compose(composed).get_epsilon(float(delta))))
        except dp_accounting.UnsupportedEventError as reason:
            answer = f"refused: {str(reason)[:100]}"
        except Exception as error:  # whatever it raises is its answer
            answer = f"failed: {type(error).__name__}: {str(error)[:100]}"
        rows.append((name, answer))
    return shared.table(rows)


def show_theirs(event: Event, neighbours: Neighbours, delta: str) -> None:
    """Print what dp-accounting answers."""
    click.echo(theirs(event, neighbours, delta))
