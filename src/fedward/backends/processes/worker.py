"""The main loop of a worker process: it takes chunks of jobs or models and sends back the results."""

from __future__ import annotations

import json
import mmap
import os
import pickle
import queue
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.backends.engines.allocator import keep_freed_memory
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.switches import switch
from fedward.backends.processes.shared_data import attach
from fedward.backends.processes.worker_buffers import examples_of, pack_tensors, unpack, write
from fedward.backends.processes.worker_failures import describe_failure
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Job

PROGRESS = struct.Struct("@qq")
"""The chunk and the place in it that a worker is at, in a page that its parent reads if it dies."""

_Results = tuple[list[Any], list[Tensor], dict[str, Any] | None]
"""Values and tensors of the items before the first that failed, and how it failed."""

NOWHERE = (0, 0)
"""No chunk has the number 0."""


class Worker:
    """Runs chunks on one engine, with what its parent gave it to hold."""

    def __init__(self, examples: list[Examples], note: Mapping[str, Any], progress: mmap.mmap) -> None:
        module = pickle.loads(note["module"])
        offsets = torch.from_numpy(note["offsets"])
        names = np.arange(len(offsets) - 1)
        self._federation = Federation(examples[0], offsets, names, note["num_classes"])
        self._engine = Engine(module, engine=note["engine"])
        self._progress = progress
        self._held: dict[int, Any] = dict(enumerate(examples))

    def run(self, message: bytes, cancelled: set[int]) -> tuple[dict[str, Any], list[Tensor]]:
        """Does one chunk: a header with numbers, and the tensors.

        It ends early at a job that fails, with what came before it, or when its parent takes it back.
        """
        chunk = pickle.loads(message)
        for number in chunk["drop"]:
            del self._held[number]
        for number, kind, content in chunk["new"]:
            self._held[number] = _receive(kind, content)
        began = time.perf_counter()
        run = self._train if chunk["task"] == "train" else self._measure
        values, tensors, failure = run(chunk, cancelled)
        seconds = time.perf_counter() - began
        PROGRESS.pack_into(self._progress, 0, *NOWHERE)
        cancelled.discard(chunk["number"])
        header = {"number": chunk["number"], "seconds": seconds, "values": values, "failure": failure}
        return header, tensors

    def _train(self, chunk: Mapping[str, Any], cancelled: set[int]) -> _Results:
        jobs: list[Job] = []
        data: list[Examples] = []
        failure: BaseException | None = None
        try:
            for job in self._jobs(chunk["items"]):
                data.append(self._federation.user(job.user) if job.examples is None else job.examples)
                jobs.append(job)
        except BaseException as error:
            failure = error
        rows, earlier = self._engine.attempt(jobs, data, lambda place: self._goes_on(chunk, cancelled, place))
        if len(rows) < len(jobs):
            failure = earlier
        told = None if failure is None else describe_failure(failure, chunk["items"]["user"][len(rows)])
        norms = [None if row.norm is None else float(row.norm) for row in rows]
        return norms, [row.update for row in rows], told

    def _jobs(self, columns: Mapping[str, Sequence[Any]]) -> Iterator[Job]:
        for values in zip(*columns.values(), strict=True):
            told = dict(zip(columns, values, strict=True))
            for name in ("parameters", "trainer", "examples"):
                told[name] = None if told[name] is None else self._held[told[name]]
            yield Job(**told)

    def _measure(self, chunk: Mapping[str, Any], cancelled: set[int]) -> _Results:
        examples = self._held[chunk["examples"]]
        values: list[Any] = []
        tensors: list[Tensor] = []
        for place, model in enumerate(chunk["items"]):
            if not self._goes_on(chunk, cancelled, place):
                break
            try:
                if chunk["task"] == "evaluate":
                    values.append(asdict(self._engine.evaluate(self._held[model], examples)))
                else:
                    found = self._engine.confidences(self._held[model], examples)
                    tensors.append(torch.from_numpy(found))
                    values.append(None)
            except BaseException as error:
                return values, tensors, describe_failure(error, None)
        return values, tensors, None

    def _goes_on(self, chunk: Mapping[str, Any], cancelled: set[int], place: int) -> bool:
        if chunk["number"] in cancelled:
            return False
        PROGRESS.pack_into(self._progress, 0, chunk["number"], place)
        return True


def work(
    start: Mapping[str, Any],
    connection: Connection,
    inbox: queue.SimpleQueue[bytes],
    cancelled: set[int],
) -> None:
    """Serves the parent until it goes away; the reader thread ends the process then."""
    keep_freed_memory()
    examples, note = attach(start["data"], start["where"])
    torch.set_num_threads(1)
    switch(note["switches"])
    worker = Worker(examples, note, mmap.mmap(start["progress"], PROGRESS.size))
    # Until here what went wrong was kept for the parent; from here on it is for people to see.
    os.dup2(start["stderr"], 2)
    _send(connection, {}, [])
    while True:
        header, tensors = worker.run(inbox.get(), cancelled)
        sys.stdout.flush()
        _send(connection, header, tensors)


def _send(connection: Connection, header: dict[str, Any], tensors: list[Tensor]) -> None:
    kinds, several = pack_tensors(tensors)
    try:
        connection.send_bytes(json.dumps(header | {"kinds": kinds} if header else header).encode())
        write(connection.fileno(), several)
    except OSError:
        os._exit(0)  # the parent is gone


def _receive(kind: str, content: Any) -> Any:
    if kind == "trainer":
        return pickle.loads(content)
    places, array = content
    # A copy, because torch's own memory is aligned as the parent's is.
    tensors = unpack(torch.from_numpy(array).clone(), places)
    return tensors[0] if kind == "parameters" else examples_of(tensors)
