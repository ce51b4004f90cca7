"""Experiment files, run directories, and what carries one out into the other."""
