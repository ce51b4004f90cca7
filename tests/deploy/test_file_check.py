from __future__ import annotations

from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.deploy.file_check import check_file

FEDERATION = 'out = "run"\ninput_shape = [3]\nnum_classes = 2\n[nodes]\nnorth = { users = 2 }\n'
RULES = 'trust_server = false\nepsilon = 8.0\ndelta = 1e-5\nledger = "ledger"\nseeded_noise = true\n'


def write(folder: Path, text: str) -> Path:
    file = folder / "file.toml"
    file.write_text(text, encoding="utf8")
    return file


def test_the_servers_file_is_summed_up_and_keys_beside_it_must_be_private(tmp_path: Path) -> None:
    path, key = write(tmp_path, FEDERATION), tmp_path / "server.key"
    key.write_text("secret")
    key.chmod(0o600)
    said = "\n".join(check_file(path))
    assert "2 users at 1 nodes" in said
    assert "no key: for a simulation only" in said
    assert "server.key: for its owner alone" in said
    key.chmod(0o644)
    with pytest.raises(InvalidValue, match="got mode 644"):
        check_file(path)


def test_rules_are_summed_up_with_what_they_give_away(tmp_path: Path) -> None:
    said = "\n".join(check_file(write(tmp_path, RULES)))
    assert "ε = 8 each; nobody has spent anything yet" in said
    assert "the server can take the noise off again" in said
    assert "trusted with them" in "\n".join(check_file(write(tmp_path, "trust_server = true")))


def test_a_nodes_key_beside_its_rules_is_checked_without_being_named(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("trust_server = true\n")
    (tmp_path / "key.pub").write_text("ssh-ed25519 AAAA\n")
    key = tmp_path / "key"
    key.write_text("secret\n")
    key.chmod(0o644)
    with pytest.raises(InvalidValue, match="must be for its owner alone, got mode 644"):
        check_file(rules)
    key.chmod(0o600)
    assert "  key: for its owner alone" in check_file(rules)
