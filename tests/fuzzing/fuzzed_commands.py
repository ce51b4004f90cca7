"""Command lines that nobody would give, made by a seed: real commands with real and strange words."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from command_line import all_commands
from fedward.cli import app, main
from tiny_experiment import TEXT, TWENTY

SWEEP = TEXT + '[sweep]\n"algorithm.noise_multiplier" = [1.0, 2.0]\n'
PRETRAINING = """
seed = 1
epochs = 1
data = { name = "digits", users = 4 }
model = { name = "logistic_regression" }
training = { learning_rate = 0.1, batch_size = 50 }
"""
OWN = """
from torch import nn
class Net(nn.Linear):
    def __init__(self, num_classes): super().__init__(64, num_classes)
"""
FILES = {
    "exp.toml": TEXT,
    "twenty.toml": TWENTY,
    "sweep.toml": SWEEP,
    "public.toml": PRETRAINING,
    "mine.py": OWN,
    "broken.toml": "seed = ",
    "note.txt": "hello",
    "empty": "",
    "bad.json": '{"format": "fedward ledger", "version": 2',
}
PATHS: tuple[str, ...] = (*FILES, "run", "run/ledger.json", "run/result.json", "certified")
PATHS += (
    "certified/certificate.json",
    "swept",
    "labels.npy",
    "binary",
    "folder",
    "nowhere",
    "nowhere/else",
    "link",
    "loop",
    "/dev/null",
)
PATHS += (
    "/dev/full",
    "",
    ".",
    "..",
    "-",
    "a" * 300,
    "x/" * 3000,
    "\udcff\udcfe",
    "a\nb",
    "\x1b[31m",
    "*",
    "~",
)

LIKELY = {
    "file": ("exp.toml", "twenty.toml", "sweep.toml", "run/ledger.json", "certified/certificate.json"),
    "runs": ("run", "certified", "swept"),
    "run": ("run", "certified"),
    "out": ("new", "new.html", "run"),
}
WHOLE = ("0", "1", "2", "3", "-1", "10", "100", "x", "2.5", "1e3", "", "9" * 30, "-0", "٣", "nan", " 1")
FLOATS = (*WHOLE, "0.5", "0.1", "1e-5", "-0.5", "inf", "-inf", "1e308", "1e-320", "1e999", "0.999999", "½")
WORDS: tuple[str, ...] = (
    "",
    "digits",
    "krum",
    "user_dp_fedavg",
    "pld",
    "rdp",
    "moments",
    "rounds",
    "accuracy",
    "x",
    "ε",
    "all",
)
WORDS += (
    "label:0",
    "confidence",
    "vote",
    "inject",
    "native",
    "cpu",
    "cuda",
    "\u202e",
    "\udcff",
    "=",
    "a=b",
    "[",
)
WORDS_FOR = {
    "preset": ("krum", "user_dp_fedavg", "composed", "robust"),
    "accountant": ("pld", "rdp", "moments"),
    "score": ("vote", "confidence"),
    "threat": ("inject", "present", "compromise"),
    "method": ("clopper_pearson", "hoeffding", "empirical_bernstein", "betting"),
    "engine": ("native", "generic", "auto"),
    "noise_source": ("seeded", "system"),
    "name": ("krum", "exp.toml", "label_flip"),
    "out": ("new", "run", "new.html"),
}
CHANGES: tuple[str, ...] = ("rounds=1", "rounds=0", "rounds=x", "x.y=1", "=", "seed=", "data.users=4")
CHANGES += ("algorithm.preset=krum",)
CHANGES += (
    "algorithm.noise_multiplier=0.0",
    "privacy.budget=1.0",
    "model={name='mlp'}",
    "a.b.c=[1,2",
    "seed=-1",
)
CHANGES += (
    "algorithm.sampler.rate=2.0",
    "attack={}",
    "rounds=1e999",
    "model.name='mine:Net'",
    "privacy.delta=0",
)
CHANGES += ("algorithm.noise_multiplier=1.0,2.0", "data.name='mnist'", "evaluation.every=0", "x" * 5000)


def prepare(folder: Path) -> None:
    """Fills a folder with what command lines name: experiments, runs of them, and things that are none."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf8")
    (folder / "binary").write_bytes(bytes(range(256)) * 8)
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("note.txt")
    (folder / "loop").symlink_to("loop")
    np.save(folder / "labels.npy", np.arange(20) % 2 == 0)
    for words in (
        "run exp.toml --out run",
        "certify twenty.toml -m 4 --score vote --out certified",
        "sweep sweep.toml --out swept",
    ):
        code = run(words.split(), folder)
        if code:
            raise RuntimeError(f"fedward {words}: {code}")


