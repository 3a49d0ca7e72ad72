"""Formulas: their notation, and the truth tables of the propositional ones."""
