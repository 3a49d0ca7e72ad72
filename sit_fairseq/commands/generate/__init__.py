"""Data sets made at random."""
