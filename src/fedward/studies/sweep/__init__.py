"""Many experiments of one file."""
