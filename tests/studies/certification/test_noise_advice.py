"""Where there is no noise to certify with, the refusal names presets that have and a switch that works."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.claims import Claims
from fedward.certificates.threat import why_no_guarantee
from fedward.config.experiment import from_content
from fedward.config.overrides import apply_changes
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.certification.noise_advice import WITH_NOISE
from fedward.studies.training.setup import prepare
from studies.small_tables import BASE, POISSON, SGD


@pytest.mark.parametrize(
    "algorithm",
    [
        {"preset": "fedavg", "sampler": POISSON, "local": SGD},
        {"preset": "fedavg", "sampler": {"name": "fixed_size", "size": 5}, "local": SGD},
        {"preset": "krum", "malicious": 2, "sampler": POISSON, "local": SGD},
        {"preset": "median", "sampler": POISSON, "local": SGD},
    ],
)
def test_the_changes_that_are_named_make_it_certifiable(algorithm: dict[str, Any]) -> None:
    content = BASE | {"algorithm": algorithm}
    claims = Claims(replicas=20)
    with pytest.raises(
        InvalidValue, match="Presets with noise that can be certified: user_dp_fedavg"
    ) as told:
        setting_of(claims, prepare(from_content(content)))
    found = re.search(r"To switch: (.*) \(fedward plan", str(told.value))
    assert found is not None
    changes = [part for part in shlex.split(found[1]) if part != "--set"]
    assert setting_of(claims, prepare(from_content(apply_changes(content, changes)))).users == 20


@pytest.mark.parametrize("preset", WITH_NOISE)
def test_the_presets_that_are_named_have_a_guarantee(preset: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "user_dp_fedavg": {"clip_bound": 1.0, "noise_multiplier": 2.0},
        "central_dp": {"clip_bound": 1.0, "noise_multiplier": 2.0},
        "clip_norm_decay": {"initial_bound": 1.0, "decay": 0.9, "noise_multiplier": 2.0},
        "adaptive_clipping": {"initial_bound": 1.0, "noise_multiplier": 2.0},
    }
    algorithm = {"preset": preset, "sampler": POISSON, "local": SGD, **more[preset]}
    setup = prepare(from_content(BASE | {"algorithm": algorithm, "privacy": {"users": 20}}))
    assert why_no_guarantee(setup.algorithm) == ""
    assert setting_of(Claims(replicas=20), setup).spending
