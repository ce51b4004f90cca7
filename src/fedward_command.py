"""Starts the command ``fedward``: Ctrl-C has its short answer before anything large is imported.

It lies beside the package, not in it: what a command needs of ``fedward`` may import torch, for seconds.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import unicodedata
from types import FrameType
from typing import NoReturn

# The commands that store what they do: the same one goes on where it was left. As ``fedward.cli`` has them.
RESUMED = frozenset({"arena", "audit", "certify", "infer", "pretrain", "replicas", "run", "sweep"})
_PLAIN = dict(zip("–—→≤≥×·’∞", ("-", "-", "->", "<=", ">=", "x", "*", "'", "infinity"), strict=True))


def main() -> None:
    """Entry point."""
    ours = answer_ctrl_c()
    print_what_can_be_printed()
    try:
        from fedward.cli import main as command

        command()
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def answer_ctrl_c() -> bool:
    """Takes SIGINT until the command does; False where it is ignored, as in a job in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    return signal.getsignal(signal.SIGINT) is _stop


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # No exception: in the middle of an import it could be swallowed, or end as another error. Nothing has
    # begun yet that would have to be ended in order.
    resumed = sys.argv[1:2] and sys.argv[1] in RESUMED and "--self-test" not in sys.argv
    os.write(
        2, b"stopped by SIGINT" + (b"; the same command goes on where it was left\n" if resumed else b"\n")
    )
    os._exit(128 + number)


def print_what_can_be_printed() -> None:
    """Lets both streams write something like it for each character that their encoding does not have."""
    codecs.register_error("fedward", _something_like_it)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not so in a test, or where there is none
            stream.reconfigure(errors="fedward")


def _something_like_it(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(character: str) -> str:
    """
    >>> [_plain(each) for each in "εδψ²é–√"]
    ['epsilon', 'delta', 'psi', '2', 'e', '-', '?']
    """
    name = unicodedata.name(character, "")
    if name.startswith("GREEK"):
        return name.rpartition(" ")[2].lower()
    near = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _PLAIN.get(character) or near or "?"


if __name__ == "__main__":
    main()
