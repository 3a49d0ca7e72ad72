"""Formulas in prefix notation, which several domains share."""
