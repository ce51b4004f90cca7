"""Threads in native code, and a process that is told to end twice."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("fedward.backends.engines.native._engine", reason="the native engine was not compiled")

# The second signal comes while threads are waited for. 300 epochs take seconds, so they are at work then.
TOLD_TWICE = """
import os, signal, sys, threading, time
import fedward
from fedward.backends.threaded import Threads
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.base import interrupts

interrupts.GRACE = 1000.0  # however slow the machine is
federation = fedward.datasets.digits.load(users=2, seed=1)
model = fedward.models.build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=1)
start = ParameterSpec.of(model).flatten(model)
sgd = fedward.SGD(learning_rate=0.1, batch_size=8, epochs=300)
job = Job(parameters=start, user=1, num_examples=700, trainer=sgd, seed=7)

def tell():
    for _ in range(2):
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

try:
    with interrupts.stop_on_signals(), Threads(model, federation, threads=2) as backend:
        threading.Thread(target=tell, daemon=True).start()
        list(backend.train([job] * 40))
except interrupts.Stopped:
    sys.exit(143)
"""


def test_a_second_signal_does_not_abort_threads_at_work() -> None:
    done = subprocess.run([sys.executable, "-c", TOLD_TWICE], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (143, "")
