"""Values of all kinds, for what must not believe any of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_SIMPLE = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20)
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    _SIMPLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
