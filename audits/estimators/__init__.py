"""From scores to a confident lower bound on epsilon, one estimator a file."""
