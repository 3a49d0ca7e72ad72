"""Placeholders of messages: ``%s``, ``{name}``, ``<b>``, URLs."""
