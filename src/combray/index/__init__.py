"""Derived state over the evidence: scores from postings, matrices and links. Never calls a model."""
