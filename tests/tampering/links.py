"""Links in every place that fedward writes to: what they lead to must stay as it was."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from fuzzing.limited_child import carry_out
from tampering.forged_runs import answer
from tampering.prepared_runs import SWEEP, TEXT

PRECIOUS = b"somebody's only copy"
PRETRAINING = """
seed = 1
epochs = 1
data = { name = "digits", users = 4 }
model = { name = "logistic_regression" }
training = { learning_rate = 0.1, batch_size = 50 }
"""
_RUN = "run plain.toml --out here"
_CERTIFY = "certify plain.toml -m 4 --score vote --out here"
_SWEEP = "sweep sweep.toml --out here"
_INFER = "infer membership plain.toml --set data.users=20 --unit user --targets 1 --shadows 4 --out here"
_PRETRAIN = "pretrain public.toml --out here/public.pt"
_PLAN = "plan --users 1000 --epsilon 2 --k 3 --picture here/plan.png"


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link at a place, and the command that would write there.

    ``begun`` has the command carried out once before, so that it goes on with what is there.
    """

    place: str
    command: str
    begun: bool = False


def _in_directory() -> list[Link]:
    run = ("run.json", "ledger.json", "checkpoint.pt", "result.json", "rounds.jsonl", "telemetry.jsonl")
    certified: tuple[str, ...] = ("claims.json", "certificate.json", "certificate-scores.npz")
    certified += ("certified.json", "labels.npz", "ledgers.json", "block.pt", "scores-000000-000004.npz")
    swept = ("swept.json", "sweep.json", "sweep.csv", "sweep.png", "noise_multiplier=1,seed=1")
    found = []
    for names, command in (
        ((*run, "model.pt", "users.json", "papers-ledger.json"), _RUN),
        ((*certified, "certified_accuracy.png"), _CERTIFY),
        (swept, _SWEEP),
        (("scores-00000-target.npz", "curves.npz", "digests.json"), _INFER),
    ):
        for name in (*names, ".lock", ".run.json.fedward-0123456789abcdef.part"):
            found += [Link(place=f"here/{name}", command=command, begun=begun) for begun in (False, True)]
    return found


LINKS = (
    *_in_directory(),
    Link(place="here/noise_multiplier=1,seed=1/run.json", command=_SWEEP),
    Link(place="here/noise_multiplier=3,seed=1/ledger.json", command=_SWEEP, begun=True),
    Link(place="here/.public.pt.lock", command=_PRETRAIN),
    Link(place="here/public.pt.lock", command=_PRETRAIN),
    Link(place="here/.public.pt.fedward-lock", command=_PRETRAIN),
    Link(place="here/.public.pt.fedward-0123456789abcdef.part", command=_PRETRAIN),
    Link(place="here/.plan.png.fedward-0123456789abcdef.part", command=_PLAN),
    Link(place="here/plan.csv", command=_PLAN),
    Link(place="cache/fedward/seen/key", command="runs --in ."),
)
"""Links that a stranger may have left where fedward writes."""


def try_link(link: Link, folder: Path) -> str:
    """Puts the link into an empty folder and carries the command out; what is wrong, or nothing."""
    for name, text in (("plain", TEXT), ("sweep", SWEEP), ("public", PRETRAINING)):
        (folder / f"{name}.toml").write_text(text, encoding="utf8")
    (folder / "here").mkdir()
    if link.begun and (code := _run(link, folder)[0]):
        return f"{link.command} ended with {code} without any link"
    target, inside = folder / "precious", folder / "precious folder"
    target.write_bytes(PRECIOUS)
    inside.mkdir()
    place = folder / link.place
    is_folder = place.is_dir() or "seed=" in place.name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(inside if is_folder else target)
    code, printed = _run(link, folder)
    if target.read_bytes() != PRECIOUS or list(inside.iterdir()):
        return f"what {link.place} leads to was written over by {link.command}"
    if code not in (0, 2) or "Traceback" in printed:
        return f"{link.command} ended with {code}: {printed[-500:]}"
    return ""


def _run(link: Link, folder: Path) -> tuple[int, str]:
    def work() -> int:
        code, printed = answer(link.command.split(), folder)
        print(printed)
        return code

    outcome = carry_out(work, folder)
    return outcome.code, outcome.printed
