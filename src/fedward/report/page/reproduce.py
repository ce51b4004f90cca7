"""The command, and the experiment file, that a run can be repeated with."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fedward.attacks.inference import PropertyInference
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.config.vary import Axis, variants
from fedward.report.page.experiment_text import toml, value
from fedward.rundir.catalogue.facts import flat
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import ReplicasRecord, RunRecord

_BUILT_IN = ("digits", "synthetic")
_COSTS = "The bounds on the attack's cost come from fedward certify --attackers"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to type, the file to give it, and what a reader must know.

    Attributes:
      command: what to type.
      files: name and text of each file that the command needs.
      typed: what was typed when the run was begun, if that is known.
      notes: what else is needed.
    """

    command: str
    files: tuple[tuple[str, str], ...]
    typed: str = ""
    notes: tuple[str, ...] = ()


def of_run(run: RunRecord) -> Recipe:
    """``fedward run`` with the run's own experiment."""
    file = f"{_stem(run.path.resolve().name)}.toml"
    command = shlex.join(["fedward", "run", file, *_data(run.experiment), *_elsewhere(file)])
    return Recipe(
        command=command,
        files=((file, toml(run.experiment)),),
        typed=_typed(run.manifest),
        notes=tuple(_notes(run.manifest, [run.experiment])),
    )


def of_replicas(run: ReplicasRecord) -> Recipe:
    """``fedward replicas`` or ``fedward certify`` with as many trainings as are finished."""
    stem, experiments = _stem(run.path.resolve().name), list(run.experiments.values())
    many = ["-m", str(run.replicas or 1)]
    options: list[str] = []
    if run.certificates:
        options = _claims(next(iter(run.certificates.values())))
    what = "certify" if run.certificates else "replicas"
    save = ["--save-space"] if run.manifest["experiment"].get("save_space") else []
    rest = [*many, *options, *save, *_data(experiments[0])]
    axes = _axes(run.experiments)
    notes = [*_drawn(run), *_notes(run.manifest, experiments)]
    if axes is not None:
        vary = [part for axis in axes for part in ("--vary", f"{axis.key}={_values(axis.values)}")]
        file = f"{stem}.toml"
        command = shlex.join(["fedward", what, file, *vary, *rest, *_elsewhere(file)])
        return Recipe(
            command=command,
            files=((file, toml(experiments[0])),),
            typed=_typed(run.manifest),
            notes=tuple(notes),
        )
    files = tuple(
        (f"{stem}-{number}.toml", f"# {name}\n{toml(content)}")
        for number, (name, content) in enumerate(
            ((" ".join(name.split()), content) for name, content in run.experiments.items()), 1
        )
    )
    command = "\n".join(shlex.join(["fedward", what, file, *rest, *_elsewhere(file)]) for file, _ in files)
    return Recipe(command=command, files=files, typed=_typed(run.manifest), notes=tuple(notes))


def _drawn(run: ReplicasRecord) -> list[str]:
    """Whether the command trains the same replicas: those of a certificate belong to what it claims."""
    if run.certificates:
        return [] if run.draw else ["Its replicas are bound to no claims: this command draws others."]
    costs = run.certified is not None
    if run.draw:
        where = _COSTS if costs else "These are replicas of fedward certify"
        return [f"{where}, which draws them for what is claimed; this command trains others."]
    return [f"{_COSTS}; these are its trainings."] if costs else []


