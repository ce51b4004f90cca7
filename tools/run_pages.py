"""Does what a page tells its reader to do, in an empty directory, from its first block to its last.

    python tools/run_pages.py docs/tutorial.md             # what goes wrong, or is printed otherwise
    python tools/run_pages.py docs/tutorial.md --write     # puts what is printed now into the page

Python runs in one namespace for each page. Lines that begin with ``fedward`` run like on the command line on
the pages that lead the reader step by step (the tutorial, the how-to pages, and those with
``<!-- commands: run -->`` at their top); elsewhere they are parsed, and the files that they name are looked
for. A block ``text`` right behind one of these is what is printed. What the page cannot show stands in a
comment before a block:

    <!-- file: mine.toml -->           the block is the content of this file, as the words around it say
    <!-- set-up: fedward run ... -->   is run before the block; or Python, behind the word ``python``
    <!-- not run: why -->              is only parsed; where that is needed for a lack of data, it says so
    <!-- needs: pandas -->             is run only where this can be imported
    <!-- ends with an error -->        the command is refused, and the page shows how
    <!-- output -->                    this ``text`` is what was printed, though words stand between the two
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_pages import Block, blocks
from page_commands import WrongCommand, check, commands
from page_output import missing, refreshed

ROOT = Path(__file__).parents[1]
_SHELL = ("sh", "")
# Directories that commands on pages read, as seen from the root of the repository.
_BORROWED = ("examples", "experiments")


class PageFailed(AssertionError):
    """A block does not do what its page says."""


def is_run(path: Path) -> bool:
    """Whether the commands of a page are run, not only parsed."""
    name = path.relative_to(ROOT).as_posix()
    said = "<!-- commands: run -->" in path.read_text(encoding="utf8")
    return said or name == "docs/tutorial.md" or name.startswith("docs/how-to/")


def run_page(path: Path) -> Iterator[tuple[Block, str]]:
    """Runs a page in the current directory; yields each block that claims an output, and what was printed.

    Raises:
      PageFailed: if a block fails, with its line.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    made: set[str] = set()
    printed: str | None = None
    for block in blocks(path.read_text(encoding="utf8")):
        if block.language == "text":
            if printed is not None and (block.adjacent or "output" in block.comments):
                yield block, printed
            printed = None
            continue
        printed = None
        try:
            printed = _do(block, path, names, made)
        except (Exception, SystemExit) as error:
            where = f"{path.relative_to(ROOT)}, line {block.line}"
            raise PageFailed(f"{where}: {type(error).__name__}: {error}") from error


def check_page(path: Path) -> None:
    """Runs a page and compares what it claims with what is printed."""
    for block, printed in run_page(path):
        absent = missing(block.text, printed)
        if absent is not None:
            raise PageFailed(
                f"{path.relative_to(ROOT)}, line {block.line}: this is not printed:\n  {absent}\n"
                f"but this is:\n{printed}"
            )


def write_page(path: Path) -> None:
    """Runs a page and puts what is printed into it."""
    text = path.read_text(encoding="utf8")
    for block, printed in reversed(list(run_page(path))):
        text = text[: block.start] + refreshed(block.text, printed) + text[block.stop :]
    path.write_text(text, encoding="utf8")


def _do(block: Block, path: Path, names: dict[str, Any], made: set[str]) -> str | None:
    """Runs a block. None: it prints nothing that could be compared."""
    needed, file = block.directive("needs"), block.directive("file")
    left_out = block.directive("not run") is not None or (needed is not None and not _there(needed))
    if not left_out:
        for comment in block.comments:
            if comment.startswith("set-up:"):
                _set_up(comment.removeprefix("set-up:").strip(), names, made)
    if file is not None:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(block.text, encoding="utf8")
        made.add(file)
        return None
    if block.language == "python":
        code = compile(block.text, f"{path}:{block.line}", "exec")
        return None if left_out else _captured(lambda: exec(code, names))
    if block.language in _SHELL:
        return _shell(block, made, run=is_run(path) and not left_out)
    return None


def _shell(block: Block, made: set[str], *, run: bool) -> str | None:
    printed = ""
    for words in _commands(block):
        if words[0] == "fedward":
            check(words, ROOT, made)
            if run:
                fails = "ends with an error" in block.comments
                printed += _captured(lambda words=words: _fedward(words), fails=fails)
        elif words[0] == "python" and words[1:2] and words[1].endswith(".py"):
            if words[1] not in made and not (ROOT / words[1]).is_file():
                raise WrongCommand(f"there is no {words[1]}")
            if run and words[1] in made:
                printed += _captured(lambda words=words: runpy.run_path(words[1], run_name="__main__"))
    return printed if run else None


def _commands(block: Block) -> list[list[str]]:
    """Of a fence without a language only what begins like a command is one: it may be anything else."""
    text = block.text
    if not block.language:
        text = "\n".join(line for line in text.splitlines() if line.startswith(("fedward ", "python ")))
    return list(commands(text))


def _set_up(text: str, names: dict[str, Any], made: set[str]) -> None:
    if text.startswith("python"):
        _captured(lambda: exec(text.removeprefix("python"), names))
        return
    for words in commands(text):
        check(words, ROOT, made)
        _captured(lambda words=words: _fedward(words))


def _fedward(words: list[str]) -> None:
    from fedward.cli import main

    before = sys.argv
    sys.argv = words
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.argv = before


def _captured(do: Any, *, fails: bool = False) -> str:
    """What is printed, on either stream."""
    out, code = io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            do()
        except SystemExit as end:
            code = end.code
    if bool(code) != fails:
        raise WrongCommand(f"it ended with code {code}: {out.getvalue()}")
    return out.getvalue()


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the package that it would be in
        return False


@contextlib.contextmanager
def empty_directory() -> Iterator[None]:
    """A new directory to work in, with the repository's examples in it, and a screen of a known width."""
    before, environment = Path.cwd(), dict(os.environ)
    os.environ.update(COLUMNS="110", FEDWARD_WORKERS="0")
    with tempfile.TemporaryDirectory() as folder:
        for name in _BORROWED:
            (Path(folder) / name).symlink_to(ROOT / name)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def main() -> None:
    """Entry point."""
    write = "--write" in sys.argv
    pages = [Path(name).resolve() for name in sys.argv[1:] if name != "--write"]
    for page in pages:
        with empty_directory():
            (write_page if write else check_page)(page)
        print(f"{page.relative_to(ROOT)}: {'written' if write else 'as it says'}")


if __name__ == "__main__":
    main()
