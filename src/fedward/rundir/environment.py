"""The time, machine and command with which a run was begun; they do not decide its result."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def environment() -> dict[str, Any]:
    """Time, machine and command, for ``run.json``."""
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "command": f"{_name()} {shlex.join(sys.argv[1:])}",
    }


def _name() -> str:
    name = Path(sys.argv[0]).name
    return "python -m fedward" if name == "__main__.py" else name
