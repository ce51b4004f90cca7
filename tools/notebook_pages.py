"""Makes Markdown pages of notebooks: their texts, their code, and what was printed and drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def notebook_page(path: Path) -> str:
    """The page of a notebook."""
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf8"))["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += _outputs(cell["outputs"])
    parts.insert(1, f"[The notebook itself]({path.name}), to run it and to change it.")
    return "\n\n".join(parts) + "\n"


def printed(cell: dict[str, Any]) -> str:
    """What a cell of code printed, and the value at its end as text."""
    return "\n".join(text for text in map(_text, cell["outputs"]) if text)


def _outputs(outputs: list[dict[str, Any]]) -> Iterator[str]:
    for output in outputs:
        picture = "".join(output.get("data", {}).get("image/png", "")).strip()
        if picture:
            yield f'<img alt="what the cell above draws" src="data:image/png;base64,{picture}">'
        else:
            yield f"```text\n{_text(output)}\n```"


def _text(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "")).rstrip()
