"""Strings to be copied."""
