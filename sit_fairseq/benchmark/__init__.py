"""What ``sit benchmark`` compares, and how it measures."""
