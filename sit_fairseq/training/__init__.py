"""Criterions, optimizers, alpha-renaming and the order of batches."""
