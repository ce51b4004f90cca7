"""Every attack on every defence."""
