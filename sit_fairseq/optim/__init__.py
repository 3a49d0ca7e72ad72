"""Optimizers that treat matrices, embeddings, and biases with norm gains differently."""
