"""Certificates on the page: three accuracies, the curve with its slider, and the examples."""
