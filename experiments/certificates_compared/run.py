"""Certified accuracy against k by fedward's proof and by those of others, on the writers of MNIST.

    python experiments/certificates_compared/run.py --data DIR [--replicas 2000] [--small]

Ours and Xie et al.'s are read from the published certificates of ../certified_writers and ../public_features,
each checked again before. Trainings of the others are kept in runs/ and gone on with after a kill.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
import numpy as np
from certification import certified, fedward, options
from draw_compared import draw

from fedward.certificates.certificate import Certificate
from fedward.certificates.checking import check_file, read_evidence
from fedward.privacy.rounding import percent_down, round_up_digits
from published import place_of
from support import markdown, put_between

HERE = Path(__file__).parent
EXPERIMENTS = HERE.parent
SHARES = (0.9, 0.8, 0.5)
KS = (0, 1, 2, 5, 10, 13, 25, 50, 75, 90)
Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What users train on.

    Args:
      name: of the panel.
      ours: the folder of the published certificate, and its variant in ``certified.json``.
      groups: the experiment of a group.
      numbers: of disjoint groups.
      size: of random groups.
      norm: of CRFL's models.
      replicas: how many times as many as on pixels.
      more: options that ours was certified with.
    """

    name: str
    ours: Path
    variant: str
    groups: str
    numbers: tuple[int, ...]
    size: int
    norm: float
    replicas: int
    more: tuple[str, ...]


INPUTS = (
    Inputs(
        name="pixels, 539 writers",
        ours=EXPERIMENTS / "certified_writers",
        variant="noise_multiplier=5",
        groups="groups.toml",
        numbers=(20, 50, 100),
        size=11,
        norm=5.0,
        replicas=1,
        more=(),
    ),
    Inputs(
        name="public features, 479 writers",
        ours=EXPERIMENTS / "public_features",
        variant="all",
        groups="features.toml",
        numbers=(20, 50, 100, 200),
        size=5,
        norm=1.0,
        replicas=5,
        more=("--simultaneous",),
    ),
)


def published(inputs: Inputs) -> list[Record]:
    """Ours, and Xie et al.'s bound for the same trainings."""
    certificate, accuracies = checked(inputs.ours / "certificate.json.gz")
    found = json.loads((inputs.ours / "certified.json").read_text())[inputs.variant]
    papers = next(c for c in found["curves"] if c["mode"] == "paper" and c["with_confidence"])
    about = _about(certificate, inputs, found["epsilon"]) | accuracies
    about |= {
        # One round with everybody: all replicas share the trainings of its users.
        "user trainings": certificate.setting.users * certificate.setting.ledger.rounds
    }
    both = {each.threat: list(each.accuracy or ()) for each in certificate.attacks}
    xie = {"inject": papers["certified_accuracy"]}
    return [
        about | {"name": "ours", "curves": both},
        about | {"name": "Xie et al. 2022", "epsilon": found["papers_epsilon"], "curves": xie},
    ]


def others(inputs: Inputs, chosen: Any) -> list[Record]:
    """FLCert and CRFL, trained here."""
    replicas, found = chosen.replicas * inputs.replicas, []
    numbers = inputs.numbers[:2] if chosen.small else inputs.numbers
    asked: list[tuple[str, Path, tuple[str, ...], int]] = [
        (
            f"FLCert, {groups} groups",
            HERE / inputs.groups,
            ("--by", "flcert", "--groups", str(groups)),
            groups,
        )
        for groups in numbers
    ]
    few = min(chosen.replicas, 1000)
    random = ("--by", "flcert_random", "--group-size", str(inputs.size), "--save-space", *inputs.more)
    asked.append((f"FLCert, random groups of {inputs.size}", HERE / inputs.groups, random, few))
    server = f'algorithm.server={{name="model_clipping",norm={inputs.norm:g}}}'
    crfl = ("--by", "crfl", "--score", "vote", "--save-space", "--block", "250", "--set", server)
    asked.append(("CRFL", inputs.ours / "writers.toml", (*crfl, *inputs.more), replicas))
    for name, file, words, count in asked:
        own = type(chosen)(**(vars(chosen) | {"replicas": count}))
        tag = "-".join((name, inputs.groups.partition(".")[0], str(count)))
        folder = "compared-" + "".join(c if c.isalnum() else "-" for c in tag).lower()
        run = fedward("certify", file, own, folder, *words)
        certificate, accuracies = checked(run / "certificate.json")
        record = _about(certificate, inputs, certified(run)["all"]["epsilon"]) | accuracies
        result = json.loads((run / "result.json").read_text())
        record |= {"name": name, "user trainings": result["jobs_run"]}
        record["curves"] = {each.threat: list(each.accuracy or ()) for each in certificate.attacks}
        found.append(record)
        print(name, {threat: _last(curve) for threat, curve in record["curves"].items()}, flush=True)
    return found


