"""The certificates of a run directory, with every ε computed again from their ledgers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.certificates.certified import papers_guarantee
from fedward.certificates.setting import Setting
from fedward.privacy import Guarantee
from fedward.privacy.caveats import add_caveat
from fedward.rundir.record_files import certificate_files, json_object, read_certificate
from fedward.rundir.replica_ledgers import NAME, OneTraining
from fedward.rundir.spent import guarantee_of_server, require_number, require_same

# Of a summary: a number, and the guarantee that it is of.
_NUMBERS = {"epsilon": "guarantee", "papers_epsilon": "papers_guarantee"}


@dataclass(frozen=True, kw_only=True, eq=False)
class CertifiedRecord:
    """The certificates of a run directory by variant, and ``certified.json``; None without it."""

    certificates: dict[str, Certificate]
    summary: dict[str, Any] | None


def read_certified(
    path: Path, variants: Sequence[str], trainings: Mapping[str, OneTraining], caveat: str
) -> CertifiedRecord:
    """Reads what is certified. Bounds and k are as the files have them, every ε is computed from a ledger.

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
        require_same(certificate.releasing_all, _guarantee_of_release(_Key(certificate.setting)), file, file)
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
    return CertifiedRecord(certificates=found, summary=summary)


def _check_summary(
    stated: dict[str, Any], setting: Setting, caveat: str, file: Path, certificate: Path
) -> dict[str, Any]:
    """The summary of one variant with what its certificate's ledger comes to."""
    papers = papers_guarantee(setting)
    guarantees: dict[str, Guarantee | None] = {
        "guarantee": add_caveat(
            guarantee_of_server(setting.ledger, setting.delta, setting.accountant), caveat
        ),
        "papers_guarantee": None if papers is None else add_caveat(papers, caveat),
        "releasing_all": add_caveat(_guarantee_of_release(_Key(setting)), caveat),
    }
    fresh: dict[str, Any] = {}
    for name, guarantee in guarantees.items():
        if stated.get(name) is not None and guarantee is not None:
            require_same(_guarantee(stated[name], file), guarantee, file, certificate)
        fresh[name] = None if guarantee is None else guarantee.to_json()
    for name, of in _NUMBERS.items():
        guarantee = guarantees[of]
        fresh[name] = None if guarantee is None else guarantee.epsilon
        if name in stated:
            require_number(name, stated[name], fresh[name], file, certificate)
    fresh["statement"] = str(guarantees["guarantee"])
    # Of what older versions did not store nothing is made up.
    return stated | {name: value for name, value in fresh.items() if name in stated}


def _require_trained(setting: Setting, trained: OneTraining, file: Path, ledgers: Path) -> None:
    """Refuses a certificate whose ledger is not that of the replicas beside it."""
    own, other = setting.ledger, trained.ledger
    same = (
        own.spending == other.spending
        and (own.unit, own.adjacency, own.noise_source) == (other.unit, other.adjacency, other.noise_source)
        and setting.delta == trained.delta
    )
    if not same:
        one = OneTraining(ledger=own, delta=setting.delta, accountant=setting.accountant).guarantee()
        raise InvalidValue(
            f"{file} must have the ledger that its replicas were trained with, got one that comes to "
            f"{one}, where {ledgers} comes to {trained.guarantee()}"
        )


@dataclass(frozen=True)
class _Key:
    """A setting as a key: events that are composed of others have no hash."""

    setting: Setting

    def __hash__(self) -> int:
        return hash((repr(self.setting.ledger.spending), self.setting.confidence.looks))


# The page reads a certificate more than once, and all trainings together take pld seconds.
@lru_cache(maxsize=64)
def _guarantee_of_release(key: _Key) -> Guarantee:
    return key.setting.releasing_all()


def _guarantee(content: Any, file: Path) -> Guarantee:
    try:
        return Guarantee.from_json(content)
    except InvalidValue as error:
        raise InvalidValue(f"{file} is damaged: {error}") from error
