"""Training criterions."""
