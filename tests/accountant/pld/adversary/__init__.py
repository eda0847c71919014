"""Tests of the exact adversary."""
