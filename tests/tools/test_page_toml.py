from __future__ import annotations

import pytest

import page_toml


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
