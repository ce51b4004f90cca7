"""``fedward certificate check``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from fedward.base.validate import InvalidValue
from fedward.commands.options import Data, Engine, Set, Trust, grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say, table

if TYPE_CHECKING:
    from fedward.api.source import Source
    from fedward.certificates.certificate import Attack, Certificate

HOLDS = "holds: its numbers follow from the stored scores and the stated ledger"


@dataclass(frozen=True, kw_only=True)
class Retrain:
    """How many replicas are trained again, and what experiment they are of."""

    retrain: Annotated[
        int | None,
        Option("--retrain", metavar="N", help="Train so many replicas again, taken at random, and compare."),
    ] = None
    retrain_seed: Annotated[
        int | None,
        Option(
            "--retrain-seed", metavar="SEED", help="For the same choice again; else nobody can foresee it."
        ),
    ] = None
    experiment: Annotated[
        Path | None,
        Option("--experiment", help="The experiment file (TOML); else run.json beside the certificate."),
    ] = None
    changes: Set = None
    data: Data = None
    workers: Annotated[
        int | None, Option(help="Threads or processes that train, 0 for neither; else one a core.")
    ] = None
    engine: Engine = None
    trust: Trust = False

    def require_none(self) -> None:
        """Refuses options that say how to train where nothing is trained."""
        for name, value in vars(self).items():
            if value is not None and value is not False:
                option = {"changes": "set"}.get(name, name).replace("_", "-")
                raise InvalidValue(f"--{option} belongs to --retrain N, got no --retrain")

    def source(self, file: Path) -> Source:
        """The experiment that is trained again."""
        from fedward.api.check_api import read_experiment
        from fedward.commands.options import allow_code, trusted_source

        if self.experiment is not None:
            return trusted_source(self.experiment, self.changes, self.trust)
        from fedward.api.source import source_from

        content, name, run = read_experiment(file)
        source = replace(source_from(content, changes=self.changes or []), name=name, file=run)
        return allow_code(source, run, self.trust)


@grouped
def check(
    file: Annotated[Path, Argument(help="A certificate (.json or .json.gz); its scores must lie beside it.")],
    again: Retrain,
    as_json: AsJson = False,
) -> None:
    """Recompute a certificate from its file and the stored scores, and say whether it holds.

    With --retrain N, N of its replicas are trained again and must agree; without it nothing is trained. What
    rests on trust in whoever made it is listed. Nothing is written beside it; a check that was killed goes on
    where it was.
    """
    from fedward.api.check_api import check_and_retrain, check_certificate

    if again.retrain is None:
        again.require_none()
        checked = check_certificate(file)
    else:
        from fedward.backends.compute import Compute

        checked = check_and_retrain(
            file,
            lambda: again.source(file),
            again.retrain,
            seed=again.retrain_seed,
            data=again.data,
            compute=Compute(workers=again.workers, engine=again.engine).check(),
            console=plain_console(stderr=as_json),
        )
    certificate, verdict = checked.certificate, checked.verdict
    content = checked.to_json()
    if certificate is not None:
        content |= {
            "examples": certificate.examples,
            "replicas": certificate.setting.confidence.replicas,
            "attacks": [_summary(attack) for attack in certificate.attacks],
            "releasing_all": certificate.releasing_all.to_json(),
        }
    if not as_json and certificate is not None and verdict.holds:
        _print(certificate)
    lines = [f"the certificate {HOLDS if verdict.holds else 'does not hold'}"]
    if verdict.holds and checked.retrained is not None:
        lines += [checked.retrained.headline]
    lines += [f"- {problem}" for problem in verdict.problems]
    if verdict.holds:
        lines += ["recomputed:", *(f"- {each.says}" for each in verdict.recomputed)]
        lines += ["rests on trust, and was not checked:"]
        lines += [f"- {each.says}" for each in verdict.rests_on_trust]
    answer(as_json, content, *lines, *(f"note: {note}" for note in verdict.notes))
    if not verdict.holds:
        raise typer.Exit(1)


def _summary(attack: Attack) -> dict[str, Any]:
    import numpy as np

    k = attack.k
    median = int(np.floor(np.median(k)))
    return {"threat": attack.threat, "least": int(k.min()), "median": median, "most": int(k.max())}


def _print(certificate: Certificate) -> None:
    from fedward.certificates.statements import statements
    from fedward.privacy.rounding import percent_down
    from fedward.reports.terminal.certified_table import largest_k

    console = plain_console()
    rows = []
    for attack in certificate.attacks:
        summary, accuracy = _summary(attack), ["labels not stored", ""]
        if attack.accuracy is not None:
            accuracy = [percent_down(share, 1) for share in (*attack.accuracy, 0.0)[:2]]
        # Below 0 not even the clean prediction is certified.
        certified = [None if summary[key] < 0 else summary[key] for key in ("median", "most")]
        numbers = [largest_k(k, attack.most) for k in certified]
        rows.append([attack.threat, *numbers, percent_down(float((attack.k >= 1).mean()), 1), *accuracy])
    headings = ["threat", "median k", "largest k", "certified at 1", "certified accuracy at 0", "at 1"]
    console.print(table(headings, rows, left=len(headings)))
    say(console, *statements(certificate))
