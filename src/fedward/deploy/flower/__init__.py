"""Flower as the carrier: its records, its grid, and the two apps that Flower runs."""
