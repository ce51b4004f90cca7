"""Replicas of a certificate trained again, and compared with what is stored."""
