"""``fedward certify``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fedward.backends.engine import chosen
from fedward.certify.certificate_file import dumps
from fedward.certify.statements import statements
from fedward.certify.tally import Scores
from fedward.commands.output import AsJson
from fedward.commands.replicas import BlockSize, SaveSpace, Vary
from fedward.commands.run import Data, Device, EngineOption, File, Set, WorkersOption
from fedward.core.validate import InvalidValue
from fedward.experiment import config
from fedward.experiment.attack_costs import AttackCosts, attack_costs, cost_bound, costs
from fedward.experiment.attacked_variants import attacked_variants
from fedward.experiment.backend import check_workers, engine_in_words
from fedward.experiment.certification import Certified, Claims, certified
from fedward.experiment.digest import data_digest
from fedward.experiment.files import write_atomically
from fedward.experiment.overrides import source_of
from fedward.experiment.replica_results import load_replicas, load_tally
from fedward.experiment.replica_run import ReplicaRun, prepare_variants, run_replicas
from fedward.experiment.replica_store import ReplicaDirectory
from fedward.experiment.store import open_run
from fedward.experiment.vary import Axis, variants
from fedward.privacy.group import THREATS
from fedward.report import attack_cost, certified_accuracy
from fedward.report import replicas as report

Count = Annotated[int, typer.Option("--replicas", "-m", help="M, how many trainings; fixed beforehand.")]
Attackers = Annotated[
    str | None,
    typer.Option(
        "--attackers",
        metavar="K,K,...",
        help="With an [attack] table: how many users attack, or poisoned examples; its cost is bounded.",
    ),
]
ThreatOption = Annotated[
    list[str] | None, typer.Option("--threat", help="inject, present or compromise; all three if none.")
]
AttendanceOption = Annotated[
    str, typer.Option("--attendance", help="drawn, every-round, or chosen: when attackers take part.")
]
ScoreOption = Annotated[str, typer.Option("--score", help="confidence or vote.")]
MethodOption = Annotated[
    str | None, typer.Option("--method", help="How means are bounded; betting, or clopper_pearson for votes.")
]
ErrorOption = Annotated[float, typer.Option("--error", help="ψ, with which the certificate may fail.")]
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="ψ for all test examples together, not for each of them.")
]
Out = Annotated[Path | None, typer.Option("--out", help="The run directory; else runs/NAME-certified.")]


def certify_command(
    file: File,
    replicas: Count = 1000,
    changes: Set = None,
    vary: Vary = None,
    attackers: Attackers = None,
    threat: ThreatOption = None,
    attendance: AttendanceOption = "drawn",
    score: ScoreOption = "confidence",
    method: MethodOption = None,
    error: ErrorOption = 0.01,
    simultaneous: Simultaneous = False,
    out: Out = None,
    data: Data = None,
    workers: WorkersOption = None,
    device: Device = "cpu",
    engine: EngineOption = None,
    save_space: SaveSpace = False,
    block: BlockSize = None,
    as_json: AsJson = False,
) -> None:
    """Train M replicas, or go on with them, and certify what attackers cannot change.

    Without an [attack] table: every test prediction, as a certificate for each variant with the scores that
    it can be checked from. With one, and --attackers: the cost of the attack, measured and bounded.
    """
    engine_chosen = chosen(engine)
    check_workers(workers, device)
    source = source_of(str(file), changes or [])
    content = config.read_content(file, changes or [])
    axes = [Axis.parse(text) for text in vary or []]
    under_attack = _numbers(content, attackers)
    names = list(variants(content, axes))
    attacked = attacked_variants(content, axes, under_attack, source, data) if under_attack else None
    contents = variants(content, axes) if attacked is None else attacked.contents
    experiments = {name: config.from_content(each, source) for name, each in contents.items()}
    claims = Claims(
        replicas=replicas,
        threats=tuple(threat or THREATS),  # type: ignore[arg-type]  # the setting checks these three
        attendance=attendance,  # type: ignore[arg-type]
        score=score,  # type: ignore[arg-type]
        method=method,
        error=error,
        simultaneous=simultaneous,
    )
    tallied = score == "vote" and claims.confidence.method == "clopper_pearson"
    if save_space and not (tallied or under_attack):
        raise InvalidValue(
            "--save-space needs --score vote, or an attack: bounds on confidences and by other methods than "
            f"clopper_pearson need every replica, got --score {score} and {claims.confidence.method}"
        )
    wanted = ReplicaRun(
        variants=prepare_variants(experiments, data), replicas=replicas, save_space=save_space, block=block
    )
    # What cannot be certified is said now, not after hours of training.
    digest = data_digest(wanted.first.federation)
    clean = {name: wanted.variants[attacked.names[name, 0] if attacked else name] for name in names}
    settings = {name: claims.setting(setup, digest) for name, setup in clean.items()}
    bounds = {name: cost_bound(setup) for name, setup in clean.items()} if under_attack else {}
    path = out or Path("runs") / f"{file.stem}-certified"
    console = Console(stderr=as_json)
    report.heading(console, wanted, path)
    first = wanted.first
    console.print(engine_in_words(first.model, first.federation, device, engine_chosen), highlight=False)
    with open_run(path) as run:
        directory = ReplicaDirectory(run, save_space=save_space)
        if (finished := directory.finished()) > replicas:
            raise InvalidValue(
                f"number of replicas must be fixed beforehand, got {replicas} where {finished} are finished"
            )
        steps = run_replicas(wanted, directory, workers=workers, device=device, engine=engine_chosen)
        report.progress(console, wanted, steps)
        if attacked is not None:
            by_name: dict[str, AttackCosts] = {}
            for name, setting in settings.items():
                own = {k: attacked.names[name, k] for k in under_attack}
                measured = {k: costs(wanted.variants[each], path, each) for k, each in own.items()}
                by_name[name] = attack_costs(setting, bounds[name], measured, most=max(under_attack))
            result = {name: attack_cost.record(each) for name, each in by_name.items()}
            attack_cost.draw(by_name, path / "attack_cost.png")
        else:
            found: dict[str, Certified] = {}
            for name, setting in settings.items():
                found[name] = certified(setting, _scores(path, name, score, tallied))
                _write(path, found[name], name if len(settings) > 1 else None)
            result = {name: certified_accuracy.record(each) for name, each in found.items()}
            certified_accuracy.draw(found, path / "certified_accuracy.png")
        write_atomically(path / "certified.json", (json.dumps(result, indent=1) + "\n").encode())
    if as_json:
        print(json.dumps({"variants": result, "directory": str(path)}))
    elif under_attack:
        attack_cost.table(console, by_name)
        console.print(f"attack_cost.png and certified.json are in {path}", highlight=False)
    else:
        _print(console, found)
        console.print(f"certificates and certified_accuracy.png are in {path}", highlight=False)


def _numbers(content: Mapping[str, Any], attackers: str | None) -> tuple[int, ...]:
    """The numbers of attackers to try, 0 first; none where predictions are certified."""
    if ("attack" in content) != (attackers is not None):
        raise InvalidValue(
            "an [attack] table and --attackers belong together (with them the cost of the attack is "
            f"certified, without them predictions), got {'no' if attackers is None else 'only'} --attackers"
        )
    if attackers is None:
        return ()
    found = Axis.parse(f"attack.who.count={attackers}").values
    if not all(isinstance(k, int) and not isinstance(k, bool) and k >= 0 for k in found):
        raise InvalidValue(f"attackers must be whole numbers, separated by commas, got {attackers!r}")
    return tuple(sorted({0, *found}))


def _scores(path: Path, variant: str, score: str, tallied: bool) -> Scores:
    if tallied:
        return load_tally(path, variant)
    scores = load_replicas(path, variant)
    return scores.votes() if score == "vote" else scores


def _print(console: Console, found: Mapping[str, Certified]) -> None:
    certified_accuracy.table(console, found)
    if len(found) == 1:
        (only,) = found.values()
        certified_accuracy.one(console, only)
        for line in statements(only.certificate):
            console.print(line, highlight=False, soft_wrap=True, markup=False)


def _write(path: Path, found: Certified, variant: str | None) -> None:
    """A certificate and its scores side by side; the scores first, so that none is ever without."""
    ending = f"-{variant}" if variant else ""
    name = f"certificate-scores{ending}.npz"
    write_atomically(path / name, found.replicas.to_bytes())
    write_atomically(path / f"certificate{ending}.json", dumps(found.certificate, name).encode())
