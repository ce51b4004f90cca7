from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fedward.backends.engines.native import available, instruction_set
from fedward.backends.ray.connection import _require_answer
from fedward.base.instruction_sets import ENVIRONMENTS
from fedward.base.validate import InvalidValue
from raylets import needs_ray

pytestmark = needs_ray

# Run apart, as torch must have the portable instruction set from the beginning.
JOINS = """
import sys
import ray._private.utils as utils
from fedward.backends.compute import Compute
from fedward.backends.ray import connection
from fedward.base.validate import InvalidValue

def join(**more):
    try:
        with connection.joined(Compute(cluster=sys.argv[1], **more)) as cluster:
            print(cluster.size)
    except InvalidValue as error:
        print(error)

real = utils.compute_version_info
utils.compute_version_info = lambda: (real()[0], "3.9.1", *real()[2:])
join()
utils.compute_version_info = real
join()
join(instructions="portable")
"""


def test_where_nobody_listens_is_said_at_once() -> None:
    with pytest.raises(InvalidValue, match=r"there is no cluster at 127\.0\.0\.9:9: Connection refused"):
        _require_answer("127.0.0.9:9")


def test_other_pythons_and_other_instructions_are_refused_by_name_and_pinned(cluster_address: str) -> None:
    if not available() or instruction_set() == "portable":
        pytest.skip("this machine has the portable instruction set alone")
    found = subprocess.run(
        [sys.executable, "-c", JOINS, cluster_address],
        env={**os.environ, **ENVIRONMENTS["portable"], "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    python, instructions, pinned = found.stdout.strip().splitlines()
    assert python.startswith(
        f"cluster {cluster_address} must have this machine's versions of Ray and Python: "
    )
    assert "3.9.1" in python
    assert "nodes must compute as this machine does, but 127.0.0." in instructions
    assert "(here portable)" in instructions
    assert instructions.count("has native engine") == 2
    assert instructions.endswith("--instructions portable")
    assert pinned == "(2, 2)"
