"""Mistakes of new users, and what fedward answers: what was wrong, which value came, and what to do."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import nn

import fedward
from command_line import answer
from fedward.base.validate import InvalidValue
from tiny_experiment import PLAIN, TEXT

SWEEP = TEXT + '[sweep]\n"algorithm.noise_multiplier" = [1.0, 2.0]\n'
KRUM = "--set algorithm.preset=krum"
LOADED = {  # what a shell would have put there before
    "exp.toml": TEXT,
    "plain.toml": PLAIN,
    "sweep.toml": SWEEP,
    "broken.toml": TEXT.replace("seed = 1", "seed = "),
    "unquoted.toml": TEXT.replace('"digits"', "digits"),
    "out.toml": f'out = "runs/mine"\n{TEXT}',
    "nowhere.toml": TEXT.replace('"logistic_regression"', '"no_such_module_of_mine:Net"'),
    "lacking.toml": TEXT.replace('"logistic_regression"', '"parts_of_mine:Net"'),
    "parts_of_mine.py": "class Network: ...\n",
    "note.txt": "hello",
}


class Mistake(NamedTuple):
    """A command line as somebody mistyped it, and what its answer must hold."""

    line: str
    what: str
    """What was wrong, with the value that came."""
    do: str
    """What to do about it."""


def attacked(poisoning: str, count: int) -> str:
    attack = f"{{who={{name='random', count={count}}}, data=[{{name='{poisoning}', target=0}}]}}"
    return f'run exp.toml --set "attack={attack}"'


NAMES = [
    Mistake("rnu exp.toml", "'rnu'", "'run'"),
    Mistake("infer members exp.toml", "'members'", "Did you mean 'membership'"),
    Mistake("run exp.toml --outt here", "--outt", "--out"),
    Mistake("run", "Missing argument 'FILE'", "fedward run --help"),
    Mistake("run exp.toml --set rouns=3", "'rouns'", "did you mean 'rounds'"),
    Mistake("run exp.toml --set algorithm.clip_bond=1.0", "'clip_bond'", "did you mean 'clip_bound'"),
    Mistake("run exp.toml --set algorithm.preset=fedagv", "'fedagv'", "did you mean 'fedavg'"),
    Mistake("run exp.toml --set data.name=digts", "'digts'", "did you mean 'digits'"),
    Mistake("run exp.toml --set model.name=logistic", "'logistic'", "did you mean 'logistic_regression'"),
    Mistake("run exp.toml --set algorithm.sampler.name=poison", "'poison'", "did you mean 'poisson'"),
    Mistake("run exp.toml --set privacy.accountant=pdl", "'pdl'", "did you mean 'pld'"),
    Mistake(attacked("label_flp", 2), "'label_flp'", "did you mean 'label_flip'"),
    Mistake("new mine.toml --preset fedagv", "'fedagv'", "did you mean 'fedavg'"),
    Mistake("new mine.toml --data mnst", "'mnst'", "did you mean 'mnist'"),
    Mistake("new mine.toml --attack backdoor", "'backdoor'", "must be one of single_pixel"),
    Mistake("show krumm", "'krumm'", "did you mean 'krum'"),
    Mistake("list presset", "'presset'", "did you mean 'preset'"),
    Mistake("run exp.toml --engine fast", "fast", "must be one of auto, native, generic"),
]
FILES = [
    Mistake("run exp.tml", "there is no file exp.tml", "did you mean 'exp.toml'"),
    Mistake("run experiments/first.toml", "no file experiments/first.toml", "fedward new writes one"),
    Mistake("run empty", "empty cannot be read as text: it is a directory", "give an experiment file"),
    Mistake("run run", "run cannot be read as text: it is a directory", "give an experiment file"),
    Mistake("run note.txt", "note.txt is not valid TOML", "write key = value"),
    Mistake("run broken.toml", "at line 2", "write key = value"),
    Mistake("run unquoted.toml", "at line 4", "text in quotes"),
    Mistake("run out.toml", "unknown key 'out'", "allowed: seed, rounds"),
    Mistake("run exp.toml --out note.txt", "note.txt cannot be written", "choose another place"),
    Mistake("new exp.toml", "exp.toml is there already", "choose another name"),
    Mistake("new experiments/mine.toml", "experiments/mine.toml cannot be written", "make the directory"),
    Mistake("run exp.toml --set model.weights=none.pt", "no file none.pt", "fedward pretrain"),
    Mistake("run exp.toml --set model.weights=note.txt", "weights note.txt", "a file of `fedward pretrain`"),
    Mistake(
        "run exp.toml --set data.name=mnist --data wrong", "no directory wrong", "name another by --data"
    ),
    Mistake("check exp.toml --set data.name=mnist --data wrong", "no directory wrong", "make it and put"),
    Mistake("run nowhere.toml", "no_such_module_of_mine:Net", "allow it with --trust"),
    Mistake("run nowhere.toml --trust", "there is no module no_such_module_of_mine", "beside the file"),
    Mistake("run lacking.toml --trust", "has no Net", "did you mean 'Network'"),
]
VALUES = [
    Mistake("run exp.toml --set rounds=many", "'many'", "rounds must be a whole number"),
    Mistake("run exp.toml --set rounds=2.5", "2.5", "rounds must be a whole number"),
    Mistake("run exp.toml --set rounds=0", "got 0", "rounds must be at least 1"),
    Mistake("run exp.toml --set rounds", "'rounds'", "--set must be written KEY=VALUE"),
    Mistake(
        "run exp.toml --set algorithm.sampler=", "algorithm.sampler is missing", "--set algorithm.sampler="
    ),
    Mistake("run exp.toml --set data=", "data is missing", "add it to the file"),
    Mistake("run exp.toml --set algorithm.clip_bound=-1.0", "got -1.0", "clip bound must be positive"),
    Mistake(
        "run exp.toml --set algorithm.clip_bound=nan", "got nan", "clip bound must be positive and finite"
    ),
    Mistake("run exp.toml --set algorithm.noise_multiplier=0.0", "got 0.0", "must be positive"),
    Mistake("run exp.toml --set algorithm.sampler.rate=1.5", "got 1.5", "above 0 and at most 1"),
    Mistake("run exp.toml --set privacy.delta=1.0", "got 1.0", "above 0 and below 1"),
    Mistake("run exp.toml --set privacy.budget=0.001", "got 0.001", "raise it, or the noise"),
    Mistake(
        f"run exp.toml {KRUM}", "krum does not take noise_multiplier", "--set algorithm.noise_multiplier="
    ),
    Mistake(
        f"run exp.toml {KRUM} --set algorithm.noise_multiplier=",
        "algorithm.malicious is missing",
        "--set algorithm.malicious=VALUE",
    ),
    Mistake(
        f"run exp.toml {KRUM} --set algorithm.noise_multiplier= --set algorithm.malicious=2",
        "Krum(malicious=2) needs cohorts of at least 7 users",
        "sample more users",
    ),
    Mistake(attacked("label_flip", 20), "got 20", "at most the number of users, 10"),
    Mistake("run exp.toml --set model.name=resnet18_light", "got (1, 8, 8)", "fedward list model"),
    Mistake(
        "run exp.toml --set model.name=sentiment_lstm", "sentiment_lstm reads words", "fedward list model"
    ),
    Mistake("run exp.toml --workers -1", "got -1", "workers must be at least 0"),
    Mistake("run exp.toml --device gpu", "'gpu'", "such as cpu or cuda"),
    Mistake("epsilon --noise-multiplier 0 --sampling-rate 0.1 --rounds 3 --delta 0.1", "got 0.0", "positive"),
    Mistake(
        "epsilon --noise-multiplier 1 --sampling-rate 10 --rounds 3 --delta 0.1", "got 10.0", "at most 1"
    ),
    Mistake("epsilon --noise-multiplier 1 --sampling-rate 0.1 --rounds 3", "--delta", "epsilon --help"),
    Mistake("calibrate --epsilon 0 --sampling-rate 0.1 --rounds 3 --delta 0.1", "got 0.0", "positive"),
    Mistake("plan --users 0 --k 5", "got 0", "users must be at least 1"),
]
PLACES = [
    Mistake("run sweep.toml", "has a [sweep] table", "run it with fedward sweep"),
    Mistake("sweep exp.toml", "must have a table [sweep]", "fedward run"),
    Mistake("run exp.toml --out replicas", "many replicas (fedward replicas) there", "with --out"),
    Mistake("replicas exp.toml -m 3 --out run", "a single run (fedward run) there", "with --out"),
    Mistake("run exp.toml --out sweep", "the directory of a sweep", "choose another with --out"),
    Mistake("run exp.toml --out headless", "headless holds checkpoint.pt but no run.json", "with --out"),
    Mistake("run exp.toml --out run --set seed=2", "experiment.seed (1 there, 2 here)", "with --out"),
    Mistake("run exp.toml --out run --set rounds=1", "experiment.rounds (2 there, 1 here)", "with --out"),
    Mistake("run exp.toml --out damaged", "damaged/run.json is damaged", "put back a copy"),
    Mistake("report damaged", "damaged/run.json is damaged", "put back a copy"),
    Mistake("report empty", "empty is not a run directory: it holds no run.json", "fedward runs lists"),
    Mistake("report exp.toml", "exp.toml is not a run directory: it is a file", "such as runs/NAME"),
    Mistake("report nothing", "nothing is not a run directory", "fedward runs lists"),
    Mistake("users sweep", "got that of a sweep", "give one of the directories in it"),
    Mistake("users run", "run holds no users.json", "fedward ledger run"),
    Mistake("users nothing", "there is no such directory", "fedward runs lists"),
    Mistake("ledger exp.toml", "exp.toml cannot be used", "give a run directory"),
    Mistake("certificate check run/run.json", "run/run.json is not a certificate", "certificate.json"),
    Mistake("certificate check certified", "certified cannot be read: Is a directory", "certificate.json"),
    Mistake("certificate check none.json", "none.json cannot be read: No such file", "certificate.json"),
    Mistake("certify plain.toml -m 3", "a certificate needs", "preset"),
    Mistake(
        f"certify exp.toml -m 3 {KRUM} --set algorithm.noise_multiplier= --set algorithm.malicious=1",
        "a certificate needs",
        "preset",
    ),
    Mistake(
        "certify exp.toml -m 3 --set privacy.users= --threat inject", "got inject", "add the line 'users"
    ),
    Mistake("certify exp.toml -m 0", "got 0", "must be at least 1"),
    Mistake("certify exp.toml -m 5 --out certified", "got 5 where 3 were claimed", "use another --out"),
]
MISTAKES = [*NAMES, *FILES, *VALUES, *PLACES]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which somebody has worked: files, finished runs, and two runs that are damaged."""
    folder = tmp_path_factory.mktemp("begun")
    for name, text in LOADED.items():
        (folder / name).write_text(text, encoding="utf8")
    (folder / "empty").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fedward.train("exp.toml", out="run", quiet=True)
        for copy in ("damaged", "headless"):
            shutil.copytree("run", copy)
        fedward.replicas("exp.toml", replicas=3, out="replicas", quiet=True)
        fedward.certify("exp.toml", replicas=3, out="certified", quiet=True)
        fedward.sweep("sweep.toml", out="sweep", quiet=True)
    damaged = folder / "damaged" / "run.json"
    damaged.write_text(damaged.read_text()[:50])
    (folder / "headless" / "run.json").unlink()
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a directory with what is in it; locks come and go."""
    below = [
        each for each in sorted(folder.rglob("*")) if each.name != ".lock" and "__pycache__" not in str(each)
    ]
    return {str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None for each in below}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.line)
def test_a_mistake_is_answered_with_what_to_do(
    mistake: Mistake,
    begun: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(begun)
    monkeypatch.delenv("FEDWARD_DATA", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = contents(begun)
    code, _, err = answer(*shlex.split(mistake.line), monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert mistake.what in err
    assert mistake.do in err
    assert len(err.strip().splitlines()) <= 4
    assert contents(begun) == before


def test_there_are_many_of_them_and_none_twice() -> None:
    assert len({mistake.line for mistake in MISTAKES}) == len(MISTAKES) >= 40


def test_a_wrong_variable_is_named_and_its_directory_is_not_made(
    begun: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(begun)
    monkeypatch.setenv("FEDWARD_DATA", "wrong")
    line = "run", "exp.toml", "--set", "data.name=mnist"
    code, _, err = answer(*line, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert "there is no directory wrong (FEDWARD_DATA says so)" in err
    assert "name another by --data or FEDWARD_DATA" in err
    assert not (begun / "wrong").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_a_device_that_is_not_there_is_answered_with_one_that_is(
    begun: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(begun)
    code, _, err = answer("run", "exp.toml", "--device", "cuda", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert "device cuda is not available here" in err
    assert "use cpu" in err


def test_one_replica_certifies_nothing_and_says_why(
    begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no error: the question has an answer, and the answer names the number of replicas."""
    monkeypatch.chdir(begun)
    line = "certify", "exp.toml", "-m", 1, "--out", tmp_path / "one"
    code, out, _ = answer(*line, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert "certified accuracy 0.0% at 0" in out
    assert "The number of replicas, 1," in out


def normalised(shape: tuple[int, ...]) -> nn.Module:
    size = math.prod(shape)
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(size), nn.Linear(size, 10))


