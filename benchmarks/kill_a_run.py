"""Kills a command of fedward at random moments, goes on with it, and compares it with one left alone.

    python benchmarks/kill_a_run.py run examples/user_dp_digits.toml --kills 20 -- --set rounds=8 --workers 2
    python benchmarks/kill_a_run.py certify examples/certified_digits.toml -- -m 20 --score vote

COMMAND is run, sweep, replicas or certify; what follows -- is given to it. The kills (SIGKILL) are spread
over the whole of the work by what lies on disk, each with a random delay besides, so that a slow machine
does as well. Importing torch takes longer than most of what is killed here: the commands are forked from a
process that has imported fedward and done nothing else; --fresh starts an interpreter for each instead.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forked_commands import Starter
from run_on_disk import Progress, differences, phase

_PATIENCE = 120.0
_POLL = 0.002


@dataclass(frozen=True, kw_only=True)
class Pace:
    """A command that nobody kills: its rounds, and the seconds to the first, for each, and after the last."""

    rounds: int
    starting: float
    each: float
    ending: float

    def delay(self, done: int, moments: random.Random) -> float:
        """A random moment within the piece of work that follows so many rounds."""
        piece = self.starting if done == 0 else self.ending if done >= self.rounds else self.each
        return moments.uniform(0, piece)


@dataclass(frozen=True, kw_only=True)
class Kill:
    """Where a kill fell: how much lay on disk, and what was being done."""

    done: int
    phase: str


def left_alone(starter: Starter, arguments: list[str], path: Path) -> Pace:
    """Runs the command to its end, and takes the time."""
    begin = time.monotonic()
    process, progress = starter.start([*arguments, "--out", str(path)]), Progress(path)
    times = [begin]
    code = None
    while code is None:
        code = starter.ended(process)
        times += [time.monotonic()] * (progress.now() + 1 - len(times))
        time.sleep(_POLL)
    if code != 0:
        raise SystemExit(f"the command ended with {code} before anybody killed it")
    if len(times) < 2:
        raise SystemExit("the command leaves no telemetry of rounds and no block of replicas to go by")
    starting, working = times[1] - begin, times[-1] - times[1]
    rounds = len(times) - 1
    return Pace(rounds=rounds, starting=starting, each=working / rounds, ending=time.monotonic() - times[-1])


def killed(
    starter: Starter, arguments: list[str], path: Path, pace: Pace, kills: int, moments: random.Random
) -> Iterator[Kill]:
    """Kills the command in turn in each of so many equal parts of its work; fewer times if it ends before."""
    progress = Progress(path)
    for number in range(kills):
        target = int((number + moments.random()) / kills * (pace.rounds + 1))
        process = starter.start([*arguments, "--out", str(path)])
        while starter.ended(process) is None and progress.now() < target:
            time.sleep(_POLL)
        time.sleep(pace.delay(target, moments))
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        code = starter.ended(process, wait=True)
        if code == 0:
            return
        if code != -signal.SIGKILL:
            raise SystemExit(f"the command ended with {code} after {number} kills")
        nobody_left(process)
        yield Kill(done=progress.now(), phase=phase(path, progress.now(), pace.rounds))


def nobody_left(group: int) -> None:
    """Waits until the processes that a killed one has started have noticed, and ended."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(_POLL)
    raise SystemExit(f"processes of the group {group} go on after {_PATIENCE:g} seconds")


def kill_and_compare(
    starter: Starter, arguments: list[str], folder: Path, *, kills: int, moments: random.Random
) -> tuple[list[Kill], list[str]]:
    """Where so many kills fell, and what is different from a run left alone, which should be nothing."""
    if arguments[0] in ("replicas", "certify"):
        # `Progress` needs it, and it takes longer than a round.
        importlib.import_module("fedward.base.sealed")
    whole = folder / "left-alone"
    pace = left_alone(starter, arguments, whole)
    print(f"left alone: {pace}", flush=True)
    found: list[Kill] = []
    different: list[str] = []
    while len(found) < kills:
        # One that ended before all its kills is finished; the others fall on another one.
        path = folder / f"killed-{len(found)}"
        for each in killed(starter, arguments, path, pace, kills - len(found), moments):
            found.append(each)
            print(f"kill {len(found)}: {each.done} of {pace.rounds}, {each.phase}", flush=True)
        if code := starter.ended(starter.start([*arguments, "--out", str(path)]), wait=True):
            raise SystemExit(f"the command ended with {code} when it was gone on with")
        different += [f"{path.name}: {each}" for each in differences(whole, path)]
    return found, different


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", 1)[0],
        epilog="What follows -- is given to the command itself.",
    )
    parser.add_argument("command", choices=("run", "sweep", "replicas", "certify"))
    parser.add_argument("file", type=Path, help="the experiment file")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, help="of the moments; another one each time if not given")
    parser.add_argument("--fresh", action="store_true", help="start an interpreter for every command")
    parser.add_argument(
        "--keep", type=Path, help="an empty directory for the runs and the log; else none is kept"
    )
    own, options = sys.argv[1:], list[str]()
    if "--" in own:
        own, options = own[: own.index("--")], own[own.index("--") + 1 :]
    given = parser.parse_args(own)
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    print(f"moments from --seed {seed}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        starter = Starter(folder / "log.txt", fresh=given.fresh)
        arguments = [given.command, str(given.file), *options]
        try:
            found, different = kill_and_compare(
                starter, arguments, folder, kills=given.kills, moments=random.Random(seed)
            )
        finally:
            starter.close()
        print(f"{len(found)} kills:")
        for phase_, count in Counter(each.phase for each in found).most_common():
            print(f"  {count} {phase_}")
        count = sum(
            1 for file in (folder / "left-alone").rglob("*") if file.is_file() and file.name != ".lock"
        )
        print("\n".join(different) or f"all {count} files are the same, byte for byte, as without a kill")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
