"""The score of the tests against mutations of the source: ``make mutants``.

    python tools/run_mutants.py [--only NAME ...] [--list]

Each mutation goes into a copy of the source, two at a time, and its tests run on that copy. Before, all these
tests must pass on the source as it is. The work tree is not touched; Ctrl-C shows what was found till then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from mutant_list import MUTATIONS
from mutant_trial import Laboratory, Trial
from mutation import SOURCE, TESTS, Misfit, Mutation

AT_ONCE = 2


def choose(names: Sequence[str]) -> list[Mutation]:
    """The mutations of these names, all if none is given."""
    known = {mutation.name: mutation for mutation in MUTATIONS}
    if unknown := sorted(set(names) - known.keys()):
        sys.exit(f"no mutation is called {unknown[0]}; --list shows all names")
    return [known[name] for name in names] if names else list(MUTATIONS)


def misfits(mutations: Sequence[Mutation]) -> Iterator[str]:
    """What is wrong with mutations that do not fit the source or the tests as they are now."""
    for mutation in mutations:
        try:
            mutation.apply((SOURCE / mutation.path).read_text(encoding="utf8"))
        except (Misfit, OSError) as error:
            yield str(error)
        yield from (
            f"{mutation.name}: there is no {name} in tests"
            for name in mutation.tests
            if not (TESTS / name).exists()
        )


def table(found: dict[Mutation, Trial], asked: int) -> str:
    """One line for each mutation, and the score."""
    lines = [
        f"{trial.outcome:<10}  {mutation.name:<42}  {trial.seconds:4.0f} s  {trial.by or mutation.breaks}"
        for mutation, trial in sorted(found.items(), key=lambda item: MUTATIONS.index(item[0]))
    ]
    caught = sum(trial.outcome == "caught" for trial in found.values())
    rest = f"; {asked - len(found)} were not tried" if len(found) < asked else ""
    return "\n".join([*lines, f"caught {caught} of {len(found)}{rest}"])


def require_passing(laboratory: Laboratory, mutations: Sequence[Mutation]) -> None:
    """Ends all here if a test fails without any mutation: it would seem to catch every one."""
    tests = sorted({name for mutation in mutations for name in mutation.tests})
    print(f"first without a mutation: {len(tests)} test files", flush=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for trial in pool.map(laboratory.run, [tests[n::AT_ONCE] for n in range(min(AT_ONCE, len(tests)))]):
            if trial.outcome != "survived":
                sys.exit(f"tests must pass on the source as it is, got: {trial.by}")


def try_all(laboratory: Laboratory, mutations: Sequence[Mutation], found: dict[Mutation, Trial]) -> None:
    """Tries mutations out and says how far it is."""
    begun = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures: dict[Future[Trial], Mutation] = {
            pool.submit(laboratory.try_out, mutation): mutation for mutation in mutations
        }
        try:
            for future in as_completed(futures):
                mutation, trial = futures[future], future.result()
                found[mutation] = trial
                left = (time.monotonic() - begun) / len(found) * (len(mutations) - len(found))
                done = f"[{len(found)}/{len(mutations)}, {left / 60:.0f} min left]"
                print(f"{done} {trial.outcome}: {mutation.name}  {trial.by}", flush=True)
        except BaseException:
            for future in futures:
                future.cancel()
            laboratory.stop()
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these mutations alone")
    parser.add_argument(
        "--list", action="store_true", help="the names and what each breaks, and nothing else"
    )
    given = parser.parse_args(arguments)
    mutations = choose(given.only)
    if given.list:
        print("\n".join(f"{mutation.name}: {mutation.breaks}" for mutation in mutations))
        return 0
    if problems := list(misfits(mutations)):
        sys.exit("\n".join(problems))
    laboratory, found = Laboratory(), dict[Mutation, Trial]()
    try:
        require_passing(laboratory, mutations)
        try_all(laboratory, mutations, found)
    except KeyboardInterrupt:
        laboratory.stop()
        print("\nstopped")
    print(table(found, len(mutations)))
    return 0 if all(trial.outcome == "caught" for trial in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
