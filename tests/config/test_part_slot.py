from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from fedward import presets
from fedward.aggregation import Krum
from fedward.attacks import Attack, RandomUsers
from fedward.attacks.poisoning import LabelFlip
from fedward.base.validate import InvalidValue
from fedward.config import attack_section, installed_parts, part_slot
from fedward.config import experiment as config
from fedward.config.feature_table import FEATURES
from fedward.config.model_section import MODEL, initial_model
from fedward.config.object_section import ObjectSection
from fedward.core.algorithm import Algorithm
from fedward.sampling import PoissonSampler
from support import tiny_federation, tiny_sgd
from tiny_experiment import CONTENT


class Net(nn.Module):
    def __init__(self, num_classes: int, width: int = 3) -> None:
        super().__init__()
        self.layer = nn.Linear(64, num_classes)
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.flatten(1))  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Last:
    least_rows: ClassVar[int] = 1

    def combine(self, rows: list[Tensor]) -> Tensor:
        return rows[-1].double()


def make(experiment: config.Experiment) -> tuple[nn.Module, Algorithm]:
    """The model and the algorithm of an experiment."""
    federation = experiment.load_data()
    model, _ = initial_model(experiment.model, federation, experiment.seed)
    return model, experiment.make_algorithm(federation, model)


def ours(**changes: Any) -> dict[str, Any]:
    return {**CONTENT, **changes}


ROBUST = {
    "preset": "robust",
    "sampler": {"name": "everyone"},
    "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "epochs": 1},
}


def test_a_class_may_stand_for_its_name() -> None:
    experiment = config.from_content(ours(model={"name": Net, "width": 5}))
    assert experiment.model.part.endswith("test_part_slot:Net")
    module, _ = make(experiment)
    assert isinstance(module, Net)
    assert module.width == 5


def test_an_object_may_stand_for_its_table() -> None:
    experiment = config.from_content(ours(algorithm={**ROBUST, "rule": Krum(malicious=1)}))
    _, algorithm = make(experiment)
    assert str(algorithm.aggregator) == "Krum(malicious=1)"
    stored = experiment.model_dump(mode="json")["algorithm"]["rule"]
    assert stored == {"name": "Krum", "object": "fedward.aggregation.krum:Krum", "malicious": 1}


def test_a_whole_experiment_may_be_objects() -> None:
    algorithm = presets.fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd())
    federation, model = tiny_federation(), nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    attack = Attack(who=RandomUsers(count=2), data=(LabelFlip(target=0),))
    content = {"seed": 1, "rounds": 2, "data": federation, "model": model, "algorithm": algorithm}
    experiment = config.from_content(content | {"attack": attack})
    assert isinstance(experiment.algorithm, ObjectSection)
    assert experiment.algorithm.part == "fedavg"
    assert experiment.load_data() is federation
    assert experiment.attack is not None
    assert experiment.attack.build() == attack


def test_equal_seeds_give_own_models_equal_parameters() -> None:
    made = [make(config.from_content(ours(model={"name": Net})))[0] for _ in range(2)]
    first, second = (model.state_dict()["layer.weight"] for model in made)
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": Net}, "a part must be made, or named in a table, got the class Net"),
        ({"model": 3}, "model must be a table, got 3"),
        ({"model": {"name": 3}}, "name must be one of"),
        ({"model": {"name": "nett"}}, "(own code is named 'module:Name')"),
        (
            {"algorithm": {**ROBUST, "rule": PoissonSampler(rate=0.5)}},
            "lacks combine, least_rows",
        ),
        ({"algorithm": tiny_federation()}, "Federation must be an Algorithm, got Federation"),
        ({"algorithm": {**ROBUST, "rule": {"name": nn.Linear}}}, "in_features"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue) as error:
        config.from_content(ours(**changes))
    assert message in str(error.value)


def test_a_factory_that_makes_something_else_is_refused() -> None:
    def preset(*, rate: float = 0.1) -> int:
        return 3

    with pytest.raises(InvalidValue, match="preset must be an Algorithm, got int"):
        config.from_content(ours(algorithm={"preset": preset}))


def test_an_own_preset_needs_no_key_called_sampler() -> None:
    def small(*, num_users: int, rate: float = 0.5) -> Algorithm:
        return presets.fedavg(sampler=PoissonSampler(rate=rate * num_users / num_users), local=tiny_sgd())

    experiment = config.from_content(ours(algorithm={"preset": small, "rate": 0.25}))
    assert make(experiment)[1].sampler == PoissonSampler(rate=0.25)


def test_an_error_of_own_code_is_one_sentence_with_its_place() -> None:
    def broken(*, num_users: int) -> Algorithm:
        raise KeyError("nothing here")

    with pytest.raises(InvalidValue, match=r"broken cannot be made: KeyError: 'nothing here' \(.*line \d+\)"):
        config.from_content(ours(algorithm={"preset": broken}))


def test_keys_that_another_preset_takes_are_named_with_how_to_drop_them() -> None:
    table = {**CONTENT["algorithm"], "preset": "krum", "malicious": 1}
    with pytest.raises(InvalidValue) as error:
        config.from_content(ours(algorithm=table))
    assert "algorithm: krum does not take " in str(error.value)
    assert "--set algorithm.noise_multiplier=" in str(error.value)


def test_installed_packages_register_names(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="their_net", value="config.test_part_slot:Net", group="fedward.models")

    def points(group: str) -> tuple[EntryPoint, ...]:
        return (point,) if group == "fedward.models" else ()

    monkeypatch.setattr(installed_parts, "_points", points)
    monkeypatch.setattr(installed_parts, "load_installed", lambda point: Net)
    monkeypatch.setattr("fedward.config.part_slot.load_installed", lambda point: Net)
    experiment = config.from_content(ours(model={"name": "their_net", "width": 4}))
    assert isinstance(make(experiment)[0], Net)
    with pytest.raises(InvalidValue, match="their_net"):
        config.from_content(ours(model={"name": "nett"}))


def test_an_installed_package_cannot_take_a_name_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="mlp", value="elsewhere:Net", group="fedward.models")
    monkeypatch.setattr(installed_parts, "_points", lambda group: (point,))
    with pytest.raises(InvalidValue, match=r"elsewhere registers 'mlp' for fedward\.models, and that name"):
        installed_parts.installed("fedward.models", ["mlp"])


def test_a_real_package_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_package.py").write_text("def net(num_classes: int):\n    return None\n")
    about = tmp_path / "their_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fedward.models]\nreal_net = their_package:net\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed_parts._points.cache_clear()
    try:
        found = installed_parts.installed("fedward.models", ["mlp"])
        assert list(found) == ["real_net"]
        assert installed_parts.package_of(found["real_net"]) == "their-package"
        assert installed_parts.load_installed(found["real_net"]).__name__ == "net"
    finally:
        installed_parts._points.cache_clear()


def test_every_group_of_entry_points_belongs_to_a_slot() -> None:
    slots = [*part_slot._SLOTS.values(), config.DATA, config._ALGORITHM, MODEL, FEATURES]
    slots += [attack_section._WHO, attack_section._POISONING, attack_section._MODEL_POISONING]
    assert {slot.group for slot in slots if slot.group} == set(installed_parts.GROUPS)
