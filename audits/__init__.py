"""Whether an implementation leaks more than it says: games, attacks, lower bounds, the gate."""
