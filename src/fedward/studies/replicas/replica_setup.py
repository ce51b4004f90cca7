"""The setup of a run of replicas: M of every variant of an experiment, made ready and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue, add_to_errors, whole
from fedward.config.experiment import Experiment
from fedward.core.algorithm import Algorithm
from fedward.lockstep.lockstep import Training
from fedward.privacy.caveats import add_caveat
from fedward.rundir.manifest import Manifest
from fedward.rundir.part_record import PartRecord
from fedward.rundir.replica_ledgers import OneTraining
from fedward.studies.replicas.group_trainings import GroupTrainings, group_ledger
from fedward.studies.training.setup import Setup, prepare
from fedward.studies.training.training_study import manifest

# A kill loses at most one round of one block, so a block is kept to some minutes of work; and all of a block
# is in memory together.
_TRAININGS = 100
_MEMORY = 256 * 2**20


@dataclass(frozen=True, kw_only=True)
class ReplicaRun:
    """M replicas of every variant. Variants share data, initial model and seed, and so their equal jobs.

    Args:
      variants: the experiment with other values for some keys, by name.
      replicas: M. Replicas 0 to M - 1 differ in sampling and noise, and in nothing else.
      draw: what sets their sampling and noise apart from those of other claims (``draw_of_claims``); empty
        where nothing is claimed.
      save_space: keeps running sums of confidences, their squares and votes instead of the confidences of
        every replica.
      block: how many replicas go through their rounds together; chosen by size if not given. It changes
        memory and how much a kill loses, never the result.
      part: the replicas that are trained here, where others train the rest; None for all.
      groups: where each replica is trained on some users only, on which; None where all are on everybody.
    """

    variants: dict[str, Setup]
    replicas: int
    draw: str = ""
    save_space: bool = False
    block: int | None = None
    part: PartRecord | None = None
    groups: GroupTrainings | None = None

    def __post_init__(self) -> None:
        whole("replicas", self.replicas)
        if self.block is not None:
            whole("block", self.block)
        first = self.first
        for name, setup in self.variants.items():
            if setup.federation is not first.federation:
                raise InvalidValue(
                    f"variants must train on the same data, but {name} holds some of it back from its users"
                )
            if setup.algorithm.noise_source == "system":
                raise InvalidValue(
                    f"replicas are simulated and need seeded noise, got noise from system entropy in {name}"
                )
        if first.federation.test is None:
            raise InvalidValue("replicas are asked about test examples, and this data has none")

    @property
    def first(self) -> Setup:
        return next(iter(self.variants.values()))

    @property
    def span(self) -> tuple[int, int]:
        """The first replica that is trained here, and the one after the last."""
        return (0, self.replicas) if self.part is None else (self.part.start, self.part.stop)

    @property
    def rounds(self) -> int:
        return max(setup.experiment.rounds for setup in self.variants.values())

    @property
    def block_size(self) -> int:
        """How many replicas a block has."""
        if self.block is not None:
            return self.block
        return max(1, min(_TRAININGS // len(self.variants), _MEMORY // self.replica_bytes))

    @property
    def replica_bytes(self) -> int:
        """What one replica of all variants takes: two states, before and after a round, and its scores.

        Scores are there twice while their file is made.
        """
        first = self.first
        assert first.federation.test is not None
        parameters = first.parameters
        tensors = [
            tensor
            for setup in self.variants.values()
            for tensor in (parameters, *setup.algorithm.server.init(parameters))
        ]
        scores = len(first.federation.test) * first.federation.num_classes * 4 * len(self.variants)
        return 2 * sum(tensor.nbytes for tensor in tensors) + 2 * scores

    @property
    def steps(self) -> dict[str, int]:
        """How many steps of each kind one replica has, all variants together."""
        setups = self.variants.values()
        return {
            "first round": len(setups),
            "round": sum(setup.experiment.rounds - 1 for setup in setups),
            "evaluation": len(setups),
            "attack evaluation": sum(len(setup.triggered) for setup in setups),
        }

    def trainings(self, start: int, stop: int) -> list[Training]:
        """All variants of each replica next to each other: they share most."""
        return [
            Training(
                algorithm=self._algorithm(setup, replica),
                rounds=setup.experiment.rounds,
                replica=replica,
                draw=self.draw,
                adversary=setup.attack.adversary if setup.attack else None,
                budget=setup.experiment.make_budget(setup.algorithm, setup.federation),
            )
            for replica in range(start, stop)
            for setup in self.variants.values()
        ]

    def _algorithm(self, setup: Setup, replica: int) -> Algorithm:
        if self.groups is None:
            return setup.algorithm
        return self.groups.algorithm(setup, replica, self.draw)

    @property
    def one_training(self) -> dict[str, OneTraining]:
        """What one training of each variant spends, and how that is stated."""
        return {
            name: OneTraining(
                ledger=group_ledger(setup)
                if self.groups is not None
                else setup.algorithm.spent(setup.federation.num_users, setup.experiment.rounds),
                delta=setup.delta,
                accountant=setup.accountant,
            )
            for name, setup in self.variants.items()
        }

    @property
    def _grouping(self) -> dict[str, Any]:
        """How users are put into groups; nothing where they are not, as it always was."""
        return {} if self.groups is None else {"groups": self.groups.by.to_json()}

    def manifest(self, engine: str = "") -> Manifest:
        """What is run, for ``run.json``; how many replicas is not part of it: more can be asked for later."""
        found = {name: manifest(setup) for name, setup in self.variants.items()}
        experiments = {name: variant.experiment for name, variant in found.items()}
        shared = next(iter(found.values()))
        code = {name: digest for variant in found.values() for name, digest in variant.code.items()}
        about = Manifest(
            experiment={"variants": experiments, "save_space": self.save_space} | self._grouping,
            data=shared.data,
            weights=shared.weights,
            caveat=shared.caveat,
            versions=shared.versions,
            engine=engine,
        )
        return about.model_copy(update={"code": code}) if code else about


def prepare_variants(experiments: Mapping[str, Experiment], data_dir: Path | None = None) -> dict[str, Setup]:
    """Loads the data once and makes every variant ready."""
    federation = next(iter(experiments.values())).load_data(data_dir)
    setups = {}
    for name, experiment in experiments.items():
        with add_to_errors(f"{name}: " if len(experiments) > 1 else ""):
            setups[name] = prepare(experiment, federation=federation)
    return setups


def guarantees(wanted: ReplicaRun, replicas: int) -> dict[str, dict[str, Any]]:
    """For every variant the guarantee of one replica and of that many, as plain values and in words.

    That of many is about releasing them all, or anything computed from them.
    """
    found = {}
    for name, one in wanted.one_training.items():
        setup, spent = wanted.variants[name], one.ledger.repeated(replicas)
        together = replace(one, ledger=spent).guarantee(f"all {replicas:,} replicas together")
        stated = {"one_replica": setup.planned, "all_replicas": add_caveat(together, setup.caveat)}
        found[name] = {
            key: {"guarantee": each.to_json(), "statement": str(each)} for key, each in stated.items()
        }
    return found
