"""The step from one coordinate to vectors is checked, and refuses maps that mix coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from reference.arithmetic import Vector
from verification.smt.updates import coordinatewise_maps, is_coordinatewise


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_every_map_proved_for_one_coordinate_works_coordinate_by_coordinate(length: int) -> None:
    for name, function, arguments in coordinatewise_maps():
        assert is_coordinatewise(function, arguments, length), name


def swapped(v: Vector) -> Vector:
    return v[::-1]


def first_added(v: Vector) -> Vector:
    moved: Vector = v + v[0]
    return moved


def scaled_by_place(v: Vector) -> Vector:
    scaled: Vector = v * np.arange(1, len(v) + 1)
    return scaled


@pytest.mark.parametrize("wrong", [swapped, first_added, scaled_by_place])
def test_a_map_that_mixes_coordinates_is_refused(wrong: object) -> None:
    assert callable(wrong)
    assert not is_coordinatewise(wrong, 1, 3)
