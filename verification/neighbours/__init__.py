"""Adversarial neighbouring data sets: named families, and a search that climbs and shrinks to the smallest witness."""
