"""A real notebook: progress while it runs, and pictures of what it found."""

from __future__ import annotations

from typing import Any

import pytest

from tiny_experiment import TEXT

nbclient = pytest.importorskip("nbclient", reason="needs nbclient, which is not installed")
nbformat = pytest.importorskip("nbformat", reason="needs nbformat, which is not installed")
pytest.importorskip("ipykernel", reason="needs ipykernel, which is not installed")

CELLS = [
    "import fedward",
    "run = fedward.train('first.toml', compute=fedward.Compute(workers=0))",
    "run",
    "run.plot()",
    "fedward.certify('first.toml', replicas=3, score='vote', compute=fedward.Compute(workers=0))",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "first.toml").write_text(TEXT)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
        client.execute()
    return [cell.outputs for cell in notebook.cells]


def shown(outputs: list[Any], kind: str) -> list[str]:
    return [each["data"][kind] for each in outputs if kind in each.get("data", {})]


def test_progress_is_one_output_that_changes(outputs: list[list[Any]]) -> None:
    pages = [each for each in shown(outputs[1], "text/html") if "<progress" in each]
    assert len(pages) == 1  # not one for each round
    assert "round 2 of 2" in pages[0]
    assert "accuracy" in pages[0]
    assert " spent, 0 left of " in pages[0]


def test_a_run_shows_itself(outputs: list[list[Any]]) -> None:
    (page,) = shown(outputs[2], "text/html")
    assert "runs/first" in page
    assert "user level, add/remove" in page
    assert "data:image/png;base64," in page


def test_a_picture_shows_itself(outputs: list[list[Any]]) -> None:
    (picture,) = shown(outputs[3], "image/png")
    assert picture.startswith("iVBORw0KGgo")


def test_a_certificate_shows_itself(outputs: list[list[Any]]) -> None:
    page = shown(outputs[4], "text/html")[-1]
    assert "3 replicas, certified with confidence 0.99" in page
    assert "data:image/png;base64," in page
