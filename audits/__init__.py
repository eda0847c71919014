"""Statistical tests of a privacy claim: games, attacks, lower bounds on epsilon, the gate."""
