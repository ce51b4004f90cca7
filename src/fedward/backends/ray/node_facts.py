"""All of a node that decides the bits of a result, asked for before anything is computed there."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from fedward.backends.engines.device import usable_device
from fedward.backends.engines.instructions import capability
from fedward.backends.engines.native import available, instruction_set
from fedward.backends.engines.threads import single_threaded
from fedward.base.instruction_sets import ENVIRONMENTS
from fedward.base.source_digest import source_digest
from fedward.base.validate import InvalidValue
from fedward.version import __version__

Facts = Mapping[str, str]

WORDS = {
    "fedward": "fedward",
    "code": "fedward's code, digest",
    "python": "Python",
    "torch": "torch",
    "numpy": "numpy",
    "native": "native engine",
    "instructions": "instructions of torch",
    "sums": "sums, digest",
}
"""Each fact in words. What has another value on two nodes may make them round differently."""


def facts() -> dict[str, str]:
    """Those of this process.

    >>> sorted(facts()) == sorted(WORDS)
    True
    """
    return {
        "fedward": __version__,
        "code": source_digest()[:12],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "native": instruction_set() if available() else "not compiled",
        "instructions": capability(),
        "sums": _sums_digest(),
    }


def require_alike(here: Facts, nodes: Mapping[str, Facts]) -> None:
    """Refuses nodes that would round differently from this process, by name.

    Args:
      here: this process's facts.
      nodes: those of each node, by its name; one that could not be asked has the reason under ``problem``.
    """
    told, others = [], set()
    for name, node in nodes.items():
        if problem := node.get("problem"):
            told.append(f"{name} {problem}")
            continue
        differ = [key for key in WORDS if node.get(key) != here[key]]
        others.update(differ)
        if differ:
            found = ", ".join(f"{WORDS[key]} {node.get(key)} (here {here[key]})" for key in differ)
            told.append(f"{name} has {found}")
    if told:
        hint = ""
        if others and others <= {"native", "instructions", "sums"}:
            common = _narrowest([here, *nodes.values()]) if others != {"sums"} else "portable"
            hint = f"; hold all of them to one instruction set: --instructions {common}"
        raise InvalidValue(f"nodes must compute as this machine does, but {'; '.join(told)}{hint}")


def _narrowest(all_facts: Sequence[Facts]) -> str:
    """The widest instruction set that every one of them has."""
    found = {node.get(key, "") for node in all_facts for key in ("native", "instructions")}
    return "avx2" if found <= {"avx2", "avx512", "not compiled"} else "portable"


def usable_there(device: str) -> str:
    """Why a device cannot be used by this process; empty if it can."""
    try:
        usable_device(device)
    except InvalidValue as error:
        return str(error)
    return ""


def environment(instructions: str | None) -> dict[str, str]:
    """The variables that every worker process of a node starts with."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return one | (ENVIRONMENTS[instructions] if instructions else {})


def _sums_digest() -> str:
    """Of sums that come out differently by the last bit wherever libraries choose another way to add."""
    random = np.random.default_rng(1)
    digest = hashlib.blake2b(digest_size=6)

    def numbers(*shape: int) -> torch.Tensor:
        return torch.from_numpy(random.standard_normal(shape, dtype=np.float32))

    with single_threaded():
        found = [numbers(20, 783) @ numbers(783, 61), numbers(3, 7, 129) @ numbers(3, 129, 33)]
        convolution = torch.nn.functional.conv2d(numbers(5, 3, 17, 17), numbers(16, 3, 5, 5), stride=2)
        found += [convolution, torch.tanh(numbers(999)), torch.softmax(numbers(50, 10), 1)]
        found += [numbers(10_001).sum(), numbers(10_001).norm(), torch.exp(numbers(777))]
    for each in found:
        digest.update(each.contiguous().numpy().tobytes())
    values = random.standard_normal(5000)
    for array in (values, np.exp(values), np.log1p(np.abs(values)), values.astype(np.float32).sum()):
        digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()
