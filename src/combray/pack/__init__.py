"""Fitting evidence into a token budget, and rendering it."""
