"""Whatever happened to the files of a run: it is read, or refused in one line, by all that read runs."""

from __future__ import annotations

import json
import shutil
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.reports.page import render
from fedward.rundir.catalogue.facts import read
from fedward.rundir.run_record import load
from studies.inferred import membership

FILES = (
    "run.json",
    "result.json",
    "ledger.json",
    "certified.json",
    "rounds.jsonl",
    "telemetry.jsonl",
    "users.json",
)
VALUES: tuple[Any, ...] = (None, True, -1, 0, 10**30, 0.5, "x", "", [], {}, [1], {"a": 1})


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inside: Iterable[tuple[Any, Any]] = content.items() if isinstance(content, dict) else ()
    inside = list(enumerate(content)) if isinstance(content, list) else inside
    for key, each in inside:
        yield (*path, key)
        yield from places(each, (*path, key))


def damaged(content: Any, path: tuple[Any, ...], value: Any, *, gone: bool) -> Any:
    place = content
    for key in path[:-1]:
        place = place[key]
    if gone:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return content


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory,
    private_run: Path,
    attacked_run: Path,
    own_protection_run: Path,
    certified_run: Path,
) -> list[Path]:
    """Copies that may be damaged, the originals beside them."""
    found = []
    folder = tmp_path_factory.mktemp("damaged")
    for original in (private_run, attacked_run, own_protection_run, certified_run, membership(folder)):
        shutil.copytree(original, folder / f"{original.name}-original")
        found.append(Path(shutil.copytree(original, folder / f"{original.name}-copy")))
    return found


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_a_run_with_any_value_changed_is_read_or_refused_in_one_line(
    data: st.DataObject, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(json_normalize=list))
    run = data.draw(st.sampled_from(runs))
    original = run.with_name(run.name.replace("-copy", "-original"))
    name = data.draw(st.sampled_from([each for each in FILES if (original / each).exists()]))
    texts = (original / name).read_text()
    lines = texts.splitlines() if name.endswith(".jsonl") else [texts]
    number = data.draw(st.integers(0, len(lines) - 1))
    content = json.loads(lines[number])
    path = data.draw(st.sampled_from(list(places(content))))
    gone, value = data.draw(st.booleans()), data.draw(st.sampled_from(VALUES))
    lines[number] = json.dumps(damaged(content, path, value, gone=gone))
    (run / name).write_text("\n".join(lines) + "\n")
    try:
        assert read(run).path == run  # never raises: a list of runs goes on
        try:
            record = load(run)
            record.to_pandas()
            page = render([record])
            assert page.startswith("<!doctype html>")
        except InvalidValue as error:
            assert "\n" not in str(error)  # noqa: PT017
            assert str(run) in str(error)  # noqa: PT017
    finally:
        shutil.copy(original / name, run / name)
