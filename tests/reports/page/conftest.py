from __future__ import annotations

import json
import runpy
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.certificates.certificate_file import dumps
from fedward.certificates.certified import certify_setting
from fedward.certificates.claims import Claims
from fedward.certificates.tally import Tally
from fedward.config import experiment as config
from fedward.reports.terminal.certified_table import record
from fedward.rundir.store import open_run
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.replicas.replica_study import ReplicaRun, prepare_variants
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from tiny_experiment import CONTENT as TINY
from tiny_experiment import changed

ROOT = Path(__file__).parents[3]
NO_BROWSER = "no page can be looked at"
BROWSER = runpy.run_path(str(ROOT / "tools" / "headless_browser.py"))

CONTENT = changed(
    TINY,
    rounds=3,
    data__users=12,
    algorithm__local__batch_size=20,
    privacy__accountant="moments",  # the fastest
)
ATTACK = {
    "who": {"name": "random", "count": 4},
    "data": [{"name": "single_pixel", "target": 0}],
    "model": [{"name": "scale", "factor": 100.0}],
}


def experiment(**others: Any) -> dict[str, Any]:
    algorithm = others.pop("algorithm", {})
    content = changed(CONTENT, **others)
    content["algorithm"] |= algorithm
    return content


def made(content: dict[str, Any], path: Path) -> Path:
    """A real run, finished."""
    run_to_end(prepare(config.from_content(content)), path)
    return path


def without_defence(content: dict[str, Any]) -> dict[str, Any]:
    own = content["algorithm"]
    return content | {
        "algorithm": {"preset": "fedavg", "sampler": own["sampler"], "local": own["local"]},
    }


@pytest.fixture(scope="session")
def private_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(experiment(), tmp_path_factory.mktemp("private") / "private")


@pytest.fixture(scope="session")
def attacked_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    content = without_defence(experiment(attack=ATTACK))
    return made(content, tmp_path_factory.mktemp("attacked") / "attacked")


@pytest.fixture(scope="session")
def own_protection_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    local = {
        "name": "dp_sgd",
        "learning_rate": 0.5,
        "probability": 0.1,
        "expected_batch": 10.0,
        "steps": 2,
        "noise_multiplier": 1.5,
        "clip_bound": 1.0,
    }
    sampler = {"name": "poisson", "rate": 0.5}
    content = experiment()
    content["algorithm"] = {"preset": "insdp_fedavg", "sampler": sampler, "local": local}
    return made(content, tmp_path_factory.mktemp("insdp") / "insdp")


def certified_directory(
    content: dict[str, Any],
    path: Path,
    data: Path | None = None,
    replicas: int = 200,
    variants: tuple[float, ...] = (),
) -> Path:
    """The files of ``fedward certify``, by its own writers; only the votes are made up."""
    content = content | {"privacy": {"users": content["data"]["users"], "delta": 1e-2, "accountant": "rdp"}}
    contents = {
        f"noise_multiplier={z}": content | {"algorithm": content["algorithm"] | {"noise_multiplier": z}}
        for z in variants
    } or {"all": content}
    experiments = {name: config.from_content(each) for name, each in contents.items()}
    wanted = ReplicaRun(variants=prepare_variants(experiments, data), replicas=replicas)
    test = wanted.first.federation.test
    assert test is not None
    labels = test.y.numpy()
    path.mkdir()
    claims = Claims(replicas=replicas, score="vote")
    rng = np.random.default_rng(0)
    found = {}
    with open_run(path) as directory:
        directory.begin(wanted.manifest())
        for name, setup in wanted.variants.items():
            counts = np.zeros((len(labels), 10), dtype=np.int64)
            # Some examples are sure, some not, and every ninth is wrong.
            votes = rng.integers(replicas // 2, replicas + 1, size=len(labels))
            top = np.where(np.arange(len(labels)) % 9 == 0, (labels + 1) % 10, labels)
            counts[np.arange(len(labels)), top] = votes
            counts[np.arange(len(labels)), (top + 2) % 10] = replicas - votes
            tally = Tally(counts=counts, replicas=replicas, seed=1, labels=labels)
            found[name] = certify_setting(setting_of(claims, setup), tally)
            ending = f"-{name}" if variants else ""
            stored = f"certificate-scores{ending}.npz"
            directory.files.write(stored, tally.to_bytes())
            text = dumps(found[name].certificate, stored)
            directory.files.write(f"certificate{ending}.json", text.encode())
        directory.files.write_arrays("labels.npz", {"labels": labels})
        certified = json.dumps({n: record(f) for n, f in found.items()})
        directory.files.write("certified.json", certified.encode())
        interval = {"mean": 0.9, "low": 0.88, "high": 0.92}
        result = {"replicas": replicas, "variants": {name: {"accuracy": interval} for name in found}}
        directory.files.write("result.json", json.dumps(result).encode())
        directory.files.write_arrays("sums.npz", {"replicas": np.array(replicas)})
    return path


@pytest.fixture(scope="session")
def certified_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    content = experiment(data={"name": "digits", "users": 200})
    content["algorithm"] |= {"sampler": {"name": "poisson", "rate": 0.1}, "noise_multiplier": 3.0}
    return certified_directory(content, tmp_path_factory.mktemp("certified") / "certified")


@pytest.fixture(scope="session")
def varied_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates at two noise levels."""
    content = experiment()
    content["algorithm"] |= {"sampler": {"name": "poisson", "rate": 0.1}}
    return certified_directory(content, tmp_path_factory.mktemp("varied") / "varied", variants=(1.5, 2.0))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    why_not = BROWSER["why_not"]()
    if why_not:
        pytest.skip(f"{NO_BROWSER}: {why_not}")
    with BROWSER["Browser"].open() as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tests that miss a browser are one line at the end: pytest joins what is skipped in one place."""
    report = yield
    if isinstance(report.longrepr, tuple) and NO_BROWSER in report.longrepr[2]:
        report.longrepr = (__file__, 1, report.longrepr[2])
    return report


@pytest.fixture(scope="session")
def an_experiment() -> Any:
    """Makes the content of an experiment file, some tables changed."""
    return experiment


@pytest.fixture(scope="session")
def make_certified() -> Any:
    """Makes the directory of ``fedward certify`` of an experiment."""
    return certified_directory
