"""How often audits call a sound mechanism broken whose true ε is what was promised.

    python benchmarks/audits/cover_bounds.py --audits 200 --out FOLDER

Every audit has a seed of its own and is judged twice, with two errors, from the same trainings. Most of these
mechanisms draw nobody, so that their ε is that of a Gaussian, no more and no less: a bound above it is a
mistake, and a mistake is as likely as it can be. What is done is kept in FOLDER: a killed run goes on.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from scipy.stats import beta

from fedward.auditing.audit_question import AuditQuestion
from fedward.backends.compute import IN_PROCESS
from fedward.config.experiment import from_content
from fedward.studies.audit.audit_study import plan_audit
from fedward.studies.audit.self_test import SOUND, with_changes
from fedward.studies.study import carry_out

ERRORS = (0.05, 0.4)
EVERYONE: dict[str, Any] = {"sampler": {"name": "everyone"}, "noise_multiplier": 1.0}
WIDE = {"name": "synthetic", "users": 8, "examples": 2, "features": 60, "classes": 3, "test_examples": 2}
LDP = {"preset": "ldp_fedsgd", "noise_multiplier": 2.0, "learning_rate": 0.1, "local": None}
MANY: dict[str, Any] = {"runs": 400}
BLACK_BOX: dict[str, Any] = {"mode": "black-box", "see": "final", "runs": 100}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mechanism, every user": ({"rounds": 1, "algorithm": EVERYONE}, MANY),
    "one run, every user": ({"rounds": 1, "data": WIDE, "algorithm": EVERYONE}, {"mode": "one-run"}),
    "mechanism, sampled": ({"rounds": 2, "algorithm": {"noise_multiplier": 1.0}}, MANY),
    "mechanism, local": ({"rounds": 1, "algorithm": LDP}, MANY),
    "mechanism, every user, last model": ({"rounds": 2, "algorithm": EVERYONE}, MANY | {"see": "final"}),
    "black box, every user": ({"rounds": 1, "algorithm": EVERYONE}, BLACK_BOX),
}
"""For each case what is changed in the experiment of the self-test, and how it is audited."""


def judge(changes: dict[str, Any], how: dict[str, Any], seed: int) -> dict[str, Any]:
    """What one audit finds with each error."""
    content, found = with_changes({**SOUND, "seed": seed}, changes), {}
    with tempfile.TemporaryDirectory() as folder:
        for error in ERRORS:
            study = plan_audit(from_content(content), AuditQuestion(error=error, **how))
            place = Path(folder) / "audit"
            result = carry_out(study, place, IN_PROCESS, lambda steps: [None for _ in steps])
            bounds = {bound.method: bound.epsilon for bound in result.bounds}
            found[str(error)] = {"claimed": result.claimed, "bounds": bounds, "attack": result.attack}
    return found


def interval(wrong: int, of: int) -> str:
    """The interval of Clopper and Pearson at 95 %, in percent."""
    low = float(beta.ppf(0.025, wrong, of - wrong + 1)) if wrong else 0.0
    high = float(beta.ppf(0.975, wrong + 1, of - wrong)) if wrong < of else 1.0
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def main() -> None:
    """Runs what is missing; prints a row for each case and error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name, (changes, how) in CASES.items():
        if given.only and not any(word in name for word in given.only):
            continue
        file = given.out / f"{name.replace(', ', '-').replace(' ', '-')}.jsonl"
        done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        for seed in range(len(done) + 1, given.audits + 1):
            done.append(judge(changes, how, seed))
            with file.open("a") as lines:
                lines.write(json.dumps(done[-1]) + "\n")
        for error in map(str, ERRORS):
            each = [audit[error] for audit in done[: given.audits]]
            above = [[value > audit["claimed"] for value in audit["bounds"].values()] for audit in each]
            any_of, by_method = sum(map(any, above)), [sum(column) for column in zip(*above, strict=True)]
            share = sum(max(audit["bounds"].values()) / audit["claimed"] for audit in each) / len(each)
            print(
                f"| {name} | {each[0]['claimed']:.2f} | {float(error):.0%} | {any_of} of {len(each)} "
                f"| {interval(any_of, len(each))} | {by_method[0]}, {by_method[1]} | {share:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
