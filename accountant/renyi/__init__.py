"""Renyi divergence: moments of each kind of step, and conversion to (epsilon, delta)."""
