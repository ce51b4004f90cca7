"""An experiment made ready: data loaded, every part made and checked, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor, nn

from fedward.attacks import Goal, Staged
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.base.validate import add_to_errors
from fedward.config.experiment import Experiment
from fedward.config.model_section import initial_model
from fedward.config.own_parts import trust_in_own_parts
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_adversary, check_setup
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.train import check_budget
from fedward.models.initial_weights import InitialWeights
from fedward.models.target_model import read_target
from fedward.privacy import Guarantee
from fedward.privacy.budget import Budget
from fedward.privacy.caveats import add_caveat
from fedward.privacy.pld import NoiseTooSmall
from fedward.rundir.weights_origin import caveat


@dataclass(frozen=True, kw_only=True)
class Setup:
    """An experiment with its data loaded and its parts made and checked: ready to run.

    ``caveat`` is what every guarantee of it says besides: that initial weights are not covered, and that own
    parts are taken at their word.
    """

    experiment: Experiment
    federation: Federation
    model: nn.Module
    algorithm: Algorithm
    delta: float
    accountant: str
    attack: Staged | None = None
    target: Tensor | None = None
    weights: InitialWeights | None = None
    caveat: str = ""

    @property
    def parameters(self) -> Tensor:
        """The initial model's parameters, as one flat vector."""
        return ParameterSpec.of(self.model).flatten(self.model)

    @property
    def people(self) -> Federation:
        """Everybody's data: a simulation has it."""
        return self.federation

    @property
    def test(self) -> Examples | None:
        """What released models are measured on."""
        return self.federation.test

    @property
    def budget(self) -> Budget | None:
        """What may be spent."""
        return self.experiment.make_budget(self.algorithm, self.federation)

    def engine(self, compute: Compute) -> str:
        """What trains it, in words; a machine that cannot is refused."""
        return engine_in_words(self.model, self.federation, compute.check())

    @property
    def planned(self) -> Guarantee:
        """What the whole training will have spent, if no budget ends it before."""
        return self.guarantee(self.experiment.rounds)

    def guarantee(self, rounds: int, accountant: str = "") -> Guarantee:
        """What that many rounds spend, by the experiment's own accountant or another."""
        by = accountant or self.accountant
        found = self.algorithm.guarantee(self.federation.num_users, rounds, self.delta, by)
        return add_caveat(found, self.caveat)

    @property
    def goal(self) -> Goal | None:
        """What attackers want and is measured on test examples; None if there is nothing of the kind."""
        return None if self.attack is None else self.attack.goal

    @property
    def triggered(self) -> tuple[tuple[str, Examples], ...]:
        """The test examples that show whether attackers have what they want, by name."""
        return () if self.goal is None else self.goal.triggered

    @property
    def measured_on(self) -> tuple[Examples, ...]:
        """The test examples that models under attack are measured on."""
        return () if self.goal is None else (self.goal.clean, *(examples for _, examples in self.triggered))

    def looks(self, rounds: int) -> Guarantee | None:
        """What the server's looks at norms spend in that many rounds, where users protect themselves."""
        if self.algorithm.accounting != "users":
            return None
        ledger = self.algorithm.planned_ledger(self.federation.num_users, rounds)
        return ledger.guarantee(self.delta, self.accountant)


def prepare(
    experiment: Experiment, data_dir: Path | None = None, federation: Federation | None = None
) -> Setup:
    """Loads the data and makes every part; whatever does not fit together is an error here.

    ``federation`` is the experiment's data where it has been loaded before.
    """
    if federation is None:
        federation = experiment.load_data(data_dir)
    model, weights = initial_model(experiment.model, federation, experiment.seed)
    on_weights = "" if weights is None else caveat(weights, experiment.data, federation)
    own = trust_in_own_parts(experiment.algorithm, dict(experiment.data).get("public_features"))
    not_covered = "; ".join(filter(None, (own, on_weights)))
    algorithm = replace(experiment.make_algorithm(federation, model), public=federation.public)
    staged, target = None, None
    if experiment.attack is not None:
        with add_to_errors("attack: "):
            staged = experiment.attack.stage(algorithm, federation, experiment.seed, model)
            target = read_target(experiment.attack.target_model, model)
        federation, algorithm = staged.federation, staged.algorithm
    check_setup(algorithm, model, federation.roster, rounds=experiment.rounds)
    if staged is not None:
        with add_to_errors("attack: "):
            check_adversary(staged.adversary, algorithm, federation.num_users, experiment.rounds)
    setup = Setup(
        experiment=experiment,
        federation=federation,
        model=model,
        algorithm=algorithm,
        delta=experiment.delta_for(federation, algorithm.unit),
        accountant=experiment.accountant_for(algorithm),
        attack=staged,
        target=target,
        weights=weights,
        caveat=not_covered,
    )
    # An accountant without a proof for this sampling, or a budget too small for one round, ends here.
    budget = setup.budget
    if budget is None:
        try:
            _ = setup.planned, setup.looks(experiment.rounds)
        except NoiseTooSmall:
            if experiment.privacy.accountant is not None:
                raise
            # Weak DP, or very many rounds: an ε that pld does not compute still gets its number.
            setup = replace(setup, accountant="rdp")
    else:
        # Not what all rounds would cost: the budget ends the training before.
        check_budget(budget, algorithm, federation.num_users)
        _ = setup.looks(1)
    return setup
