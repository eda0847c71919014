"""The project as its users have it: a wheel in an environment of its own, outside the checkout."""
