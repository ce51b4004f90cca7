"""Some replicas of a certificate, chosen at random, trained again and compared.

Nothing is written beside the certificate, which may be a stranger's: see ``kept_check``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fedward.backends.compute import Compute
from fedward.backends.open import open_backend
from fedward.base.own_cache import LARGEST
from fedward.base.validate import InvalidValue, whole
from fedward.certificates.certificate_file import Stored, dumps
from fedward.certificates.others import DisjointGroups, RandomGroups
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.retrained import Retrained
from fedward.certificates.score_comparison import TOLERANCE, Comparison
from fedward.certificates.tally import Scores, Tally
from fedward.lockstep.lockstep import Lockstep
from fedward.studies.progress import Clock, Progress
from fedward.studies.replicas.group_trainings import GroupTrainings
from fedward.studies.replicas.replica_results import measure_replicas
from fedward.studies.replicas.replica_setup import ReplicaRun
from fedward.studies.retraining.kept_check import KeptCheck, open_check
from fedward.studies.retraining.retrained_experiment import (
    BesideCertificate,
    require_experiment_of,
    why_not_bits,
)
from fedward.studies.training.setup import Setup


def choose_replicas(scores: Scores, version: int, count: int, seed: int | None = None) -> tuple[int, ...]:
    """Takes so many of the stored replicas at random; refuses where they cannot be compared.

    Args:
      scores: what lies beside the certificate.
      version: of the certificate's file.
      count: N.
      seed: for the same choice again. None takes them by system entropy, which no forger can foresee.
    """
    replicas = len(scores)
    if whole("number of replicas to train again", count) > replicas:
        raise InvalidValue(
            f"number of replicas to train again must be at most the {replicas:,} of the certificate, got "
            f"{count:,}"
        )
    if version == 1:
        raise InvalidValue(
            "a certificate must be of version 2 to be trained again, got version 1, which does not say what "
            "sums were divided by: certify again"
        )
    if isinstance(scores, Tally) and count < replicas:
        raise InvalidValue(
            "the scores of every replica must be stored to train some of them again, got only how many voted "
            f"for which class, which no single replica can be compared with: train all of them again "
            f"(--retrain {replicas}) and the counts are compared, or certify with --score confidence"
        )
    if seed is not None:
        whole("seed of the choice", seed, at_least=0)
    source = random.SystemRandom() if seed is None else random.Random(seed)
    return tuple(sorted(source.sample(range(replicas), count)))


@dataclass(frozen=True, kw_only=True)
class Retraining:
    """Replicas that are to be trained again, made ready.

    Args:
      certificate: its text.
      scores: what is stored of all replicas.
      chosen: the numbers of those to train again.
      seed: that they were chosen by; None for system entropy.
      run: the experiment, with the draw of the certificate.
      beside: what ``run.json`` says of how they were computed.
      source: the name of the experiment.
    """

    certificate: str
    scores: Scores
    chosen: tuple[int, ...]
    seed: int | None
    run: ReplicaRun
    beside: BesideCertificate | None
    source: str

    def open(self, compute: Compute) -> KeptCheck:
        """The check that this user has begun and that was killed, or a new one."""
        bits = not why_not_bits(self.beside, self.run.first, compute)
        comparison = Comparison(self.scores, tolerance=0.0 if bits else TOLERANCE)
        identity = {
            "certificate": self.certificate,
            "scores": self.scores.digest(),
            "count": len(self.chosen),
            "seed": self.seed,
            "draw": self.run.draw,
            "experiment": self.run.manifest(self.run.first.engine(compute)).to_json(),
            "tolerance": comparison.tolerance,
        }
        return open_check(identity, self.chosen, comparison)

    def steps(self, kept: KeptCheck, compute: Compute) -> Iterator[Progress]:
        """Trains in blocks, and ends after the first block with a replica that does not agree.

        That block is not kept: the same command comes to it again, and to the same end.
        """
        setup, comparison = self.run.first, kept.comparison
        # Not more than what is kept of them may take.
        size = min(self.run.block_size, max(1, LARGEST // self.run.replica_bytes))
        clock = Clock({kind: len(kept.chosen) * count for kind, count in self.run.steps.items()})
        for kind, count in self.run.steps.items():
            clock.skip(kind, kept.earlier * count)
        with open_backend(setup.model, setup.federation, compute) as backend:
            together = Lockstep(setup.model, setup.federation, backend, seed=setup.experiment.seed)
            tick = partial(_tick, clock, together, comparison)
            while kept.left:
                block = kept.left[: len(kept.states) or size]
                trainings = [each for number in block for each in self.run.trainings(number, number + 1)]
                states = kept.states or tuple(together.start(trainings))
                done = max(state.round for state in states)
                clock.skip("first round", len(block) * min(done, 1))
                clock.skip("round", len(block) * max(done - 1, 0))
                for t in range(done, self.run.rounds):
                    after = []
                    for state, _ in together.round(trainings, states):
                        after.append(state)
                        yield tick("first round" if t == 0 else "round")
                    states = tuple(after)
                    kept.save_now_and_then(states)
                models = [state.parameters for state in states]
                found = yield from measure_replicas(setup, backend, models, tick)
                for number, confidences in zip(block, found["scores"], strict=True):
                    comparison.add(number, confidences)
                if comparison.disagreements:
                    return
                kept.save()
        comparison.finish()

    def result(self, kept: KeptCheck, compute: Compute) -> Retrained:
        """What came of it, once all steps are done; one that agrees is not gone on with any more."""
        comparison = kept.comparison
        exact = comparison.tolerance == 0
        if not comparison.disagreements:
            kept.forget()
        return Retrained(
            replicas=len(self.scores),
            chosen=kept.chosen,
            compared=tuple(comparison.compared),
            compared_by="bits" if exact else "tolerance",
            tolerance=comparison.tolerance,
            why_tolerance=why_not_bits(self.beside, self.run.first, compute),
            bit_for_bit=comparison.bit_for_bit,
            largest_difference=comparison.largest_difference,
            seed=self.seed,
            counts_only=isinstance(self.scores, Tally),
            experiment=self.source,
            disagreements=tuple(comparison.disagreements),
            earlier=kept.earlier,
        )


def plan_retraining(
    stored: Stored,
    scores: Scores,
    setup: Setup,
    chosen: tuple[int, ...],
    *,
    seed: int | None,
    beside: BesideCertificate | None,
    source: str,
) -> Retraining:
    """Makes the trainings ready; whatever is not the experiment of the certificate is refused here.

    Args:
      stored, scores: the certificate, and what lies beside it.
      setup: the experiment, with its data loaded.
      chosen, seed: the replicas (``choose_replicas``), and what they were chosen by.
      beside: ``run.json``, where it is there.
      source: the name of the experiment.
    """
    # Before all else is compared: it refuses noise from system entropy.
    setting, groups = stored.certificate.setting, None
    if isinstance(setting, OtherSetting) and isinstance(setting.by, DisjointGroups | RandomGroups):
        groups = GroupTrainings.of(setting.by, setup)
    run = ReplicaRun(
        variants={"all": setup}, replicas=len(scores), draw=stored.certificate.draw, groups=groups
    )
    require_experiment_of(stored.certificate, scores, setup, beside, source)
    text = dumps(stored.certificate, stored.file)
    return Retraining(
        certificate=text, scores=scores, chosen=chosen, seed=seed, run=run, beside=beside, source=source
    )


def _tick(clock: Clock, together: Lockstep, comparison: Comparison, kind: str) -> Progress:
    clock.tick(kind)
    return clock.progress(asked=together.asked, run=together.run, finished=len(comparison.compared))
