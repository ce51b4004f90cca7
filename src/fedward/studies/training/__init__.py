"""One training of an experiment file."""
