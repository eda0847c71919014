"""Side by side with the peers, in one run: a speed is a ratio, an epsilon has its neighbours beside it."""
