"""Judges that decide whether an answer is right, whatever it looks like."""
