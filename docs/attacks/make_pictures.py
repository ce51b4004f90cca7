"""Draws triggers.png and red_cars.png: python docs/attacks/make_pictures.py DIR, where DIR holds MNIST/raw
and cifar-10-batches-bin. A picture whose data is not there is left as it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import fedward
from fedward.attacks.poisoning import (
    DistributedBackdoor,
    PatternBackdoor,
    RedCar,
    SinglePixel,
    Square,
    Triangle,
)

HERE = Path(__file__).parent


def triggers(data: Path) -> None:
    """What a digit looks like with each trigger."""
    federation = fedward.datasets.mnist.load(data_dir=data, users=200, seed=0)
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
            axis.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, color="#ff8c00", fill=False, linewidth=0.8)
            )
        axis.set_title(f"{name}\nlabel {label}", fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    last = [axis.get_position() for axis in axes[4:]]
    left, right = last[0].x0, last[-1].x1
    figure.text(
        (left + right) / 2,
        0.94,
        "distributed: the triangle of 7, cut for 4 attackers",
        ha="center",
        fontsize=10,
    )
    figure.add_artist(Line2D([left, right], [0.92, 0.92], color="#ff8c00", linewidth=1))
    figure.savefig(HERE / "triggers.png", dpi=120)


def red_cars(data: Path, rows: int = 2, columns: int = 12) -> None:
    """Cars that the rule takes, for training and for testing, and some that it leaves, drawn at random."""
    # Of two classes only: all ten would take 0.7 GB.
    federation = fedward.datasets.cifar10.load(data_dir=data, classes=(1, 2), users=10, seed=0)
    assert federation.test is not None
    rng, count, strips = np.random.default_rng(0), rows * columns, {}
    for part, examples in (("training", federation.examples), ("test", federation.test)):
        cars = (examples.y == 0).numpy()
        red = RedCar(label=0).mask(examples).numpy()
        print(f"{red.sum()} of {cars.sum()} {part} cars are red")
        strips[f"red_car: {count} of {red.sum():,} {part} cars that it takes"] = examples, red
        if part == "test":
            strips[f"{count} of {(cars & ~red).sum():,} test cars that it leaves"] = examples, cars & ~red

    # Every pixel is drawn as two by two whole ones.
    height, title_height, width = 2 * 34 * rows, 24, 2 * 34 * columns
    total = len(strips) * (height + title_height)
    figure = plt.figure(figsize=(width / 100, total / 100), dpi=100)
    for place, (title, (examples, mask)) in enumerate(strips.items()):
        top = total - place * (height + title_height)
        figure.text(0.5, (top - title_height / 2) / total, title, ha="center", va="center", fontsize=10)
        chosen = rng.choice(np.flatnonzero(mask), size=count, replace=False)
        # 32 shades of each colour look the same and pack better.
        shades = (31 * examples.x[chosen].numpy()).round() / 31
        sheet = _sheet(shades, columns).repeat(2, axis=0).repeat(2, axis=1)
        figure.figimage(sheet, 0, top - title_height - height, origin="upper")
    figure.savefig(HERE / "red_cars.png", pil_kwargs={"optimize": True})


def _sheet(pictures: np.ndarray[Any, Any], columns: int) -> np.ndarray[Any, Any]:
    """Pictures [n, 3, rows, columns] side by side, with a white line between them."""
    framed = np.pad(pictures, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=1.0)
    _, channels, height, width = framed.shape
    grid = framed.reshape(-1, columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    return grid.reshape(-1, columns * width, channels)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    for draw, needed in ((triggers, "MNIST/raw"), (red_cars, "cifar-10-batches-bin")):
        if (directory / needed).is_dir():
            draw(directory)
        else:
            print(f"{draw.__name__}.png is left as it is: there is no {needed} in {directory}")
