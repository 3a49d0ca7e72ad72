"""Tables of experiments: what to train and to measure, the runs, and the table."""
