"""Propositional formulas and partial assignments that imply them."""
