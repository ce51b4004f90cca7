from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fedward.privacy.group import Threat
from fedward.reports.numbers import percent, percent_certified
from fedward.reports.page.examples.triggered import Triggered, triggered
from fedward.reports.page.findings.compared_training import ComparedTraining, trainings_of
from fedward.reports.page.findings.what_was_found import Findings, span, what_was_found
from fedward.reports.page.words.certificate_words import headline
from fedward.reports.templates import fill
from fedward.rundir.run_record import ReplicasRecord, RunRecord, load
from fedward.studies.stored_data import Library


def found_in(*runs: Path) -> Findings:
    trainings: list[ComparedTraining] = []
    shown: dict[str, Triggered] = {}
    for number, path in enumerate(runs):
        record = load(path)
        trainings += trainings_of(record, path.name, f"run-{number}", len(trainings))
        if isinstance(record, RunRecord):
            shown[path.name] = triggered(record, Library(None))
    return what_was_found(len(runs), trainings, shown)


def test_two_sentences_say_what_was_trained_promised_attacked_and_certified(
    private_run: Path, attacked_run: Path, certified_run: Path
) -> None:
    found = found_in(private_run, attacked_run, certified_run)
    assert found.title == "Three runs on digits"
    trained, attackers = found.sentences
    private, attacked, certified = load(private_run), load(attacked_run), load(certified_run)
    assert isinstance(private, RunRecord)
    assert isinstance(attacked, RunRecord)
    assert isinstance(certified, ReplicasRecord)
    assert trained.startswith("Three runs trained models on digits of 12 to 200 users; the models get ")
    accuracies = sorted(filter(None, (private.last.accuracy, attacked.last.accuracy, 0.9)))
    assert f"{percent(accuracies[0])} to {percent(accuracies[-1])} of the test examples right" in trained
    assert "two of the three promise privacy" in trained
    assert (
        f"on {percent(attacked.last.attack_success)} of the examples that they marked in attacked"
        in attackers
    )
    (attack, *_) = certified.certificates["all"].attacks
    k = headline(attack)
    assert attack.accuracy is not None
    share = percent_certified(attack.accuracy[k])
    assert (
        f"{share} of the answers of certified are proven to stay right whatever {k} attackers do" in attackers
    )


def test_a_run_alone_is_called_by_its_algorithm_and_its_data(private_run: Path, attacked_run: Path) -> None:
    found = found_in(private_run)
    assert found.title == "user_dp_fedavg on digits"
    trained, attackers = found.sentences
    assert trained.startswith("A model was trained on digits of 12 users and gets ")
    assert f"its promise of privacy comes to {found.promised[0].guess.strength} protection." in trained
    assert attackers == "Nobody attacked, and nobody asked how many attackers would be survived."
    attacked, _ = found_in(attacked_run).sentences
    assert attacked.endswith("it promises nothing about privacy.")


def test_what_promises_nothing_is_named_once(private_run: Path, attacked_run: Path) -> None:
    found = found_in(private_run, attacked_run)
    assert [each.name for each in found.exposed] == ["attacked"]
    assert [each.training.name for each in found.promised] == ["private"]


def test_seeded_noise_is_for_research_wherever_a_promise_is(private_run: Path, attacked_run: Path) -> None:
    found = found_in(private_run, attacked_run)
    assert [each.name for each in found.seeded] == ["private"]
    card = fill("page/findings/findings.html", found=found, span=span)
    assert "Research only: the noise was drawn from a seed" in card


@pytest.mark.parametrize(
    ("threat", "said"),
    [
        ("inject", "stays right if 3 attackers joined the training, whatever they sent."),
        ("compromise", "stays right if 3 attackers took the places of users, whatever they sent."),
        (
            "present",
            "is the same as without 3 attackers that may be among the users already, whatever they sent.",
        ),
    ],
)
def test_a_card_says_of_every_threat_what_is_proven(certified_run: Path, threat: Threat, said: str) -> None:
    found = found_in(certified_run)
    (certified,) = found.certified
    three = replace(certified.three, threat=threat, k=3)
    found = replace(found, certified=(replace(certified, three=three),))
    card = " ".join(fill("page/findings/findings.html", found=found, span=span).split())
    assert said in card


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_without_a_round_neither_promises_nor_exposes(private_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(private_run, tmp_path / "run"))
    for name in ("result.json", "ledger.json", "rounds.jsonl", "telemetry.jsonl"):
        (run / name).unlink()
    found = found_in(run)
    assert (found.promised, found.exposed, found.accuracies) == ((), (), None)
    assert "nothing is released yet" in found.sentences[0]


def test_an_attack_shows_an_example_that_fools_the_model(attacked_run: Path) -> None:
    (attacked,) = found_in(attacked_run).attacked
    assert (attacked.attackers, attacked.marked) == (4, True)
    success = json.loads((attacked_run / "result.json").read_text())["attack_success"]
    assert attacked.success == success
    if attacked.telling is not None:
        assert attacked.telling.says_after == attacked.telling.wanted
        assert attacked.telling.says_before == attacked.telling.is_class


def test_variants_are_trainings_of_one_run(varied_run: Path) -> None:
    found = found_in(varied_run)
    assert found.title == "user_dp_fedavg on digits"
    assert len(found.certified) == 2
    assert found.sentences[0].startswith("Models were trained in two variants on digits")
