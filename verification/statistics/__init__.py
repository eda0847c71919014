"""Pure functions on arrays that return tests: what an honest implementation shows, and how likely what was seen is."""
