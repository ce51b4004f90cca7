"""A trial of fedward as it is installed, by the Python of whatever environment has it.

    python3.12 -m venv trial && trial/bin/pip install dist/fedward-*.whl
    trial/bin/python tools/try_installed.py
    trial/bin/python tools/try_installed.py --without-engine     # where it was built without a compiler

It imports the package, asks for the native engine, makes an experiment file, trains, certifies and checks the
certificate; it ends with 1 at the first thing that does not work. cibuildwheel runs it on every wheel.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINE = """
import fedward, torch
from fedward.backends.engines import native
print(fedward.__version__, fedward.__file__, "native engine" if native.available() else "no native engine")
"""
STEPS = (
    ("--help",),
    ("new", "first.toml"),
    ("check", "first.toml"),
    ("run", "first.toml", "--set", "rounds=3", "--out", "runs/first"),
    ("verify", "runs/first"),
    ("certify", "first.toml", "--set", "rounds=2", "-m", "20", "--score", "vote", "--out", "runs/certified"),
    ("certificate", "check", "runs/certified/certificate.json"),
    ("report", "runs/first", "runs/certified", "--out", "report.html"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Try fedward as it is installed.")
    parser.add_argument("--without-engine", action="store_true", help="the native engine must not be there")
    engine_expected = not parser.parse_args().without_engine
    with tempfile.TemporaryDirectory(prefix="fedward-trial-") as folder:
        found = _run(Path(folder), "-c", ENGINE)
        print(f"Python {sys.version.split()[0]}: fedward {found.strip()}")
        if ("no native engine" in found) == engine_expected:
            sys.exit(f"the native engine must {'' if engine_expected else 'not '}be there")
        for step in STEPS:
            _run(Path(folder), "-m", "fedward", *step)
            print("works: fedward", *step, flush=True)


def _run(folder: Path, *arguments: str) -> str:
    """What an isolated Python prints, where no source of fedward can be imported from."""
    done = subprocess.run(
        [sys.executable, "-I", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
