from __future__ import annotations

import pytest

from fedward.backends.ray.node_facts import facts, require_alike
from fedward.base.validate import InvalidValue

HERE = {**facts(), "native": "avx512", "instructions": "avx512"}


def test_nodes_that_are_alike_pass() -> None:
    require_alike(HERE, {"10.0.0.2": dict(HERE), "10.0.0.3": dict(HERE)})


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"torch": "2.7.0"}, r"but 10\.0\.0\.3 has torch 2\.7\.0 \(here .*\)$"),
        (
            {"fedward": "0.0.1", "code": "ab"},
            r"10\.0\.0\.3 has fedward 0\.0\.1 .*, fedward's code, digest ab",
        ),
        ({"native": "avx2", "instructions": "avx2"}, r"has native engine avx2 .*: --instructions avx2$"),
        ({"native": "avx2", "instructions": "default"}, r"--instructions portable$"),
        ({"sums": "ab"}, r"has sums, digest ab .*--instructions portable$"),
        ({"sums": "ab", "numpy": "1.0"}, r"has numpy 1\.0 .*\)$"),
        (
            {"problem": "cannot import fedward: No module"},
            r"but 10\.0\.0\.3 cannot import fedward: No module$",
        ),
    ],
)
def test_what_would_round_otherwise_is_refused_by_name(other: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidValue, match=told) as refused:
        require_alike(HERE, {"10.0.0.2": dict(HERE), "10.0.0.3": {**HERE, **other}})
    assert "10.0.0.2" not in str(refused.value)
