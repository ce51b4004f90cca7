"""Experiment files that nobody would write, made by a seed, and tried as far as they go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from config.fuzzed_files import changed_contents
from config.sound_files import sound_contents
from fedward.config.toml_text import toml
from fuzzing.fuzzed_commands import run


def experiment_files(count: int) -> list[dict[str, Any]]:
    """So many contents of files, the same ones every time."""
    found: list[dict[str, Any]] = []

    @seed(20261118)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(changed_contents() | sound_contents())
    def collect(content: dict[str, Any]) -> None:
        found.append(content)

    collect()
    return found[:count]


def try_file(content: dict[str, Any], folder: Path) -> int:
    """Checks it, and trains a round of it if it is valid."""
    try:
        text = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in content.items())
    except RecursionError:  # lists in lists: the reader has a test of its own
        text = "seed = " + "[" * 100_000
    (folder / "file.toml").write_text(text, encoding="utf8", errors="surrogatepass")
    code = run(["check", "file.toml"], folder)
    return code or run(["run", "file.toml", "--set", "rounds=1", "--out", "run", "--workers", "0"], folder)
