"""Runs on disk: directories, checkpoints, records, and the catalogue of many."""
