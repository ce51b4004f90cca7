"""The notebooks run from their first cell to their last, and print what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="needs nbclient, which is not installed")
pytest.importorskip("ipykernel", reason="needs ipykernel, which is not installed")

import run_notebooks


@pytest.mark.parametrize("path", run_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_does_and_prints_what_it_says(path: Path) -> None:
    run_notebooks.check_notebook(path)


@pytest.mark.parametrize("path", run_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_says_nothing_about_who_ran_it(path: Path) -> None:
    assert path.stat().st_size <= run_notebooks.MOST_BYTES
    content = json.loads(path.read_text(encoding="utf8"))
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] is None for cell in code)
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"stream", "execute_result", "display_data"}


def test_a_notebook_that_says_something_else_fails(tmp_path: Path) -> None:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "one",
        "metadata": {},
        "execution_count": None,
        "source": ["print('ε = 2.0')"],
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["ε = 3.0\n"]}],
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps(notebook))
    with pytest.raises(run_notebooks.NotebookFailed, match=r"ε = 3\.0"):
        run_notebooks.check_notebook(path)
