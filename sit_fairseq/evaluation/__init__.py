"""Measuring trained models: decoding, metrics, figures and result files."""
