"""Own parts go where ours go: runs on disk, replicas, sweeps, certificates, worker processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import fedward
from fedward import presets
from fedward.api.replicas_api import replicas
from fedward.api.sweep_api import sweep
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.rundir.store import RunDirectory
from own_module import MODULE, own_module
from support import tiny_federation, tiny_model, tiny_sgd

IN_PROCESS = fedward.Compute(workers=0)
ALGORITHM = presets.user_dp_fedavg(
    num_users=12,
    sampler=fedward.PoissonSampler(rate=0.5),
    local=tiny_sgd(),
    clip_bound=0.5,
    noise_multiplier=1.0,
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def train_objects(out: str = "run", rounds: int = 3) -> fedward.RunRecord:
    return fedward.train(
        ALGORITHM,
        tiny_model(),
        tiny_federation(),
        rounds=rounds,
        seed=1,
        out=out,
        compute=IN_PROCESS,
        quiet=True,
    )


def test_objects_are_trained_as_round_by_round_and_stored() -> None:
    run = train_objects()
    model, federation = tiny_model(), tiny_federation()
    last = list(fedward.rounds(ALGORITHM, model, federation, rounds=3, seed=1))[-1][0]
    ParameterSpec.of(model).load(model, last.parameters)
    stored = torch.load(Path("run") / "model.pt")
    assert all(torch.equal(stored[name], value) for name, value in model.state_dict().items())
    assert run.guarantee() == ALGORITHM.guarantee(12, 3, run.manifest.delta or 0, "pld")
    again = fedward.load("run")
    assert isinstance(again, fedward.RunRecord)
    assert again.experiment["algorithm"]["sampler"]["rate"] == 0.5


def test_objects_that_differ_are_another_run() -> None:
    train_objects()
    other = tiny_model()
    with torch.no_grad():
        next(iter(other.parameters())).add_(1)
    with pytest.raises(InvalidValue, match=r"data\.initial_model"):
        fedward.train(ALGORITHM, other, tiny_federation(), rounds=3, seed=1, out="run", quiet=True)


@pytest.mark.parametrize("given", [{}, {"rounds": 3}, {"seed": 1}])
def test_an_algorithm_needs_rounds_and_a_seed(given: dict[str, int]) -> None:
    with pytest.raises(InvalidValue, match="must be given with an algorithm"):
        fedward.train(ALGORITHM, tiny_model(), tiny_federation(), out="run", quiet=True, **given)  # type: ignore[arg-type]


def test_objects_make_replicas_sweeps_and_certificates() -> None:
    model, federation = tiny_model(), tiny_federation()
    options: Any = {"rounds": 2, "seed": 1}
    plain = presets.fedavg(sampler=fedward.PoissonSampler(rate=0.5), local=tiny_sgd())
    many = replicas(
        ALGORITHM, model, federation, replicas=3, out="many", compute=IN_PROCESS, quiet=True, **options
    )
    assert many.replicas == 3
    varied = fedward.replicas(
        ALGORITHM,
        model,
        federation,
        replicas=2,
        vary={"algorithm": [ALGORITHM, plain, replace(ALGORITHM, server=fedward.ServerMomentum())]},
        out="varied",
        compute=IN_PROCESS,
        quiet=True,
        **options,
    )
    names = ["algorithm=user_dp_fedavg 1", "algorithm=fedavg", "algorithm=user_dp_fedavg 3"]
    assert list(varied.experiments) == names
    swept = sweep(
        ALGORITHM,
        model,
        federation,
        vary={"algorithm": [ALGORITHM, plain]},
        seeds=2,
        out="swept",
        compute=IN_PROCESS,
        quiet=True,
        **options,
    )
    assert [each["name"] for each in swept.combinations] == [
        "algorithm=user_dp_fedavg",
        "algorithm=fedavg",
    ]
    assert swept.combinations[1]["epsilon"] is None
    certified = fedward.certify(
        ALGORITHM,
        model,
        federation,
        replicas=4,
        score="vote",
        out="certified",
        compute=IN_PROCESS,
        quiet=True,
        **options,
    )
    assert 0 <= certified.certified_accuracy(0) <= 1


def test_own_code_of_a_file_runs_only_if_it_is_trusted(tmp_path: Path) -> None:
    with own_module(tmp_path, "mine_api") as file:
        with pytest.raises(InvalidValue, match="--trust"):
            fedward.train(file, compute=IN_PROCESS, quiet=True)
        assert not (tmp_path / "runs").exists()
        run = fedward.train(file, trust=True, compute=IN_PROCESS, quiet=True)
        assert set(run.manifest.code) == {"mine_api:Net", "mine_api:HalfMean"}
        assert "what mine_api:HalfMean declare" in run.manifest.caveat
        guarantee = run.guarantee()
        assert guarantee is not None
        assert "mine_api:HalfMean" in str(guarantee)


def test_a_run_does_not_go_on_with_other_code(tmp_path: Path) -> None:
    with own_module(tmp_path, "mine_changed") as file:
        fedward.train(file, trust=True, compute=IN_PROCESS, quiet=True)
        fedward.train(file, trust=True, compute=IN_PROCESS, quiet=True)
    with (
        own_module(tmp_path, "mine_changed", MODULE.replace("RATE = 2", "RATE = 2.0")) as file,
        pytest.raises(InvalidValue, match=r"begun with other code: the source of mine_changed:.* changed"),
    ):
        fedward.train(file, trust=True, compute=IN_PROCESS, quiet=True)


def test_worker_processes_find_own_code_and_come_to_the_same_bits(tmp_path: Path) -> None:
    with own_module(tmp_path, "mine_workers") as file:
        fedward.train(file, trust=True, compute=IN_PROCESS, out="one", quiet=True)
        processes = fedward.Compute(workers=2, backend="processes")
        fedward.train(file, trust=True, compute=processes, out="two", quiet=True)
    one, two = (RunDirectory(Path(name)).load_state() for name in ("one", "two"))
    assert one is not None
    assert two is not None
    assert torch.equal(one.parameters, two.parameters)


def test_own_code_can_be_swept_and_varied(tmp_path: Path) -> None:
    with own_module(tmp_path, "mine_swept") as file:
        swept = sweep(
            file,
            vary={"algorithm.aggregator.name": ["mean", "mine_swept:HalfMean"]},
            trust=True,
            compute=IN_PROCESS,
            quiet=True,
        )
        assert [each["name"] for each in swept.combinations] == ["name=mean", "name=HalfMean"]
        many = replicas(
            file,
            replicas=2,
            vary=["algorithm.aggregator.name=mean,mine_swept:HalfMean"],
            trust=True,
            compute=IN_PROCESS,
            quiet=True,
        )
        assert list(many.experiments) == ["name=mean", "name=HalfMean"]
