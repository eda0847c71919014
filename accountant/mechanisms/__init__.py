"""What is run, described once: one class an algorithm, each with its ledger of private steps."""
