"""Formulas and traces: notations, truth tables and labels."""
