"""Forecasts of the work, time and privacy that a study would take, before any of it is done."""
