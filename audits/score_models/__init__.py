"""Distribution of an adversary's score under a claimed mechanism: affects the power of tests, never their validity."""
