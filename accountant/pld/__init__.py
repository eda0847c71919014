"""Certified numerical composition of privacy loss distributions (PLD)."""
