from __future__ import annotations

from pathlib import Path

import pytest

import run_pages


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(run_pages, "ROOT", tmp_path)
    (tmp_path / "examples").mkdir()
    (tmp_path / "experiments").mkdir()
    (tmp_path / "docs" / "how-to").mkdir(parents=True)
    page = tmp_path / "docs" / "how-to" / "page.md"
    page.write_text(text, encoding="utf8")
    with run_pages.empty_directory():
        run_pages.check_page(page)


def test_a_page_is_run_from_its_first_block_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(
        tmp_path,
        monkeypatch,
        "```python\nx = 1\n```\n<!-- set-up: python\ny = x + 1\n-->\n"
        "```python\nprint(x + y)\n```\n```text\n3\n```\n"
        "<!-- file: a.py -->\n```python\nprint('from a file')\n```\n"
        "```sh\npython a.py\n```\n```text\nfrom a file\n```\n"
        "<!-- not run: no data -->\n```python\nimport nothing_of_that_name\n```\n",
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("\n```python\n1 / 0\n```\n", "page.md, line 2: ZeroDivisionError"),
        ("```python\nprint(3)\n```\n```text\n4\n```\n", "line 4: this is not printed"),
        ("<!-- not run: no data -->\n```python\nthis is no Python\n```\n", "SyntaxError"),
        ("```sh\nfedward epsilon --nonsense\n```\n", "WrongCommand"),
        ("```sh\nfedward epsilon --delta 1e-3\n```\n", "ended with code 2"),
        ("<!-- ends with an error -->\n```sh\nfedward list preset\n```\n", "ended with code None"),
        ("```sh\npython nowhere.py\n```\n", "there is no nowhere.py"),
    ],
)
def test_what_goes_wrong_on_a_page_is_found(
    text: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(run_pages.PageFailed, match=error):
        run(tmp_path, monkeypatch, text)
