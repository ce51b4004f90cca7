"""The ledger of one training of each variant, beside its replicas: what every ε of them is computed from.

ledgers.json            for each variant its ledger, δ and accountant
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.base.strict_json import require_keys
from fedward.base.validate import InvalidValue
from fedward.certificates.others.any_certificate import AnySetting
from fedward.privacy import Guarantee, Ledger, ledger_file
from fedward.privacy.caveats import add_caveat
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.rundir.file_record import json_object
from fedward.rundir.run_files import RunFiles

NAME = "ledgers.json"
_FORMAT, _VERSION = "fedward replica ledgers", 1


@dataclass(frozen=True, kw_only=True)
class OneTraining:
    """What one training of a variant spends, at which δ and by which accountant that is stated."""

    ledger: Ledger
    delta: float
    accountant: str

    def guarantee(self, caveat: str = "") -> Guarantee:
        """What one training guarantees if it alone is released."""
        return add_caveat(guarantee_or_rdp(self.ledger, self.delta, self.accountant), caveat)


def training_of(setting: AnySetting) -> OneTraining:
    """What a certificate says that one training spends."""
    return OneTraining(ledger=setting.ledger, delta=setting.delta, accountant=setting.accountant)


def write_ledgers(files: RunFiles, variants: Mapping[str, OneTraining]) -> None:
    """Writes what one training of each variant spends; a directory of an older version gets it too."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "variants": {
            name: {
                "delta": each.delta,
                "accountant": each.accountant,
                "ledger": json.loads(ledger_file.dumps(each.ledger)),
            }
            for name, each in variants.items()
        },
    }
    files.write_if_changed(NAME, (json.dumps(content, indent=1) + "\n").encode())


def read_ledgers(path: Path) -> dict[str, OneTraining]:
    """What one training of each variant spends; nothing in a directory of an older version."""
    file = path / NAME
    content = json_object(file)
    if content is None:
        return {}
    try:
        require_keys(content, ("format", "version", "variants"), "it")
        if content["format"] != _FORMAT or content["version"] != _VERSION:
            raise InvalidValue(f"it must be of the format {_FORMAT!r}, version {_VERSION}")
        return {name: _one(each) for name, each in content["variants"].items()}
    except (InvalidValue, AttributeError) as error:
        raise InvalidValue(f"{file} cannot be used: {error}; the same command writes it again") from error


def _one(content: Any) -> OneTraining:
    require_keys(content, ("delta", "accountant", "ledger"), "a variant")
    ledger, _ = ledger_file.loads(json.dumps(content["ledger"]))
    found = OneTraining(ledger=ledger, delta=content["delta"], accountant=content["accountant"])
    found.guarantee()  # what is no δ, or no accountant, is said now
    return found
