"""The algorithms of the paper, ssADMM and mpADMM: simple, fully typed, numpy only."""
