"""Dictionaries and datasets that know which tokens are interchangeable."""
