from __future__ import annotations

import re
from pathlib import Path

from index_page import absolute_page, addresses, index_page, version_of

PAGE = """# fedward

![a picture](docs/a.png)

<!-- toml: examples/a.toml -->
Read [the tutorial](docs/tutorial.md#first), [a paper](https://example.org/paper) and [below](#below).

```python
rows[name](docs)
```
"""


def test_links_begin_at_the_tag_of_the_repository() -> None:
    page = absolute_page(PAGE, "https://example.org/fedward", "1.2.3")
    assert "![a picture](https://example.org/fedward/raw/v1.2.3/docs/a.png)" in page
    assert "[the tutorial](https://example.org/fedward/blob/v1.2.3/docs/tutorial.md#first)" in page
    assert "[a paper](https://example.org/paper) and [below](#below)" in page
    assert "rows[name](docs)" in page
    assert "<!--" not in page


def test_without_an_address_no_link_leads_nowhere() -> None:
    page = absolute_page(PAGE, "", "1.2.3")
    assert "Read the tutorial, [a paper](https://example.org/paper) and" in page
    assert "docs/" not in page
    assert "rows[name](docs)" in page


def test_the_page_of_this_repository_has_absolute_links_only() -> None:
    text = re.sub(r"^```.*?^```", "", index_page(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^()\s]+)\)", text)
    assert all(target.startswith(("https://", "#")) for target in targets)


def test_addresses_are_given_once_the_repository_has_one(tmp_path: Path) -> None:
    version = tmp_path / "src" / "fedward" / "version.py"
    version.parent.mkdir(parents=True)
    version.write_text('__version__ = "1.2.3"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.fedward]\nrepository = ""\n')
    assert addresses(tmp_path) == {}
    (tmp_path / "pyproject.toml").write_text('[tool.fedward]\nrepository = "https://example.org/fedward/"\n')
    assert addresses(tmp_path)["Changelog"] == "https://example.org/fedward/blob/v1.2.3/CHANGELOG.md"
    assert version_of(tmp_path) == "1.2.3"
