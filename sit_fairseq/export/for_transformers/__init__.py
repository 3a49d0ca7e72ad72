"""Folders that transformers loads, and folders of weights to upload."""
