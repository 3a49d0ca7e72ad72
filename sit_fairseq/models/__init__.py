"""The networks: embeddings, attentions, layouts and stacks, and how fairseq registers them."""
