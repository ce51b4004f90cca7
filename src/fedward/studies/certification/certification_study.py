"""A certification from its file to its results: everything that can be refused is, before it is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fedward.backends.compute import Compute
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate_file import dumps
from fedward.certificates.certified import Certified, certify_setting_by
from fedward.certificates.claims import Claims
from fedward.certificates.claims_draw import CostClaims
from fedward.certificates.confidence import OF_COUNTS, Confidence
from fedward.certificates.decided import decided
from fedward.certificates.measured_cost import AttackCosts, attack_costs
from fedward.certificates.others import DisjointGroups, RandomGroups
from fedward.certificates.others.any_certificate import AnySetting
from fedward.certificates.others.certain import EXACT
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Scores
from fedward.config import experiment as config
from fedward.config.vary import Axis, variants
from fedward.core.digest import data_digest
from fedward.rundir.part_record import PartRecord, begin_part
from fedward.rundir.replica_store import ReplicaDirectory, count_finished, has_replicas, require_draw
from fedward.rundir.results import ReplicasResult
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.certification.attacked_variants import attacked_variants
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.certification.fixed_claims import fix_claims
from fedward.studies.certification.other_claims import other_setting_of
from fedward.studies.progress import Progress
from fedward.studies.replicas.group_trainings import GroupTrainings
from fedward.studies.replicas.replica_results import (
    cost_bound,
    load_costs,
    load_group_votes,
    load_replicas,
    load_tally,
)
from fedward.studies.replicas.replica_study import ReplicaRun, prepare_variants, run_replicas
from fedward.studies.training.setup import Setup


@dataclass(frozen=True, kw_only=True)
class Certification:
    """M trainings of each variant, and what is going to be said about them.

    Args:
      claims: what is certified, with what confidence.
      wanted: the trainings.
      settings: what the certificate of each variant is about.
      costs: what is claimed about the cost of an attack; None where predictions are certified.
      names: of each variant and number of attackers, the name of its trainings.
    """

    claims: Claims
    wanted: ReplicaRun
    settings: Mapping[str, AnySetting]
    costs: CostClaims | None
    names: Mapping[tuple[str, int], str]

    @contextmanager
    def open(self, path: Path, compute: Compute) -> Iterator[Begun]:
        if self.claims.until and compute.cluster is not None:
            raise InvalidValue(
                "--until looks at the votes of one block after the other, which a cluster finishes in any "
                f"order: leave out --until or --cluster, got --cluster {compute.cluster}"
            )
        with open_run(path) as run:
            yield Begun(run, begin_certification(self, run, compute))

    def steps(self, place: Begun, compute: Compute) -> Iterator[Progress]:
        begun = place.certification
        return run_replicas(begun.wanted, place.run, compute, partial(_all_decided, begun, place.run.path))

    def result(self, place: Begun) -> Outcome:
        path, begun = place.run.path, place.certification
        if begun.costs is not None:
            return Outcome(costs=_certify_costs(begun, begun.costs, path))
        return Outcome(predictions=_certify_predictions(begun, place.run))


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
    range: str | None = None,
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
      range: ``A:B`` where only replicas A to B - 1 are trained here; None for all.
    """
    if claims.until and range is not None:
        raise InvalidValue(
            f"--until needs all replicas in one place, from the first on, got --range {range}: leave out one "
            "of the two"
        )
    numbers = _numbers(content, attackers)
    if numbers:
        _require_one_cost(claims)
        if claims.by is not None:
            raise InvalidValue(f"the cost of an attack is bounded by fedward's own proof, got {claims.by}")
    varied = variants(content, axes)
    attacked = {(name, 0): (name, each) for name, each in varied.items()}
    if numbers:
        attacked = attacked_variants(content, axes, numbers, source, data)
    experiments = {name: config.from_content(each, source) for name, each in attacked.values()}
    if save_space and not (_needs_votes_only(claims, save_space=True) or numbers):
        raise InvalidValue(
            "--save-space needs --score vote, or an attack: bounds on confidences and by other methods than "
            f"{' and '.join(OF_COUNTS)} need every replica, got --score {claims.score} and "
            f"{claims.confidence.method}"
        )
    setups, groups = prepare_variants(experiments, data), None
    if isinstance(claims.by, DisjointGroups | RandomGroups):
        for setup in setups.values():
            groups = GroupTrainings.of(claims.by, setup)
    wanted = ReplicaRun(
        variants=setups,
        groups=groups,
        replicas=claims.replicas,
        save_space=save_space,
        block=block,
        part=None if range is None else PartRecord.parse(range, claims.replicas),
    )
    digest = data_digest(wanted.first.federation)
    clean = {name: wanted.variants[attacked[name, 0][0]] for name in varied}
    settings = {name: _setting(claims, setup, digest) for name, setup in clean.items()}
    costs = None
    if numbers:
        bounds = {name: cost_bound(setup) for name, setup in clean.items()}
        costs = CostClaims(attackers=numbers, bounds=bounds)
    names = {key: name for key, (name, _) in attacked.items()}
    return Certification(claims=claims, wanted=wanted, settings=settings, costs=costs, names=names)


