"""Writes the pages of the API reference: one for each public module, from the docstrings.

mkdocstrings puts the docstring of a name where a page says ``::: NAME``. This writes the pages that say so: a
table of all names, each with its first sentence, and below it what is explained on this page.
"""

from __future__ import annotations

from pathlib import Path

from public_names import PublicModule, homes, public_modules

INDEX = "reference/index.md"


def reference_pages(root: Path) -> dict[str, str]:
    """The text of every page, by its place in the site."""
    modules = public_modules(root)
    explained = homes(modules)
    return {INDEX: _index(modules)} | {module.page: _page(module, explained) for module in modules}


def _index(modules: list[PublicModule]) -> str:
    rows = [f"| [`{each.name}`]({Path(each.page).name}) | {_cell(each.summary)} |" for each in modules]
    return f"""# Every public name

For whoever writes Python with fedward: what every public name takes, does and returns, from the docstrings of
this version. Begin with [`fedward`](fedward.md): its functions do what the commands do. What is not here may
change without a word in the [changes](../CHANGELOG.md).

| module | what is in it |
| --- | --- |
{chr(10).join(rows)}
"""


def _page(module: PublicModule, explained: dict[str, str]) -> str:
    rows, explanations = [], []
    for name in module.names:
        home, full = explained[f"{module.name}.{name}"], f"{module.name}.{name}"
        if module.definitions[name].endswith(f"fedward.{name}"):
            target = f"fedward.{name}.md"
        elif home == module.name:
            target = f"#{full}"
            explanations.append(_explanation(full, name, module.definitions[name]))
        else:
            target = f"{home}.md#{home}.{name}"
        rows.append(f"| [`{name}`]({target}) | {_cell(module.sentences[name])} |")
    return f"""# `{module.name}`

{module.summary}

| name | what it is |
| --- | --- |
{chr(10).join(rows)}

{chr(10).join(explanations)}
"""


def _explanation(full: str, name: str, definition: str) -> str:
    """The place that links lead to, and what mkdocstrings puts the docstring into."""
    return f"""<a id="{full}"></a>
::: {definition}
    options:
      heading: {name}
      toc_label: {name}
"""


def _cell(sentence: str) -> str:
    return " ".join(sentence.split()).replace("|", "\\|")
