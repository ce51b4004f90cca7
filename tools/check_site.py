"""Looks through the built site for what a reader would stumble over.

    python tools/check_site.py site

Every link leads to a file of the site and to a place on its page, no page fetches anything from another
server, every public name has its place in the reference, and the search knows its words.
"""

from __future__ import annotations

import html.parser
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from public_names import homes, public_modules

ROOT = Path(__file__).parents[1]
# Where the address of what a browser fetches by itself stands.
_FETCHED = ("src", "srcset", "data", "action", "poster")


class Page(html.parser.HTMLParser):
    """What a browser fetches for a page, where a reader may go from it, and its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.clicked: list[str] = []
        self.places = {""}
        self.feed(path.read_text(encoding="utf8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a":
            self.clicked.append(given.get("href", ""))
        elif tag == "link":
            self.fetched += [given["href"]] if "href" in given and given.get("rel") != "canonical" else []
        else:
            self.fetched += [given[name] for name in _FETCHED if name in given]


def faults(site: Path) -> Iterator[str]:
    """What is wrong with a site, a line each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    yield from _broken_links(site, pages)
    yield from _requests(site, pages)
    yield from _missing_names(site, pages)
    if "replace-one" not in (site / "search" / "search_index.json").read_text(encoding="utf8"):
        yield "search/search_index.json: the search does not know the word replace-one"


def _broken_links(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for target in dict.fromkeys([*page.fetched, *page.clicked]):
            if _is_elsewhere(target):
                continue
            address, _, place = target.partition("#")
            name = unquote(address.partition("?")[0])
            file = Path(os.path.normpath(path.parent / name)) if name else path
            if not file.is_file():
                yield f"{path.relative_to(site)}: {target}: there is no such file"
            elif file in pages and unquote(place) not in pages[file].places:
                yield f"{path.relative_to(site)}: {target}: there is no such place on the page"


def _requests(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for target in page.fetched:
            if _is_elsewhere(target) and not target.startswith("data:"):
                yield f"{path.relative_to(site)}: fetches {target}"
    for style in sorted(site.rglob("*.css")):
        text = style.read_text(encoding="utf8")
        for sign in ("url(http", "url(//", "@import"):
            if sign in text:
                yield f"{style.relative_to(site)}: fetches something, by {sign}"


def _missing_names(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    modules = public_modules(ROOT)
    explained, own = homes(modules), {module.name for module in modules}
    for module in modules:
        page = pages.get(site / Path(module.page).with_suffix(".html"))
        for name in module.names:
            full = f"{module.name}.{name}"
            # What is explained on another page is linked from this one, and links are looked at.
            if page is None or (explained[full] == module.name and full not in {*page.places, *own}):
                yield f"{module.page}: {full} has no place in the reference"


def _is_elsewhere(target: str) -> bool:
    return bool(re.match(r"[a-z][a-z0-9+.-]*:|//", target))


def main() -> None:
    """Entry point: exits with 1 if anything is wrong."""
    found = list(faults(Path(sys.argv[1])))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
