"""The pictures: measured costs with 95 % intervals, and the bounds that hold for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Record = dict[str, Any]
MODES = {"paper": ("theorem 3, as in the paper", ":"), "compromise": ("k taken over, tight", "--")}


def figure_2(found: Record, path: Path) -> None:
    """A row for each bound of the cost, a panel for each attack; k against cost."""
    _grid(found, path, "attackers k")


def figure_8(found: Record, path: Path) -> None:
    """The same for poisoned examples."""
    _grid(found, path, "poisoned examples k")


def figure_3(found: Record, path: Path) -> None:
    """Cost under ten attackers against the noise multiplier."""
    _over_noise(found, path, (10,))


def figure_8_noise(found: Record, path: Path) -> None:
    """Cost under 50 and 500 poisoned examples against the noise multiplier."""
    _over_noise(found, path, (50, 500), examples=True)


def figure_5(found: Record, path: Path) -> None:
    """Corollary 1: how many attackers it takes to divide the cost by τ, for each σ."""
    canvas = Figure(figsize=(10, 3.8), layout="constrained")
    panels = canvas.subplots(1, 2, sharey=True)
    for panel, (mode, (title, _)) in zip(panels, MODES.items(), strict=True):
        for number, (noise, each) in enumerate(_by_noise(found["backdoor"], 0.5).items()):
            needed = zip(each["taus"], _line(each, mode)["needed"], strict=True)
            reached = [(tau, k) for tau, k in needed if k is not None]
            if reached:
                panel.plot(*zip(*reached, strict=True), ".-", color=f"C{number}", label=f"σ = {noise:g}")
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("τ")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    panels[0].set_ylabel("attackers needed to divide the cost by τ")
    canvas.savefig(path, dpi=130)


def _grid(found: Record, path: Path, what: str) -> None:
    canvas = Figure(figsize=(3.6 * len(found) + 0.6, 6.6), layout="constrained")
    rows = canvas.subplots(2, len(found), squeeze=False)
    for row, bound in zip(rows, (0.5, 10), strict=True):
        for panel, (attack, variants) in zip(row, found.items(), strict=True):
            chosen = _at(variants, bound)
            for number, (name, each) in enumerate(chosen.items()):
                label = name.rpartition(", ")[0].replace("factor=", "γ = ").replace("fraction=", "α = ")
                points = {point["attackers"]: point for point in each["measured"]}
                _points(panel, points, f"C{number}", label or "measured")
            first = next(iter(chosen.values()))
            for mode, (title, style) in MODES.items():
                for line in (entry for entry in first["lines"] if entry["mode"] == mode):
                    said = title.replace("taken over", "changed") if "examples" in what else title
                    panel.plot(line["lower"], style, color="black", label=f"least, {said}")
            panel.set_title(attack.replace("_", " "), fontsize=10)
            _finish(panel, what, bound)
    canvas.savefig(path, dpi=110)


def _over_noise(found: Record, path: Path, numbers: tuple[int, ...], *, examples: bool = False) -> None:
    canvas = Figure(figsize=(10, 3.8 * len(numbers)), layout="constrained")
    for row, k in zip(canvas.subplots(len(numbers), 2, squeeze=False), numbers, strict=True):
        for panel, bound in zip(row, (0.5, 10), strict=True):
            for number, (attack, variants) in enumerate(found.items()):
                chosen = _by_noise(variants, bound)
                label = f"measured, k = {k}, {attack.replace('_', ' ')}"
                _points(
                    panel, {noise: _measured(each, k) for noise, each in chosen.items()}, f"C{number}", label
                )
            for mode, (title, style) in MODES.items():
                least = [_line(each, mode)["lower"][k] for each in chosen.values()]
                said = title.replace("taken over", "changed") if examples else title
                panel.plot(list(chosen), least, style, color="black", label=f"least, {said}")
            clean = {noise: _measured(each, 0) for noise, each in chosen.items()}
            _points(panel, clean, "grey", "measured, no attacker")
            _finish(panel, "noise multiplier σ (ε falls to the right)", bound)
    canvas.savefig(path, dpi=110)


def _measured(each: Record, k: int) -> Record:
    found: Record = next(point for point in each["measured"] if point["attackers"] == k)
    return found


def _points(panel: Any, points: dict[float, Record], colour: str, label: str) -> None:
    found = list(points.values())
    reach = [[abs(point["mean"] - point[end]) for point in found] for end in ("low", "high")]
    means = [point["mean"] for point in found]
    style = {"marker": "o", "markersize": 3, "linewidth": 1}
    panel.errorbar(list(points), means, yerr=reach, color=colour, label=label, **style)


def _finish(panel: Any, what: str, bound: float) -> None:
    panel.set_xlabel(what)
    panel.set_ylabel(f"expected min(cost, {bound:g})")
    panel.set_ylim(0, 1.08 * bound)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=6)


def _at(variants: Record, bound: float) -> Record:
    return {name: each for name, each in variants.items() if each["cost_bound"] == bound}


def _by_noise(variants: Record, bound: float) -> dict[float, Record]:
    return {_value(name, "noise_multiplier"): each for name, each in _at(variants, bound).items()}


def _line(each: Record, mode: str) -> Record:
    found: Record = next(line for line in each["lines"] if line["mode"] == mode)
    return found


def _value(name: str, key: str) -> float:
    return float(next(part for part in name.split(", ") if part.startswith(f"{key}=")).partition("=")[2])
