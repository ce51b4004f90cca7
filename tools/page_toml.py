"""Reads the TOML of a page as fedward reads a file.

A block is a whole file, or it completes one that a comment before it names; the comment holds for all later
blocks of the page, too:

    <!-- toml: examples/user_dp_digits.toml -->               tables of the block replace those of this file
    <!-- toml: [attack] of examples/backdoor_digits.toml -->  keys of the block replace those of this table
    <!-- toml: examples/red_cars.toml --set attack= -->       the file, with changes as on the command line
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedward.config import pretraining_file
from fedward.config.arena_section import read_arena
from fedward.config.experiment import from_content
from fedward.config.overrides import apply_changes
from fedward.config.own_code import code_names
from fedward.config.sweep_section import read_sweep
from markdown_pages import Block, blocks

ROOT = Path(__file__).parents[1]
_NAMED = re.compile(r"(?:\[(\w+)\] of )?(\S+)(.*)", re.DOTALL)


def files_of(page: str) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Every block of TOML, and the content of the file that it stands for."""
    own: dict[str, str] = {}
    named: str | None = None
    for block in blocks(page):
        named = block.directive("toml") or named
        if block.language != "toml":
            continue
        name = block.directive("file")
        if name is not None:
            own[name] = block.text
        content = tomllib.loads(block.text)
        yield block, content if _is_whole(content) else _completed(content, named, own)


def check(content: dict[str, Any]) -> None:
    """Reads it as an experiment, a sweep, an arena or a pre-training.

    One that names code of the page's own is read where the page runs it: the code is not there before.

    Raises:
      InvalidValue: if the file would be refused.
    """
    if code_names(content):
        return
    if "training" in content:
        pretraining_file.from_content(content)
    elif "sweep" in content:
        read_sweep(content)
    elif "arena" in content:
        read_arena(content)
    else:
        from_content(content)


def _is_whole(content: dict[str, Any]) -> bool:
    return "seed" in content and "data" in content and "model" in content


def _completed(content: dict[str, Any], named: str | None, own: dict[str, str]) -> dict[str, Any]:
    match = _NAMED.fullmatch(named) if named else None
    if match is None:
        raise ValueError("it is no whole file, and no comment <!-- toml: FILE --> says what it completes")
    table, file, rest = match.groups()
    text = own[file] if file in own else (ROOT / file).read_text(encoding="utf8")
    base = apply_changes(tomllib.loads(text), [word for word in shlex.split(rest) if word != "--set"])
    if table is None:
        return {**base, **content}
    return {**base, table: {**base[table], **content}}
