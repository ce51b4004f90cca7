from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.reports.page.certified.three_accuracies import three_accuracies
from fedward.reports.page.words.certificate_words import headline
from fedward.rundir.run_record import ReplicasRecord, load


def test_one_model_the_vote_and_what_is_certified_are_three_numbers(certified_run: Path) -> None:
    run = load(certified_run)
    assert isinstance(run, ReplicasRecord)
    three = three_accuracies(run, "all")
    (certificate,) = run.certificates.values()
    assert run.labels is not None
    assert three.one == 0.9  # as result.json has it
    assert three.vote == np.mean(np.arange(len(run.labels)) % 9 != 0)  # every ninth is wrong
    attack = certificate.attacks[0]
    assert three.k == headline(attack) > 0
    assert attack.accuracy is not None
    assert three.certified == attack.accuracy[three.k] < three.vote
    assert (three.replicas, three.by_vote, three.groups) == (200, True, False)


def test_labels_of_other_examples_are_refused(certified_run: Path) -> None:
    run = load(certified_run)
    assert isinstance(run, ReplicasRecord)
    with pytest.raises(InvalidValue, match=r"labels\.npz must hold the classes of 359 test examples, got 3"):
        three_accuracies(replace(run, labels=np.arange(3)), "all")
