"""Many replicas computed again from their files: summary, ledgers, certificates and their summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedward.base.arrays_file import read_array
from fedward.base.json_lines import replace_non_finite
from fedward.base.validate import InvalidValue
from fedward.certificates.certified import Certified, certify_setting_by
from fedward.certificates.checking import check_file, read_evidence
from fedward.certificates.others import DisjointGroups, RandomGroups
from fedward.certificates.others.any_certificate import AnySetting
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.tally import Scores, Tally
from fedward.rundir.certified_record import certificate_files, read_certificate
from fedward.rundir.file_record import json_object
from fedward.rundir.manifest import Manifest
from fedward.rundir.replica_ledgers import read_ledgers
from fedward.rundir.replica_store import count_finished, stored_draw, stored_files
from fedward.rundir.results import ReplicasResult
from fedward.rundir.run_record import load
from fedward.rundir.store import RunDirectory
from fedward.studies.replicas.group_trainings import group_ledger
from fedward.studies.replicas.replica_results import (
    load_group_votes,
    load_replicas,
    load_tally,
    summarise,
)
from fedward.studies.stored_data import Library
from fedward.studies.verification.verification import (
    FROM_TRAININGS,
    Contradiction,
    Findings,
    Unverifiable,
    require_near,
    require_same,
)
from fedward.studies.verification.verified_training import load_setup

_GUARANTEES = ("guarantee", "papers_guarantee", "releasing_all")
Summarise = Callable[[Mapping[str, Certified]], dict[str, Any]]
"""Makes what ``certified.json`` says of what was certified."""


def verify_replicas(
    findings: Findings, manifest: Manifest, library: Library, summarise_certified: Summarise
) -> None:
    """Computes again what the files of many replicas say, each part by itself."""
    path, names = findings.path, list(manifest.variants or {})
    files: list[Path] = []
    with findings.step("scores", "scores-*.npz", "scores of every replica from 0 on, of one draw"):
        files = stored_files(path)
        stored_draw(path)
    findings.check_scores(files)
    with findings.step("epsilon", "ledgers.json", "ε of one training of each variant, from its ledger"):
        trainings = read_ledgers(path)
        if not trainings:
            raise Unverifiable("no ledgers.json, as in runs of earlier versions")
        require_same("ledgers of", sorted(trainings), sorted(names))
        for each in trainings.values():
            each.guarantee()
    _verify_summary(findings, names)
    certificates = certificate_files(path, names)
    for name, file in certificates.items():
        _verify_certificate(findings, name, file)
    if (path / "certified.json").is_file():
        with findings.step("epsilon", "certified.json", "every ε that certified.json states"):
            load(path)
        with findings.step("certified", "certified.json", "the summary of what is certified"):
            _require_certified(path, manifest, certificates, summarise_certified)
    _verify_with_data(findings, manifest, library)


def _verify_summary(findings: Findings, names: list[str]) -> None:
    path = findings.path
    if not (path / "result.json").is_file():
        return
    with findings.step("summary", "result.json", "accuracy of each variant, from its replicas"):
        result = RunDirectory(path).result()
        assert isinstance(result, ReplicasResult)
        count = count_finished(path)
        if result.replicas < count:
            raise Unverifiable(f"it is of {result.replicas} replicas, and {count} are finished")
        stated, found = result.to_json(), summarise(path, names).to_json()
        for key in ("replicas", "variants"):
            require_same(key, stated[key], found[key])
        require_same("jobs", result.jobs_run, found.get("jobs_run", 0))


def _verify_certificate(findings: Findings, name: str, file: Path) -> None:
    path = findings.path
    with findings.step("certificate", file.name, f"{file.name}: bounds, k and accuracy, from its scores"):
        certificate, verdict = check_file(file)
        if not verdict.holds:
            raise InvalidValue(f"does not hold: {'; '.join(verdict.problems)}")
        assert certificate is not None
    with findings.step(
        "certificate_scores", file.name, f"{file.name}: its scores are those of the replicas beside it"
    ):
        stored, scores = read_evidence(file)
        count, looked = count_finished(path), stored.certificate.setting.confidence.replicas
        if count != looked:
            raise Unverifiable(f"it is of {looked} replicas, and {count} are finished")
        grouped = _grouped(stored.certificate.setting)
        again = _scores(path, name, scores, stored.certificate.score, grouped=grouped)
        if again.digest() != scores.digest():
            raise Contradiction("has other scores than the replicas beside it")


def _scores(path: Path, name: str, like: Scores, score: str, *, grouped: bool) -> Scores:
    """What the replicas say, in the form of the scores of a certificate."""
    if isinstance(like, Tally):
        return load_tally(path, name, grouped=grouped)
    if grouped:
        return load_group_votes(path, name)
    found = load_replicas(path, name)
    return found.votes() if score == "vote" else found


def _grouped(setting: AnySetting) -> bool:
    """Whether each replica was trained on a group of users."""
    return isinstance(setting, OtherSetting) and isinstance(setting.by, DisjointGroups | RandomGroups)


def _require_certified(
    path: Path, manifest: Manifest, files: Mapping[str, Path], summarise_certified: Summarise
) -> None:
    if not files:
        raise Unverifiable("costs of attacks are not computed again")
    certified = {}
    for name, file in files.items():
        certificate = read_certificate(file)
        _, scores = read_evidence(file)
        certified[name] = certify_setting_by(certificate.setting, scores, manifest.all_caveats)
    stated = json_object(path / "certified.json")
    found = replace_non_finite(summarise_certified(certified))
    for key in found:
        own = (stated or {}).get(key, {})
        for inner, value in found[key].items():
            # Guarantees, and the sentences about them, were computed from ledgers above; of what an older
            # version did not store there is nothing to compare.
            if inner in own and inner not in _GUARANTEES and not isinstance(value, str):
                require_near(f"{inner} of {key}", own[inner], value)


def _verify_with_data(findings: Findings, manifest: Manifest, library: Library) -> None:
    """What can only be computed again with the data."""
    path, variants = findings.path, manifest.variants or {}
    with findings.step("data", "labels.npz", "the labels are those of the test examples"):
        setups = {name: load_setup(content, library) for name, content in variants.items()}
        test = next(iter(setups.values())).federation.test
        if test is None or not (path / "labels.npz").is_file():
            raise Unverifiable("there are none")
        if read_array(path / "labels.npz", "labels").tolist() != test.y.tolist():
            raise Contradiction("are not those of the test examples")
    with findings.step("spending", "ledgers.json", "the ledgers are those of the experiments in run.json"):
        trainings = read_ledgers(path)
        for name, content in variants.items():
            setup = load_setup(content, library)
            expected = setup.algorithm.spent(setup.federation.num_users, setup.experiment.rounds)
            if manifest.experiment.get("groups"):
                expected = group_ledger(setup)
            if name in trainings:
                require_same(
                    "that one training spends", list(trainings[name].ledger.spending), list(expected.spending)
                )
    certified = certificate_files(path, list(variants))
    again = "; fedward certificate check FILE --retrain N does that" if certified else ""
    findings.trust("trainings", f"{FROM_TRAININGS}{again}")
