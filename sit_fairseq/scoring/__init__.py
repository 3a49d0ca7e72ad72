"""Scorers for fairseq-generate."""