def of_inference(run: InferenceRecord) -> Recipe:
    """``fedward infer`` with the run's own experiment, as far as its files say what was asked for."""
    file, experiment = f"{_stem(run.path.resolve().name)}.toml", dict(run.experiment)
    notes = _notes(run.manifest, [experiment])
    if run.kind == "membership":
        asked = {key: (run.result or {}).get(key) for key in ("targets", "shadows")}
        options = [f"--unit={run.about['unit']}"]
        options += [f"--{key}={number}" for key, number in asked.items() if number is not None]
        if run.about["unit"] == "user":
            experiment["privacy"] = _whole_number_of_users(experiment, run.manifest)
    else:
        usual = {"kind": run.kind, "property": run.about.get("property"), **asdict(PropertyInference())}
        own = {key: each for key, each in run.about.items() if each is not None and each != usual.get(key)}
        options = ["--property=WHICH", *(f"--{key.replace('_', '-')}={each}" for key, each in own.items())]
        notes.insert(
            0,
            "The files keep a fingerprint of the property, not its name: WHICH, and --users if the data was "
            "dealt anew, are in the command that it was begun with.",
        )
    command = ["fedward", "infer", run.kind, file, *options, *_data(experiment), *_elsewhere(file)]
    return Recipe(
        command=shlex.join(command),
        files=((file, toml(experiment)),),
        typed=_typed(run.manifest),
        notes=tuple(notes),
    )


def _whole_number_of_users(experiment: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """``[privacy]`` as it was in the file: half of its users are in each training that is attacked."""
    privacy = dict(experiment.get("privacy") or {})
    half, users = privacy.pop("users", None), (manifest.get("data") or {}).get("users")
    if isinstance(half, int) and isinstance(users, int) and half != max(1, users // 2):
        privacy["users"] = 2 * half
    return privacy


def _claims(certificate: Certificate) -> list[str]:
    """The options that fix what is claimed, where they are not the usual ones."""
    setting, rule = certificate.setting, certificate.setting.confidence
    options = []
    if set(setting.threats) != {"inject", "present", "compromise"}:
        options += [part for threat in setting.threats for part in ("--threat", threat)]
    if setting.attendance != "drawn":
        options += ["--attendance", setting.attendance]
    if certificate.score != "confidence":
        options += ["--score", certificate.score]
    if rule.method != ("betting" if certificate.score == "confidence" else "clopper_pearson"):
        options += ["--method", rule.method]
    if rule.error != 0.01:
        options += ["--error", f"{rule.error!r}"]
    return options + ["--simultaneous"] * rule.simultaneous


def _axes(experiments: Mapping[str, dict[str, Any]]) -> list[Axis] | None:
    """What ``--vary`` has to be told to get these variants; None if it cannot."""
    contents = list(experiments.values())
    if len(contents) == 1:
        return []
    all_keys = [dict(flat(content)) for content in contents]
    keys = list(dict.fromkeys(key for each in all_keys for key in each))
    varying = [key for key in keys if len({json.dumps(each.get(key)) for each in all_keys}) > 1]
    try:
        axes = [Axis(key=key, values=tuple(dict.fromkeys(each[key] for each in all_keys))) for key in varying]
        return axes if set(variants(contents[0], axes)) == set(experiments) else None
    except (KeyError, InvalidValue):
        return None


def _values(values: Sequence[Any]) -> str:
    return ",".join(map(value, values))


def _stem(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "experiment"


def _data(experiment: Mapping[str, Any]) -> list[str]:
    return [] if experiment["data"].get("name") in _BUILT_IN else ["--data", "DIR"]


def _elsewhere(file: str) -> list[str]:
    # In its own directory a finished run is printed again, not run again.
    return ["--out", f"runs/{file.removesuffix('.toml')}-again"]


def _typed(manifest: Mapping[str, Any]) -> str:
    known = manifest.get("environment")
    return str(known.get("command", "")) if isinstance(known, Mapping) else ""


def _notes(manifest: Mapping[str, Any], experiments: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    if any(_data(experiment) for experiment in experiments):
        notes.append("DIR is where the data lies; fedward compares what it holds with what was trained on.")
    data = manifest.get("data", {})
    if manifest.get("weights"):
        notes.append(
            f"It started from weights of a file, which the run does not name: {manifest['weights']}."
        )
    if isinstance(data, Mapping) and "target_model" in data:
        notes.append("The attackers' target model came from a file, which the run does not name.")
    if any(_system(experiment) for experiment in experiments):
        notes.append(
            "Its noise came from the operating system: another run will not end with the same model."
        )
    return notes


def _system(content: Any) -> bool:
    if isinstance(content, Mapping):
        return content.get("noise_source") == "system" or any(map(_system, content.values()))
    return False
