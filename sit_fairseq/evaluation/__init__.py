"""Measuring trained models from what the fairseq commands print."""
