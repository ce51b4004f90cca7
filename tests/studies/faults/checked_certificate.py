"""A certificate of which some replicas are trained again, to be checked under faults."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

import fedward
from config.tiny_sweep import CONTENT
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.base import own_cache
from fedward.certificates.checking import read_evidence
from fedward.config.experiment import from_content
from fedward.studies.retraining import kept_check
from fedward.studies.retraining.retrained_experiment import read_beside
from fedward.studies.retraining.retraining_study import Retraining, choose_replicas, plan_retraining
from fedward.studies.study import Watch
from fedward.studies.training.training_study import prepare
from tiny_experiment import changed

DECLARED = changed(CONTENT, privacy__users=12)


@dataclass(frozen=True, kw_only=True)
class CheckedCertificate:
    """The check of a certificate that lies elsewhere; what is kept of it lies where faults happen.

    ``starts_again`` says that it trains again after its end: the next check is another one.
    """

    repeatable: bool = True
    reserves: str = ""
    starts_again: bool = True

    def prepare(self) -> None:
        """Certifies, once a process."""
        _retraining()

    def carry_out(self, root: Path, watch: Watch, compute: Compute = IN_PROCESS) -> None:
        """Begins it or goes on with it, as the command does."""
        made = _retraining()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(root.resolve() / "cache"))
            # The same key every time: what is left at the end is compared.
            patch.setattr(own_cache, "secrets", SimpleNamespace(token_bytes=lambda count: b"k" * count))
            patch.setattr(kept_check, "SAVE_EVERY", -1.0)
            kept = made.open(compute)
            watch(made.steps(kept, compute))
            found = made.result(kept, compute)
        assert (found.agrees, found.bit_for_bit, found.compared) == (True, len(made.chosen), made.chosen)


@cache
def _retraining() -> Retraining:
    folder = Path(tempfile.mkdtemp(prefix="fedward-certified-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    fedward.certify(DECLARED, replicas=5, out=folder / "run", compute=fedward.Compute(workers=0), quiet=True)
    file = folder / "run" / "certificate.json"
    stored, scores = read_evidence(file)
    made = plan_retraining(
        stored,
        scores,
        prepare(from_content(DECLARED)),
        choose_replicas(scores, stored.version, 3, 1),
        seed=1,
        beside=read_beside(file),
        source="file.toml",
    )
    return replace(made, run=replace(made.run, block=2))
