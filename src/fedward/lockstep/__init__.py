"""Many trainings together, equal jobs once."""
