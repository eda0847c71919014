"""The claims themselves, grouped by what they speak of."""
