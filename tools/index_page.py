"""The text and the addresses that a package index shows of fedward, made when a package is built.

The README's links are places in the repository, which work wherever it is read. A package index has no
repository beside the page: there they begin at ``repository`` of ``[tool.fedward]`` in pyproject.toml, at the
tag of the version (in the form of GitHub: ``/blob/`` and ``/raw/``). Until an address is known nothing is
invented: links are text, and pictures are left out.

python tools/index_page.py    # prints the page
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from markdown_pages import is_outside, with_links

ROOT = Path(__file__).parents[1]
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^()\s]+)\)")
# Of interest to whoever writes pages alone: which file a block of a page is.
_NOTE = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def index_page(root: Path = ROOT) -> str:
    """The README with links that lead somewhere from anywhere."""
    repository = repository_of(root)
    return absolute_page((root / "README.md").read_text(encoding="utf8"), repository, version_of(root))


def absolute_page(readme: str, repository: str, version: str) -> str:
    """A README with links that begin at the repository's address, or none that it would need."""
    text = _NOTE.sub("", readme)
    if not repository:
        parts = _CODE.split(text)
        return "".join(part if number % 2 else _without_places(part) for number, part in enumerate(parts))
    raw, shown = f"{repository}/raw/v{version}/", f"{repository}/blob/v{version}/"
    text = _IMAGE.sub(lambda found: f"![{found[1]}]({_below(raw, found[2])})", text)
    return with_links(text, lambda target: _below(shown, target))


def addresses(root: Path = ROOT) -> dict[str, str]:
    """What stands beside the page: nothing while the repository has no address."""
    repository = repository_of(root)
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": f"{repository}/tree/v{version_of(root)}/docs",
        "Changelog": f"{repository}/blob/v{version_of(root)}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def repository_of(root: Path) -> str:
    """Its address, as pyproject.toml has it."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf8"))
    return str(settings["tool"]["fedward"]["repository"]).rstrip("/")


def version_of(root: Path) -> str:
    """The version, without an import of fedward: it is not installed when it is built."""
    text = (root / "src" / "fedward" / "version.py").read_text(encoding="utf8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        sys.exit("src/fedward/version.py must have a line __version__ = ...")
    return found[1]


def _without_places(prose: str) -> str:
    prose = _IMAGE.sub(lambda found: found[0] if is_outside(found[2]) else "", prose)
    prose = _LINK.sub(lambda found: found[0] if is_outside(found[2]) else found[1], prose)
    return re.sub(r"\n{3,}", "\n\n", prose)


def _below(base: str, target: str) -> str:
    return target if is_outside(target) or target.startswith("#") else base + target


if __name__ == "__main__":
    print(index_page())
