"""The certificates of a run directory, with every ε computed again from their ledgers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue, add_to_errors
from fedward.certificates.certificate import Certificate
from fedward.certificates.certificate_file import loads, read_certificate_text
from fedward.certificates.certified import papers_guarantee
from fedward.certificates.others.any_certificate import AnySetting
from fedward.privacy import Guarantee
from fedward.privacy.caveats import add_caveat
from fedward.rundir.file_record import json_object
from fedward.rundir.replica_ledgers import NAME, OneTraining, training_of
from fedward.rundir.spent import require_number, require_same

# Of a summary: a number, and the guarantee that it is of.
_NUMBERS = {"epsilon": "guarantee", "papers_epsilon": "papers_guarantee"}


def certificate_files(folder: Path, variants: Sequence[str]) -> dict[str, Path]:
    """Where the certificate of each variant is that has one, packed or not."""
    found = {}
    for variant in variants:
        name = f"certificate-{variant}" if len(variants) > 1 else "certificate"
        for file in (folder / f"{name}.json", folder / f"{name}.json.gz"):
            if file.is_file():
                found[variant] = file
                break
    return found


def read_certificate(file: Path) -> Certificate:
    """The certificate in a file, packed or not; nothing is recomputed."""
    try:
        return loads(read_certificate_text(file)).certificate
    except InvalidValue as error:
        raise InvalidValue(f"{file} cannot be used: {error}") from error


def read_certified(
    path: Path, variants: Sequence[str], trainings: Mapping[str, OneTraining], caveat: str
) -> tuple[dict[str, Certificate], dict[str, Any] | None]:
    """The certificate of each variant that has one, and ``certified.json``, None without it.

    Bounds and k are as the files have them, every ε is computed from a ledger.
    Raises if a file states another ε than the ledger in its certificate comes to, or if a certificate has
    another ledger than the replicas were trained with.

    Args:
      path: the run directory.
      variants: the names of all variants.
      trainings: what one training of each spends, as far as that is stored.
      caveat: what every ε must be read with.
    """
    files = certificate_files(path, variants)
    found = {}
    for variant, file in files.items():
        certificate = read_certificate(file)
        require_same(certificate.releasing_all, certificate.setting.releasing_all(), file, file)
        if variant in trainings:
            _require_trained(certificate.setting, trainings[variant], file, path / NAME)
        found[variant] = certificate
    summary = json_object(path / "certified.json")
    if summary is not None:
        summary |= {
            variant: _check_summary(
                summary[variant], found[variant].setting, caveat, path / "certified.json", file
            )
            for variant, file in files.items()
            if isinstance(summary.get(variant), dict)
        }
    return found, summary


def _check_summary(
    stated: dict[str, Any], setting: AnySetting, caveat: str, file: Path, certificate: Path
) -> dict[str, Any]:
    """The summary of one variant with what its certificate's ledger comes to."""
    papers = papers_guarantee(setting)
    guarantees: dict[str, Guarantee | None] = {
        "guarantee": training_of(setting).guarantee(caveat),
        "papers_guarantee": None if papers is None else add_caveat(papers, caveat),
        "releasing_all": add_caveat(setting.releasing_all(), caveat),
    }
    fresh: dict[str, Any] = {}
    for name, guarantee in guarantees.items():
        if stated.get(name) is not None and guarantee is not None:
            with add_to_errors(f"{file} is damaged: "):
                claimed = Guarantee.from_json(stated[name])
            require_same(claimed, guarantee, file, certificate)
        fresh[name] = None if guarantee is None else guarantee.to_json()
    for name, of in _NUMBERS.items():
        guarantee = guarantees[of]
        fresh[name] = None if guarantee is None or not guarantee.private else guarantee.epsilon
        if name in stated:
            require_number(name, stated[name], fresh[name], file, certificate)
    fresh["statement"] = str(guarantees["guarantee"])
    # Of what older versions did not store nothing is made up.
    return stated | {name: value for name, value in fresh.items() if name in stated}


def _require_trained(setting: AnySetting, trained: OneTraining, file: Path, ledgers: Path) -> None:
    """Refuses a certificate whose ledger is not that of the replicas beside it."""
    own, other = setting.ledger, trained.ledger
    same = (
        own.spending == other.spending
        and (own.unit, own.adjacency, own.noise_source) == (other.unit, other.adjacency, other.noise_source)
        and setting.delta == trained.delta
    )
    if not same:
        raise InvalidValue(
            f"{file} must have the ledger that its replicas were trained with, got one that comes to "
            f"{training_of(setting).guarantee()}, where {ledgers} comes to {trained.guarantee()}"
        )
