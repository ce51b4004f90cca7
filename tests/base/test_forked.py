from __future__ import annotations

import os
import subprocess
import sys

# With several threads the child of a process that has used them hangs at the first of these sums.
SCRIPT = """
import os, signal, torch
torch.set_num_threads(4)
large = torch.ones(3_000_000)
assert float(large.exp().sum()) > 0
from fedward.core.examples import Examples
child = os.fork()
if not child:
    signal.alarm(60)
    assert float(large.exp().sum()) > 0
    print(torch.get_num_threads(), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), torch.get_num_threads())
"""


def test_a_process_that_was_forked_after_torch_used_its_threads_computes_with_one() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    found = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert found.stdout.split() == ["1", "0", "4"], found.stderr
