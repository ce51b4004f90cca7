"""Replicas, and what is certified from them."""
