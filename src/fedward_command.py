"""Starts the command ``fedward``: Ctrl-C has its short answer before anything large is imported.

It lies beside the package, not in it: importing anything of ``fedward`` imports torch first.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> None:
    """Entry point."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a job in the background ignores it
    if ours:
        signal.signal(signal.SIGINT, _stop)
    try:
        from fedward.cli import main as command

        command()
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # No exception: in the middle of an import it could be swallowed, or end as another error. Nothing has
    # begun yet that would have to be ended in order.
    os.write(2, b"stopped by SIGINT; the same command goes on where it was left\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
