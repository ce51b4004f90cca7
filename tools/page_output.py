"""Compares what a page says is printed with what is printed, in what must be the same on every machine.

Words, whole numbers and every decimal behind an equals sign (ε, δ, q, ...) or in a column ε must be the same.
Other decimals come out of training, whose last digits differ from processor to processor, or are seconds:
only that they are there is compared. Which engine trains, and how fast, depends on the machine, so such lines
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DECIMAL = re.compile(r"(?<![\w.])(= ?)?(-?\d+\.\d+(?:e[-+]?\d+)?)(?![\w.]*\w)")
_PERCENT = re.compile(r"\d+(\.\d+)? ?%")
_CERTIFIED = re.compile(r"(certified accuracy|up to) \d.*")
_TIME = re.compile(r"\d[\d,.]* (s|ms|min|h|kB|MB)\b")
_MACHINE = re.compile(r"\b(native|generic) engine\b|^ *(engine|time) ")
_EXACT_COLUMNS = ("round", "ε", "δ", "mode", "k")


def comparable(output: str) -> list[str]:
    """The lines of an output with # for everything that may differ from machine to machine."""
    return [line for line in map(_line, _with_masked_cells(output)) if line]


def missing(claimed: str, printed: str) -> str | None:
    """The first line of a claim that is not printed in its turn; None if all are.

    A claim may leave lines out, and may end a line with ``...``.
    """
    lines = iter(comparable(printed))
    # A heading that the page leaves out cannot say which column is ε, so cells count there.
    for claim in comparable(claimed):
        if claim == "...":
            continue
        start = claim.removesuffix("...").rstrip() if claim.endswith("...") else None
        if not any(line == claim or (start is not None and line.startswith(start)) for line in lines):
            return claim
    return None


def refreshed(claimed: str, printed: str) -> str:
    """The claim with what is printed now; everything if nothing was claimed.

    Raises:
      ValueError: if a line of the claim has no counterpart.
    """
    if not claimed.strip():
        return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n"
    fresh, lines = [], iter(printed.splitlines())
    for claim in claimed.splitlines():
        if claim.strip() in ("", "...") or _MACHINE.search(claim):
            fresh.append(claim)
            continue
        start = claim.endswith("...")
        shape = _shape(claim.removesuffix("..."))
        found = next((line for line in lines if _shape(line)[: len(shape) if start else None] == shape), None)
        if found is None:
            raise ValueError(f"nothing like this line is printed any more: {claim}")
        fresh.append(claim if start else found.rstrip())
    return "\n".join(fresh) + "\n"


def _shape(line: str) -> str:
    """A line without its decimals; whole numbers, such as that of a round, tell it from others."""
    line = _CERTIFIED.sub(r"\1 #", line)
    # A divisor is printed without a point where it is whole.
    line = re.sub(r"(m̄ = )[\d.]+", r"\1#", line)
    return re.sub(r"\s+", " ", re.sub(r"-?\d[\d,]*\.\d+(e[-+]?\d+)?", "#", line)).strip()


def _line(line: str) -> str:
    if _MACHINE.search(line) or not re.search(r"\w", line.replace("...", "x")):
        return ""
    line = _CERTIFIED.sub(r"\1 #", line)
    line = _PERCENT.sub("#%", line)
    line = _TIME.sub(r"# \1", line)
    line = _DECIMAL.sub(lambda match: match[0] if match[1] else "#", line)
    return re.sub(r"\s+", " ", line).strip()


def _with_masked_cells(output: str) -> Iterator[str]:
    """In rows of a table what stands below ε keeps its number, and the rest loses it."""
    heading: list[str] = []
    for line in output.splitlines():
        if "┃" in line:
            heading = _cells(line, "┃")
            yield line
        elif "│" in line:
            cells = _cells(line, "│")
            named = heading if len(heading) == len(cells) else [""] * len(cells)
            yield " │ ".join(
                f"= {cell}" if name in _EXACT_COLUMNS else re.sub(r"\d[\d.,]*", "#", cell)
                for name, cell in zip(named, cells, strict=True)
            )
        else:
            yield line


def _cells(line: str, bar: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip(bar).split(bar)]
