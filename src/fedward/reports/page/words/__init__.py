"""Guarantees and certificates in words that a layman can repeat."""
