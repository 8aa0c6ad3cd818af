"""Readers: one file (or package) per framework, each with a `FORMAT`. They do not know each other."""
