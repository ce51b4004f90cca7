"""Figures 14 and 15: the same ε on paper, whatever is clipped; and what is true of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.certificates.certified import averages, certify_setting
from fedward.certificates.claims import Claims
from fedward.certificates.paper import equation_6, theorem_2
from fedward.config import experiment as config
from fedward.privacy.accountants import epsilon_of
from fedward.reports.terminal.certified_table import record
from fedward.rundir.store import RunDirectory
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.replicas.replica_results import load_replicas
from fedward.studies.training.setup import prepare

CLIPS = {
    "flat": "flat",
    "per layer": "per-layer",
    "flat median": "median",
    "per-layer median": "per-layer-median",
}
ERROR = 0.01


def compare(run: Path, kept: Path, noise: float, per_layer: float, data: str | None) -> dict[str, Any]:
    """Curves by theorem 2 with the ε that the paper has for all four; certificates where there is a proof.

    Args:
      kept: where the curves and the picture go, without the ends of their names.
      noise: the paper's σ.
      per_layer: what it calls the same noise per layer: its σS on each of L layers is σ/√L of what a
        clipped update can be.
    """
    papers = {
        name: f"clip={clip}, noise_multiplier={per_layer if clip.startswith('per') else noise:g}"
        for name, clip in CLIPS.items()
    }
    contents = RunDirectory(run).manifest().variants or {}
    where = None if data is None else Path(data)
    flat = prepare(config.from_content(contents[papers["flat"]], "run.json"), where)
    ledger = flat.algorithm.planned_ledger(flat.federation.num_users, flat.experiment.rounds)
    stated = epsilon_of(ledger.spending, flat.delta, "moments", ledger.adjacency)
    canvas = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = canvas.subplots(1, 2, sharey=True)
    found: dict[str, Any] = {}
    ks = {
        (name, sure): papers_k(run, variant, stated, flat.delta, sure=sure)
        for name, variant in papers.items()
        for sure in (True, False)
    }
    grid = np.linspace(0, 1.05 * max(k.max() for k in ks.values()), 200)
    for name in papers:
        colour, curves = f"C{len(found)}", []
        for sure, style in ((True, "-"), (False, ":")):
            k = ks[name, sure]
            left.plot(grid, [(k > x).mean() for x in grid], style, color=colour, label=name if sure else None)
            curves.append(papers_curve(k, sure=sure))
        found[name] = {"epsilon": None, "papers_epsilon": stated, "curves": curves}
    for name in (*papers.values(), f"clip=per-layer, noise_multiplier={noise:g}"):
        setup = prepare(config.from_content(contents[name], "run.json"), federation=flat.federation)
        scores = load_replicas(run, name)
        try:
            each = certify_setting(setting_of(Claims(replicas=len(scores), error=ERROR), setup), scores)
        except InvalidValue as error:
            found[f"certified, {name}"] = {"refused": str(error)}
            continue
        short = record(each)
        found[f"certified, {name}"] = short
        curve = each.curve("inject", sure=True)
        assert curve is not None
        right.step(
            range(len(curve.accuracy) + 1),
            [*curve.accuracy, 0.0],
            where="post",
            label=f"{name}, ε = {each.epsilon:.2f}",
        )
    titles = (
        (left, f"theorem 2, ε = {stated:.4f} for all, as the paper has it (moments)"),
        (right, f"k attackers join, tight ({flat.accountant})"),
    )
    for panel, title in titles:
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("k")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    right.xaxis.get_major_locator().set_params(integer=True)
    left.set_xlabel("K, a real number; dotted: without confidence")
    left.set_ylabel(f"certified accuracy at confidence {1 - ERROR:g}")
    about = f"ε at δ = {flat.delta:g}, {ledger.unit} level, {ledger.adjacency}, one training"
    canvas.supxlabel(about, fontsize=7)
    canvas.savefig(kept.with_suffix(".png"), dpi=150)
    kept.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    return {name: each for name, each in found.items() if "curves" in each}


def papers_k(run: Path, variant: str, epsilon: float, delta: float, *, sure: bool) -> NDArray[np.float64]:
    """K of theorem 2 for each example, a real number; 0 where the prediction is wrong."""
    scores = load_replicas(run, variant)
    top, best, second = averages(scores)
    found = []
    for a, b, right in zip(best.tolist(), second.tolist(), top == scores.labels, strict=True):
        pair = equation_6(a, b, len(scores), ERROR) if sure else (a, b)
        found.append(max(0.0, theorem_2(*pair, epsilon, delta)) if right else 0.0)
    return np.array(found)


def papers_curve(k: NDArray[np.float64], *, sure: bool) -> dict[str, Any]:
    """Certified accuracy at whole numbers: an example is certified for k < K."""
    accuracy = [float((k > j).mean()) for j in range(int(np.ceil(k.max())) or 1)]
    at = {
        share: max((j for j, reached in enumerate(accuracy) if reached >= float(share)), default=None)
        for share in ("0.5", "0.8", "0.9")
    }
    return {"mode": "paper", "with_confidence": sure, "certified_accuracy": accuracy, "largest_k_at": at}
