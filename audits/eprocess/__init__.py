"""Tests against a claimed curve that are valid at every time, and lower bounds on epsilon from the same scores."""
