"""A training computed again from its files: ε, what was measured, the model, and what it should spend."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from fedward.backends import measure
from fedward.backends.compute import IN_PROCESS
from fedward.backends.open import open_backend
from fedward.base.limited_files import read_archive, read_text
from fedward.base.validate import InvalidValue
from fedward.core.digest import data_digest
from fedward.core.parameters import ParameterSpec, flatten_state
from fedward.core.types import ServerState
from fedward.privacy import Ledger, ledger_file
from fedward.privacy.spending import mechanisms
from fedward.rundir import checkpoint
from fedward.rundir.computed_by import changes, versions
from fedward.rundir.manifest import ComputedBy, Manifest
from fedward.rundir.results import (
    KeptRound,
    Measured,
    MeasuredRound,
    OfRound,
    TelemetryRound,
    TrainingResult,
)
from fedward.rundir.store import RunDirectory
from fedward.studies.stored_data import Library
from fedward.studies.training.setup import Setup, prepare
from fedward.studies.verification.verification import (
    Contradiction,
    Findings,
    Nothing,
    Unverifiable,
    require_same,
)

_MEASURES = ("accuracy", "loss", "attack_success", "attack_cost")
TOLERANCE = 0.005
"""How far a share may be from the stored one where another engine or version measures it again."""


def verify_training(findings: Findings, manifest: Manifest, library: Library) -> None:
    """Computes again what the files of a training say, each part by itself."""
    directory = RunDirectory(findings.path)
    result: TrainingResult | None = None
    with findings.step("epsilon", "result.json", "ε of the result, from the ledgers"):
        found = directory.result()
        assert found is None or isinstance(found, TrainingResult)
        result = found
        _require_known(directory, manifest, finished=result is not None)
    verify_claims(findings)
    rounds = _verify_rounds(findings, directory, result)
    state = _verify_state(findings, directory, result)
    if result is not None and state is not None:
        with findings.step("model", "model.pt", "the released model is that of the checkpoint"):
            _require_model(findings.path / "model.pt", state.parameters)
    _verify_with_data(findings, manifest, library, result, state, rounds)


def verify_claims(findings: Findings) -> None:
    """Every ε that the ledgers claim, computed from them."""
    for name in ("ledger.json", "papers-ledger.json"):
        file = findings.path / name
        if not file.is_file():
            continue
        with findings.step("claims", name, f"what {name} claims, from its entries"):
            checks = ledger_file.verify(read_text(file))
            for check in checks:
                if not check.holds:
                    raise Contradiction(f"{check.claimed}: {check.problem}, {check.recomputed:.6g}")
            if not checks:
                raise Nothing


def _require_known(directory: RunDirectory, manifest: Manifest, *, finished: bool) -> None:
    spent = directory.spent(manifest, finished=finished)
    if spent.problem:
        raise InvalidValue(spent.problem)
    spent.guarantee(manifest)


def _verify_rounds(findings: Findings, directory: RunDirectory, result: TrainingResult | None) -> int:
    """What was measured, and what is known of cohorts, beside the result; how many rounds are measured."""
    metrics: list[MeasuredRound] = []
    telemetry: list[TelemetryRound] = []
    with findings.step("rounds", "rounds.jsonl", "what was measured, round after round"):
        metrics = directory.metrics()
        _require_in_order(metrics)
    with findings.step("telemetry", "telemetry.jsonl", "cohorts and norms, round after round"):
        telemetry = directory.telemetry()
        _require_in_order(telemetry)
    measured = metrics[-1].round + 1 if metrics else 0
    if result is not None and metrics and measured == result.rounds:
        with findings.step("rounds", "result.json", "the result says what was last measured"):
            _require_measured(metrics[-1], result)
    if result is not None and telemetry:
        with findings.step("telemetry", "result.json", "the result says what is known of cohorts"):
            _require_telemetry(telemetry, result)
    return measured


def _require_in_order(records: Sequence[OfRound]) -> None:
    if not records:
        raise Nothing
    if any(second.round <= first.round for first, second in itertools.pairwise(records)):
        raise Contradiction("has rounds that do not follow each other")


def _require_measured(measured: Measured, result: Measured, tolerance: float = 0.0) -> None:
    for name in _MEASURES:
        stated, found = getattr(result, name), getattr(measured, name)
        if stated is None or found is None or abs(stated - found) > tolerance * max(1.0, abs(stated)):
            require_same(name, stated, found)


def _require_telemetry(telemetry: list[TelemetryRound], result: TrainingResult) -> None:
    require_same("a telemetry of so many rounds", len(telemetry), result.rounds)
    rejected = sum(len(each.rejected) for each in telemetry)
    require_same("rejected updates", rejected, result.rejected_updates)
    kept = [KeptRound(round=each.round, why=each.kept) for each in telemetry if each.kept]
    require_same("rounds that left the model", [each.to_json() for each in kept], _kept(result))


def _kept(result: TrainingResult) -> list[dict[str, object]]:
    return [each.to_json() for each in result.kept_rounds]


def _verify_state(
    findings: Findings, directory: RunDirectory, result: TrainingResult | None
) -> ServerState | None:
    """The checkpoint beside ledger and result."""
    file = findings.path / "checkpoint.pt"
    if not file.is_file():
        return None
    found: ServerState | None = None
    with findings.step("checkpoint", file.name, "the checkpoint is of the rounds that the ledger has"):
        found = state = checkpoint.from_bytes(read_archive(file), str(file))
        if result is not None:
            require_same("rounds", state.round, result.rounds)
        if (findings.path / "ledger.json").is_file():
            _require_ledger(state.ledger, directory.ledger(), finished=result is not None)
    return found


def _require_ledger(own: Ledger, stored: Ledger, *, finished: bool) -> None:
    """A ledger on disk is that of the state, or has the next round, too."""
    if stored.rounds < own.rounds and stored.reserved is None:
        require_same("a ledger of so many rounds", own.rounds, stored.rounds)
    if finished:
        require_same("a ledger", own.spending, stored.spending)


def _require_model(file: Path, parameters: Tensor) -> None:
    """The parameters of the checkpoint are in the released model; what else that holds is not trained."""
    try:
        found = torch.load(io.BytesIO(read_archive(file)), map_location="cpu", weights_only=True)
        flat = flatten_state(found)
    except Exception as error:  # damage shows as anything
        raise InvalidValue(f"{file} is damaged and cannot be read: {error}") from error
    if flat.numel() != parameters.numel():
        raise Unverifiable("it holds more than what is trained")
    if not torch.equal(flat, parameters):
        raise Contradiction("does not hold the parameters of checkpoint.pt")


def _verify_with_data(
    findings: Findings,
    manifest: Manifest,
    library: Library,
    result: TrainingResult | None,
    state: ServerState | None,
    rounds: int,
) -> None:
    """What can only be computed again with the data."""
    setup: Setup | None = None
    with findings.step("data", "run.json", "the digest of the data"):
        setup = _setup(manifest, library)
    if setup is None:
        for what in ("spending", "measured"):
            findings.trust(what, f"{_WORDS[what]}: the data is not at hand")
        return
    if state is not None:
        with findings.step("spending", "ledger.json", _WORDS["spending"]):
            require_spending(setup, state, RunDirectory(findings.path).ledger())
        if rounds == state.round and setup.federation.test is not None:
            with findings.step("measured", "rounds.jsonl", _WORDS["measured"]):
                stored = RunDirectory(findings.path).metrics()[-1]
                same = not changes(manifest, ComputedBy(engine=setup.engine(IN_PROCESS), versions=versions()))
                again = measure_again(setup, state.parameters)
                _require_measured(again, stored, 0.0 if same else TOLERANCE)


_WORDS = {
    "spending": "the ledger is that of the experiment in run.json",
    "measured": "accuracy, and success of the attack, of the last model on the test examples",
}


def require_spending(setup: Setup, state: ServerState, ledger: Ledger) -> None:
    """Raises where a ledger is not what the experiment spends in so many rounds."""
    if setup.algorithm.accounting == "users":
        raise Unverifiable("who took part decides what each user spends")
    expected = setup.algorithm.planned_ledger(setup.federation.num_users, state.round)
    if any(not entry.released for entry in ledger.entries) or ledger.rounds != state.round:
        raise Unverifiable("rounds were charged that were not released")
    if mechanisms(expected.spending) or mechanisms(ledger.spending):
        require_same("that it spends", list(ledger.spending), list(expected.spending))


def measure_again(setup: Setup, parameters: Tensor) -> Measured:
    """What is known of a model, measured here."""
    assert setup.federation.test is not None
    if parameters.numel() != ParameterSpec.of(setup.model).size:
        raise Contradiction("is not of the model that run.json names")
    with open_backend(setup.model, setup.federation, IN_PROCESS, also=setup.measured_on) as backend:
        if setup.goal is None:
            found = backend.evaluate(parameters, setup.federation.test)
            return Measured(accuracy=found.accuracy, loss=found.loss)
        section = setup.experiment.attack
        bound = section.cost_bound if section is not None else None
        return Measured(**measure(backend, parameters, setup.goal, cost_bound=bound).to_record())


def _setup(manifest: Manifest, library: Library) -> Setup:
    """The experiment with its data, which must be that of the run."""
    setup = load_setup(manifest.experiment, library)
    if manifest.data.digest is not None:
        require_same("data with the digest", manifest.data.digest, data_digest(setup.federation))
    return setup


def load_setup(content: dict[str, object], library: Library) -> Setup:
    """A stored experiment made ready; where that cannot be done here, it is no damage."""
    try:
        experiment, federation = library.load(content)
        return prepare(experiment, federation=federation)
    except InvalidValue as error:
        raise Unverifiable(str(error)) from error
