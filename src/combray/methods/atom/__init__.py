"""AtomMem: atomic facts, held against each other, and recalled by association."""

from combray.methods.atom.atom import Atom
from combray.methods.atom.intent import Intent
from combray.methods.atom.params import AtomParams

__all__ = ["Atom", "AtomParams", "Intent"]
