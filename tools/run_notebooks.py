"""Runs the notebooks of docs/notebooks, each in an empty directory, from its first cell to its last.

    python tools/run_notebooks.py             # what fails, or is printed otherwise
    python tools/run_notebooks.py --write     # puts what is printed and drawn now into them

What a cell prints is compared as on pages: see page_output.py. Pictures are only drawn.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbclient
import nbformat

from notebook_pages import printed
from page_output import missing

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# A page of many pictures would be slow to read, and heavy to store.
MOST_BYTES = 150_000


class NotebookFailed(AssertionError):
    """A cell does not print what its notebook says."""


def run_notebook(path: Path) -> Any:
    """The notebook with the outputs that its cells have now.

    Raises:
      nbclient.exceptions.CellExecutionError: if a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # Nothing is read from the settings of whoever runs this, and nothing is written to them.
        environment = {"JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": f"{folder}/.ipython"}
        client = nbclient.NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": folder}}, record_timing=False
        )
        with patch.dict(os.environ, environment, FEDWARD_WORKERS="0"):
            client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return notebook


def check_notebook(path: Path) -> None:
    """Runs a notebook and compares what it shows with what is printed."""
    before, now = nbformat.read(path, as_version=4), run_notebook(path)
    for number, (old, new) in enumerate(zip(before.cells, now.cells, strict=True)):
        if old.cell_type == "code":
            absent = missing(printed(old), printed(new))
            if absent is not None or bool(old.outputs) != bool(new.outputs):
                where = f"{path.name}, cell {number}"
                raise NotebookFailed(
                    f"{where}: this is not printed:\n  {absent}\nbut this is:\n{printed(new)}"
                )


def write_notebook(path: Path) -> None:
    """Runs a notebook and stores its outputs; what differs from machine to machine is left out."""
    notebook = run_notebook(path)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                _shorten(output)
    nbformat.write(notebook, path)


def _joined(outputs: list[Any]) -> list[Any]:
    """The outputs with neighbouring pieces of text in one: how it was cut depends on the moment."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _shorten(output: Any) -> None:
    """Keeps of an output what the site shows: its picture, or else its text."""
    if "data" in output:
        kind = "image/png" if "image/png" in output.data else "text/plain"
        output.data = {kind: output.data[kind]}
        output.metadata = {}
    if "execution_count" in output:
        output.execution_count = None


def main() -> None:
    """Entry point."""
    write = "--write" in sys.argv
    named = [Path(name).resolve() for name in sys.argv[1:] if name != "--write"]
    for path in named or NOTEBOOKS:
        (write_notebook if write else check_notebook)(path)
        print(f"{path.relative_to(ROOT)}: {'written' if write else 'as it says'}")


if __name__ == "__main__":
    main()
