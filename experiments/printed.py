"""What Miao et al. print about the single pixel; read by the experiment and by the results page."""

from __future__ import annotations

WEIGHT_DECAY = {0.0: (99.28, 99.96), 1e-4: (99.32, 99.85), 5e-4: (99.10, 67.87)}
"""Table 2, EMNIST: accuracy and success in percent, by weight decay."""
WEIGHT_DECAY |= {1e-3: (98.31, 8.17), 5e-3: (97.02, 2.63)}

DEFENCES = {
    "none": "-",
    "Norm Bounding": "poor",
    "Weak DP": "lower by a tiny amount",
    "Krum": "fails",
    "Median": "is not affected",
    "CND": "close to zero",
}
"""What the text says of success in figure 9, which is a picture only."""
