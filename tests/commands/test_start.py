from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from fedward import cli

AT_AN_IMPORT = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.{handler})


class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupt())
sys.argv = ["fedward", "--version"]
from fedward_command import main

main()
"""


def started(handler: str) -> subprocess.CompletedProcess[str]:
    code = AT_AN_IMPORT.format(handler=handler)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_ctrl_c_during_start_up_is_one_line() -> None:
    ended = started("default_int_handler")
    assert ended.returncode == 130
    assert ended.stderr == "stopped by SIGINT; the same command goes on where it was left\n"


def test_a_job_in_the_background_ignores_ctrl_c_from_the_start() -> None:
    ended = started("SIG_IGN")
    assert ended.returncode == 0
    assert ended.stdout.startswith("fedward ")


def test_ctrl_c_that_python_takes_itself_has_the_same_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "stopped by SIGINT; the same command goes on where it was left\n"


def test_the_handler_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedward_command import main

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(cli, "app", lambda: os.getpid())
        main()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
