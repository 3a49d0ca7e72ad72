"""The verbs ``sit evaluate ...``, one for each metric."""
