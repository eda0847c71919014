"""The statements themselves, grouped by what they speak of."""