def _setting(claims: Claims, setup: Setup, digest: str) -> AnySetting:
    return (setting_of if claims.by is None else other_setting_of)(claims, setup, digest)


def begin_certification(certification: Certification, run: RunDirectory, compute: Compute) -> Certification:
    """Fixes in a run directory what is claimed, before anything is trained; refuses what comes after a look.

    The result says the same with the draw of its replicas, and with all looks that there were, where the
    method allows for several.
    """
    wanted, claims = certification.wanted, certification.claims
    begin_part(run.files, wanted.part, begun=has_replicas(run.path))
    run.begin(wanted.manifest(wanted.first.engine(compute)))
    directory = ReplicaDirectory(run, save_space=wanted.save_space)
    block = directory.load_block(list(wanted.variants))
    finished = count_finished(run.path)
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
        under_way=has_replicas(run.path),
    )
    wanted = replace(wanted, draw=draw)
    require_draw(run.path, draw, block)
    settings = {
        name: replace(setting, confidence=claims.confidence)
        if isinstance(setting, Setting)
        else replace(setting, confidence=claims.rule)
        for name, setting in certification.settings.items()
    }
    return replace(certification, claims=claims, wanted=wanted, settings=settings)


def _all_decided(certification: Certification, path: Path) -> bool:
    """Whether more replicas would change nothing about the numbers of attackers that were asked about."""
    until = certification.claims.until
    return bool(until) and all(
        isinstance(setting, Setting) and bool(decided(setting, load_tally(path, name), until).all())
        for name, setting in certification.settings.items()
    )


def _certify_predictions(certification: Certification, run: RunDirectory) -> dict[str, Certified]:
    """Certifies the predictions of each variant, and stores certificates with the scores behind them."""
    claims, path, found = certification.claims, run.path, {}
    for name, setting in certification.settings.items():
        counted = _needs_votes_only(claims, save_space=certification.wanted.save_space)
        grouped = certification.wanted.groups is not None
        scores: Scores
        if counted:
            scores = load_tally(path, name, grouped=grouped)
        else:
            scores = load_group_votes(path, name) if grouped else load_replicas(path, name)
        if isinstance(scores, Replicas) and claims.score != scores.score:
            scores = scores.votes()
        if claims.until and isinstance(setting, Setting):  # it ended when all was decided, or at M
            setting = replace(setting, confidence=_stopped(setting.confidence, len(scores)))
        found[name] = certify_setting_by(setting, scores, certification.wanted.variants[name].caveat)
        ending = f"-{name}" if len(certification.settings) > 1 else ""
        # The scores first, so that no certificate is ever without.
        file = f"certificate-scores{ending}.npz"
        run.files.write(file, found[name].replicas.to_bytes(), private=True)
        run.files.write(f"certificate{ending}.json", dumps(found[name].certificate, file).encode())
    return found


def _certify_costs(certification: Certification, costs: CostClaims, path: Path) -> dict[str, AttackCosts]:
    """The cost of the attack on each variant, measured and bounded."""
    found = {}
    for name, setting in certification.settings.items():
        assert isinstance(setting, Setting)  # no other proof bounds costs
        own = {k: certification.names[name, k] for k in costs.attackers}
        setups = certification.wanted.variants
        measured = {k: load_costs(path, each, setups[each]) for k, each in own.items()}
        found[name] = attack_costs(setting, costs.bounds[name], measured, most=max(costs.attackers))
    return found


def _stopped(rule: Confidence, replicas: int) -> Confidence:
    """The confidence of so many replicas, with those of the looks that came before."""
    return replace(rule, looks=(*(look for look in rule.looks if look < replicas), replicas))


def _needs_votes_only(claims: Claims, *, save_space: bool) -> bool:
    """Whether counts of votes are enough, or the scores of every replica are needed.

    The votes of disjoint groups are kept one by one: each of these few models is one that is used.
    """
    counted = (*OF_COUNTS, EXACT) if save_space else OF_COUNTS
    return claims.score == "vote" and claims.rule.method in counted


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
