"""Commented experiment files to start from."""
