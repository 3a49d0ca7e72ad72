"""Domains: all that is known of a task, a folder each."""
