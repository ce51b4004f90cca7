"""``fedward.check_certificate``: a certificate computed again, and some of its replicas trained again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fedward.base.validate import InvalidValue, add_to_errors
from fedward.certificates.certificate import Certificate
from fedward.certificates.checking import Check, check_file, read_evidence
from fedward.certificates.retrained import Retrained

if TYPE_CHECKING:
    from rich.console import Console
    from torch import nn

    from fedward.api.source import ExperimentOptions, PathLike, Source, What
    from fedward.backends.compute import Compute
    from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class CheckedCertificate:
    """What came of a check.

    Args:
      certificate: None where its file is damaged.
      verdict: whether it holds, why not, what was computed again and what rests on trust.
      retrained: the replicas that were trained again; None where none was.
    """

    certificate: Certificate | None
    verdict: Check
    retrained: Retrained | None = None

    @property
    def holds(self) -> bool:
        return self.verdict.holds

    def to_json(self) -> dict[str, Any]:
        """Plain values of the verdict, as ``fedward certificate check --json`` has them."""
        return {
            "holds": self.holds,
            "problems": list(self.verdict.problems),
            "notes": list(self.verdict.notes),
            "recomputed": [each.to_json() for each in self.verdict.recomputed],
            "rests_on_trust": [each.to_json() for each in self.verdict.rests_on_trust],
            "retrained": None if self.retrained is None else self.retrained.to_json(),
        }

    def __repr__(self) -> str:
        again = f", {len(self.retrained.compared):,} replicas trained again" if self.retrained else ""
        return f"CheckedCertificate({'holds' if self.holds else 'does not hold'}{again})"


def check_certificate(
    file: PathLike,
    what: What | None = None,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    retrain: int | None = None,
    retrain_seed: int | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> CheckedCertificate:
    """Computes a certificate again and trains some replicas again: what ``fedward certificate check`` does.

    A forger with a share p of false replicas is caught with probability at least 1 - (1 - p)^N, as nobody
    can foresee which are trained again. Nothing is written beside the certificate; the same call goes on with
    a check that was killed, from what this user's cache directory has of it.

    Args:
      file: the certificate; its scores must lie beside it.
      what, model, federation, options: the experiment that is trained again, as in ``fedward.train``; else
        what ``run.json`` beside the certificate says.
      retrain: N, how many replicas are trained again; none if not given.
      retrain_seed: for the same choice of replicas again; else by system entropy.
      data, compute, quiet: as in ``fedward.train``.
    """
    if retrain is None:
        if what is not None or retrain_seed is not None:
            raise InvalidValue("an experiment and a seed of the choice belong to retrain, got none")
        return CheckedCertificate(certificate=(found := check_file(Path(file)))[0], verdict=found[1])

    from fedward.api.source import console_for, source_from
    from fedward.backends.compute import Compute as Anywhere

    def source() -> Source:
        if what is not None:
            return source_from(what, model, federation, **options)
        content, name, run = read_experiment(Path(file))
        return replace(source_from(content, model, federation, **options), name=name, file=run)

    return check_and_retrain(
        Path(file),
        source,
        retrain,
        seed=retrain_seed,
        data=None if data is None else Path(data),
        compute=(compute or Anywhere()).check(),
        console=console_for(quiet),
    )


def read_experiment(file: Path) -> tuple[dict[str, Any], str, Path]:
    """The experiment that ``run.json`` beside a certificate holds, its name for people, and that file."""
    from fedward.studies.retraining.retrained_experiment import require_beside

    beside = require_beside(file)
    return beside.content, str(beside.file), beside.file


def check_and_retrain(
    file: Path,
    source: Callable[[], Source],
    count: int,
    *,
    seed: int | None,
    data: Path | None,
    compute: Compute,
    console: Console,
) -> CheckedCertificate:
    """Checks a certificate, and if it holds trains again; progress goes to the console.

    Args:
      file: the certificate.
      source: gives the experiment, which is only read where it is needed.
      count: how many replicas to train again.
      seed, data, compute: as in ``check_certificate``.
      console: where progress goes.
    """
    certificate, verdict = check_file(file)
    if certificate is None or not verdict.holds:
        return CheckedCertificate(certificate=certificate, verdict=verdict)
    from fedward.config import experiment as config
    from fedward.reports.terminal.live_progress import follow_retraining
    from fedward.studies.retraining.retrained_experiment import read_beside, require_weights
    from fedward.studies.retraining.retraining_study import choose_replicas, plan_retraining
    from fedward.studies.training.setup import prepare

    stored, scores = read_evidence(file)
    chosen = choose_replicas(scores, stored.version, count, seed)
    told, beside = source(), read_beside(file)
    hint = ""
    if beside is not None and told.file == beside.file:
        require_weights(beside, told.content)
        hint = "; if it was made from Python objects, give them to fedward.check_certificate"
    with add_to_errors(after=hint):
        setup = prepare(config.from_content(told.content, told.name), data)
    study = plan_retraining(stored, scores, setup, chosen, seed=seed, beside=beside, source=told.name)
    kept = study.open(compute)
    if kept.earlier or kept.states:
        console.print(
            f"going on with the check that was begun: {kept.earlier:,} of {len(kept.chosen):,} replicas are "
            "compared"
        )
    follow_retraining(console, len(kept.chosen), study.steps(kept, compute))
    found = study.result(kept, compute)
    if not found.agrees:
        verdict = verdict._replace(problems=tuple(map(str, found.disagreements)))
    else:
        verdict = verdict._replace(
            recomputed=(*verdict.recomputed, *found.statements()),
            rests_on_trust=found.trusted(verdict.rests_on_trust, drawn=bool(certificate.draw)),
        )
    return CheckedCertificate(certificate=certificate, verdict=verdict, retrained=found)
