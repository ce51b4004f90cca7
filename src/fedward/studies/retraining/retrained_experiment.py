"""The experiment of a certificate: as its run directory has it, and the check that it is the same one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedward.backends.compute import Compute
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.certificates.claims import Claims
from fedward.certificates.others.any_certificate import AnySetting
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.tally import Scores
from fedward.certificates.trust import describe_noise
from fedward.rundir.certified_record import certificate_files
from fedward.rundir.computed_by import changes, list_changes, versions
from fedward.rundir.manifest import ComputedBy, Manifest
from fedward.rundir.same_run import differences
from fedward.rundir.store import RunDirectory
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.certification.other_claims import other_setting_of
from fedward.studies.training.setup import Setup
from fedward.studies.training.training_study import manifest

_GIVE = "give the experiment file (--experiment, in Python the second argument)"
_NATIVE = "native engine"


@dataclass(frozen=True, kw_only=True)
class BesideCertificate:
    """What ``run.json`` beside a certificate says of the trainings behind it.

    Args:
      file: ``run.json``.
      manifest: what it holds.
      variant: the name of the variant that the certificate is of.
    """

    file: Path
    manifest: Manifest
    variant: str

    @property
    def content(self) -> dict[str, Any]:
        """The experiment, without where its data and weights lie."""
        return dict((self.manifest.variants or {})[self.variant])


def read_beside(certificate: Path) -> BesideCertificate | None:
    """What lies beside a certificate; None where there is no ``run.json``, or none that is about it."""
    folder = certificate.parent
    if not (folder / "run.json").is_file():
        return None
    found = RunDirectory(folder).manifest()
    files = certificate_files(folder, list(found.variants or ()))
    of = [variant for variant, file in files.items() if file.name == certificate.name]
    if not of:
        return None
    return BesideCertificate(file=folder / "run.json", manifest=found, variant=of[0])


def require_beside(certificate: Path) -> BesideCertificate:
    """The same; raises where it does not say which experiment it was."""
    found = read_beside(certificate)
    if found is None:
        raise InvalidValue(
            f"{certificate} must lie in its run directory, beside run.json, to be trained again, got it "
            f"without: {_GIVE}"
        )
    return found


def require_weights(beside: BesideCertificate, content: dict[str, Any]) -> None:
    """Refuses an experiment from ``run.json`` with initial weights, unless it was said where they lie."""
    model = content.get("model")
    if beside.manifest.weights and not (isinstance(model, dict) and model.get("weights")):
        raise InvalidValue(
            f"{beside.file} does not say where the weights lie that its trainings started from "
            f"({beside.manifest.weights}); give them with --set model.weights=PATH"
        )


def require_experiment_of(
    certificate: Certificate, scores: Scores, setup: Setup, beside: BesideCertificate | None, source: str
) -> None:
    """Refuses to train another experiment again than the certificate is about, with all that differs.

    Args:
      certificate: what is claimed.
      scores: the stored scores.
      setup: the experiment that would be trained again.
      beside: what ``run.json`` says, where there is one.
      source: the name of the experiment, for errors.
    """
    if setup.attack is not None:
        raise InvalidValue(f"a certificate is about trainings without attackers, got an [attack] in {source}")
    found = list(_differences(certificate, scores, setup))
    if beside is not None:
        now = manifest(setup)
        found += differences(beside.content, now.experiment, "experiment")
        found += differences(beside.manifest.data.to_json(), now.data.to_json(), "data")
        stored = beside.manifest.code
        if others := [name for name, digest in now.code.items() if stored.get(name) != digest]:
            raise InvalidValue(
                f"own code must be that of the trainings, got another source of {', '.join(others)} than "
                f"{beside.file} was begun with; put it back"
            )
    if found:
        raise InvalidValue(
            f"{source} must be the experiment of the certificate, got another (there: the certificate, here: "
            f"{source}): {', '.join(found)}"
        )


def _differences(certificate: Certificate, scores: Scores, setup: Setup) -> Iterator[str]:
    setting, test = certificate.setting, setup.federation.test
    if test is None:
        yield "test examples (some there, none here)"
        return
    rule = setting.confidence
    claims = Claims(
        replicas=rule.replicas,
        earlier=rule.looks[:-1],
        threats=setting.threats,
        attendance=setting.attendance,
        behaviour=setting.behaviour,
        score=certificate.score,
        method=rule.method,
        error=rule.error,
        simultaneous=rule.simultaneous,
        by=setting.by if isinstance(setting, OtherSetting) else None,
    )
    # The data first: what else differs mostly follows from it.
    again = (setting_of if claims.by is None else other_setting_of)(claims, setup)
    for name, what in (
        ("data", "digest of the data"),
        ("initial_model", "digest of the initial model"),
        ("users", "number of users"),
        ("delta", "delta"),
        ("accountant", "accountant"),
    ):
        there, here = vars(setting)[name], vars(again)[name]
        if there != here:
            yield f"{what} ({there} there, {here} here)"
    if setting.ledger != again.ledger:
        there, here = (
            f"{_noise_in_words(each)}, {each.ledger.sampling}, rounds: {each.ledger.rounds}"
            for each in (setting, again)
        )
        yield f"ledger ({there} there, {here} here)"
    shapes = (certificate.seed, certificate.examples, certificate.classes)
    own = (setup.experiment.seed, len(test), setup.federation.num_classes)
    for name, there, here in zip(("seed", "test examples", "classes"), shapes, own, strict=True):
        if there != here:
            yield f"{name} ({there} there, {here} here)"
    if scores.labels is not None and not np.array_equal(scores.labels, test.y.numpy()):
        yield "labels of the test examples"


def _noise_in_words(setting: AnySetting) -> str:
    if setting.ledger.reason:
        return "no guarantee"
    return describe_noise(setting.ledger.spending if isinstance(setting, OtherSetting) else setting.spending)


def why_not_bits(beside: BesideCertificate | None, setup: Setup, compute: Compute) -> str:
    """Why other bits than the stored ones may come out, for people; empty where they must be the same."""
    if beside is None:
        return "there is no run.json that says which engine computed them"
    engine = setup.engine(compute)
    now = ComputedBy(engine=engine, versions=versions())
    if changed := [*list_changes(beside.manifest), *changes(beside.manifest, now)]:
        return f"computed by {'; '.join(changed)}"
    if not engine.startswith(_NATIVE):
        return "the generic engine does not say which instructions of a processor it used"
    return ""
