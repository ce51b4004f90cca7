"""Makes one site of pages that lie all over the repository: the hooks of mkdocs.yml.

Pages link to each other, and to examples and experiments, by their places in the repository, so that links
work wherever the repository is read. Here the README becomes the front page, what outside ``docs/`` a
page links to is taken into the site (text as a page of its own, so that it can be read there), and links
are turned to where things are in the site. Pages that are written by a program join them: the reference of
Python, and the notebooks.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from markdown_pages import is_outside, links, with_links
from notebook_pages import notebook_page
from reference_pages import reference_pages

_SHOWN = {".toml": "toml", ".py": "python", ".json": "json", ".jsonl": "json", ".txt": "text", ".csv": "text"}
# A larger file would be a page that no browser likes: it is taken along as it is.
_MOST_SHOWN = 60_000
_FIRST = ("README", "index")


def on_config(config: Any) -> Any:
    """In the navigation a folder stands for all of its pages, README first."""
    folders = _folders(config)
    config.nav = [_unfolded(item, folders) for item in config.nav]
    # A page for servers that miss another; from the disk its links would lead nowhere.
    config.theme.static_templates.discard("404.html")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the README, and everything else outside ``docs/`` that the navigation or a page leads to."""
    root = _root(config)
    inside = [f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md")]
    outside = [_in_repository(root, place) for place in _places(config.nav)]
    outside = [page for page in outside if page not in inside and (root / page).is_file()]
    for page in outside:
        files.append(_file(config, root, page))
    for place, content in _written(root).items():
        files.append(File.generated(config, place, content=content))
    todo = [*inside, *outside]
    seen = set(todo)
    while todo:
        page = todo.pop()
        if not (root / page).is_file():
            continue
        for target in links((root / page).read_text(encoding="utf8")):
            path = _linked(root, page, target)
            if path is None or path in seen or _is_there(root, path):
                continue
            seen.add(path)
            files.append(_file(config, root, path))
            if path.endswith(".md"):
                todo.append(path)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turns links from places in the repository to places in the site."""
    root, here = _root(config), page.file.src_uri
    page.meta["search"] = _place_in_search(here)
    source = _in_repository(root, here)

    def change(target: str) -> str:
        path = _linked(root, source, target)
        if path is None:
            return target
        _, mark, anchor = target.partition("#")
        return posixpath.relpath(_in_site(root, path), posixpath.dirname(here) or ".") + mark + anchor

    return _with_output_marked(with_links(markdown, change))


def _place_in_search(here: str) -> dict[str, Any]:
    """Who searches wants pages: no source files, and records of experiments and changes behind all others."""
    if Path(here).stem.endswith(tuple(_SHOWN)):
        return {"exclude": True}
    return {"boost": 0.3 if here.startswith(("experiments/", "CHANGELOG")) else 1.0}


def _with_output_marked(markdown: str) -> str:
    """Gives blocks of text, which are what a command or a program prints, a class that site.css knows."""
    return re.sub(r"^```text$", "```{ .text .output }", markdown, flags=re.MULTILINE)


def _written(root: Path) -> dict[str, str]:
    """The pages that a program writes: places in the site, and texts."""
    notebooks = sorted((root / "docs" / "notebooks").glob("*.ipynb"))
    return reference_pages(root) | {f"notebooks/{path.name}.md": notebook_page(path) for path in notebooks}


def _root(config: Any) -> Path:
    return Path(config.config_file_path).parent


def _linked(root: Path, page: str, target: str) -> str | None:
    """The file that a link on a page leads to, from the root; None if it stays on the page, or leaves."""
    name = target.partition("#")[0]
    if not name or is_outside(target):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
    if (root / path).is_dir():
        path = f"{path}/README.md"
    return path if (root / path).is_file() else None


def _in_site(root: Path, path: str) -> str:
    if path == "README.md":
        return "index.md"
    place = path.removeprefix("docs/")
    return f"{place}.md" if _is_shown(root / path) else place


def _in_repository(root: Path, place: str) -> str:
    if place == "index.md":
        return "README.md"
    return f"docs/{place}" if (root / "docs" / place).is_file() else place


def _is_there(root: Path, path: str) -> bool:
    """Whether mkdocs takes a file along by itself."""
    return path.startswith("docs/") and not _is_shown(root / path)


def _is_shown(path: Path) -> bool:
    return path.suffix in _SHOWN and path.stat().st_size <= _MOST_SHOWN


def _file(config: Any, root: Path, path: str) -> File:
    if not _is_shown(root / path):
        return File.generated(config, _in_site(root, path), abs_src_path=str(root / path))
    text = (root / path).read_text(encoding="utf8")
    content = f"# {path}\n\n```{_SHOWN[Path(path).suffix]}\n{text.rstrip()}\n```\n"
    return File.generated(config, _in_site(root, path), content=content)


def _places(item: Any) -> Iterator[str]:
    """All pages of a part of the navigation."""
    if isinstance(item, str):
        yield item
    else:
        for below in item.values() if isinstance(item, dict) else item:
            yield from _places(below)


def _folders(config: Any) -> dict[str, list[Any]]:
    """The pages of every folder of the site: its own page first, modules as they come."""
    docs = Path(config.docs_dir)
    pages = sorted(docs.rglob("*.md"), key=lambda page: (page.stem not in _FIRST, page))
    folders: dict[str, list[Any]] = {}
    for page in pages:
        place = page.relative_to(docs).as_posix()
        folders.setdefault(f"{posixpath.dirname(place)}/", []).append(place)
    modules = [place for place in _written(_root(config)) if place.startswith("reference/")]
    folders["reference/"] = [{_title(place): place} for place in modules]
    return folders


def _title(place: str) -> str:
    """What a page of the reference is called in the navigation, where long names have no room."""
    name = Path(place).name.removesuffix(".md")
    return "Every public name" if name == "index" else name.removeprefix("fedward.")


def _unfolded(item: Any, folders: dict[str, list[Any]]) -> Any:
    """A part of the navigation with the pages of its folders."""
    if isinstance(item, str):
        return item
    return {title: _below(below, folders) for title, below in item.items()}


def _below(below: Any, folders: dict[str, list[Any]]) -> Any:
    if isinstance(below, list):
        return [_unfolded(item, folders) for item in below]
    if below.endswith(".ipynb"):
        return f"{below}.md"
    return folders[below] if below.endswith("/") else below
