"""Certificates: written answers, re-derived by independent routes."""
