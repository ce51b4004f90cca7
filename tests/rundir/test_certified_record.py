"""Replicas and certificates on disk: every ε comes from a ledger, and two that disagree are refused."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

import fedward
from fedward.backends.compute import IN_PROCESS
from fedward.base.strict_json import digest
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate_file import dumps, loads
from fedward.certificates.certified import papers_guarantee
from fedward.certificates.others.any_certificate import certify_by
from fedward.reports.page import render
from fedward.rundir.run_record import ReplicasRecord, load
from fedward.studies.replicas.replica_results import load_replicas
from studies.replicas_wanted import go, wanted
from tiny_experiment import CONTENT as TINY
from tiny_experiment import changed

CONTENT = changed(TINY, rounds=1)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certified") / "run"
    fedward.certify(CONTENT, replicas=6, out=path, compute=IN_PROCESS, quiet=True)
    return path


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "run"))


def loaded(path: Path) -> ReplicasRecord:
    found = load(path)
    assert isinstance(found, ReplicasRecord)
    return found


def edit(file: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def forge(file: Path, change: Callable[[Any], object]) -> None:
    """Edits a certificate, and makes its digest fit again."""
    content = json.loads(file.read_text())
    del content["digest"]
    change(content)
    file.write_text(json.dumps({**content, "digest": digest(content)}))


def test_one_training_is_stated_from_its_ledger(run: Path) -> None:
    record = loaded(run)
    certificate = record.certificates["all"]
    setting = certificate.setting
    one = record.one_training("all")
    assert one == setting.ledger.guarantee(setting.delta, setting.accountant)
    assert record.trainings["all"].ledger == setting.ledger
    assert record.certified is not None
    assert record.certified["all"]["epsilon"] == one.epsilon
    papers = papers_guarantee(setting)
    assert papers is not None
    assert record.certified["all"]["papers_epsilon"] == papers.epsilon


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.__setitem__("epsilon", 0.125), "says epsilon = 0.125, and .*certificate.json comes to"),
        (lambda c: c["guarantee"].__setitem__("epsilon", 0.125), "says ε = 0.125, and .*certificate.json"),
        (lambda c: c.__setitem__("papers_epsilon", 0.125), "says papers_epsilon = 0.125"),
        (lambda c: c["papers_guarantee"].__setitem__("epsilon", 0.125), "says ε = 0.125"),
        (lambda c: c["releasing_all"].__setitem__("epsilon", 0.125), "says ε = 0.125"),
        (lambda c: c["releasing_all"].__setitem__("rounds", 1), "says rounds = 1, and .* comes to 6"),
    ],
)
def test_a_summary_states_what_the_ledger_of_its_certificate_comes_to(
    run: Path, change: Any, said: str
) -> None:
    edit(run / "certified.json", lambda content: change(content["all"]))
    with pytest.raises(InvalidValue, match=f"certified.json {said}"):
        load(run)


@pytest.mark.usefixtures("edited_by_hand")
def test_the_sentence_of_a_summary_is_made_and_not_read(run: Path) -> None:
    true = loaded(run).certified
    edit(run / "certified.json", lambda content: content["all"].__setitem__("statement", "(ε = 0.001)"))
    assert loaded(run).certified == true


def test_a_certificate_whose_epsilon_is_not_that_of_its_ledger_is_not_shown(run: Path) -> None:
    forge(run / "certificate.json", lambda c: c["releasing_all"].__setitem__("epsilon", 0.125))
    with pytest.raises(InvalidValue, match=r"certificate.json says ε = 0.125, and .*comes to ε = "):
        load(run)


def test_a_certificate_with_another_ledger_than_its_replicas_is_not_shown(run: Path) -> None:
    """Certified again over the same scores, with a million times the noise: its own check says it holds."""
    stored = loads((run / "certificate.json").read_text())
    setting = stored.certificate.setting
    event = PoissonSampledDpEvent(0.5, GaussianDpEvent(1e6))
    loud = replace(setting, ledger=replace(setting.ledger, entries=()).charged(event, 1))
    (run / "certificate.json").write_text(dumps(certify_by(loud, load_replicas(run)), stored.file))
    said = (
        r"certificate.json must have the ledger that its replicas were trained with, .*ledgers.json comes to"
    )
    with pytest.raises(InvalidValue, match=said):
        load(run)


@pytest.mark.usefixtures("edited_by_hand")
def test_sentences_about_one_training_are_made_from_ledgers_json(tmp_path: Path) -> None:
    plan = wanted(2, CONTENT)
    go(plan, tmp_path / "run")
    record = loaded(tmp_path / "run")
    assert "one_replica" not in json.loads((tmp_path / "run" / "run.json").read_text())
    page = re.sub(r"\s+", " ", render([record]))
    for name, setup in plan.variants.items():
        assert record.one_training(name) == setup.planned
        assert f"one training of {name}: {setup.planned}" in page
    # What commit fc34a4a wrote there is not read any more.
    words = dict.fromkeys(plan.variants, "(ε = 0.0001, δ = 1e-09) user level")
    edit(tmp_path / "run" / "run.json", lambda content: content.__setitem__("one_replica", words))
    assert "0.0001, δ" not in render([loaded(tmp_path / "run")])


def test_without_a_ledger_no_epsilon_of_one_training_is_shown_and_the_same_command_adds_it(
    tmp_path: Path,
) -> None:
    plan = wanted(2, CONTENT, ())
    path = tmp_path / "run"
    go(plan, path)
    (path / "ledgers.json").unlink()  # as fc34a4a left it
    why = f"what was spent is not known, {path / 'ledgers.json'} is missing; the same command writes it"
    assert loaded(path).one_training("all").reason == why
    page = render([loaded(path)])
    assert "is missing; the same command writes it" in page
    assert "ε = " not in page.split("</head>")[1]
    go(plan, path)
    assert loaded(path).one_training("all") == plan.first.planned
    edit(path / "ledgers.json", lambda content: content["variants"]["all"].__setitem__("delta", 7))
    with pytest.raises(InvalidValue, match=r"ledgers.json cannot be used: delta must be"):
        load(path)


def test_an_older_certificate_brings_its_own_ledger(run: Path) -> None:
    true = loaded(run).one_training("all")
    (run / "ledgers.json").unlink()
    assert loaded(run).one_training("all") == true
