from __future__ import annotations

import pytest

from mutant_list import MUTATIONS
from mutation import SOURCE, TESTS, Mutation

NAMES = [mutation.name for mutation in MUTATIONS]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=NAMES)
def test_every_mutation_still_applies_compiles_and_has_its_tests(mutation: Mutation) -> None:
    file = SOURCE / mutation.path
    compile(mutation.apply(file.read_text(encoding="utf8")), str(file), "exec")
    assert [name for name in mutation.tests if not (TESTS / name).is_file()] == []


def test_names_are_their_own_and_there_are_a_few_dozen() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 40
