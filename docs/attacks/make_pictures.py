"""Draws triggers.png: python docs/attacks/make_pictures.py DIR, where DIR holds MNIST/raw."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import fedward
from fedward.attacks.poisoning import DistributedBackdoor, PatternBackdoor, SinglePixel, Square, Triangle

federation = fedward.datasets.mnist.load(data_dir=sys.argv[1], users=200, seed=0)
assert federation.test is not None
clean = federation.test.span(0, 1)
square = PatternBackdoor(pattern=Square(size=4), target=0)
triangle = PatternBackdoor(pattern=Triangle(size=7), target=0)
cut = DistributedBackdoor(pattern=Triangle(size=7), target=0)
panels = {
    "clean": clean,
    "single_pixel": SinglePixel().poison(clean),
    "pattern: square of 4": square.poison(clean),
    "pattern: triangle of 7": triangle.poison(clean),
} | {f"attacker {i + 1}": cut.poison(clean, i, 4) for i in range(4)}

figure, axes = plt.subplots(1, len(panels), figsize=(14, 2.5))
figure.subplots_adjust(left=0.005, right=0.995, bottom=0.02, top=0.74, wspace=0.06)
for axis, (name, examples) in zip(axes, panels.items(), strict=True):
    label, changed = int(examples.y[0]), examples.x[0, 0] != clean.x[0, 0]
    axis.imshow(examples.x[0, 0], cmap="gray", vmin=0, vmax=1)
    for row, column in changed.nonzero().tolist():
        axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color="#ff8c00", fill=False, linewidth=0.8))
    axis.set_title(f"{name}\nlabel {label}", fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])
last = [axis.get_position() for axis in axes[4:]]
left, right = last[0].x0, last[-1].x1
figure.text(
    (left + right) / 2, 0.94, "distributed: the triangle of 7, cut for 4 attackers", ha="center", fontsize=10
)
figure.add_artist(Line2D([left, right], [0.92, 0.92], color="#ff8c00", linewidth=1))
figure.savefig(Path(__file__).parent / "triggers.png", dpi=120)
