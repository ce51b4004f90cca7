"""The command, and the experiment file, that a run can be repeated with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fedward.attacks.inference import PropertyInference
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.config.vary import Axis, variants
from fedward.report.page.experiment_text import differing_keys, toml, value
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import MembershipResult
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord

_BUILT_IN = ("digits", "synthetic")
_COSTS = "The bounds on the attack's cost come from fedward certify --attackers"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to type, name and text of each file that it needs, what was typed when the run was begun (if that
    is known), and what else a reader must know."""

    command: str
    files: tuple[tuple[str, str], ...]
    typed: str
    notes: tuple[str, ...]


def _recipe(
    run: Record, words: Sequence[str], options: Sequence[str], texts: Mapping[str, str], notes: Sequence[str]
) -> Recipe:
    """One command for each file, into a directory of its own: a finished run is not run again in its own."""
    return Recipe(
        command="\n".join(
            shlex.join(["fedward", *words, f"{name}.toml", *options, "--out", f"runs/{name}-again"])
            for name in texts
        ),
        files=tuple((f"{name}.toml", text) for name, text in texts.items()),
        typed=str(run.manifest.environment.get("command", "")),
        notes=tuple(notes),
    )


def recipe_of_run(run: RunRecord) -> Recipe:
    """``fedward run`` with the run's own experiment."""
    notes = _notes(run.manifest, [run.experiment])
    return _recipe(run, ["run"], _data(run.experiment), {_stem(run): toml(run.experiment)}, notes)


def recipe_of_replicas(run: ReplicasRecord) -> Recipe:
    """``fedward replicas`` or ``fedward certify`` with as many trainings as are finished."""
    stem, experiments = _stem(run), list(run.experiments.values())
    options = ["-m", str(run.replicas or 1)]
    if run.certificates:
        options += _claims(next(iter(run.certificates.values())))
    options += ["--save-space"] if run.manifest.experiment.get("save_space") else []
    options += _data(experiments[0])
    axes = _axes(run.experiments)
    if axes is not None:
        vary = [f"{axis.key}={','.join(map(value, axis.values))}" for axis in axes]
        options = [*(part for each in vary for part in ("--vary", each)), *options]
        texts = {stem: toml(experiments[0])}
    else:
        texts = {
            f"{stem}-{number}": f"# {' '.join(name.split())}\n{toml(content)}"
            for number, (name, content) in enumerate(run.experiments.items(), 1)
        }
    notes = [*_drawn(run), *_notes(run.manifest, experiments)]
    return _recipe(run, ["certify" if run.certificates else "replicas"], options, texts, notes)


def _drawn(run: ReplicasRecord) -> list[str]:
    """Whether the command trains the same replicas: those of a certificate belong to what it claims."""
    if run.certificates:
        return [] if run.draw else ["Its replicas are bound to no claims: this command draws others."]
    costs = run.certified is not None
    if run.draw:
        where = _COSTS if costs else "These are replicas of fedward certify"
        return [f"{where}, which draws them for what is claimed; this command trains others."]
    return [f"{_COSTS}; these are its trainings."] if costs else []


def recipe_of_inference(run: InferenceRecord) -> Recipe:
    """``fedward infer`` with the run's own experiment, as far as its files say what was asked for."""
    experiment = dict(run.experiment)
    notes = _notes(run.manifest, [experiment])
    if run.kind == "membership":
        options = [f"--unit={run.about['unit']}"]
        if isinstance(run.result, MembershipResult):
            options += [f"--targets={run.result.targets}", f"--shadows={run.result.shadows}"]
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
    options += _data(experiment)
    return _recipe(run, ["infer", run.kind], options, {_stem(run): toml(experiment)}, notes)


def _whole_number_of_users(experiment: Mapping[str, Any], manifest: Manifest) -> dict[str, Any]:
    """``[privacy]`` as it was in the file: half of its users are in each training that is attacked."""
    privacy = dict(experiment.get("privacy") or {})
    half, users = privacy.pop("users", None), manifest.data.users
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
    varying = differing_keys(list(experiments.values()))
    if any(None in values for values in varying.values()):
        return None
    try:
        axes = [Axis(key=key, values=tuple(dict.fromkeys(values))) for key, values in varying.items()]
        names = set(variants(next(iter(experiments.values())), axes))
        return axes if len(experiments) == 1 or names == set(experiments) else None
    except InvalidValue:
        return None


def _stem(run: Record) -> str:
    name = run.path.resolve().name
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "experiment"


def _data(experiment: Mapping[str, Any]) -> list[str]:
    return [] if experiment["data"].get("name") in _BUILT_IN else ["--data", "DIR"]


def _notes(manifest: Manifest, experiments: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    if any(_data(experiment) for experiment in experiments):
        notes.append("DIR is where the data lies; fedward compares what it holds with what was trained on.")
    if manifest.weights:
        notes.append(f"It started from weights of a file, which the run does not name: {manifest.weights}.")
    if manifest.data.target_model is not None:
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
