"""Weights from pooled public data."""
