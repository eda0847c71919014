"""The gate: claim file in, stages in order of cost, findings out."""
