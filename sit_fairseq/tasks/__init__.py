"""fairseq's tasks for sentences with symbols, and the parts of fairseq that they replace."""
