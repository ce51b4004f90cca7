"""The experiment file: its sections, overrides, sweeps and starters."""
