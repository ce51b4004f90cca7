from __future__ import annotations

from pathlib import Path

import fedward
from config.tiny_arena import arena_content
from fedward.backends.compute import Compute
from raylets import needs_ray
from studies.same_files import SAY_WHEN, require_same

pytestmark = needs_ray


def test_an_arena_on_a_cluster_has_the_same_files(tmp_path: Path, cluster_address: str) -> None:
    for name, compute in (("here", Compute(workers=0)), ("there", Compute(cluster=cluster_address))):
        found = fedward.arena(
            arena_content(seeds=1), out=tmp_path / name, compute=compute, quiet=True, only=["attack=loud"]
        )
        assert found is not None
        assert [each.defence for each in found.about.refused] == ["bulyan"] * 3
    # Rounds are timed here only: on nodes that are not alike seconds cannot be compared.
    require_same(tmp_path / "here", tmp_path / "there", at_least=20, apart_from=(*SAY_WHEN, "seconds.json"))
    assert not (tmp_path / "there" / "seconds.json").exists()
