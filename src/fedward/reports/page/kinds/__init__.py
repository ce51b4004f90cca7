"""A part of the page for each kind of run, and what all kinds have in common."""
