"""Modules of other names, for benchmark scripts."""
