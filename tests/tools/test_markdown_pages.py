from __future__ import annotations

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
