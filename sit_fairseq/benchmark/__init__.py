"""What scripts/benchmark.py compares, and how it measures."""
