"""Files that hold no model."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any


class Trap:
    """A pickle that runs code when it is read."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("trap"),))


def write_other_files(path: Path) -> tuple[str, ...]:
    """The names of files without a model; one makes a file ``trap`` here if a reader runs its code."""
    (path / "text.pt").write_text("not a model")
    (path / "empty.pt").write_bytes(b"")
    (path / "pickle.pt").write_bytes(pickle.dumps(Trap()))
    return "text.pt", "empty.pt", "pickle.pt"
