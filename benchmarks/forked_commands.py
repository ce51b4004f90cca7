"""Starts commands of fedward by the dozen: forked by a process that has imported it and done nothing else."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Starter:
    """Starts commands and says how they ended; in a process of its own, or forked by one that is ready."""

    def __init__(self, log: Path, *, fresh: bool = False) -> None:
        self._log, self._fresh = log, fresh
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        self._server = None if fresh else self._serve()
        if not fresh:
            self._ask("ready")

    def _serve(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, str(self._log)]
        alone = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=alone, bufsize=1)

    def _ask(self, *question: object) -> Any:
        assert self._server is not None
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(question) + "\n")
        return json.loads(self._server.stdout.readline())

    def start(self, arguments: list[str]) -> int:
        """The number of the process that carries the command out; it leads a group of its own."""
        if not self._fresh:
            return int(self._ask("start", arguments))
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "fedward", *arguments]
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self._started[process.pid] = process
        return process.pid

    def ended(self, process: int, *, wait: bool = False) -> int | None:
        """Its exit code, minus the signal that ended it; None while it goes on."""
        if not self._fresh:
            found = self._ask("ended", process, wait)
            return None if found is None else int(found)
        known = self._started[process]
        return known.wait() if wait else known.poll()

    def close(self) -> None:
        if self._server is not None:
            self._server.communicate()  # it ends with its input


def serve(log: Path) -> None:
    """Forks a command for each line that asks for one, until there is no more input."""
    import fedward.cli

    importlib.import_module("sklearn.datasets")  # fedward does so when it needs it; that is slow as well
    for line in sys.stdin:
        what, *given = json.loads(line)
        if what == "ready":
            print("true", flush=True)
            continue
        if what == "ended":
            process, status = os.waitpid(given[0], 0 if given[1] else os.WNOHANG)
            print(json.dumps(os.waitstatus_to_exitcode(status) if process else None), flush=True)
            continue
        process = os.fork()
        if process:
            print(process, flush=True)
            continue
        os.setsid()
        opened = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(opened, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["fedward", *given[0]]
        code = 1
        try:
            fedward.cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            for each in (sys.stdout, sys.stderr):
                each.flush()
            os._exit(code)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
