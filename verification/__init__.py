"""Checks of statements and of implementations: proofs, golden vectors, neighbours, questions and their judge."""
