"""Analyses: pure functions from a Trace to a result. They do not know each other, nor any framework."""
