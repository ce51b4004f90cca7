"""The tools that read and run pages find what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

import page_commands
import page_output
import page_toml
import run_pages
from markdown_pages import anchors, blocks, links, with_links

PAGE = """# One `code` heading, and [a link](other.md#x)

See [this](a.md), ![that](b.png) and `[not](this.md)`.

<!-- file: mine.toml -->
```toml
seed = 1  # [nor](that.md)
```
```text
# no heading
```

## ε is kept
## ε is kept
"""


def test_blocks_have_their_comments_lines_and_neighbours() -> None:
    first, second = blocks(PAGE)
    assert (first.language, first.line, first.directive("file"), first.adjacent) == (
        "toml",
        6,
        "mine.toml",
        False,
    )
    assert (second.language, second.comments, second.adjacent) == ("text", (), True)
    assert PAGE[first.start : first.stop] == first.text == "seed = 1  # [nor](that.md)\n"


def test_code_holds_neither_links_nor_headings() -> None:
    assert links(PAGE) == ["other.md#x", "a.md", "b.png"]
    assert anchors(PAGE) == ["one-code-heading-and-a-link", "ε-is-kept", "ε-is-kept_1"]
    assert with_links(PAGE, lambda target: "x").count("](x)") == 3
    assert "[not](this.md)" in with_links(PAGE, lambda target: "x")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["run", "examples/user_dp_digits.toml", "--sett", "rounds=1"], "(?i)no such option"),
        (["run", "examples/nothing.toml"], "there is no examples/nothing.toml"),
        (["epsilon", "--delta", "small"], "(?i)valid (float|number)"),
        (["certificate", "kk"], "(?i)no such command"),
        (["users", "runs/unheard_of"], "nothing here makes it"),
    ],
)
def test_a_command_that_would_be_refused_is_found(words: list[str], error: str) -> None:
    with pytest.raises(page_commands.WrongCommand, match=error):
        page_commands.check(["fedward", *words], run_pages.ROOT, set())


def test_what_a_command_makes_can_be_read_by_later_ones() -> None:
    made: set[str] = set()
    for line in ("fedward new a.toml", "fedward run a.toml", "fedward certify a.toml --out runs/b"):
        page_commands.check(line.split(), run_pages.ROOT, made)
    page_commands.check(["fedward", "report", "runs/a", "runs/b", "--out", "c.html"], run_pages.ROOT, made)
    page_commands.check(["fedward", "ledger", "runs/a/ledger.json"], run_pages.ROOT, made)
    assert made == {"a.toml", "runs/a", "runs/b", "c.html"}


TABLE = """native engine, avx2
┃ round ┃ accuracy ┃   loss ┃      ε ┃
│     5 │   69.92% │ 1.2138 │ 1.8275 │
(ε = 1.8275, δ = 0.001) user level, 5 rounds, after 3.2 s
"""


def test_what_training_brings_may_differ_and_what_is_promised_may_not() -> None:
    elsewhere = (
        TABLE.replace("69.92", "70.1").replace("1.2138", "1.1").replace("3.2", "0.9").replace("avx2", "neon")
    )
    assert page_output.missing(TABLE, elsewhere) is None
    for wrong in (
        TABLE.replace("│ 1.8275", "│ 1.8276"),
        TABLE.replace("ε = 1.8275", "ε = 1.8276"),
        TABLE.replace("5 rounds", "6 rounds"),
        TABLE.replace("│     5", "│     6"),
        TABLE.replace("user level", "example level"),
    ):
        assert page_output.missing(wrong, TABLE) is not None


def test_a_claim_may_leave_lines_out_but_not_turn_them_around() -> None:
    assert page_output.missing("one\n...\nthree or ...", "one\ntwo\nthree or four") is None
    assert page_output.missing("three\none", "one\ntwo\nthree") == "one"


def test_a_refreshed_claim_keeps_its_lines_and_takes_new_numbers() -> None:
    assert page_output.refreshed("", "a 1.5\n") == "a 1.5\n"
    assert page_output.refreshed("...\nb 2.5 in round 3", "a 1.0\nb 2.0 in round 2\nb 3.0 in round 3") == (
        "...\nb 3.0 in round 3\n"
    )
    with pytest.raises(ValueError, match="nothing like this"):
        page_output.refreshed("c 1.0", "a 1.0\n")


def test_a_fragment_of_toml_needs_the_file_that_it_completes() -> None:
    fragment = "```toml\nrounds = 3\n```\n"
    with pytest.raises(ValueError, match="no whole file"):
        list(page_toml.files_of(fragment))
    for named, wrong in (
        ("toml: examples/user_dp_digits.toml", False),
        ("toml: [data] of examples/user_dp_digits.toml", True),
    ):
        ((_, content),) = page_toml.files_of(f"<!-- {named} -->\n{fragment}")
        if wrong:
            with pytest.raises(ValueError, match="rounds"):
                page_toml.check(content)
        else:
            page_toml.check(content)
            assert content["rounds"] == 3


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
