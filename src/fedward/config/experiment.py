"""The experiment file: TOML, checked as a whole before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator
from torch import nn

from fedward.base.validate import InvalidValue, one_of, open_unit, positive, whole
from fedward.config.attack_section import AttackSection
from fedward.config.compute_section import ComputeSection
from fedward.config.feature_table import Features, with_features
from fedward.config.file_content import content_of, read_content
from fedward.config.file_errors import validate
from fedward.config.model_section import MODEL
from fedward.config.object_section import ObjectSection
from fedward.config.overrides import source_of
from fedward.config.part_slot import OneOf
from fedward.config.sections import PartSection, Section, check_by
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.roster import Roster
from fedward.core.types import Sampler
from fedward.datasets import DATASETS
from fedward.presets import PRESETS
from fedward.privacy.accountants import ACCOUNTANTS
from fedward.privacy.budget import Budget
from fedward.privacy.guarantee import Unit

# While the file is checked the data is not loaded yet: with this many users no cohort is too large.
_MANY_USERS = 10**9

# A δ that nobody chose is at most this.
_MOST_DELTA = 0.01

# What they spend is worked out before the first of them, and more would take hours for that alone.
_MOST_ROUNDS = 10**6

DATA = OneOf(
    registry=DATASETS,
    makes=(Federation,),
    group="fedward.datasets",
    supplied=("seed",),
    more={"public_features": (Features | None, None)},
)
Seed = Annotated[int, check_by(whole, "seed", 0)]
_ALGORITHM = OneOf(
    registry=PRESETS,
    makes=(Algorithm,),
    group="fedward.presets",
    tag="preset",
    supplied=("num_users", "layers"),
    trial={"num_users": _MANY_USERS, "layers": (1,), "expected_cohort": 1.0},
)


def _rounds(name: str, value: int) -> int:
    if whole(name, value) > _MOST_ROUNDS:
        raise InvalidValue(f"{name} must be at most {_MOST_ROUNDS:,}, got {value}")
    return value


class PrivacySection(Section):
    """How privacy is accounted for, and how much may be spent.

    Without ``users`` the number of users in the data is taken for N. Then one user more or less changes the
    noise, so guarantees are for *zero-out* (N public), not add/remove, and no certificate is about users who
    join.
    """

    users: Annotated[int, check_by(whole, "users")] | None = Field(
        default=None,
        description="N, declared: means are divided by q N, whoever joins or leaves. Noise and default δ "
        "follow from it; zero-out adjacency if not given.",
    )
    delta: Annotated[float, check_by(open_unit, "delta")] | None = Field(
        default=None,
        description="N^-1.1 if not given, at most 0.01, for N users (or examples, where those are hidden).",
    )
    accountant: Annotated[str, check_by(one_of, "accountant", ACCOUNTANTS)] | None = Field(
        default=None, description="the tightest with a proof if not given."
    )
    budget: Annotated[float, check_by(positive, "budget")] | None = Field(
        default=None, description="training ends before it spends a larger ε. No limit if not given."
    )


class EvaluationSection(Section):
    """How often the model is measured on the test set."""

    every: Annotated[int, check_by(whole, "every")] = Field(
        default=1, description="measure every so many rounds, and after the last."
    )


class Experiment(Section):
    """One experiment, as its file describes it."""

    apart = ("sweep", "arena")

    seed: Seed = Field(description="of all that is drawn.")
    rounds: Annotated[int, check_by(_rounds, "rounds")] = Field(description="how many are trained, at most.")
    data: Annotated[PartSection, DATA]
    model: Annotated[PartSection, MODEL]
    algorithm: Annotated[PartSection, _ALGORITHM]
    attack: AttackSection | None = None
    privacy: PrivacySection = PrivacySection()
    evaluation: EvaluationSection = EvaluationSection()
    # Left out of whatever is stored or compared: results do not depend on it.
    compute: ComputeSection = Field(default=ComputeSection(), exclude=True, repr=False)

    @model_validator(mode="after")
    def _attack_happens(self) -> Experiment:
        chosen = self.attack.rounds if self.attack is not None else None
        if chosen is not None and max(chosen) >= self.rounds:
            raise InvalidValue(
                f"attack.rounds must lie below the number of rounds, {self.rounds}, got {max(chosen)} "
                "(rounds are counted from 0)"
            )
        return self

    def load_data(self, data_dir: Path | None = None) -> Federation:
        """The data; ``data_dir`` is where it lies, whatever the file says."""
        return load(self.data, self.seed, data_dir)

    def make_algorithm(self, federation: Federation | Roster, model: nn.Module) -> Algorithm:
        if isinstance(self.algorithm, ObjectSection):
            algorithm: Algorithm = self.algorithm.build()
            algorithm.sampler.check(federation.num_users)
            return algorithm
        declared = self.declared_users(federation)
        supplied: dict[str, Any] = {"num_users": declared, "layers": ParameterSpec.of(model).layer_sizes()}
        sampler = dict(self.algorithm).get("sampler")
        if isinstance(sampler, PartSection):
            drawn: Sampler = sampler.build()
            drawn.check(federation.num_users)
            supplied["expected_cohort"] = drawn.expected_size(declared)
        algorithm = self.algorithm.build(**supplied)
        algorithm.sampler.check(federation.num_users)
        return replace(algorithm, declared_users=self.privacy.users is not None)

    def declared_users(self, federation: Federation | Roster) -> int:
        """The N that is public: declared in the file, or the number of users in the data."""
        return self.privacy.users if self.privacy.users is not None else federation.num_users

    def delta_for(self, federation: Federation | Roster, unit: Unit = "user") -> float:
        """The file's δ, or N^-1.1, the papers' choice for N users; for N examples where those are hidden.

        Never more than 0.01: of three users N^-1.1 would be 0.3, and such a promise is none.
        """
        if self.privacy.delta is not None:
            return self.privacy.delta
        hidden = self.declared_users(federation) if unit == "user" else int(federation.sizes.sum())
        return min(_MOST_DELTA, float(hidden**-1.1))

    def accountant_for(self, algorithm: Algorithm) -> str:
        """The file's accountant, or the tightest that has a proof for the sampling."""
        if self.privacy.accountant is not None:
            return self.privacy.accountant
        # Users that protect themselves do not count on the drawing of users; the server's looks do.
        drawn = algorithm.accounting == "server" or any(map(algorithm.policy.looks, range(self.rounds)))
        return "rdp" if drawn and algorithm.sampler.adjacency == "replace-one" else "pld"

    def make_budget(self, algorithm: Algorithm, federation: Federation | Roster) -> Budget | None:
        if self.privacy.budget is None:
            return None
        if self.privacy.delta is None and algorithm.unit == "example":
            raise InvalidValue(
                "privacy.delta must be given with a budget where examples are hidden: the default follows "
                "the number of examples, and one example more could change when training ends"
            )
        return Budget(
            epsilon=self.privacy.budget,
            delta=self.delta_for(federation, algorithm.unit),
            accountant=self.accountant_for(algorithm),
        )


