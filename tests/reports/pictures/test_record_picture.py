from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedward
from fedward.api.records import Run
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.reports.pictures.notebook_html import html_of
from fedward.reports.pictures.record_picture import picture_of
from fedward.rundir.run_record import ReplicasRecord, RunRecord
from tiny_experiment import CONTENT

ATTACK: dict[str, Any] = {
    "who": {"name": "random", "count": 2},
    "data": [{"name": "label_flip", "source": 1, "target": 0}],
    "cost_bound": 10.0,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return fedward.train(CONTENT | {"attack": ATTACK}, out=folder / "run", compute=IN_PROCESS, quiet=True)


@pytest.fixture(scope="module")
def certified(folder: Path) -> ReplicasRecord:
    return fedward.certify(
        CONTENT, replicas=3, score="vote", out=folder / "cert", compute=IN_PROCESS, quiet=True
    )


def titles(record: RunRecord | ReplicasRecord) -> list[str]:
    return [axes.get_title() for axes in picture_of(record).figure.axes if axes.get_visible()]


def lines(record: RunRecord | ReplicasRecord, panel: int) -> dict[str, list[float]]:
    drawn = picture_of(record).figure.axes[panel].get_lines()
    return {str(line.get_label()): list(np.asarray(line.get_ydata())) for line in drawn}


def test_a_run_is_drawn_with_accuracy_norms_and_privacy(run: RunRecord) -> None:
    assert titles(run) == [
        "Accuracy and attack over rounds",
        "Norms of updates, and the bound, over rounds",
        "Privacy spent over rounds",
    ]
    drawn = lines(run, 0)
    assert drawn["accuracy"] == [each.accuracy for each in run.metrics]
    assert drawn["attack success"] == [each.attack_success for each in run.metrics]
    guarantee = run.guarantee()
    assert guarantee is not None
    assert lines(run, 2)["rdp"][-1] == pytest.approx(guarantee.epsilon)


def test_a_certificate_is_drawn_against_k(certified: ReplicasRecord) -> None:
    (certificate,) = certified.certificates.values()
    accuracy = next(a.accuracy for a in certificate.attacks if a.threat == "inject")
    assert accuracy is not None
    assert lines(certified, 0)["k attackers join"] == [*accuracy, 0.0]


def test_replicas_without_a_certificate_are_drawn_with_their_means(certified: ReplicasRecord) -> None:
    plain = ReplicasRecord(
        path=certified.path,
        manifest=certified.manifest,
        replicas=3,
        result=certified.result,
        certificates={},
    )
    assert certified.result is not None
    picture = picture_of(plain)
    mean = certified.result.variants["all"]["accuracy"].value
    drawn = np.asarray(picture.figure.axes[0].get_lines()[0].get_xdata())
    assert drawn[0] == pytest.approx(mean)


def test_nothing_measured_is_nothing_drawn_and_still_shown(run: RunRecord) -> None:
    empty = RunRecord(path=Path("<script>"), manifest=run.manifest)
    with pytest.raises(InvalidValue, match="nothing to draw yet"):
        picture_of(empty)
    page = html_of(empty)
    assert "nothing spent yet" in page
    assert "<script>" not in page


def test_a_picture_is_saved_whole(run: Run, tmp_path: Path) -> None:
    run.plot().save(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert [each.name for each in tmp_path.iterdir()] == ["run.png"]
