"""Poisoned examples before and after the attack, with the released model's answers to both."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fedward.attacks.poisoning.unprepared import Following
from fedward.base.limited_files import read_archive
from fedward.base.validate import InvalidValue
from fedward.config.model_section import initial_model
from fedward.core.digest import data_digest
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.reports.page.examples.example_looks import Look, class_name, looks_of_groups
from fedward.rundir.damage import require_undamaged
from fedward.rundir.run_record import RunRecord
from fedward.studies.stored_data import Library

_SHOWN = 6
_LOOKED_AT = 1000


@dataclass(frozen=True)
class Pair:
    """One test example before and after; ``says`` is what the model says, nothing if there is none."""

    before: Look
    after: Look
    is_class: str
    wanted: str
    says_before: str
    says_after: str

    @property
    def fooled(self) -> bool:
        """Whether the model falls for it, and was right before."""
        return self.says_after == self.wanted and self.says_before == self.is_class


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """One poisoning: its name, some examples, and whether the inputs change or only their labels."""

    name: str
    pairs: tuple[Pair, ...]
    same: bool


@dataclass(frozen=True, kw_only=True)
class Triggered:
    """What an attack does to examples: its poisonings, or why there is nothing to show."""

    triggers: tuple[Trigger, ...] = ()
    why: str = ""

    @property
    def telling(self) -> Pair | None:
        """One example that shows what the attack achieves, if it achieves anything and can be seen."""
        pairs = (pair for trigger in self.triggers if not trigger.same for pair in trigger.pairs)
        return next((pair for pair in pairs if pair.fooled and pair.after != Look()), None)


def triggered(run: RunRecord, library: Library) -> Triggered:
    """What the attack on a run does to some test examples; a run without attackers has nothing to show."""
    attack = run.experiment.get("attack")
    if not attack:
        return Triggered()
    if not attack.get("data"):
        why = "The attackers poison their updates, not their data: there are no triggered examples."
        return Triggered(why=why)
    try:
        digest = str(run.manifest.data.digest)
        model = run.path / "model.pt" if run.finished else None
        return Triggered(triggers=triggers(run.experiment, digest, model, library))
    except InvalidValue as error:
        return Triggered(why=f"No examples can be shown: {error}.")


def triggers(
    content: dict[str, Any], digest: str, model_file: Path | None, library: Library
) -> tuple[Trigger, ...]:
    """What each poisoning of an attack does to some test examples; refuses with the reason if it cannot say.

    ``content`` is the experiment as the run has stored it, ``digest`` that of the data that it was made on.
    """
    experiment, federation = library.load(content)
    model, _ = initial_model(experiment.model, federation, experiment.seed)
    section, test = experiment.attack, federation.test
    if section is None or test is None:
        raise InvalidValue("there are no test examples to try a trigger on")
    staged = section.stage(experiment.make_algorithm(federation, model), federation, experiment.seed, model)
    if data_digest(staged.federation) != digest:
        raise InvalidValue("the data at hand is not the data that the run was made on")
    released = None
    if model_file is not None:
        # A model that was written and is not there any more is damage, too.
        folder = model_file.parent
        require_undamaged(folder, has_digests=False, needed=lambda name: name == model_file.name)
        released = _released(model, model_file) if model_file.is_file() else None
    some = test.select(torch.arange(min(len(test), _LOOKED_AT)))
    found = []
    goal = () if staged.goal is None else staged.goal.triggered
    for (name, _), part in zip(goal, staged.adversary.data, strict=True):
        poisoning = part
        if isinstance(part, Following) and released is not None:
            poisoning = part.at_model(ParameterSpec.of(released).flatten(released))
        for examples in (some, test):
            bad = poisoning.poison(examples)
            wanted = poisoning.eligible(examples) & (examples.y != bad.y)
            chosen = torch.nonzero(wanted).flatten()[:_SHOWN]
            if len(chosen):
                break
        found.append(_trigger(name, federation, examples.select(chosen), bad.select(chosen), released))
    return tuple(found)


def _trigger(
    name: str, federation: Federation, before: Examples, after: Examples, model: nn.Module | None
) -> Trigger:
    columns = (
        *looks_of_groups(federation, [before, after]),
        *([class_name(federation, int(label)) for label in examples.y] for examples in (before, after)),
        *(_says(federation, model, examples) for examples in (before, after)),
    )
    pairs = tuple(Pair(*row) for row in zip(*columns, strict=True))
    return Trigger(name=name, pairs=pairs, same=all(pair.before == pair.after for pair in pairs))


def _says(federation: Federation, model: nn.Module | None, examples: Examples) -> list[str]:
    if model is None:
        return [""] * len(examples)
    with torch.no_grad():
        x = examples.x
        inputs = x[torch.arange(len(examples))] if isinstance(x, Ragged) else x
        scores: Tensor = model(inputs)
    if not bool(torch.isfinite(scores).all()):
        return ["nothing: it is not finite"] * len(examples)
    return [class_name(federation, int(label)) for label in scores[:, : federation.num_classes].argmax(1)]


def _released(model: nn.Module, file: Path) -> nn.Module:
    try:
        state = torch.load(io.BytesIO(read_archive(file)), map_location="cpu", weights_only=True)
        model.load_state_dict(state)
    except Exception as error:  # damage shows as anything
        raise InvalidValue(f"{file} is damaged or of another model: {error}") from error
    return model.eval()
