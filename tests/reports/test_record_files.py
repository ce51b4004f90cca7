from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import fedward
from fedward.api.records import Inference, Replicas, Run, Sweep
from fedward.api.sweep_api import sweep
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from tiny_experiment import CONTENT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return fedward.train(CONTENT, out=folder / "run", compute=IN_PROCESS, quiet=True)


@pytest.fixture(scope="module")
def certified(folder: Path) -> Replicas:
    return fedward.certify(
        CONTENT, replicas=3, score="vote", out=folder / "c", compute=IN_PROCESS, quiet=True
    )


@pytest.fixture(scope="module")
def swept(folder: Path) -> Sweep:
    vary = {"algorithm.noise_multiplier": [1.0, 2.0]}
    return sweep(CONTENT, vary=vary, seeds=2, out=folder / "s", compute=IN_PROCESS, quiet=True)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_a_run_is_saved_with_all_digits_and_rounds_from_one(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text(encoding="utf8"))
    guarantee = run.guarantee()
    assert guarantee is not None
    assert content["guarantee"]["epsilon"] == guarantee.epsilon
    assert content["guarantee"]["statement"] == str(guarantee)
    assert content["manifest"] == run.manifest.to_json()
    assert [row["round"] for row in content["table"]] == [1, 2]
    run.save(tmp_path / "x.csv")
    assert [row["round"] for row in rows(tmp_path / "x.csv")] == ["1", "2"]
    assert [float(row["accuracy"]) for row in rows(tmp_path / "x.csv")] == [m.accuracy for m in run.metrics]


def test_a_certificate_is_saved_by_k(certified: Replicas, tmp_path: Path) -> None:
    certified.save(tmp_path / "x.csv")
    found = rows(tmp_path / "x.csv")
    (certificate,) = certified.certificates.values()
    assert {row["threat"] for row in found} == {attack.threat for attack in certificate.attacks}
    for row in found:
        share = certified.certified_accuracy(int(row["k"]), row["threat"], row["variant"])
        assert float(row["certified_accuracy"]) == share
        assert row["replicas"] == "3"
    certified.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text(encoding="utf8"))
    assert content["kind"] == "certificate"
    together = content["guarantees"]["releasing_all"]["all"]["epsilon"]
    assert together == certificate.releasing_all.epsilon
    assert together > content["guarantees"]["one_training"]["all"]["epsilon"]


def test_a_sweep_is_saved_and_drawn_as_it_was_stored(swept: Sweep, tmp_path: Path) -> None:
    swept.save(tmp_path / "x.csv")
    assert [row["labels.noise_multiplier"] for row in rows(tmp_path / "x.csv")] == ["1", "2"]
    swept.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text(encoding="utf8"))
    assert content["combinations"] == list(swept.combinations)
    points = swept.plot("paper").data
    assert [(point.x, point.y) for point in points] == [
        (each["values"]["noise_multiplier"], each["accuracy"]["mean"]) for each in swept.combinations
    ]


def test_a_report_is_a_page(run: Run, swept: Sweep, tmp_path: Path) -> None:
    run.save(tmp_path / "x.html")
    assert "<!doctype html>" in (tmp_path / "x.html").read_text(encoding="utf8")[:20]
    swept.save(tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text(encoding="utf8")
    assert all(each.name in page for each in swept.runs)


@pytest.mark.parametrize("name", ["x.png", "x", "x.xlsx"])
def test_another_ending_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue, match=r"ends in \.json, \.csv, \.html .*plot"):
        run.save(tmp_path / name)
    with pytest.raises(InvalidValue, match="directory that exists"):
        run.save(tmp_path / "no" / "x.json")
    assert not list(tmp_path.iterdir())


def test_records_are_one_line_that_a_person_reads(run: Run, certified: Replicas, swept: Sweep) -> None:
    guarantee, result = run.guarantee(), run.result
    assert guarantee is not None
    assert result is not None
    accuracy = f"accuracy {100 * (result.accuracy or 0):.1f} %"
    assert repr(run).startswith(f"Run({str(run.path)!r}: 2 rounds, {accuracy}, ε = ")
    assert "3 replicas, certified with confidence 0.99" in repr(certified)
    assert repr(swept).startswith(f"Sweep({str(swept.path)!r}: 2 combinations, 4 runs, accuracy ")
    texts = [run, certified, swept, guarantee, result, certified.result, *certified.certificates.values()]
    for text in map(repr, texts):
        assert len(text) < 250
        assert "\n" not in text
    assert issubclass(Inference, fedward.InferenceRecord)
    assert "<img" in swept._repr_html_()
