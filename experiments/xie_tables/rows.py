"""The rows of tables 2 and 4: what the paper prints, what the finished replicas say, and what they spend."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certification import Record, accuracies

import fedward
from fedward.config import experiment as config
from fedward.core.parameters import ParameterSpec
from support import half_width

HERE = Path(__file__).parent
FIGURES = HERE.parent / "xie_certified_accuracy"


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """One table of the paper, and the trainings that answer it.

    Args:
      run: the run directory of the trainings with noise, which are those of a panel of figure 1.
      file: its experiment.
      key: the noise multiplier in it.
      printed: ε and clean accuracy in percent, by σ.
      still: runs without noise: what they are, their experiment, and what varies in it.
    """

    number: int
    algorithm: str
    run: str
    file: Path
    key: str
    printed: dict[float, tuple[float, float]]
    without_noise: float
    still: tuple[tuple[str, Path, tuple[str, ...]], ...]

    @property
    def name(self) -> str:
        return f"table_{self.number}"


TABLES = (
    PaperTable(
        number=2,
        algorithm="UserDP-FedAvg",
        run="xie-users",
        file=FIGURES / "users.toml",
        key="algorithm.noise_multiplier",
        printed={
            0.5: (6.9269, 99.72),
            0.6: (4.8913, 99.69),
            0.8: (2.8305, 99.71),
            1.0: (1.8504, 99.59),
            1.5: (0.8694, 98.86),
            1.8: (0.6298, 97.42),
            2.3: (0.4187, 89.15),
            3.0: (0.2808, 72.79),
        },
        without_noise=99.66,
        still=(
            ("xie-users-without-noise", HERE / "users_without_noise.toml", ()),
            ("xie-users-not-clipped", HERE / "users_not_clipped.toml", ()),
        ),
    ),
    PaperTable(
        number=4,
        algorithm="InsDP-FedAvg",
        run="xie-examples",
        file=FIGURES / "examples.toml",
        key="algorithm.local.noise_multiplier",
        printed={
            1.0: (3.5691, 99.73),
            2.0: (1.0587, 99.73),
            3.0: (0.6373, 99.70),
            4.0: (0.4589, 99.65),
            5.0: (0.3593, 99.57),
            8.0: (0.2484, 97.99),
            10.0: (0.2251, 93.30),
            15.0: (0.2029, 77.12),
        },
        without_noise=99.85,
        still=(
            ("xie-examples-without-noise", HERE / "examples_without_noise.toml", ()),
            (
                "xie-examples-not-clipped",
                HERE / "examples_without_noise.toml",
                ("--set", "algorithm.local.clip_bound=1000000"),
            ),
        ),
    ),
)
CLIPPED, NOT_CLIPPED = "clipped", "not clipped"


def rows(table: PaperTable, runs: Path, levels: tuple[float, ...]) -> list[Record]:
    """A row for each noise level that has finished replicas; those without noise come first."""
    found = []
    for what, (run, _, _) in zip((CLIPPED, NOT_CLIPPED), table.still, strict=True):
        found += [
            {"noise_multiplier": 0.0, "what": what} | summary(values, table.without_noise)
            for values in accuracies(runs / run).values()
        ]
    accuracy = accuracies(runs / table.run)
    for noise in levels:
        printed, paper = table.printed[noise]
        for variant, values in accuracy.items():
            if float(variant.rpartition("=")[2]) == noise:
                row = {"noise_multiplier": noise, "papers_epsilon": printed}
                found.append(row | epsilons(table, noise) | summary(values, paper))
    return found


def summary(values: Any, paper: float) -> Record:
    """Mean, Student's 95 % interval and deviation, in percent, beside what the paper prints."""
    percent = 100 * values
    half = half_width(percent)
    return {
        "papers_accuracy": paper,
        "accuracy": float(percent.mean()),
        "low": float(percent.mean() - half),
        "high": float(percent.mean() + half),
        "deviation": float(percent.std(ddof=1)),
        "replicas": len(percent),
        "inside": inside(paper, float(percent.mean()), half),
    }


def inside(printed: float, mean: float, half: float) -> bool:
    """Whether a number with two decimals may lie in the interval before it was rounded."""
    return abs(printed - mean) <= half + 0.005


def epsilons(table: PaperTable, noise: float) -> Record:
    """ε at the table's δ: by the papers' accountant, and by the tightest of what was run."""
    experiment = config.read(table.file, [f"{table.key}={noise}"])
    content = experiment.model_dump()
    users, delta = content["data"]["users"], content["privacy"]["delta"]
    model = fedward.models.build(
        content["model"]["name"], input_shape=(1, 28, 28), num_classes=2, seed=experiment.seed
    )
    algorithm = experiment.algorithm.build(
        num_users=users,
        layers=ParameterSpec.of(model).layer_sizes(),
        expected_cohort=experiment.algorithm.sampler.build().expected_size(users),  # type: ignore[attr-defined]
    )
    spent = {
        mode: algorithm.guarantee(users, experiment.rounds, delta, mode).epsilon
        for mode in ("moments", "pld")
    }
    return {"delta": delta, "moments": spent["moments"], "pld": spent["pld"]}
