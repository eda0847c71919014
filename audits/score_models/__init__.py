"""How an adversary's score is distributed under a claimed mechanism: used to design bets, never trusted."""
