from __future__ import annotations

from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.deploy.server.federation_file import read_federation

TEXT = """
out = "run"
input_shape = [1, 8, 8]
num_classes = 10

[nodes]
north = { users = 2, key = "north.pub" }
south = { users = 2, key = "ecdsa-sha2-nistp384 BBBB south" }
"""


def write(folder: Path, text: str) -> Path:
    (folder / "north.pub").write_text("ecdsa-sha2-nistp384 AAAA north\n")
    file = folder / "federation.toml"
    file.write_text(text, encoding="utf8")
    return file


def test_paths_and_keys_are_read_from_where_the_file_lies(tmp_path: Path) -> None:
    file = read_federation(write(tmp_path, TEXT))
    assert file.out == tmp_path / "run"
    assert file.population.keyed
    north = file.population.node_with_key("ecdsa-sha2-nistp384 AAAA")
    assert north is not None
    assert north.name == "north"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('out = "run"\n', "", "out must be given"),
        ('"run"', "3", "out must be a path"),
        ("[1, 8, 8]", "8", "input_shape must be a list"),
        ("[1, 8, 8]", "[0]", "input shape must be at least 1"),
        ("10", "1", "classes must be at least 2"),
        ("10", '10\ndeadline = 0\nx = ""', "unknown key 'x'"),
        ("10", "10\ndeadline = -3", "deadline must be positive"),
        ("10", "10\nleast_nodes = 3", "at most the number of declared nodes, 2, got 3"),
        ("north.pub", "east.pub", "public key of node north cannot be read"),
    ],
)
def test_a_file_that_is_not_clear_is_refused_with_its_name(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    assert old in TEXT
    with pytest.raises(InvalidValue, match=says) as caught:
        read_federation(write(tmp_path, TEXT.replace(old, new, 1)))
    assert "federation.toml" in str(caught.value)
