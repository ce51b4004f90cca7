from __future__ import annotations

from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.deploy.node.node_rules import Rules, read_rules

OWN = 'trust_server = false\nepsilon = 8.0\ndelta = 1e-5\nledger = "ledger"\n'


def write(folder: Path, text: str) -> Path:
    file = folder / "rules.toml"
    file.write_text(text, encoding="utf8")
    return file


def test_paths_are_seen_from_where_the_file_lies(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, OWN))
    assert rules == Rules(trust_server=False, epsilon=8.0, delta=1e-5, ledger=tmp_path / "ledger")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "trust_server must be given"),
        ("trust_server = 1", "trust_server must be true or false, got 1"),
        ("trust_server = false", "must give epsilon, delta and ledger"),
        (OWN.replace("8.0", "-1.0"), "budget must be positive"),
        (OWN.replace("8.0", "inf"), "budget must be positive"),
        (OWN.replace("1e-5", "2.0"), "delta must be above 0 and below 1"),
        (OWN + 'accountant = "mine"', "accountant must be one of"),
        (OWN.replace("false", "true"), "leave them out"),
        (OWN + "epsilom = 3", "unknown key 'epsilom'; did you mean 'epsilon'"),
        (OWN.replace('"ledger"', "7"), "ledger must be a path in quotes"),
        ("trust_server = ", "is not valid TOML"),
    ],
)
def test_rules_that_say_nothing_clear_are_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=says):
        read_rules(write(tmp_path, text))


def test_a_private_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret")
    rules = read_rules(write(tmp_path, 'trust_server = true\nprivate_key = "key"\n'))
    key.chmod(0o600)
    rules.check_files()
    for mode in (0o640, 0o604, 0o666):
        key.chmod(mode)
        with pytest.raises(InvalidValue, match=f"got mode {mode:o}"):
            rules.check_files()
    key.unlink()
    with pytest.raises(InvalidValue, match="there is none"):
        rules.check_files()
