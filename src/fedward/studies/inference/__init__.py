"""Inference attacks on the trainings of an experiment."""
