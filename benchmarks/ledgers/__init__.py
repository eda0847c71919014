"""Random ledgers of one to five phases over the whole admitted range: `python -m benchmarks.ledgers`."""
