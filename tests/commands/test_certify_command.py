from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import exit_code as fedward
from fedward.certificates.tally import Tally, read_scores
from fedward.config import experiment as config
from fedward.rundir.replica_store import ReplicaDirectory
from fedward.studies.training.setup import prepare
from tiny_experiment import THIRTY

ATTACK = """
[attack]
who = { name = "random", count = 3 }
cost_bound = 4.0
data = [{ name = "single_pixel", target = 0, fraction = 1.0 }]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(THIRTY)
    return path


def test_a_certificate_is_written_that_can_be_checked_from_its_files_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    assert fedward("certify", file, "-m", 150, "--out", out, monkeypatch=monkeypatch) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "k attackers join: certified accuracy" in printed
    assert "150, was fixed beforehand" in printed
    assert (out / "certified_accuracy.png").read_bytes().startswith(b"\x89PNG")
    moved = file.parent / "elsewhere"
    moved.mkdir()
    for name in ("certificate.json", "certificate-scores.npz"):
        (moved / name).write_bytes((out / name).read_bytes())
    assert fedward("certificate", "check", moved / "certificate.json", monkeypatch=monkeypatch) == 0
    assert "the certificate holds" in capsys.readouterr().out
    curves = json.loads((out / "certified.json").read_text())["all"]["curves"]
    accuracy = {(c["mode"], c["with_confidence"]): c["certified_accuracy"] for c in curves}
    assert len(accuracy) == 8
    assert accuracy["inject", True][0] > 0.2  # so that the rest compares something
    assert all(len(accuracy["inject", sure]) >= len(accuracy["paper", sure]) for sure in (True, False))


def test_too_few_replicas_are_said_to_be_before_they_are_trained_and_after(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    assert fedward("certify", file, "-m", 3, "--out", out, monkeypatch=monkeypatch) == 0
    printed = " ".join(capsys.readouterr().out.split())
    limit = "With M = 3 trainings nothing at all can be certified, however good the model is; M = "
    assert printed.count(limit) == 2
    assert printed.index(limit) < printed.index("at k = 0")
    assert "Released, one training spends ε = " in printed
    ceilings = json.loads((out / "certified.json").read_text())["all"]["ceilings"]
    assert {each["k"] for each in ceilings} == {-1}


def test_variants_get_a_certificate_each(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    vary = ("--vary", "algorithm.noise_multiplier=1.0,3.0", "--threat", "inject")
    assert fedward("certify", file, "-m", 5, *vary, "--out", out, "--json", monkeypatch=monkeypatch) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["variants"]) == ["noise_multiplier=1.0", "noise_multiplier=3.0"]
    for name in result["variants"]:
        certificate = out / f"certificate-{name}.json"
        assert fedward("certificate", "check", certificate, "--json", monkeypatch=monkeypatch) == 0
        assert json.loads(capsys.readouterr().out)["holds"]
    loud, quiet = (result["variants"][f"noise_multiplier={z}"]["epsilon"] for z in ("3.0", "1.0"))
    assert loud < quiet


def test_votes_are_certified_too(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    assert fedward("certify", file, "-m", 4, "--score", "vote", "--out", out, monkeypatch=monkeypatch) == 0
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["stored"]["score"] == "vote"
    assert certificate["setting"]["confidence"]["method"] == "clopper_pearson"


@pytest.mark.parametrize("save_space", [[], ["--save-space"]])
def test_a_tally_of_votes_is_all_that_a_certificate_of_votes_needs(
    file: Path, save_space: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    asked = ["certify", file, "-m", 60, "--score", "vote", "--block", 25, "--out", out, *save_space]
    assert fedward(*asked, monkeypatch=monkeypatch) == 0
    assert (out / "sums.npz").exists() == bool(save_space)
    beside = read_scores((out / "certificate-scores.npz").read_bytes())
    assert isinstance(beside, Tally)
    assert len(beside) == 60
    capsys.readouterr()
    assert fedward("certificate", "check", out / "certificate.json", monkeypatch=monkeypatch) == 0
    assert "the certificate holds" in capsys.readouterr().out
    packed = out / "packed.json.gz"
    packed.write_bytes(gzip.compress((out / "certificate.json").read_bytes()))
    assert fedward("certificate", "check", packed, monkeypatch=monkeypatch) == 0
    packed.write_bytes(packed.read_bytes()[:-40])
    capsys.readouterr()
    assert fedward("certificate", "check", packed, monkeypatch=monkeypatch) == 1
    assert "does not hold" in capsys.readouterr().out


def test_running_sums_and_single_votes_give_the_same_certificate(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, options in (("a", []), ("b", ["--save-space", "--block", 7])):
        asked = ["certify", file, "-m", 20, "--score", "vote", "--out", file.parent / name, *options]
        assert fedward(*asked, monkeypatch=monkeypatch) == 0
    a, b = ((file.parent / name / "certificate.json").read_bytes() for name in "ab")
    assert a == b


def test_space_is_not_saved_where_every_replica_is_needed(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["certify", file, "-m", 4, "--save-space", "--out", file.parent / "run"]
    assert fedward(*asked, monkeypatch=monkeypatch) == 2
    assert "--save-space needs --score vote" in capsys.readouterr().err
    assert not (file.parent / "run").exists()


def test_killed_and_resumed_it_is_the_same_certificate(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("certify", file, "-m", 6, "--block", 2)
    assert fedward(*command, "--out", file.parent / "whole", monkeypatch=monkeypatch) == 0
    saved = ReplicaDirectory.save_block
    rounds = 0

    def killed(self: ReplicaDirectory, block: Any) -> None:
        nonlocal rounds
        rounds += 1
        saved(self, block)
        if rounds in (1, 3, 4):
            raise KeyboardInterrupt

    monkeypatch.setattr(ReplicaDirectory, "save_block", killed)
    ends = [fedward(*command, "--out", file.parent / "parts", monkeypatch=monkeypatch) for _ in range(4)]
    assert ends == [130, 130, 130, 0]
    for name in ("certificate.json", "certificate-scores.npz", "certified.json", "certified_accuracy.png"):
        assert (file.parent / "parts" / name).read_bytes() == (file.parent / "whole" / name).read_bytes()


def test_the_cost_of_an_attack_is_measured_beside_its_bounds(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(THIRTY + ATTACK)
    out = file.parent / "run"
    command = ("certify", file, "-m", 30, "--attackers", "2,8", "--out", out)
    assert fedward(*command, "--json", monkeypatch=monkeypatch) == 0
    result = json.loads(capsys.readouterr().out)["variants"]["all"]
    measured = {each["attackers"]: each["mean"] for each in result["measured"]}
    assert list(measured) == [0, 2, 8]
    assert measured[8] < measured[0]
    lower = {line["mode"]: line["lower"] for line in result["lines"]}
    assert lower["compromise"][2] < lower["inject"][2] < measured[0]
    assert lower["paper"][2] < lower["inject"][2]
    assert all(not crossed for crossed in result["crossed"].values())
    assert (out / "attack_cost.png").read_bytes().startswith(b"\x89PNG")
    assert fedward(*command, monkeypatch=monkeypatch) == 0  # nothing is trained again
    assert "expected min(cost, 4)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (THIRTY, ("--threat", "injekt"), "did you mean 'inject'"),
        (THIRTY, ("--method", "hoefding"), "did you mean 'hoeffding'"),
        (THIRTY, ("--error", "0"), "error"),
        (THIRTY, ("--score", "loss"), "score must be"),
        (THIRTY, ("--attendance", "chosen"), "attackers that choose their rounds"),
        (THIRTY, ("--attackers", "1"), "belong together"),
        (THIRTY + ATTACK, (), "belong together"),
        (THIRTY + ATTACK, ("--attackers", "1.5"), "whole numbers"),
        (THIRTY + ATTACK, ("--attackers", "x"), "whole numbers"),
        (THIRTY + ATTACK, ("--attackers", "1", "--method", "hoeffding"), "bounded by betting, got hoeff"),
        (THIRTY + ATTACK, ("--attackers", "1", "--score", "vote"), "--score is about predictions"),
        (THIRTY + ATTACK, ("--attackers", "1", "--simultaneous"), "--simultaneous is about predictions"),
        (THIRTY + ATTACK.replace("cost_bound = 4.0\n", ""), ("--attackers", "1"), "cost_bound"),
        (THIRTY.replace("noise_multiplier = 1.0\n", "noise_multiplier = 0.0\n"), (), "noise"),
        (THIRTY.replace('"poisson", rate = 0.8', '"fixed_size", size = 5'), (), "added or removed"),
    ],
)
def test_what_cannot_be_certified_is_told_before_anything_is_trained(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: tuple[str, ...],
    message: str,
) -> None:
    file.write_text(text)
    out = file.parent / "run"
    assert fedward("certify", file, "-m", 3, *options, "--out", out, monkeypatch=monkeypatch) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_fewer_replicas_than_there_are_is_no_plan(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    assert fedward("certify", file, "-m", 4, "--out", out, monkeypatch=monkeypatch) == 0
    assert fedward("certify", file, "-m", 3, "--out", out, monkeypatch=monkeypatch) == 2
    assert "fixed beforehand" in " ".join(capsys.readouterr().err.split())


def test_what_was_claimed_is_not_changed_after_a_look(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    asked = ("certify", file, "--score", "vote", "--threat", "inject", "--out", out)
    assert fedward(*asked, "-m", 4, monkeypatch=monkeypatch) == 0
    before = {each.name: each.read_bytes() for each in out.iterdir()}
    for changes, told in (
        (("-m", 6), "got 6 where 4 were claimed before they were trained"),
        (("-m", 4, "--error", 0.05), "error (0.01 there, 0.05 here)"),
        (("-m", 4, "--threat", "present"), "(['inject'] there, ['inject', 'present'] here)"),
    ):
        capsys.readouterr()
        assert fedward(*asked, *changes, monkeypatch=monkeypatch) == 2
        assert told in " ".join(capsys.readouterr().err.split())
    assert {each.name: each.read_bytes() for each in out.iterdir()} == before
    assert fedward(*asked, "-m", 4, monkeypatch=monkeypatch) == 0
    assert {each.name: each.read_bytes() for each in out.iterdir()} == before


def test_going_on_after_a_look_is_in_the_certificate(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (
        "certify",
        file,
        "--method",
        "betting_sequence",
        "--threat",
        "inject",
        "--out",
        file.parent / "run",
    )
    assert fedward(*asked, "-m", 3, monkeypatch=monkeypatch) == 0
    assert "The bounds hold at every number of replicas at once; now there are 3." in capsys.readouterr().out
    assert fedward(*asked, "-m", 5, monkeypatch=monkeypatch) == 0
    assert "Replicas were added after looks at 3; " in capsys.readouterr().out
    certificate = file.parent / "run" / "certificate.json"
    assert json.loads(certificate.read_text())["setting"]["confidence"]["looks"] == [3, 5]


def test_fewer_replicas_than_are_under_way_are_refused_before_they_are_trained(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = ReplicaDirectory.save_block

    def killed(self: ReplicaDirectory, block: Any) -> None:
        saved(self, block)
        raise KeyboardInterrupt

    monkeypatch.setattr(ReplicaDirectory, "save_block", killed)
    asked = ("certify", file, "--out", file.parent / "run")
    assert fedward(*asked, "-m", 4, monkeypatch=monkeypatch) == 130
    assert fedward(*asked, "-m", 3, monkeypatch=monkeypatch) == 2
    assert "got 3 where 4 are under way" in " ".join(capsys.readouterr().err.split())


INSTANCE = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 5
[model]
name = "logistic_regression"
[algorithm]
preset = "insdp_fedavg"
sampler = { name = "everyone" }
local = { name = "dp_sgd", learning_rate = 0.5, probability = 0.1, expected_batch = 25, steps = 5, \
noise_multiplier = 2.0, clip_bound = 1.0 }
[privacy]
delta = 1e-3
"""
ONE = ATTACK.replace("count = 3", "count = 1").replace('"single_pixel"', '"label_flip", source = 1')


