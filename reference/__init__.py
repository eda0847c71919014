"""What the paper computes: ssADMM and mpADMM, deliberately simple, fully typed, numpy only."""
