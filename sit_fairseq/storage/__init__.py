"""Files: written whole or not at all, runs that go on, checkpoints read as data."""
