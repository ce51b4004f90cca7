"""The first thing that a worker process runs.

It imports nothing but the standard library until its reader thread runs, so that the process ends with its
parent at any moment, even while torch is still being imported.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection

CANCEL = b"c"
"""The first byte of a message that takes chunks back; all others begin with the start of a pickle."""


def read(connection: Connection, inbox: queue.SimpleQueue[bytes], cancelled: set[int]) -> None:
    """Takes messages in, so that the parent's sends never wait for a training; ends with the parent."""
    try:
        while True:
            message = connection.recv_bytes()
            if message[:1] == CANCEL:
                cancelled.update(json.loads(message[1:]))
            else:
                inbox.put(message)
    finally:
        os._exit(0)


def main() -> None:
    # Ctrl-C goes to the whole process group; what it means is decided by the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    start = json.loads(sys.argv[1])
    connection = Connection(start["socket"])
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    cancelled: set[int] = set()
    threading.Thread(target=read, args=(connection, inbox, cancelled), daemon=True).start()
    sys.path[:] = start["path"]

    from fedward.backends.processes.worker import work

    work(start, connection, inbox, cancelled)


if __name__ == "__main__":
    main()
