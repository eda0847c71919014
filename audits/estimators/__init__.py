"""From scores to a confidence lower bound on epsilon, one estimator per file."""
