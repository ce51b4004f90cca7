"""Engines, which train and measure models: the generic path, the Gram form, the native engine."""