PYTHON: dict[str, tuple[Callable[[], object], str, str]] = {
    "load of nothing": (lambda: fedward.load("nothing"), "there is nothing of that name", "fedward runs"),
    "load of a file": (lambda: fedward.load("exp.toml"), "it is a file", "give the directory"),
    "no file": (lambda: fedward.train("exp.tml"), "there is no file exp.tml", "did you mean 'exp.toml'"),
    "changes as one text": (
        lambda: fedward.train("exp.toml", changes="rounds=3"),
        "got the text 'rounds=3'",
        "must be a dictionary or a list",
    ),
    "a dictionary without a place": (
        lambda: fedward.train(tomllib.loads(TEXT)),
        "got none",
        "out must be given",
    ),
    "batch normalisation under DP": (
        lambda: fedward.train("exp.toml", model=normalised((1, 8, 8)), out="new"),
        "BatchNorm1d",
        "use nn.GroupNorm or nn.LayerNorm",
    ),
    "a negative bound": (
        lambda: fedward.train("exp.toml", changes={"algorithm.clip_bound": -1.0}, out="new"),
        "got -1.0",
        "clip bound must be positive",
    ),
    "not trusted": (lambda: fedward.train("nowhere.toml"), "no_such_module_of_mine:Net", "trust=True"),
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_answers_alike(name: str, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(begun)
    before = contents(begun)
    call, what, do = PYTHON[name]
    with pytest.raises(InvalidValue) as error:
        call()
    assert what in str(error.value)
    assert do in str(error.value)
    assert contents(begun) == before


def test_a_table_without_pandas_says_how_to_get_it(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidValue, match="pip install pandas"):
        fedward.load(begun / "run").to_pandas()
