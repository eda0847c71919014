"""Adversarial neighbouring data sets, the sensitivity observed on them, and the search for the worst pair."""
