"""What a command does not need it does not import: counted in modules, never in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import all_commands
from fedward.cli import app

CODE = """
import sys

import fedward_command

sys.argv = ["fedward", *{words!r}]
try:
    fedward_command.main()
except SystemExit as end:
    code = end.code
print(code, *sorted(sys.modules), file=sys.stderr)
"""
NEVER = {"torch", "matplotlib", "sklearn", "pandas"}
MATHEMATICS = {"scipy", "dp_accounting"}
TRAINING = "--noise-multiplier 3 --sampling-rate 0.1 --rounds 3"
COST = f"{TRAINING} --cost 0.3 --cost-bound 0.5"
SPENDING = "--sampling-rate 0.1 --steps 3 --delta 0.01 --accountant rdp"


def imported(*words: str, whole: bool = False) -> set[str]:
    """The packages that a command imports in a process of its own, or all their modules; it must end well."""
    code = CODE.format(words=list(words))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    end, *names = ended.stderr.splitlines()[-1].split()
    assert end in ("0", "None"), ended.stderr
    return set(names) if whole else {name.partition(".")[0] for name in names}


def test_help_of_all_commands_and_the_version_import_nothing_large() -> None:
    """In one process: what any of them imports would be there."""
    code = """
import sys

import fedward_command

for words in {words!r}:
    sys.argv = ["fedward", *words]
    try:
        fedward_command.main()
    except SystemExit as end:
        assert not end.code, words
print(*sorted({{name.split(".")[0] for name in sys.modules}}), file=sys.stderr)
"""
    words = [["--version"], ["--help"], *([*name.split(), "--help"] for name, _ in all_commands(app))]
    ended = subprocess.run(
        [sys.executable, "-c", code.format(words=words)], capture_output=True, text=True, check=True
    )
    assert ended.stdout.count("Usage: ") == len(words) - 1
    names = set(ended.stderr.splitlines()[-1].split())
    assert "typer" in names
    assert not names & (NEVER | MATHEMATICS | {"numpy"})


@pytest.mark.parametrize(
    "words",
    [
        f"epsilon --noise-multiplier 3 {SPENDING}",
        f"calibrate --epsilon 2 {SPENDING}",
        f"certificate k --top 0.9 {TRAINING}",
        f"certificate attack-cost --attackers 1 {COST}",
        f"certificate attackers --tau 2 {COST}",
    ],
)
def test_privacy_and_certificates_without_a_training_import_no_torch(words: str) -> None:
    names = imported(*words.split())
    assert "dp_accounting" in names
    assert not names & NEVER


@pytest.mark.parametrize(
    ("accountant", "without"),
    [
        ("pld", {"dp_accounting", "dp_accounting.pld", "scipy.signal", "scipy.stats"}),
        ("moments", {"dp_accounting", "scipy.optimize", "scipy.signal", "scipy.stats"}),
    ],
)
def test_an_accountant_of_our_own_imports_none_of_the_others(accountant: str, without: set[str]) -> None:
    spending = SPENDING.replace("rdp", accountant)
    for words in (f"epsilon --noise-multiplier 3 {spending}", f"calibrate --epsilon 2 {spending}"):
        names = imported(*words.split(), whole=True)
        assert "dp_accounting.dp_event" in names
        assert not names & without


@pytest.mark.parametrize(
    "words", ["list", "list preset", "new -", "new - --preset krum --data mnist", "show krum"]
)
def test_what_is_known_of_parts_is_said_without_importing_any(words: str) -> None:
    assert not imported(*words.split()) & (NEVER | MATHEMATICS | {"numpy"})


def test_a_ledger_is_recomputed_without_torch(tmp_path: Path) -> None:
    from dp_accounting import GaussianDpEvent

    from fedward.privacy import Ledger, ledger_file

    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    spent = ledger.charged(GaussianDpEvent(3.0), 2)
    file = tmp_path / "ledger.json"
    file.write_text(ledger_file.dumps(spent, [spent.guarantee(1e-3, "rdp")]))
    assert not imported("ledger", str(file)) & NEVER


def test_the_package_imports_what_is_touched() -> None:
    code = """
import sys

import fedward

assert "torch" not in sys.modules and "numpy" not in sys.modules
assert set(fedward.__all__) <= set(dir(fedward))
fedward.Ledger
assert "dp_accounting.dp_event" in sys.modules
assert not {"dp_accounting", "scipy.stats", "torch"} & set(sys.modules)
for name in fedward.__all__:
    assert getattr(fedward, name) is not None
try:
    fedward.nothing
except AttributeError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("module 'fedward' has no attribute 'nothing'\n", 0), (
        ended.stderr
    )


def test_completion_in_a_shell_imports_nothing_large() -> None:
    code = """
import sys

import fedward_command

sys.argv = ["fedward"]
try:
    fedward_command.main()
finally:
    print(*sorted({name.split(".")[0] for name in sys.modules}), file=sys.stderr)
"""
    asked = {"_FEDWARD_COMPLETE": "complete_bash", "COMP_WORDS": "fedward cal", "COMP_CWORD": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | asked
    )
    assert ended.stdout.strip() == "calibrate", ended.stderr
    assert not set(ended.stderr.split()) & (NEVER | MATHEMATICS | {"numpy"})
