"""Generators and readers of data sets."""
