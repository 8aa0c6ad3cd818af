"""Measured comparisons, each a command that prints its table."""