def load(section: PartSection, seed: int, data_dir: Path | None) -> Federation:
    """The data of a table ``[data]``."""
    if data_dir is not None and "data_dir" in type(section).model_fields:
        section = section.model_copy(update={"data_dir": data_dir})
    federation: Federation = section.build(seed=seed)
    return with_features(federation, dict(section).get("public_features"), seed)


def parse(text: str, source: str = "experiment") -> Experiment:
    """Reads an experiment from the text of its file; ``source`` names it in errors."""
    return from_content(content_of(text, source), source)


def from_content(content: dict[str, Any], source: str = "experiment") -> Experiment:
    """Checks the content of an experiment file as a whole."""
    if "sweep" in content:
        raise InvalidValue(
            f"{source} has a [sweep] table and so describes many experiments: run it with fedward sweep, or "
            "take the table out with --set sweep="
        )
    if "arena" in content:
        raise InvalidValue(
            f"{source} has an [arena] table and so describes many experiments: run it with fedward arena, or "
            "take the table out with --set arena="
        )
    return validate(Experiment, content, source, "experiment")


def read(path: Path, changes: Sequence[str] = ()) -> Experiment:
    """Reads an experiment file; ``changes`` are other values for some of its keys, as ``KEY=VALUE``."""
    return from_content(read_content(path, changes), source_of(str(path), changes))
