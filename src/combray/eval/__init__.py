"""Experiments on benchmark data."""
