"""Claimed privacy curves, and one-parameter families of claims, inverted to give lower bounds on epsilon."""
