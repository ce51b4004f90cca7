"""Audits: attacks on an experiment's own mechanism that bound its ε from below."""
