"""Formulas of linear temporal logic and symbolic traces that satisfy them."""
