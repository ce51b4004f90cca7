"""The check that a sweep is written only into an empty directory or its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fedward.base.durable_files import write_atomically
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Sweep
from fedward.rundir.catalogue.facts import flat
from fedward.rundir.place import SWEPT, kind_of
from fedward.rundir.record_files import json_object
from fedward.rundir.same_run import differences

# A seed more is no other sweep; and where files lie is not part of what is run, what is in them is.
_FREE = ("seed", "data.data_dir", "model.weights", "attack.target_model")


def check_place(path: Path, sweep: Sweep) -> None:
    """Raises if the directory holds something else; values and seeds may have been added to a sweep."""
    kind = kind_of(path)
    if kind not in ("", "a sweep"):
        raise InvalidValue(f"{_expected_text(path)}, got the directory of {kind}; choose another with --out")
    stored, wanted = json_object(path / SWEPT), _describe_sweep(sweep)
    if stored is None:
        return
    there, here = stored.get("keys"), wanted["keys"]
    if not isinstance(there, list) or not all(isinstance(key, str) for key in there):
        raise InvalidValue(f"{path / SWEPT} is damaged: it must list the keys that vary")
    if set(there) != set(here):
        other = f"it varies {_list_text(there)} there, {_list_text(here)} here"
    elif found := list(differences(stored.get("experiment"), wanted["experiment"], "experiment")):
        other = f"{', '.join(found)} differ"
    else:
        return
    raise InvalidValue(
        f"{_expected_text(path)}, got that of another: {other}; choose another directory with --out"
    )


def begin_sweep(path: Path, sweep: Sweep) -> None:
    """Writes what is swept, before anything is trained, or checks that the directory is of this sweep."""
    check_place(path, sweep)
    if not (path / SWEPT).exists():
        write_atomically(path / SWEPT, (json.dumps(_describe_sweep(sweep), indent=1) + "\n").encode())


def _expected_text(path: Path) -> str:
    return f"{path} must be empty or of this sweep"


def _list_text(keys: list[str]) -> str:
    return ", ".join(sorted(keys)) or "nothing but seeds"


def _describe_sweep(sweep: Sweep) -> dict[str, Any]:
    """The keys that vary, and what all trainings have in common."""
    keys = [axis.key for axis in sweep.axes]
    shared = {
        key: value
        for key, value in flat(sweep.points[0].experiment.model_dump(mode="json"))
        if not any(key == each or key.startswith(f"{each}.") for each in (*_FREE, *keys))
    }
    return {"keys": keys, "experiment": shared}
