"""Damages files of runs, puts links among them and forges certificates, and prints what came of it.

    python benchmarks/red_team.py                                    # 480 damages, 25 forgeries, all links
    python benchmarks/red_team.py --only damages --first 17 --count 1     # one again, with all that was shown

A damage is silent where any way to show the run (load, report, runs, ledger, users, certificate check) gives
a number or a word that the undamaged run does not have, and does not say what is wrong.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "FEDWARD_WORKERS": "0", "COLUMNS": "300"}
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from tampering.damage import Damage, damage
from tampering.forged_runs import NATIVE, check, make_certified
from tampering.forgery import KINDS, forge
from tampering.links import LINKS, try_link
from tampering.prepared_runs import TEXT, make_runs
from tampering.shown import Shown, Verdict, judge, show, worst


def try_damages(first: int, count: int, folder: Path) -> list[tuple[Damage, Verdict]]:
    """Damages one file after the other, each in a copy of all runs."""
    whole, others = folder / "whole", folder / "others"
    for place, seed in ((whole, 1), (others, 2)):
        place.mkdir()
        make_runs(place, seed=seed)
    for file in whole.glob("*.toml"):
        file.unlink()
    here = folder / "here"
    shutil.copytree(whole, here)
    undamaged = {each.name: show(here, each.name) for each in sorted(whole.iterdir())}
    shutil.rmtree(here)
    found = []
    for seed in range(first, first + count):
        shutil.copytree(whole, here)
        done = damage(here, others, seed)
        before, after = undamaged[done.run], show(here, done.run)
        verdicts = {way: _verdict(before.get(way), each, done) for way, each in after.items()}
        verdict = worst(verdicts.values())
        found.append((done, verdict))
        if verdict in ("silent", "crashed") or count == 1:
            ways = ", ".join(way for way, each in verdicts.items() if each == verdict)
            print(f"{verdict}: seed {seed}, {done.run}/{done.file}, {done.kind}: {ways}", flush=True)
            for way, each in verdicts.items():
                if each == verdict and way in before:
                    lines = difflib.unified_diff(
                        before[way].text.splitlines(), after[way].text.splitlines(), way, lineterm="", n=0
                    )
                    print(*(f"    {line:.200}" for line in list(lines)[2:8]), sep="\n", flush=True)
                elif each == verdict:
                    print(f"    {after[way].text[-1500:]}", flush=True)
        elif len(found) % 50 == 0:
            print(f"{len(found)} of {count}", flush=True)
        shutil.rmtree(here)
    return found


def _verdict(before: Shown | None, after: Shown, done: Damage) -> Verdict:
    return "crashed" if before is None else judge(before, after, done.file)


def count_damages(first: int, count: int, folder: Path) -> int:
    """Damages files and prints the table; how many damages were shown silently."""
    found = try_damages(first, count, folder)
    print_table(found)
    return sum(verdict in ("silent", "crashed") for _, verdict in found)


def print_table(found: list[tuple[Damage, Verdict]]) -> None:
    """What was tried, by kind of damage."""
    verdicts: tuple[Verdict, ...] = ("named", "the same", "left out", "silent", "crashed")
    print(f"{'damage':36} {'tried':>6} " + " ".join(f"{each:>9}" for each in verdicts))
    for kind in [*sorted({done.kind for done, _ in found}), "all"]:
        counts = Counter(verdict for done, verdict in found if kind in ("all", done.kind))
        print(f"{kind:36} {counts.total():6} " + " ".join(f"{counts[each]:9}" for each in verdicts))


def try_links(first: int, count: int, folder: Path) -> int:
    """Puts links where fedward writes; how many of them led it to somebody's file."""
    problems = 0
    for number, link in enumerate(LINKS[first : first + count], first):
        here = folder / f"link {number}"
        here.mkdir()
        os.environ["XDG_CACHE_HOME"] = str(here / "cache")
        if problem := try_link(link, here):
            print(f"link {number}: {problem}", flush=True)
        problems += bool(problem)
        shutil.rmtree(here)
    tried = len(LINKS[first : first + count])
    print(f"{tried} links in places that fedward writes to: {problems} led it to somebody's file, or failed")
    return problems


def try_forgeries(first: int, count: int, folder: Path) -> int:
    """Forges certificates, half of them for each engine; how many were not caught."""
    missed = believed = 0
    for engine, text in enumerate((TEXT, NATIVE)):
        place = folder / f"engine {engine}"
        place.mkdir()
        material = make_certified(place, text)
        if not check(place, "honest", "--retrain", "30")[0]:
            sys.exit("an honest certificate does not hold")
        for seed in range(first + (first + engine) % 2, first + count, 2):
            kind = KINDS[seed // 2 % len(KINDS)]
            shutil.copytree(place / "honest", place / "forged")
            gain = forge(place / "forged", kind, material, seed)
            believed += check(place, "forged")[0]
            holds, _ = check(place, "forged", "--retrain", "30")
            missed += holds
            print(f"forgery {seed}, {kind} ({gain:+.4f}): {'believed' if holds else 'caught'}", flush=True)
            shutil.rmtree(place / "forged")
    print(f"{count} forgeries: {believed} hold without training, {count - missed} caught with --retrain 30")
    return missed


TRIALS: dict[str, tuple[Callable[[int, int, Path], int], int]] = {
    "damages": (count_damages, 480),
    "links": (try_links, len(LINKS)),
    "forgeries": (try_forgeries, 25),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", choices=TRIALS, help="one kind of trial alone")
    parser.add_argument("--count", type=int, help="how many of them")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    given = parser.parse_args()
    failed = 0
    for name in [given.only] if given.only else TRIALS:
        trial, usual = TRIALS[name]
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
            failed += trial(given.first, given.count or usual, Path(folder).resolve())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
