"""Search in slot space, and for answers that a judge accepts."""
