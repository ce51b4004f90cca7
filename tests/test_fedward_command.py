from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fedward_command
from command_line import all_commands
from fedward import cli
from fedward.base.interrupts import Stopped

GOES_ON = "; the same command goes on where it was left"

AT_AN_IMPORT = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.{handler})


class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupt())
sys.argv = ["fedward", "{command}"]
from fedward_command import main

main()
"""


def started(handler: str, command: str) -> subprocess.CompletedProcess[str]:
    code = AT_AN_IMPORT.format(handler=handler, command=command)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("command", "more"), [("run", GOES_ON), ("--version", ""), ("epsilon", "")])
def test_ctrl_c_during_start_up_is_one_line(command: str, more: str) -> None:
    ended = started("default_int_handler", command)
    assert ended.returncode == 130
    assert ended.stderr == f"stopped by SIGINT{more}\n"


def test_both_know_the_same_commands_that_go_on() -> None:
    assert fedward_command.RESUMED == cli.RESUMED
    assert {name.split()[0] for name, _ in all_commands(cli.app)} >= cli.RESUMED


def test_a_job_in_the_background_ignores_ctrl_c_from_the_start() -> None:
    ended = started("SIG_IGN", "--version")
    assert ended.returncode == 0
    assert ended.stdout.startswith("fedward ")


@pytest.mark.parametrize(("command", "more"), [("certify", GOES_ON), ("report", "")])
def test_ctrl_c_that_python_takes_itself_has_the_same_message(
    command: str, more: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    monkeypatch.setattr(sys, "argv", ["fedward", command])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == f"stopped by SIGINT{more}\n"


def test_the_handler_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedward_command import main

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(cli, "app", lambda: os.getpid())
        main()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


SITE = """
import os, signal, sys

# As in a terminal, wherever the tests were started: a job in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupt())
"""


def test_ctrl_c_during_start_up_of_the_module_is_one_line(tmp_path: Path) -> None:
    """``python -m fedward`` imports the package before any line of ``__main__`` runs."""
    (tmp_path / "sitecustomize.py").write_text(SITE)
    paths = [str(tmp_path), *(path for path in sys.path if path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run(
        [sys.executable, "-m", "fedward", "run", "none.toml"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert ended.returncode == 130
    assert ended.stderr == f"stopped by SIGINT{GOES_ON}\n"


def test_what_an_encoding_does_not_have_is_printed_in_other_words() -> None:
    ended = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "fedward",
                "epsilon",
                "--noise-multiplier",
                "3",
                "--sampling-rate",
                "0.1",
            ),
            *("--steps", "3", "--delta", "0.0029", "--accountant", "moments"),
        ],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert ended.stderr == b""
    assert ended.stdout.startswith(b"(epsilon = 0.2808, delta = 0.0029) user level")
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("encoding", "text", "printed"),
    [
        ("ascii", "ε ≤ 3, café → ψ²: 10 × 2", b"epsilon <= 3, cafe -> psi2: 10 x 2"),
        ("ascii", "数 \udcff", b"? ?"),
        ("latin-1", "café ε", b"caf\xe9 epsilon"),
        ("utf8", "ε 数 \udcff", "ε 数 ?".encode()),
    ],
)
def test_both_streams_print_something_like_it(
    encoding: str, text: str, printed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdout", "stderr"):
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, encoding=encoding, errors="strict", write_through=True)
        with monkeypatch.context() as patch:
            patch.setattr(sys, name, stream)
            fedward_command.print_what_can_be_printed()
            stream.write(text)
        assert written.getvalue() == printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "--self-test"], "stopped by SIGTERM\n"),
        (["audit", "exp.toml"], "stopped by SIGTERM; the same command goes on where it was left\n"),
    ],
)
def test_only_what_is_stored_goes_on(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> None:
        raise Stopped(signal.SIGTERM)

    monkeypatch.setattr(sys, "argv", ["fedward", *words])
    monkeypatch.setattr(cli, "app", stop)
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == said
