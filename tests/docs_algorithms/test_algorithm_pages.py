from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from docs_algorithms.algorithm_pages import PAGES, TOOL, marked, page, rows
from fedward.aggregation import AGGREGATORS
from fedward.attacks import MODEL_POISONINGS, POISONINGS, WHO
from fedward.attacks.poisoning import FEATURES, PATTERNS
from fedward.clipping import CLIP_POLICIES
from fedward.local import LOCAL_TRAINERS
from fedward.mechanisms import MECHANISMS
from fedward.presets import PRESETS
from fedward.sampling import SAMPLERS
from fedward.server import SERVERS

TABLES: dict[str, Mapping[str, object]] = {
    "sampler": SAMPLERS,
    "local trainer": LOCAL_TRAINERS,
    "clip policy": CLIP_POLICIES,
    "aggregator": AGGREGATORS,
    "noise": MECHANISMS,
    "server step": SERVERS,
    "attacker": WHO,
    "data poisoning": POISONINGS,
    "pattern": PATTERNS,
    "feature": FEATURES,
    "model poisoning": MODEL_POISONINGS,
}
SECTIONS = ["The algorithm", "What it guarantees", "Keys", "An experiment", "Paper"]


def test_every_preset_has_a_page_and_every_page_a_preset() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {*PRESETS, "README", "parts"}


def test_the_overview_leads_to_every_page_and_names_a_paper() -> None:
    listed = {}
    for name, does, hides, paper in rows(page("README")):
        if match := re.fullmatch(r"\[`(\w+)`\]\((\w+)\.md\)", name):
            assert match[1] == match[2]
            listed[match[1]] = (does, hides, paper)
    assert listed.keys() == PRESETS.keys()
    assert all(all(cells) for cells in listed.values())


@pytest.mark.parametrize("name", PRESETS)
def test_a_page_has_all_sections(name: str) -> None:
    text = page(name)
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == SECTIONS
    assert text.startswith("# ")
    assert f"(`{name}`)\n" in text.splitlines(keepends=True)[0]
    paper = text.partition("## Paper")[2]
    assert "**Measured**" in paper
    assert re.search(r"\b20\d\d\b|\byear\b", paper)


@pytest.mark.parametrize("name", PRESETS)
def test_the_keys_and_defaults_on_a_page_are_those_of_the_preset(name: str) -> None:
    taken = {
        key: parameter.default
        for key, parameter in inspect.signature(PRESETS[name]).parameters.items()
        if key not in ("num_users", "layers")  # files do not give these
    }
    found = {cells[0].strip("`"): cells[1] for cells in rows(marked(page(name), f"keys: preset {name}"))}
    assert list(found) == list(taken)
    for key, default in taken.items():
        if default is inspect.Parameter.empty:
            assert found[key] == "**required**", key
        elif default is None:
            assert found[key] == "not given", key
        elif isinstance(default, bool):
            assert found[key] == f"`{str(default).lower()}`", key
        else:
            written = found[key].strip("`").strip('"')
            assert type(default)(written) == default, key


@pytest.mark.parametrize("name", [*PRESETS, "parts"])
def test_the_tables_are_what_the_script_makes(name: str) -> None:
    made = TOOL["page_with_tables"](page(name), kinds=("keys", "parts"))
    assert made == page(name), "run python tools/make_algorithm_tables.py"


def test_the_tables_of_the_experiment_file_are_what_the_script_makes() -> None:
    (path,) = TOOL["MORE_PAGES"]
    text = path.read_text(encoding="utf8")
    assert TOOL["page_with_tables"](text, kinds=("keys",)) == text, (
        "run python tools/make_algorithm_tables.py"
    )
    for title, section in TOOL["SECTIONS"].items():
        found = [cells[0].strip("`") for cells in rows(marked(text, f"keys: {title}"))]
        assert found == list(section.model_fields)


def test_the_script_mends_a_table_that_is_out_of_date() -> None:
    text = page("krum")
    broken = text.replace("| `malicious` | **required** |", "| `malicious` | `3` |")
    assert broken != text
    assert TOOL["page_with_tables"](broken, kinds=("keys",)) == text


@pytest.mark.parametrize("kind", TABLES)
def test_every_part_has_a_place(kind: str) -> None:
    found = rows(marked(page("parts"), f"parts: {kind}"))
    assert [cells[0].strip("`") for cells in found] == list(TABLES[kind])
    for *_, more in found:
        for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", more):
            there = (PAGES / target).resolve() if target else PAGES / "parts.md"
            assert there.is_file(), more
            assert not anchor or anchor in anchors(there), more


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf8"), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"
