"""Games: what the adversary sees, which neighbours it must tell apart, and the score it computes."""
