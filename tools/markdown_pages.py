"""Reads Markdown pages: their blocks of code, their links and the anchors of their headings.

It knows as much of Markdown as our pages use: fences of three backticks at the beginning of a line, ``#``
headings, inline links. Code is never taken for links or headings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCED = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
# Code first, so that what looks like a link in it is left alone.
_CODE_OR_LINK = re.compile(
    r"(^```[^\n`]*\n.*?^```[ \t]*$|`[^`\n]+`)|(\]\()([^)\s]+)(\))", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code.

    Args:
      language: what stands behind the opening backticks.
      text: what is between the fences.
      line: of the opening fence, counted from 1.
      start, stop: where ``text`` lies in the page.
      comments: the HTML comments between the block before it, or the beginning of the page, and this one.
      adjacent: whether nothing else stands between the block before it and this one.
    """

    language: str
    text: str
    line: int
    start: int
    stop: int
    comments: tuple[str, ...]
    adjacent: bool

    def directive(self, name: str) -> str | None:
        """What a comment ``<!-- name: ... -->`` before the block says; the last one counts."""
        found = [
            comment[len(name) + 1 :].strip() for comment in self.comments if comment.startswith(f"{name}:")
        ]
        return found[-1] if found else None


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    found: list[Block] = []
    before = 0
    for match in _FENCED.finditer(page):
        between = page[before : match.start()]
        comments = tuple(each.strip() for each in _COMMENT.findall(between))
        found.append(
            Block(
                language=match[1].strip(),
                text=match[2],
                line=page.count("\n", 0, match.start()) + 1,
                start=match.start(2),
                stop=match.end(2),
                comments=comments,
                adjacent=bool(found) and not _COMMENT.sub("", between).strip(),
            )
        )
        before = match.end()
    return found


def links(page: str) -> list[str]:
    """The targets of all inline links and pictures."""
    return [match[3] for match in _CODE_OR_LINK.finditer(page) if match[3]]


def with_links(page: str, change: Callable[[str], str]) -> str:
    """The page with every target replaced by what ``change`` makes of it."""
    return _CODE_OR_LINK.sub(
        lambda match: match[0] if match[3] is None else f"{match[2]}{change(match[3])}{match[4]}", page
    )


def anchors(page: str) -> list[str]:
    """What links to the headings of the page end with, as code hosts and the site make them."""
    seen = Counter[str]()
    found: list[str] = []
    for heading in _HEADING.findall(_FENCED.sub("", page)):
        slug = _slug(heading)
        found.append(f"{slug}_{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def is_outside(target: str) -> bool:
    """Whether a link leads to another server, or to a mail program."""
    return bool(re.match(r"[a-z][a-z0-9+.-]*:|//", target))


def pages_of(root: Path) -> Iterator[Path]:
    """All pages of the repository that people read."""
    yield from sorted(root.glob("*.md"))
    for folder in ("docs", "examples", "experiments", "benchmarks"):
        yield from sorted((root / folder).rglob("*.md"))


def _slug(heading: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain.replace("`", "")).strip().lower())
