"""How to retrieve: one file per method."""
