"""A pytest plugin for `make mutants`: mutmut 3.8 asks tests for `_nodeid`, which pytest 9.2 calls `nodeid` alone."""

from __future__ import annotations

import pytest

if not hasattr(pytest.Item, "_nodeid"):
    setattr(pytest.Item, "_nodeid", property(lambda item: item.nodeid))  # noqa: B010 - an attribute pytest does not declare
