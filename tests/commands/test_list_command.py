from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.attacks.attack import KNOWLEDGE
from fedward.base.validate import InvalidValue
from fedward.config import attack_section, installed_parts, model_section, part_slot
from fedward.config import experiment as config
from fedward.config.listing import KINDS, kind_called, meanings, names
from fedward.config.part_slot import OneOf
from fedward.datasets.partition import SPLITS
from fedward.privacy.group import THREATS


def printed(*arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    found = answer(*arguments, monkeypatch=monkeypatch, capsys=capsys)
    return found.err if found.code else found.out


def slots() -> Iterator[OneOf]:
    """Every place of an experiment file where a part is named."""
    yield from part_slot._SLOTS.values()
    for module in (config, attack_section, model_section):
        yield from (value for value in vars(module).values() if isinstance(value, OneOf))


def test_every_name_that_a_file_may_have_is_listed() -> None:
    found = list(slots())
    assert len(found) >= 11
    listed = [set(kind.parts) for kind in KINDS.values()]
    for slot in found:
        # Some places take only some of a kind: sgd alone, say.
        assert any(set(slot.registry) <= each for each in listed), list(slot.registry)
    assert set(KINDS["split"].parts) == set(SPLITS)
    assert set(KINDS["threat"].parts) == set(THREATS)
    assert set(KINDS["knowledge"].parts) == set(KNOWLEDGE)


def test_the_keys_of_a_part_are_those_of_its_table() -> None:
    checked = 0
    for slot in slots():
        for name in slot.registry:
            kind = next(kind for kind in KINDS.values() if set(slot.registry) <= set(kind.parts))
            fields = part_slot.table_of(name, slot.registry[name], slot).model_fields.keys()
            shown = [key.split(" ")[0] for key in kind.keys(name).split(", ")] if kind.keys(name) else []
            extra = {slot.tag, "weights", "public_features"}
            assert {key for key in fields if key not in extra} <= set(shown), (kind.name, name)
            checked += 1
    assert checked > 60


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_one_line(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed("list", kind, monkeypatch=monkeypatch, capsys=capsys)
    title, *lines = out.splitlines()
    assert title == f"{kind} ({KINDS[kind].place})"
    assert [line.split()[0] for line in lines] == list(KINDS[kind].parts)
    for name, line in zip(KINDS[kind].parts, lines, strict=True):
        said = line.strip().removeprefix(name).strip()
        assert said == KINDS[kind].line(name)
        assert len(said) > 10
        assert said[-1] in ".?"
        assert "not documented" not in said


def test_all_kinds_are_listed_when_none_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed("list", monkeypatch=monkeypatch, capsys=capsys)
    for kind in KINDS.values():
        assert f"{kind.name} ({kind.place})" in out
        for name in kind.parts:
            assert f"\n  {name} " in out
    assert "fedward show NAME" in out
    found: dict[str, Any] = json.loads(printed("list", "--json", monkeypatch=monkeypatch, capsys=capsys))
    assert {kind: set(each["parts"]) for kind, each in found.items()} == {
        name: set(kind.parts) for name, kind in KINDS.items()
    }


def test_every_listed_name_can_be_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in names():
        out = printed("show", name, monkeypatch=monkeypatch, capsys=capsys)
        for kind, _ in meanings(name):
            assert f"{kind.name} {name} ({kind.place})" in out
            assert kind.line(name).removesuffix(" Needs no files.").split(".")[0] in " ".join(
                out.replace("``", "").split()
            )


def test_data_that_needs_no_files_says_so() -> None:
    kind = KINDS["data set"]
    assert {name for name in kind.parts if "Needs no files" in kind.line(name)} == {"digits", "synthetic"}


@pytest.mark.parametrize(
    ("text", "name"), [("Presets", "preset"), ("clip_policies", "clip policy"), (" data-sets ", "data set")]
)
def test_kinds_may_be_written_as_people_write(text: str, name: str) -> None:
    assert kind_called(text).name == name


def test_an_unknown_kind_gets_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidValue, match="got 'sampling'; did you mean 'sampler'"):
        kind_called("sampling")
    err = printed("list", "modles", monkeypatch=monkeypatch, capsys=capsys)
    assert "did you mean 'model'?" in err


def test_parts_of_installed_packages_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "their_list-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-list\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fedward.rules]\ntheir_rule = not_there:Rule\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed_parts._points.cache_clear()
    try:
        out = printed("list", monkeypatch=monkeypatch, capsys=capsys)
    finally:
        installed_parts._points.cache_clear()
    line = next(line for line in out.splitlines() if "their_rule" in line)
    assert "fedward.rules, of their-list: not_there:Rule" in line
