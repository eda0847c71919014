"""Evidence for privacy claims about private ADMM: the public names."""
