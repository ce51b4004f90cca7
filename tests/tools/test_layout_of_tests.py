"""Tests mirror what they are about: a module, a tool or a page, or stand in a short list with a reason."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"

CROSS_CUTTING = {
    "api/test_notebook.py": "a real notebook, from training to pictures",
    "api/test_own_parts_api.py": "own parts in runs, replicas, sweeps, certificates and workers",
    "backends/test_untouched_data.py": "no backend, engine or trainer lets a model write to data",
    "certificates/test_samplers_in_disguise.py": "no refusal anywhere reads what a sampler prints",
    "certificates/test_soundness.py": "certificates beside attacks on trainings that are run many times",
    "commands/test_accounted_once.py": "every command that computes an ε, and how often",
    "commands/test_brackets.py": "names with [brackets] in every table",
    "commands/test_empty_out.py": "an empty --out of every command that writes",
    "commands/test_imports.py": "the modules that every command imports",
    "commands/test_json_everywhere.py": "--json of every command",
    "commands/test_mistakes.py": "mistakes of new users, at every command and in Python",
    "commands/test_nothing_written.py": "commands that write nothing, anywhere",
    "commands/test_small_disk.py": "every command that writes, on a disk that is full",
    "commands/test_strange_names.py": "names of bytes and escapes, and paths that are too long",
    "docs/test_page_blocks.py": "every block of every page",
    "docs/test_page_links.py": "every link of every page",
    "docs/test_pages_on_attacks.py": "several pages that name attacks and defences",
    "docs/test_site.py": "all pages as one site",
    "docs_algorithms/test_algorithm_experiments.py": "the experiment on the page of every preset",
    "docs_algorithms/test_algorithm_pages.py": "the pages of all presets and parts",
    "experiments/test_published.py": "the scripts of all experiments, and where they write",
    "fuzzing/test_fuzz.py": "command lines, modules and arrays that nobody would give",
    "lockstep/test_same_bits.py": "the same bits in all backends, shared or not, in any chunks",
    "reports/page/test_report_damage.py": "damaged runs, for all that read runs",
    "reports/terminal/test_headings.py": "headings of all tables",
    "rundir/test_full_disk.py": "runs and replicas on a disk that fails at any operation",
    "rundir/test_private_files.py": "the modes of all files that a run writes",
    "studies/test_faults.py": "every study under faults of disk, power, signals, memory, clock and workers",
    "studies/test_fuzzed_files.py": "odd files, from parsing to forecast",
    "studies/test_killed_processes.py": "the real command, killed again and again",
    "studies/test_neighbours.py": "promises between neighbouring federations, through experiment files",
    "studies/training/test_long_trainings.py": "what a round reads of the rounds before it",
    "studies/training/test_older_runs.py": "runs, ledgers and certificates of the first version",
    "tampering/test_tampering.py": "damage and links in run directories, for all that reads or writes them",
    "test_attack_conformance.py": "the parts of all attacks",
    "test_cluster_examples.py": "the files of examples/cluster",
    "test_certified_writers.py": "the certificate of the README, its files and pages",
    "test_conformance.py": "the parts of all slots",
    "test_examples.py": "the experiment files of examples/",
    "test_watching_rules.py": "rules that remember, from rounds to checkpoints and attackers",
    "tools/test_layout_of_tests.py": "all tests",
}
"""Tests that are about no one module, and what they are about."""


def mirrored(test: Path, root: Path) -> Iterator[Path]:
    """The files that a test may be about, by its place and name.

    ``tests/ROOM/test_NAME.py`` is about the module, package or C++ file NAME of that room; a package's tests
    lie in its own folder. Behind NAME may stand what about it: ``test_round_hostile.py``. ``tests/tools`` has
    the tests of tools, and ``tests/docs/test_NAME_page.py`` those of the page NAME.
    """
    folder, words = test.relative_to(root / "tests").parent, test.stem.removeprefix("test_").split("_")
    for count in range(len(words), 0, -1):
        name = "_".join(words[:count])
        if folder.parts[:1] == ("tools",):
            yield root / "tools" / f"{name}.py"
            continue
        source = root / "src" / "fedward" / folder
        yield from (source / f"{name}{suffix}" for suffix in (".py", ".cpp"))
        if name == folder.name:
            yield source / "__init__.py"
        if not folder.parts:
            yield root / "src" / f"{name}.py"
    if folder.parts[:1] == ("docs",) and words[-1] == "page":
        page = "-".join(words[:-1])
        yield from (root / "docs").rglob(f"{page}.md")
        yield root / "docs" / page / "README.md"


def has_a_subject(test: Path, root: Path) -> bool:
    return any(path.is_file() for path in mirrored(test, root))


def test_every_test_mirrors_a_file_or_is_in_the_list() -> None:
    tests = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("test_*.py")}
    strays = {name for name, path in tests.items() if not has_a_subject(path, ROOT)}
    assert sorted(strays - CROSS_CUTTING.keys()) == [], "name them after a module, or say what they are about"
    assert sorted(CROSS_CUTTING.keys() - strays) == [], "these need no place in the list any more"
    assert len(CROSS_CUTTING) < 50


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("core/test_round.py", True),
        ("core/test_round_hostile.py", True),
        ("core/test_hostile_round.py", False),
        ("aggregation/test_round.py", False),
        ("certificates/confidence/test_confidence.py", True),
        ("certificates/test_confidence.py", False),
        ("backends/engines/native/cpp/test_kernels.py", True),
        ("tools/test_run_pages.py", True),
        ("docs/test_local_privacy_page.py", True),
        ("docs/test_attacks_page.py", True),
        ("docs/test_unwritten_page.py", False),
        ("test_cli.py", True),
        ("test_fedward_command.py", True),
        ("presets/test_presets.py", True),
    ],
)
def test_a_name_says_what_a_test_is_about(name: str, found: bool) -> None:
    assert has_a_subject(TESTS / name, ROOT) == found


def test_no_helper_is_imported_from_a_folder_that_an_extra_has_a_package_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {re.split(r"[^\w-]", each)[0] for extra in extras.values() for each in extra}
    clashing = {name for name in packages if (TESTS / name).is_dir()}
    assert clashing == {"datasets"}
    pattern = re.compile(rf"^(?:from|import) ({'|'.join(clashing)})\b", re.MULTILINE)
    # Where the extra is installed, its package is found and the folder is not.
    assert [test.name for test in TESTS.rglob("*.py") if pattern.search(test.read_text())] == []
