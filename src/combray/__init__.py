"""Long-term memory for LLM agents that keeps the evidence."""