def test_poisoned_examples_are_counted_where_examples_are_hidden(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(INSTANCE + ONE)
    out = file.parent / "run"
    asked = ["certify", file, "-m", 12, "--attackers", "3,20", "--out", out]
    assert fedward(*asked, monkeypatch=monkeypatch) == 0
    (result,) = json.loads((out / "certified.json").read_text()).values()
    assert [each["attackers"] for each in result["measured"]] == [0, 3, 20]
    names = json.loads((out / "run.json").read_text())["experiment"]["variants"]
    assert set(names) == {"0 poisoned examples", "3 poisoned examples", "20 poisoned examples"}
    setup = prepare(config.from_content(names["20 poisoned examples"], "run.json"))
    assert setup.attack is not None
    (user,) = setup.attack.adversary.users
    own = setup.federation.user(user)
    bad = setup.attack.adversary.poison(user, own, 0, np.random.default_rng(0))
    assert bad is not None
    assert int((bad[1].y != own.y).sum()) == 20


@pytest.mark.parametrize(
    ("attack", "attackers", "message"),
    [
        (ONE, "1000", "poisoned examples must be at most the"),
        (ONE.replace("count = 1", "count = 2"), "1", "counted in poisoned examples of one user"),
        (ONE + 'model = [{ name = "scale", factor = 5.0 }]\n', "1", "none of updates"),
    ],
)
def test_attackers_that_poison_examples_must_be_countable(
    file: Path,
    attack: str,
    attackers: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file.write_text(INSTANCE + attack)
    asked = ["certify", file, "-m", 4, "--attackers", attackers, "--out", file.parent / "run"]
    assert fedward(*asked, monkeypatch=monkeypatch) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (("--range", "0:4"), "--until needs all replicas in one place, from the first on, got --range 0:4"),
        (("--cluster", "127.0.0.1:6379"), "leave out --until or --cluster, got --cluster 127.0.0.1:6379"),
    ],
    ids=["range", "cluster"],
)
def test_stopping_early_needs_replicas_in_their_order_and_in_one_place(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    other: tuple[str, str],
    said: str,
) -> None:
    out = file.parent / "run"
    monkeypatch.setattr("fedward.backends.compute.require_ray", lambda: None)  # an extra; nothing connects
    command = ("certify", file, "-m", 8, "--until", "2", "--score", "vote", "--method", "betting_votes")
    assert fedward(*command, *other, "--out", out, monkeypatch=monkeypatch) != 0
    assert said in " ".join(capsys.readouterr().err.split())
    assert not out.exists()
