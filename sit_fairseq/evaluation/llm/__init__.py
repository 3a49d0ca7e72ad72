"""Putting the problems to a language model behind an OpenAI-compatible endpoint."""
