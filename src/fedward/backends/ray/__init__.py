"""Nodes of a Ray cluster that run jobs: many machines."""
