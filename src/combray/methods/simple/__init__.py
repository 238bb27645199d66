"""SimpleMem: dense units of each session, looked up by meaning, words and symbols."""

from combray.methods.simple.params import SimpleParams
from combray.methods.simple.plan import SimplePlan
from combray.methods.simple.simple import Simple

__all__ = ["Simple", "SimpleParams", "SimplePlan"]
