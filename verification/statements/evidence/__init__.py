"""Evidence that can be run: proofs, enclosures, attacks, witnesses, quotations."""
