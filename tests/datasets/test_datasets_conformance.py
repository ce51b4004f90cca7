from __future__ import annotations

from pathlib import Path

import pytest

from fedward.datasets import DATASETS
from fedward.testing import check_dataset
from small_data_files import SMALL_FILES


def test_every_data_set_has_small_files() -> None:
    assert SMALL_FILES.keys() == DATASETS.keys()


@pytest.mark.parametrize("name", SMALL_FILES)
def test_every_data_set_keeps_its_promises(name: str, tmp_path: Path) -> None:
    options = SMALL_FILES[name](tmp_path)
    check_dataset(lambda: DATASETS[name](seed=1, **options))
