"""A certification from its file to its results: everything that can be refused is, before it is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedward.backends.compute import Compute
from fedward.base.durable_files import write_atomically
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate_file import dumps
from fedward.certificates.certified import Certified, certify_setting
from fedward.certificates.claims import Claims
from fedward.certificates.claims_draw import CostClaims
from fedward.certificates.measured_cost import AttackCosts, attack_costs
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Scores
from fedward.config import experiment as config
from fedward.config.vary import Axis, variants
from fedward.core.digest import data_digest
from fedward.rundir.replica_draw import require_draw
from fedward.rundir.replica_store import ReplicaDirectory
from fedward.rundir.results import ReplicasResult
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.certification.attacked_variants import Attacked, attacked_variants
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.certification.fixed_claims import fix_claims
from fedward.studies.certification.replica_costs import cost_bound, costs_of_replicas
from fedward.studies.progress import Progress
from fedward.studies.replicas.replica_results import load_replicas, load_tally
from fedward.studies.replicas.replica_study import ReplicaRun, manifest_of, prepare_variants, run_replicas


@dataclass(frozen=True, kw_only=True)
class Certification:
    """M trainings of each variant, and what is going to be said about them.

    Args:
      claims: what is certified, with what confidence.
      wanted: the trainings.
      settings: what the certificate of each variant is about.
      attackers: the numbers of attackers whose cost is measured, 0 first; none for predictions.
      attacked: the variants under each of these numbers.
      cost_bounds: C̄ of each variant, where costs are certified.
    """

    claims: Claims
    wanted: ReplicaRun
    settings: Mapping[str, Setting]
    attackers: tuple[int, ...] = ()
    attacked: Attacked | None = None
    cost_bounds: Mapping[str, float]

    @property
    def tallied(self) -> bool:
        """Whether counts of votes are enough, or the scores of every replica are needed."""
        return _needs_votes_only(self.claims)

    @property
    def costs(self) -> CostClaims | None:
        """What is claimed about the cost of an attack; None where predictions are certified."""
        if not self.attackers:
            return None
        return CostClaims(attackers=self.attackers, bounds=self.cost_bounds)

    @contextmanager
    def open(self, path: Path, compute: Compute) -> Iterator[Begun]:
        with open_run(path) as run:
            yield Begun(run, begin_certification(self, run, compute))

    def steps(self, place: Begun, compute: Compute) -> Iterator[Progress]:
        wanted = place.certification.wanted
        return run_replicas(wanted, ReplicaDirectory(place.run, save_space=wanted.save_space), compute)

    def result(self, place: Begun) -> Outcome:
        path, begun = place.run.path, place.certification
        if begun.attackers:
            return Outcome(costs=certify_costs(begun, path))
        return Outcome(predictions=certify_predictions(begun, path))


@dataclass(frozen=True)
class Begun:
    """A certification with what it may claim in a run directory."""

    run: RunDirectory
    certification: Certification


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was certified of each variant: its predictions, or the cost of an attack."""

    predictions: Mapping[str, Certified] = field(default_factory=dict)
    costs: Mapping[str, AttackCosts] = field(default_factory=dict)


def plan_certification(
    content: dict[str, Any],
    source: str,
    claims: Claims,
    *,
    axes: Sequence[Axis] = (),
    attackers: Sequence[int] | None = None,
    data: Path | None = None,
    save_space: bool = False,
    block: int | None = None,
) -> Certification:
    """What cannot be certified is said here, not after hours of training.

    Args:
      content: of the experiment file.
      source: the file's name, for errors.
      claims: what is to be certified.
      axes: what varies.
      attackers: with an ``[attack]`` table: how many users attack, or how many examples are poisoned.
      data: the data directory.
      save_space: keep running sums, not the confidences of every replica.
      block: how many replicas go through their rounds together.
    """
    numbers = _numbers(content, attackers)
    if numbers:
        _require_one_cost(claims)
    names = list(variants(content, axes))
    attacked = attacked_variants(content, axes, numbers, source, data) if numbers else None
    contents = variants(content, axes) if attacked is None else attacked.contents
    experiments = {name: config.from_content(each, source) for name, each in contents.items()}
    if save_space and not (_needs_votes_only(claims) or numbers):
        raise InvalidValue(
            "--save-space needs --score vote, or an attack: bounds on confidences and by other methods than "
            f"clopper_pearson need every replica, got --score {claims.score} and {claims.confidence.method}"
        )
    wanted = ReplicaRun(
        variants=prepare_variants(experiments, data),
        replicas=claims.replicas,
        save_space=save_space,
        block=block,
    )
    digest = data_digest(wanted.first.federation)
    clean = {name: wanted.variants[attacked.names[name, 0] if attacked else name] for name in names}
    return Certification(
        claims=claims,
        wanted=wanted,
        settings={name: setting_of(claims, setup, digest) for name, setup in clean.items()},
        attackers=numbers,
        attacked=attacked,
        cost_bounds={name: cost_bound(setup) for name, setup in clean.items()} if numbers else {},
    )