def run(arguments: list[str], folder: Path) -> int:
    """Carries one command out in this process, in that folder."""
    before = os.getcwd()
    os.chdir(folder)
    sys.argv = ["fedward", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    finally:
        os.chdir(before)
    return 0


NOT_TRIED = {"help", "cluster", "self_test"}
"""Addresses are waited for, a cluster of one's own takes long to start, a self-test trains for minutes."""


def command_line(seed: int) -> list[str]:
    """The arguments of a command, without the program."""
    choice = random.Random(f"command {seed}")
    name, command = choice.choice(sorted(all_commands(app)))
    arguments = name.split()
    parameters = [each for each in command.params if each.name not in NOT_TRIED]
    for each in parameters:
        required = bool(getattr(each, "required", False))
        if choice.random() < (0.97 if required else 0.15):
            arguments += _given(each, choice)
    if _long(name) and "--out" not in arguments and choice.random() < 0.5:
        arguments += ["--out", "new"]
    for _ in range(choice.choice((0, 0, 0, 0, 0, 1, 2))):
        _spoil(arguments, choice)
    return arguments


def _long(name: str) -> bool:
    long = ("run", "certify", "replicas", "sweep", "arena", "infer", "pretrain", "audit")
    return name.split(" ")[0] in long


def _given(parameter: Any, choice: random.Random) -> list[str]:
    value = _value(parameter, choice)
    if parameter.param_type_name == "argument":
        return [value for _ in range(choice.choice((1, 1, 2)) if parameter.nargs != 1 else 1)]
    flag = choice.choice([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return [flag]
    return [flag, value] if choice.random() < 0.9 else [f"{flag}={value}"]


def _kind(parameter: Any) -> Any:
    """What an option takes. Older versions of typer, which Flower holds back, say it by a type of click."""
    if hasattr(parameter, "type_descriptor"):
        return parameter.type_descriptor.annotation
    return {"integer": int, "float": float, "path": Path}.get(parameter.type.name)


def _value(parameter: Any, choice: random.Random) -> str:
    name, kind = str(parameter.name), _kind(parameter)
    if name in ("changes", "vary", "where"):
        return choice.choice(CHANGES)
    if kind is int:
        # So many that they are work, not a mistake, belong to no fuzzing.
        return choice.choice(WHOLE if choice.random() < 0.4 else ("1", "2", "3", "10"))
    if kind is float:
        return choice.choice(FLOATS if choice.random() < 0.4 else ("0.5", "0.1", "1e-5", "3"))
    if kind in (Path, list[Path]) or name == "out":
        likely = choice.random() < 0.8 and name in LIKELY
        return choice.choice(LIKELY[name] if likely else PATHS)
    if name in WORDS_FOR and choice.random() < 0.8:
        return choice.choice(WORDS_FOR[name])
    return choice.choice(WORDS if choice.random() < 0.8 else FLOATS)


def _spoil(arguments: list[str], choice: random.Random) -> None:
    place = choice.randrange(len(arguments) + 1)
    how = choice.choice(("drop", "repeat", "insert", "swap", "letter"))
    if how == "insert" or not arguments:
        arguments.insert(
            place, choice.choice((*WORDS, *FLOATS, "--", "-", "--json", "--x", "-m", "--set", "--help"))
        )
        return
    place = min(place, len(arguments) - 1)
    if how == "drop":
        del arguments[place]
    elif how == "repeat":
        arguments.insert(place, arguments[place])
    elif how == "swap":
        other = choice.randrange(len(arguments))
        arguments[place], arguments[other] = arguments[other], arguments[place]
    else:
        word = arguments[place]
        at = choice.randrange(len(word) + 1)
        arguments[place] = word[:at] + choice.choice("-=x0. \u00e9\n'\"") + word[at + choice.randrange(2) :]
