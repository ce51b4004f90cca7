"""An experiment made ready for a real federation: no data but, maybe, a test set that is nobody's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from fedward.aggregation import WeightedMean
from fedward.attacks import Goal, Staged
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config.experiment import Experiment
from fedward.config.model_section import model_for
from fedward.config.own_parts import own_code, trust_in_own_parts
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.examples import Examples
from fedward.core.looks import look_moves
from fedward.core.parameters import ParameterSpec
from fedward.core.roster import Roster
from fedward.core.train import check_budget
from fedward.core.types import ServerState
from fedward.deploy.server.federated_backend import RoundTerms
from fedward.deploy.server.federation_file import FederationFile
from fedward.deploy.wire.messages import Greeting, layout_of
from fedward.models.initial_weights import InitialWeights
from fedward.privacy.budget import Budget
from fedward.privacy.caveats import WEIGHTS
from fedward.rundir.computed_by import versions
from fedward.rundir.manifest import NOT_COVERED, Divisor, Manifest, RunData

NO_SECURE_AGGREGATION = (
    "secagg is refused: Flower's SecAgg+ draws its masks from 32-bit seeds of a Mersenne Twister and clips "
    "coordinate by coordinate, so no guarantee may rest on it, and fedward invents no protocol. The server "
    "of this deployment is trusted with updates; for what it must not learn there are presets in which users "
    "protect themselves: insdp_fedavg, local_dp, ldp_fedsgd"
)


@dataclass(frozen=True, kw_only=True)
class FederatedSetup:
    """What the server of a federation trains, all of it checked before a node is asked for anything."""

    experiment: Experiment
    file: FederationFile
    people: Roster
    model: nn.Module
    algorithm: Algorithm
    delta: float
    accountant: str
    test: Examples | None = None
    weights: InitialWeights | None = None
    caveat: str = ""
    attack: Staged | None = None
    goal: Goal | None = None
    target: Tensor | None = None

    @property
    def parameters(self) -> Tensor:
        """The initial model's parameters, as one flat vector."""
        return ParameterSpec.of(self.model).flatten(self.model)

    @property
    def budget(self) -> Budget | None:
        """What may be spent."""
        return self.experiment.make_budget(self.algorithm, self.people)

    def terms(self, state: ServerState) -> RoundTerms:
        """What nodes are told of the round that follows this state."""
        algorithm = self.algorithm
        bounds = () if algorithm.policy.reads_norms else algorithm.bounds(state, None)
        if algorithm.accounting != "users":
            return RoundTerms(bounds=bounds)
        looks = algorithm.looks(state.round)
        moves = look_moves(algorithm.policy, "local") if looks else 1.0
        return RoundTerms(bounds=bounds, looks=tuple(z / moves for z in looks))

    @property
    def greeting(self) -> Greeting:
        """What nodes are asked before they get any work."""
        terms = self.terms(self.algorithm.init(self.parameters, num_users=self.people.num_users))
        return Greeting(
            layout=layout_of(ParameterSpec.of(self.model)),
            users=None,
            trainer=self.algorithm.local.at_round(0, terms.bounds),
            looks=terms.looks,
        )

    @property
    def manifest(self) -> Manifest:
        """What is run, for ``run.json``."""
        experiment = self.experiment.model_dump(mode="json")
        nodes = {node.name: len(node.users) for node in self.file.population.nodes}
        # The data of the file is that of a simulation; here it is where it is.
        experiment["data"] = {"name": "declared population", "nodes": nodes}
        experiment["model"].pop("weights", None)
        data: dict[str, Any] = {"users": self.people.num_users, "digest": self.file.population.digest}
        if self.weights is not None:
            data["initial_model"] = self.weights.digest
        terms = self.algorithm.new_ledger().terms
        divisor = None if terms.divisor is None else Divisor(size=terms.divisor, declared=terms.declared)
        return Manifest(
            experiment=experiment,
            data=RunData(**data),
            code=own_code(self.experiment),
            weights=None if self.weights is None else str(self.weights),
            caveat=self.caveat,
            divisor=divisor,
            delta=self.delta,
            accountant=self.accountant,
            accounting=self.algorithm.accounting,
            versions=versions(),
            engine="nodes of a federation",
        )


def prepare_federation(
    experiment: Experiment, file: FederationFile, test: Any = None, *, secagg: bool = False
) -> FederatedSetup:
    """Makes every part and checks that it fits the declared population; nobody is asked for anything.

    Args:
      test: ``Examples``, or inputs and labels, that belong to nobody; models are not measured without.
      secagg: refused, with the reason.
    """
    if secagg is not False:
        raise InvalidValue(NO_SECURE_AGGREGATION)
    if experiment.attack is not None:
        raise InvalidValue(
            "an experiment of a federation has no [attack]: the server plays no users; stage attacks at "
            "nodes, with client_app(..., attack=...)"
        )
    roster = file.population.roster(file.input_shape, file.num_classes, tokens=file.tokens)
    model, weights = model_for(experiment.model, file.input_shape, file.num_classes, experiment.seed)
    algorithm = experiment.make_algorithm(roster, model)
    if isinstance(algorithm.aggregator, WeightedMean) and not file.population.declares_examples:
        raise InvalidValue(
            f"{algorithm.name} weighs users by how many examples they have, and nothing that a node says of "
            "that is believed: declare examples for every node"
        )
    if algorithm.unit == "example" and experiment.privacy.delta is None:
        raise InvalidValue(
            "privacy.delta must be given where examples are hidden: the server does not know how many there "
            "are"
        )
    caveats = [trust_in_own_parts(experiment.algorithm), f"{WEIGHTS} {NOT_COVERED}" if weights else ""]
    setup = FederatedSetup(
        experiment=experiment,
        file=file,
        people=roster,
        model=model,
        algorithm=algorithm,
        delta=experiment.delta_for(roster, algorithm.unit),
        accountant=experiment.accountant_for(algorithm),
        test=_examples(test),
        weights=weights,
        caveat="; ".join(filter(None, caveats)),
    )
    check_setup(algorithm, model, roster, rounds=experiment.rounds)
    setup.greeting.to_packet()  # a trainer that cannot be sent is an error here
    if setup.budget is not None:
        check_budget(setup.budget, algorithm, roster.num_users)
    return setup


def _examples(test: Any) -> Examples | None:
    if test is None or isinstance(test, Examples):
        return test
    if isinstance(test, tuple) and len(test) == 2:
        return Examples.from_arrays(*test)
    raise InvalidType(f"test must be Examples, or inputs and labels, got {type(test).__name__}")
