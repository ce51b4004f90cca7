"""Makes the pictures of report.md, sweeps.md and how-to/notebooks.md: real runs on built-in data.

python docs/make_report_pictures.py [DIR]

Runs that are in DIR already are used as they are; without DIR they are made anew, which takes minutes.
It needs Chromium and ChromeDriver (Debian: chromium, chromium-driver).
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import fedward
from fedward.config.toml_text import experiment_text
from fedward.reports.page import write

ROOT = Path(__file__).parents[1]
BROWSER = runpy.run_path(str(ROOT / "tools" / "headless_browser.py"))
DEFENCES: dict[str, dict[str, Any]] = {
    "fedavg": {"preset": "fedavg"},
    "norm_bounding": {"preset": "norm_bounding", "clip_bound": 0.5},
    "user_dp_fedavg": {"preset": "user_dp_fedavg", "clip_bound": 0.5, "noise_multiplier": 1.0},
    "median": {"preset": "median"},
}


SWEEP = "<!-- file: sweep.toml -->\n```toml\n"


def make_runs(folder: Path) -> list[Path]:
    """A backdoor against four defences, and a certificate."""
    attacked, certified = (
        tomllib.loads((ROOT / "examples" / f"{name}_digits.toml").read_text(encoding="utf8"))
        for name in ("backdoor", "certified")
    )
    own = {key: attacked["algorithm"][key] for key in ("sampler", "local")}
    found = []
    for name, defence in DEFENCES.items():
        changed = {"rounds": 15, "algorithm": defence | own, "evaluation": {"every": 1}}
        found.append(command("run", folder / name, attacked | changed))
    return [*found, command("certify", folder / "certificate", certified, "-m", "100", "--score", "vote")]


def command(name: str, out: Path, experiment: dict[str, Any], *options: str) -> Path:
    if (out / {"certify": "certified.json", "sweep": "sweep.json"}.get(name, "result.json")).is_file():
        return out
    file = out.with_suffix(".toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(experiment_text(experiment) + "\n", encoding="utf8")
    called = [sys.executable, "-m", "fedward", name, str(file), "--out", str(out), *options]
    subprocess.run(called, check=True)
    return out


def look(page: Path, folder: Path) -> None:
    """A desktop in the light, a phone in the dark, and the slider."""
    with BROWSER["Browser"].open() as browser:
        browser.size(1200, 900)
        browser.media()
        browser.go(page)
        browser.screenshot(folder / "report.png")
        # It opens the README, where there must be room for more than a picture.
        browser.size(1200, 560)
        browser.run("document.querySelector('.explorer').scrollIntoView()")
        browser.screenshot(folder / "report-slider.png")
        browser.size(390, 844)
        browser.media(dark=True)
        browser.go(page)
        browser.run("document.querySelector('.card:nth-child(2)').scrollIntoView()")
        browser.screenshot(folder / "report-phone.png")
        errors = browser.errors()
    if errors:
        sys.exit(f"the page complains: {errors}")


def plot(runs: list[Path], folder: Path) -> None:
    """What the Python interface draws, and the picture of the sweep that its page describes."""
    pages = Path(__file__).parent
    for run, file in ((runs[2], "run-plot.png"), (runs[-1], "certificate-plot.png")):
        fedward.load(run).plot().save(pages / "how-to" / file)
    text = (pages / "sweeps.md").read_text(encoding="utf8").partition(SWEEP)[2].partition("```")[0]
    sweep = command("sweep", folder / "sweep", tomllib.loads(text))
    shutil.copy(sweep / "sweep.png", pages / "sweep.png")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        page = Path(temporary) / "report.html"
        runs = make_runs(folder)
        write(runs, page)
        look(page, Path(__file__).parent)
        plot(runs, folder)


if __name__ == "__main__":
    main()
