"""Layers of the Symbol-Invariant Transformer."""
