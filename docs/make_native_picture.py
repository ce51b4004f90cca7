"""Draws docs/native.png: how the native engine lays out activations and weights, and the tile it computes.

python docs/make_native_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

BLUE, ORANGE, GREEN, GREY = "#3b76af", "#ef8636", "#519e3e", "#dddddd"


def cell(ax: Axes, x: float, y: float, colour: str, wide: float = 1, high: float = 1, text: str = "") -> None:
    ax.add_patch(Rectangle((x, y), wide, high, facecolor=colour, edgecolor="white", linewidth=1))
    if text:
        ax.text(x + wide / 2, y + high / 2, text, ha="center", va="center", fontsize=8)


def bare(ax: Axes, title: str, wide: float, high: float) -> None:
    ax.set_title(title, fontsize=11, loc="left")
    ax.set_xlim(-0.5, wide)
    ax.set_ylim(high, -1.6)
    ax.set_aspect("equal")
    ax.axis("off")


def activations(ax: Axes) -> None:
    bare(ax, "1  Activations of one example", 10, 9.6)
    for row in range(8):
        for column in range(8):
            inside = 1 <= row <= 6 and 1 <= column <= 6
            window = row < 3 and 2 <= column < 5
            cell(
                ax,
                column,
                row,
                BLUE if window and inside else ORANGE if window else "#a9c6de" if inside else GREY,
            )
    ax.text(4, -0.3, "a row of pixels: channels side by side, next pixel follows", ha="center", fontsize=8)
    ax.text(8.2, 0.6, "halo of zeros:\nthe padding", fontsize=8, va="center")
    ax.text(
        0,
        8.3,
        "A 3 x 3 window is three stretches of memory,\n"
        "each of 3 pixels x channels. Nothing is copied:\n"
        "the kernel walks along them.",
        fontsize=8,
        va="top",
    )


def weights(ax: Axes) -> None:
    bare(ax, "2  Weights, panel by panel", 12, 9.6)
    for panel in range(2):
        for tap in range(7):
            colour = GREEN if panel == 0 else "#b5d6ac"
            cell(ax, panel * 5.2, tap, colour, 2.3, 1)
            cell(ax, panel * 5.2 + 2.3, tap, colour, 2.3, 1)
        ax.text(panel * 5.2 + 2.3, -0.3, f"panel {panel}: 16 outputs", ha="center", fontsize=8)
    ax.text(-0.2, 3.5, "taps", rotation=90, ha="right", va="center", fontsize=8)
    ax.add_patch(FancyArrowPatch((2.3, 0.2), (2.3, 6.9), arrowstyle="->", mutation_scale=12, color="black"))
    ax.text(
        0,
        7.3,
        "[outputs / panel][taps][panel]: read from front to end.\n"
        "Outputs beyond the model's are zeros, up to a whole vector.\n"
        "For the way back the same with taps and outputs swapped.",
        fontsize=8,
        va="top",
    )


def tile(ax: Axes) -> None:
    bare(ax, "3  One tile, in registers", 11, 9.6)
    for row in range(6):
        cell(ax, 0, row, BLUE, text="x")
        for vector in range(2):
            cell(ax, 2.4 + vector * 2.9, row, "#f6c9a1", 2.9, 1)
    for vector in range(2):
        cell(ax, 2.4 + vector * 2.9, -1.3, GREEN, 2.9, 1)
    ax.text(0.5, -0.8, "one tap", ha="center", va="center", fontsize=8)
    ax.text(8.5, -0.8, "of 6 pixels: x\nof a panel: 2 vectors", fontsize=8, va="center")
    ax.text(5.3, 3, "6 pixels x 16 outputs\n12 sums (AVX2)", ha="center", va="center", fontsize=8)
    ax.text(
        0,
        6.3,
        "Each tap: 2 loads, 6 broadcasts, 12 multiply-adds.\n"
        "Sums leave the registers once, after all taps, through\n"
        "the ReLU. A chunk of examples goes through all layers\n"
        "together, few enough to stay in the second cache.",
        fontsize=8,
        va="top",
    )


def main() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), width_ratios=(10.5, 12.5, 11.5))
    for draw, ax in zip((activations, weights, tile), axes, strict=True):
        draw(ax)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("native.png"), dpi=110)


if __name__ == "__main__":
    main()