def checked(file: Path) -> tuple[Certificate, Record]:
    """A certificate that holds, and how often its models are right: one of them, and the vote of all."""
    certificate, verdict = check_file(file)
    if certificate is None or not verdict.holds:
        raise SystemExit(f"{file} does not hold: {verdict.problems}")
    _, scores = read_evidence(file)
    labels = scores.labels
    assert labels is not None
    shares = scores.means()
    one = float(shares[np.arange(len(labels)), labels].mean())
    return certificate, {"one model": one, "vote": float((shares.argmax(axis=1) == labels).mean())}


def _about(certificate: Certificate, inputs: Inputs, epsilon: float | None) -> Record:
    rule, everything = certificate.setting.confidence, certificate.releasing_all
    return {
        "inputs": inputs.name,
        "users": certificate.setting.users,
        "epsilon": epsilon,
        "epsilon of all": everything.epsilon if everything.private else None,
        "replicas": rule.replicas,
        "rounds": certificate.setting.ledger.rounds,
        "error": rule.error,
        "simultaneous": rule.simultaneous,
    }


def _last(curve: list[float]) -> dict[str, int | None]:
    """The largest k at which so many digits are right and certified, and for any digit."""
    found: dict[str, int | None] = {
        f"{share:.0%}": max((k for k, own in enumerate(curve) if own >= share), default=None)
        for share in SHARES
    }
    return found | {"any": max((k for k, own in enumerate(curve) if own > 0), default=None)}


def table(records: list[Record]) -> list[str]:
    """What each gives and needs: a row for each line of the picture."""
    head = (
        "",
        "ε",
        "accuracy: vote / one model",
        *(f"k at {share:.0%}" for share in SHARES),
        "largest k",
        "models trained",
        "user trainings",
        "models used",
    )
    rows = []
    for each in records:
        lasts = [_last(each["curves"].get(threat, [])) for threat in ("inject", "compromise")]
        cells = [
            " / ".join("-" if last[key] is None else str(last[key]) for last in lasts) for key in lasts[0]
        ]
        grouped = each["name"].startswith("FLCert")
        rows.append(
            (
                each["name"],
                "none" if each["epsilon"] is None else round_up_digits(each["epsilon"], 2),
                f"{percent_down(each['vote'], 1)} / {percent_down(each['one model'], 1)}",
                *cells,
                f"{each['replicas']:,}",
                f"{each['user trainings']:,}",
                "1 or more" if "random" in each["name"] or not grouped else f"all {each['replicas']:,}",
            )
        )
    return markdown(head, rows)


def shares(records: list[Record]) -> list[str]:
    """The digits that are right and certified against some k, for users who join / who are taken over."""
    ks = [k for k in KS if any(k < len(each["curves"]["inject"]) for each in records)]
    rows = []
    for each in records:
        curves = [each["curves"].get(threat, []) for threat in ("inject", "compromise")]
        cells = [" / ".join(_share(curve, k) for curve in curves) for k in ks]
        rows.append((each["name"], *cells))
    return markdown(("%, against k =", *map(str, ks)), rows)


def _share(curve: list[float], k: int) -> str:
    return percent_down(curve[k], 1).removesuffix("%") if k < len(curve) else "-"


def tables(records: list[Record]) -> dict[str, list[str]]:
    """What stands between two comments of the page, by the words of these."""
    found = {}
    for inputs in INPUTS:
        own = [each for each in records if each["inputs"] == inputs.name]
        found |= {inputs.name: table(own), f"shares, {inputs.name}": shares(own)}
    return found


def main() -> None:
    chosen = options(__doc__ or "", replicas=2000, show="only draw what was published")
    if chosen.small:
        chosen.replicas = min(chosen.replicas, 200)
    place = place_of(chosen, HERE)
    if chosen.show:
        records = json.loads(place.records("compared.json").read_text())
    else:
        records = [each for inputs in INPUTS for each in (*published(inputs), *others(inputs, chosen))]
        place.file("compared.json").write_text(json.dumps(records, indent=1) + "\n")
    draw(records, place.file("compared.png"))
    place.publish("compared.json", "compared.png")
    for mark, lines in tables(records).items():
        print("\n".join((mark, *lines)))
        if place.publishes:
            put_between(HERE / "README.md", mark, lines)


if __name__ == "__main__":
    main()
