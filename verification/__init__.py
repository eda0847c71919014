"""Checks of statements and of implementations: proofs, golden vectors, adversarial neighbours, conformance."""
