"""What the pages say about attacks and defences is tried out, and they name everything there is."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import fedward
from fedward.aggregation import AGGREGATORS
from fedward.attacks import MODEL_POISONINGS, POISONINGS, WHO
from fedward.attacks.poisoning import FEATURES, PATTERNS
from fedward.backends import measure
from fedward.config.experiment import from_content
from fedward.models import MODELS
from fedward.presets import PRESETS
from fedward.studies.training.training_study import Setup, prepare
from markdown_pages import blocks

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


def texts(name: str, language: str) -> list[str]:
    return [block.text for block in blocks(page(name)) if block.language == language]


def attacks_on_digits() -> Iterator[str]:
    """The blocks of the page on attacks but those that need other data; each holds for all later ones."""
    named = None
    for block in blocks(page("docs/attacks/README.md")):
        named = block.directive("toml") or named
        if block.language == "toml" and named == "[attack] of examples/backdoor_digits.toml":
            yield block.text


def listed_algorithms(name: str) -> list[str]:
    """The first cells of a table of algorithms: keys of ``[algorithm]`` with commas between them."""
    return re.findall(r"^\| `(preset = [^`]*)`", page(name), flags=re.MULTILINE)


ATTACKS = list(attacks_on_digits())


def quick(**changed: Any) -> dict[str, Any]:
    """The example with the backdoor, but with large cohorts, a clip bound and little local training."""
    content = tomllib.loads(page("examples/backdoor_digits.toml"))
    local = {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "epochs": 1}
    common = {"sampler": {"name": "fixed_size", "size": 40}, "local": local}
    algorithm = {"preset": "norm_bounding", "clip_bound": 1.0} | changed.pop("algorithm", {})
    return content | {"algorithm": algorithm | common} | changed


def first_round(setup: Setup, adversary: Any) -> tuple[torch.Tensor, Any]:
    state, log = next(
        fedward.rounds(setup.algorithm, setup.model, setup.federation, rounds=1, seed=1, adversary=adversary)
    )
    return state.parameters, log


@pytest.mark.parametrize("block", ATTACKS, ids=lambda block: block.replace("\n", " | "))
def test_every_attack_on_the_page_can_be_carried_out(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = tomllib.loads(block)
    attack.setdefault("who", {"name": "random", "count": 10})
    if "data" not in attack and "model" not in attack:
        attack["data"] = [{"name": "single_pixel"}]
    monkeypatch.chdir(tmp_path)
    if "target_model" in attack:
        model = prepare(from_content(quick())).model
        torch.save(model.state_dict(), attack["target_model"])

    setup = prepare(from_content(quick(attack=attack)))
    assert setup.attack is not None
    assert setup.attack.goal is not None
    adversary = dataclasses.replace(setup.attack.adversary, rounds=None)
    attacked, log = first_round(setup, adversary)
    honest, _ = first_round(setup, None)
    assert log.telemetry.malicious
    assert not log.telemetry.rejected
    assert not torch.equal(attacked, honest)
    found = measure(fedward.InProcess(setup.model, setup.federation), attacked, setup.attack.goal)
    assert found.attacks.keys() == {part["name"] for part in attack.get("data", [])}


def test_the_page_names_every_part_of_an_attack() -> None:
    text = page("docs/attacks/README.md")
    for name in (*POISONINGS, *MODEL_POISONINGS, *WHO, *PATTERNS, *FEATURES):
        assert f'"{name}"' in text or f"`{name}`" in text, name


@pytest.mark.parametrize("keys", listed_algorithms("README.md"))
def test_every_defence_in_the_readme_fits_the_example(keys: str) -> None:
    algorithm = tomllib.loads(f"algorithm = {{ {keys} }}")["algorithm"]
    content = tomllib.loads(page("examples/backdoor_digits.toml"))
    content["algorithm"] = {key: content["algorithm"][key] for key in ("sampler", "local")} | algorithm
    setup = prepare(from_content(content | {"privacy": {"accountant": "moments"}}))  # the fastest
    assert setup.algorithm.name == algorithm["preset"]
    assert setup.planned.private == ("noise_multiplier" in algorithm)


def test_the_page_on_defences_names_every_rule_and_its_file_fits_the_example() -> None:
    for name in AGGREGATORS.keys() & PRESETS.keys():
        assert f"`{name}`" in page("docs/defences.md"), name
    for block in texts("docs/defences.md", "toml"):
        content = tomllib.loads(page("examples/backdoor_digits.toml"))
        prepare(from_content(content | tomllib.loads(block)))


def test_the_page_on_experiment_files_names_every_attack_rule_and_model() -> None:
    file = texts("docs/experiment-files.md", "toml")[0]
    for name in (*POISONINGS, *MODEL_POISONINGS, *WHO, *MODELS, *(AGGREGATORS.keys() & PRESETS.keys())):
        assert re.search(rf"\b{name}\b", file), name


def test_the_attack_in_python_replaces_the_model_in_one_round(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = texts("docs/attacks/README.md", "python")
    exec(compile(block, "docs/attacks/README.md", "exec"), {})
    success = [float(share) for share in re.findall(r"success ([\d.]+)%", capsys.readouterr().out)]
    assert len(success) == 8
    assert max(success[:6]) < 20
    assert success[6] > 50


def test_the_attack_in_the_readme_is_the_one_of_the_example() -> None:
    block = texts("README.md", "toml")[0]
    assert tomllib.loads(block)["attack"] == tomllib.loads(page("examples/backdoor_digits.toml"))["attack"]
