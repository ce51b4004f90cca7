"""The model that the experiments on CIFAR-10 start from: trained on CIFAR-100 without privacy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parent / "xie_table_3" / "cifar100.toml"


def pretrained(folder: Path, data: str | None) -> Path:
    """The weights of the public training, which is done first where the file is missing."""
    path = folder / "cifar100.pt"
    if not path.exists():
        words = [sys.executable, "-m", "fedward", "pretrain", str(FILE), "--out", str(path)]
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(words + (["--data", data] if data else []), check=True)
    return path