def begin_certification(certification: Certification, run: RunDirectory, compute: Compute) -> Certification:
    """Fixes in a run directory what is claimed, before anything is trained; refuses what comes after a look.

    The result says the same with the draw of its replicas, and with all looks that there were, where the
    method allows for several.
    """
    wanted, claims = certification.wanted, certification.claims
    run.begin(manifest_of(wanted, compute))
    directory = ReplicaDirectory(run, save_space=wanted.save_space)
    block = directory.load_block(list(wanted.variants))
    finished = directory.finished()
    for count, what in ((finished, "are finished"), (block.stop if block else 0, "are under way")):
        if count > wanted.replicas:
            got = f"{wanted.replicas} where {count} {what}"
            raise InvalidValue(f"number of replicas must be fixed beforehand, got {got}")
    result = run.result()
    claims, draw = fix_claims(
        claims,
        run.path,
        list(certification.settings),
        finished=finished,
        shown=result.replicas if isinstance(result, ReplicasResult) else None,
        costs=certification.costs,
        under_way=block is not None,
    )
    wanted = replace(wanted, draw=draw)
    require_draw(run.path, draw, block)
    settings = {
        name: replace(setting, confidence=claims.confidence)
        for name, setting in certification.settings.items()
    }
    return replace(certification, claims=claims, wanted=wanted, settings=settings)


def certify_predictions(certification: Certification, path: Path) -> dict[str, Certified]:
    """Certifies the predictions of each variant, and stores certificates with the scores behind them."""
    found = {}
    for name, setting in certification.settings.items():
        caveat = certification.wanted.variants[name].caveat
        found[name] = certify_setting(setting, _scores(certification, path, name), caveat)
        _write(path, found[name], name if len(certification.settings) > 1 else None)
    return found


def certify_costs(certification: Certification, path: Path) -> dict[str, AttackCosts]:
    """The cost of the attack on each variant, measured and bounded."""
    wanted, attacked, found = certification.wanted, certification.attacked, {}
    assert attacked is not None  # only asked for under attack
    for name, setting in certification.settings.items():
        own = {k: attacked.names[name, k] for k in certification.attackers}
        measured = {k: costs_of_replicas(wanted.variants[each], path, each) for k, each in own.items()}
        bound = certification.cost_bounds[name]
        found[name] = attack_costs(setting, bound, measured, most=max(certification.attackers))
    return found


def _needs_votes_only(claims: Claims) -> bool:
    return claims.score == "vote" and claims.confidence.method == "clopper_pearson"


def _numbers(content: Mapping[str, Any], attackers: Sequence[int] | None) -> tuple[int, ...]:
    """The numbers of attackers to try, 0 first; none where predictions are certified."""
    if ("attack" in content) != (attackers is not None):
        raise InvalidValue(
            "an [attack] table and --attackers belong together (with them the cost of the attack is "
            f"certified, without them predictions), got {'no' if attackers is None else 'only'} --attackers"
        )
    if attackers is None:
        return ()
    if not attackers or not all(isinstance(k, int) and not isinstance(k, bool) and k >= 0 for k in attackers):
        told = ",".join(map(str, attackers))
        raise InvalidValue(f"attackers must be whole numbers, separated by commas, got {told!r}")
    return tuple(sorted({0, *attackers}))


def _require_one_cost(claims: Claims) -> None:
    """The cost of an attack is one number, and bounded in one way; another that was asked for is refused."""
    ways = (
        ("method", claims.method, (None, "betting")),
        ("score", claims.score, ("confidence",)),
        ("simultaneous", claims.simultaneous, (False,)),
    )
    for name, got, allowed in ways:
        if got not in allowed:
            raise InvalidValue(
                f"--{name} is about predictions: the cost of an attack (--attackers) is one mean, bounded by "
                f"betting, got {got}"
            )


def _scores(certification: Certification, path: Path, variant: str) -> Scores:
    if certification.tallied:
        return load_tally(path, variant)
    scores = load_replicas(path, variant)
    return scores.votes() if certification.claims.score == "vote" else scores


def _write(path: Path, found: Certified, variant: str | None) -> None:
    """A certificate and its scores side by side; the scores first, so that none is ever without."""
    ending = f"-{variant}" if variant else ""
    name = f"certificate-scores{ending}.npz"
    write_atomically(path / name, found.replicas.to_bytes())
    write_atomically(path / f"certificate{ending}.json", dumps(found.certificate, name).encode())
