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
from fedward.certificates.others import DisjointGroups, Proof, RandomGroups
from fedward.certificates.setting import Setting
from fedward.config.own_code import code_names
from fedward.config.toml_text import experiment_text, toml
from fedward.config.vary import Axis, variants
from fedward.reports.page.again.objects_table import objects_table
from fedward.reports.page.charts.tables import Table
from fedward.reports.templates import lines
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.catalogue.facts import differing_keys
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import MembershipResult
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord

_BUILT_IN = ("digits", "synthetic")
_WHICH = "--property=WHICH"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to type, name and text of each file that it needs, what was typed when the run was begun (if that
    is known), and what else a reader must know. A run of a Python program has its objects instead of a file
    and a command."""

    command: str
    files: tuple[tuple[str, str], ...]
    typed: str
    notes: tuple[str, ...]
    objects: Table | None = None


def _recipe(run: Record, words: Sequence[str], options: Sequence[str], texts: Mapping[str, str]) -> Recipe:
    """One command for each file, into a directory of its own: a finished run is not run again in its own."""
    experiments = list(run.experiments.values()) if isinstance(run, ReplicasRecord) else [run.experiment]
    objects = objects_table(_as_one(run))
    code = sorted({*run.manifest.code, *(name for each in experiments for name in code_names(each))})
    notes = lines(
        "page/again/recipe_notes.txt",
        run=run,
        manifest=run.manifest,
        replicas=isinstance(run, ReplicasRecord),
        named_property=_WHICH in options,
        own_data=objects is None and any(map(_data, experiments)),
        objects=objects is not None,
        code=code,
        system_noise=any(map(_system, experiments)),
    )
    typed = str(run.manifest.environment.get("command", "")).strip()
    if objects is not None:
        return Recipe(command="", files=(), typed=typed, notes=tuple(notes), objects=objects)
    options = [*options, *(["--trust"] if code else [])]
    return Recipe(
        command="\n".join(
            shlex.join(["fedward", *words, f"{name}.toml", *options, "--out", f"runs/{name}-again"])
            for name in texts
        ),
        files=tuple((f"{name}.toml", text) for name, text in texts.items()),
        typed=typed,
        notes=tuple(notes),
    )


def _as_one(run: Record) -> dict[str, Any]:
    """The experiment; of several variants that differ, each under its name."""
    if not isinstance(run, ReplicasRecord):
        return run.experiment
    first, *others = run.experiments.values()
    return first if not others else dict(run.experiments)


def recipe_of(run: Record) -> Recipe:
    """How to do a run again, whatever kind it is of."""
    if isinstance(run, RunRecord):
        return recipe_of_run(run)
    if isinstance(run, AuditRecord):
        return recipe_of_audit(run)
    return recipe_of_replicas(run) if isinstance(run, ReplicasRecord) else recipe_of_inference(run)


def recipe_of_audit(run: AuditRecord) -> Recipe:
    """``fedward audit`` with the run's own experiment."""
    options = [f"--{key}={each}" for key, each in run.about.items() if each is not None]
    options += [] if run.result is None else [f"--error={run.result.error:g}"]
    options += _data(run.experiment)
    return _recipe(run, ["audit"], options, {_stem(run): experiment_text(run.experiment)})


def recipe_of_run(run: RunRecord) -> Recipe:
    """``fedward run`` with the run's own experiment."""
    return _recipe(run, ["run"], _data(run.experiment), {_stem(run): experiment_text(run.experiment)})


def recipe_of_replicas(run: ReplicasRecord) -> Recipe:
    """``fedward replicas`` or ``fedward certify`` with as many trainings as are finished."""
    stem, first = _stem(run), next(iter(run.experiments.values()))
    options = ["-m", str(run.replicas or 1)]
    if run.certificates:
        options += _claims(next(iter(run.certificates.values())))
    options += ["--save-space"] if run.manifest.experiment.get("save_space") else []
    options += _data(first)
    axes = _axes(run.experiments)
    if axes is not None:
        vary = [f"{axis.key}={','.join(map(toml, axis.values))}" for axis in axes]
        options = [*(part for each in vary for part in ("--vary", each)), *options]
        texts = {stem: experiment_text(first)}
    else:
        texts = {
            f"{stem}-{number}": f"# {' '.join(name.split())}\n{experiment_text(content)}"
            for number, (name, content) in enumerate(run.experiments.items(), 1)
        }
    return _recipe(run, ["certify" if run.certificates else "replicas"], options, texts)


def recipe_of_inference(run: InferenceRecord) -> Recipe:
    """``fedward infer`` with the run's own experiment, as far as its files say what was asked for."""
    experiment = dict(run.experiment)
    if run.kind == "membership":
        options = [f"--unit={run.about['unit']}"]
        if isinstance(run.result, MembershipResult):
            options += [f"--targets={run.result.targets}", f"--shadows={run.result.shadows}"]
        if run.about["unit"] == "user":
            experiment["privacy"] = _whole_number_of_users(experiment, run.manifest)
    else:
        usual = {"kind": run.kind, "property": run.about.get("property"), **asdict(PropertyInference())}
        own = {key: each for key, each in run.about.items() if each is not None and each != usual.get(key)}
        options = [_WHICH, *(f"--{key.replace('_', '-')}={each}" for key, each in own.items())]
    options += _data(experiment)
    return _recipe(run, ["infer", run.kind], options, {_stem(run): experiment_text(experiment)})


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
    options = [] if isinstance(setting, Setting) else _proof(setting.by)
    if set(setting.threats) != {"inject", "present", "compromise"}:
        options += [part for threat in setting.threats for part in ("--threat", threat)]
    method = "betting" if certificate.score == "confidence" else "clopper_pearson"
    if not isinstance(setting, Setting):  # it fixes these
        if isinstance(setting.by, DisjointGroups):
            return options
        score = "vote" if isinstance(setting.by, RandomGroups) else "confidence"
    else:
        options += ["--attendance", setting.attendance] if setting.attendance != "drawn" else []
        score = "confidence"
    claimed_and_usual = {
        "--score": (certificate.score, score),
        "--method": (rule.method, method),
        "--error": (rule.error, 0.01),
    }
    for option, (claimed, usual) in claimed_and_usual.items():
        options += [option, str(claimed)] if claimed != usual else []
    return options + ["--simultaneous"] * rule.simultaneous


def _proof(by: Proof) -> list[str]:
    """The options that ask for another proof than ours."""
    found = ["--by", by.name]
    if isinstance(by, DisjointGroups):
        return [*found, "--groups", str(by.groups)]
    if isinstance(by, RandomGroups):
        return [*found, "--group-size", str(by.size)]
    told = [] if by.attacked is None else ["--attacked-rounds", ",".join(map(str, by.attacked))]
    return [*found, *told]


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


def _system(content: Any) -> bool:
    if isinstance(content, Mapping):
        return content.get("noise_source") == "system" or any(map(_system, content.values()))
    return False
