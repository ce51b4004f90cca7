"""A certification, and all that a forger needs to make a third of it false."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np

from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import read_scores
from fuzzing.fuzzed_commands import run
from tampering.forgery import Material, Scores
from tampering.prepared_runs import TEXT

REPLICAS = 90
NATIVE = TEXT.replace('"logistic_regression"', '"mlp"')
"""A model that the native engine trains: it comes to the same bits on one kind of processor."""


def make_certified(folder: Path, text: str = TEXT, replicas: int = REPLICAS) -> Material:
    """Certifies in ``folder/honest``, and trains what a forger would take instead elsewhere."""
    (folder / "experiment.toml").write_text(text, encoding="utf8")
    certify(folder, "honest", replicas)
    return Material(
        other_seed=certify(folder, "other_seed", replicas, "--set", "seed=2"),
        less_noise=certify(folder, "less_noise", replicas, "--set", "algorithm.noise_multiplier=0.6"),
        more_rounds=certify(folder, "more_rounds", replicas, "--set", "rounds=6"),
        # The data of the seed: other users, and other test examples that nobody looks at here.
        other_data=certify(folder, "other_data", replicas, "--set", "data.examples=12"),
        other_draw=certify(folder, "other_draw", replicas, "--error", "0.02"),
    )


def certify(folder: Path, name: str, replicas: int, *options: str) -> Scores:
    """The confidences of a certification that is carried out in a directory of this name."""
    words = ["certify", "experiment.toml", "-m", str(replicas), "--score", "confidence", *options]
    code, printed = answer([*words, "--out", name], folder)
    if code:
        raise RuntimeError(printed)
    scores = read_scores((folder / name / "certificate-scores.npz").read_bytes())
    assert isinstance(scores, Replicas)
    return scores.scores.astype(np.float32)


def answer(words: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run(words, folder)
    return code, printed.getvalue()


def check(folder: Path, name: str, *options: str) -> tuple[bool, str]:
    """Whether a certificate is said to hold, and what is said besides; it must be one or the other."""
    code, printed = answer(["certificate", "check", f"{name}/certificate.json", *options], folder)
    found = re.search(r"the certificate (holds|does not hold)", printed)
    if found is None:
        raise RuntimeError(f"exit code {code}: {printed}")
    assert (code == 0) == (found[1] == "holds")
    return code == 0, printed
