from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from mutant_list import MUTATIONS
from mutant_trial import Laboratory, Trial, copy_environment, imported_from, verdict
from mutation import SOURCE
from run_mutants import choose, table

KRUM = next(mutation for mutation in MUTATIONS if mutation.name == "krum-counts-a-neighbour-more")


def test_a_copy_wins_over_what_is_installed(tmp_path: Path) -> None:
    shutil.copytree(SOURCE / "fedward" / "base", tmp_path / "fedward" / "base")
    (tmp_path / "fedward" / "__init__.py").touch()
    assert imported_from(copy_environment(tmp_path)) == tmp_path / "fedward"


def test_a_mutation_is_caught_and_the_source_as_it_is_survives() -> None:
    before = (SOURCE / KRUM.path).read_bytes()
    caught, untouched = Laboratory().try_out(KRUM), Laboratory().run(KRUM.tests)
    assert (caught.outcome, untouched.outcome) == ("caught", "survived")
    assert caught.by.startswith("aggregation/test_krum.py::test_")
    assert (SOURCE / KRUM.path).read_bytes() == before


@pytest.mark.parametrize("code", [1, 2, 4, 5, -signal.SIGKILL])
def test_no_end_of_pytest_counts_as_a_catch_unless_a_test_has_failed(code: int) -> None:
    assert verdict(code, "something went wrong")[0] == "no verdict"
    assert verdict(2, "ERROR tests/core/test_round.py")[0] == "no verdict"


def test_nothing_is_started_after_a_stop() -> None:
    laboratory = Laboratory()
    laboratory.stop()
    assert laboratory.run(KRUM.tests).outcome == "no verdict"


def test_the_table_has_the_score_and_what_was_not_tried() -> None:
    found = {
        MUTATIONS[0]: Trial(outcome="caught", by="a_test", seconds=1.0),
        MUTATIONS[1]: Trial(outcome="survived", by="", seconds=2.0),
    }
    lines = table(found, 5).splitlines()
    assert MUTATIONS[1].breaks in lines[1]
    assert lines[-1] == "caught 1 of 2; 3 were not tried"


def test_a_name_that_nobody_has_is_refused() -> None:
    assert choose([KRUM.name]) == [KRUM]
    with pytest.raises(SystemExit, match="no mutation is called none-such"):
        choose(["none-such"])
