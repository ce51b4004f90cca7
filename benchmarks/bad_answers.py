"""Twenty bad answers of one node out of three: Flower's own wrapper for central DP, and fedward's server.

    python benchmarks/bad_answers.py          # needs fedward[flower]; starts nothing and uses no network
    python benchmarks/bad_answers.py --json FILE

Both average three updates of ten parameters within clip bound 1, without noise, so that what an answer moves
can be seen. Two nodes send an update of norm 0.1; the third sends what the line says. However it is made, the
model may move by (0.1 + 0.1 + 1) / 3 = 0.4 at most. A line says how far it moved, or that the round was lost.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, Error, Message, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.supercore.task_identity import TaskIdentity

from fedward.core.receive import receive
from fedward.core.roster import Roster
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Row
from fedward.deploy.flower.packet_records import from_records, to_records
from fedward.deploy.wire.messages import Answer
from fedward.deploy.wire.packet import BadPacket, Packet, RawArray
from fedward.local import SGD
from fedward.presets import user_dp_fedavg
from fedward.sampling import EveryoneSampler

SIZE, NODES, BOUND = 10, 3, 1.0
HONEST = np.full(SIZE, 0.1 / math.sqrt(SIZE), dtype=np.float32)


def array(values: Any, /, **changes: Any) -> Array:
    made = Array(np.asarray(values))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def row(**at: float) -> np.ndarray[Any, Any]:
    sent = HONEST.copy()
    for place, value in at.items():
        sent[int(place[1:])] = value
    return sent


ABSENT = "absent"
BAD: dict[str, tuple[Any, float]] = {
    # what the third node sends (a vector, an array, or None for an error), and how many examples it claims
    "one NaN": (row(_0=math.nan), 1),
    "one NaN in a huge update": (np.append(np.full(9, 1e6, np.float32), np.float32(math.nan)), 1),
    "infinity": (row(_0=math.inf), 1),
    "1e38 everywhere: its norm is infinite in float32": (np.full(SIZE, 1e38, np.float32), 1),
    "1e6 everywhere": (np.full(SIZE, 1e6, np.float32), 1),
    "a zero update": (np.zeros(SIZE, np.float32), 1),
    "a claim of 1e6 examples": (np.full(SIZE, 1.0, np.float32), 1e6),
    "a claim of 1e308 examples": (np.full(SIZE, 1.0, np.float32), 1e308),
    "a claim of -1 examples": (np.full(SIZE, 1.0, np.float32), -1),
    "a claim of -2 examples, with the others' 2 nothing": (np.full(SIZE, 1.0, np.float32), -2),
    "a claim of NaN examples": (HONEST, math.nan),
    "a claim of 0 examples": (np.full(SIZE, 1.0, np.float32), 0),
    "shape (1,)": (np.full(1, 5.0, np.float32), 1),
    "shape (10, 10)": (np.full((SIZE, SIZE), 1.0, np.float32), 1),
    "shape (0,)": (np.zeros(0, np.float32), 1),
    "complex numbers": (HONEST.astype(np.complex64) * 1j, 1),
    "text": (np.array(["x"] * SIZE), 1),
    "bytes that are no array": (array(HONEST, data=b"\x80\x04}q\x00."), 1),
    "an error": (None, 1),
    "nothing: fewer nodes than declared": (ABSENT, 1),
}


def flower(sent: Any, claimed: float) -> float:
    """How far Flower's model moves."""
    start = ArrayRecord({"w": Array(np.zeros(SIZE, np.float32))})
    strategy = DifferentialPrivacyServerSideFixedClipping(
        FedAvg(min_train_nodes=NODES, min_available_nodes=NODES),
        noise_multiplier=0.0,
        clipping_norm=BOUND,
        num_sampled_clients=NODES,
    )
    strategy.current_arrays = start
    replies = [_flower_reply(HONEST, 1), _flower_reply(HONEST, 1)]
    if sent is not ABSENT:
        replies.append(_flower_reply(sent, claimed))
    arrays, _ = strategy.aggregate_train(1, replies)
    if arrays is None:
        raise ValueError("the round was given up")
    moved = arrays.to_numpy_ndarrays()[0]
    if moved.shape != (SIZE,):
        raise ValueError(f"the model has the shape {moved.shape} now")
    return float(np.linalg.norm(moved.astype(np.complex128)))


def _flower_reply(sent: Any, claimed: float) -> Message:
    asked = Message(RecordDict({}), dst_node_id=1, message_type="train")
    asked.metadata.__dict__["_message_id"] = "1"
    if sent is None:
        return Message(Error(code=ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason="failed"), reply_to=asked)
    record = ArrayRecord({"w": sent if isinstance(sent, Array) else array(sent)})
    claim = MetricRecord({"num-examples": float(claimed)})
    return Message(RecordDict({"arrays": record, "metrics": claim}), reply_to=asked)


def fedward(sent: Any, claimed: float) -> float:
    """How far fedward's model moves: its messages, its reading of them, its round."""
    algorithm = user_dp_fedavg(
        num_users=NODES,
        sampler=EveryoneSampler(),
        local=SGD(learning_rate=0.1, batch_size=1, epochs=1),
        clip_bound=BOUND,
        noise_multiplier=1e-12,
    )
    state = algorithm.init(torch.zeros(SIZE))
    roster = Roster.declared(sizes=[1] * NODES, input_shape=(1,), num_classes=2)
    plan = plan_round(algorithm, state, roster, None, 1)
    state = replace(state, ledger=state.ledger.reserve(plan.round, plan.event))
    rows = [
        Row(user, _fedward_row(HONEST if user < 2 else sent, claimed if user == 2 else 1))
        for user in range(3)
    ]
    after, _ = finish_round(algorithm, state, plan, receive(algorithm, state, plan, rows, 1), 1)
    return float(after.parameters.norm())


def _fedward_row(sent: Any, claimed: float) -> Any:
    """What fedward's server has of an answer after it has read it."""
    like = torch.zeros(SIZE)
    if sent is None or sent is ABSENT:
        return None
    honest = Answer(rows={"0": torch.zeros(SIZE)}, norms={}, left_out={}).to_packet(like)
    if isinstance(sent, Array):
        raw = RawArray(kind="float32", shape=(1, SIZE), data=sent.data)
    else:
        given = np.asarray(sent)
        raw = RawArray(kind=str(given.dtype), shape=(1, *given.shape), data=given.tobytes())
    fields = dict(honest.fields) if claimed == 1 else {**honest.fields, "num_examples": claimed}
    try:
        packet = from_records(to_records(Packet(fields=fields, arrays={"rows": raw})))
        return Answer.from_packet(packet, ("0",), like).rows["0"]
    except BadPacket:
        return None


def attempt(how: Callable[[Any, float], float], sent: Any, claimed: float) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moved = how(sent, claimed)
    except Exception as error:
        return f"round lost: {type(error).__name__}"
    if not math.isfinite(moved):
        return "model destroyed"
    return f"{moved:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1
    limit = (2 * 0.1 + BOUND) / NODES
    print(f"bad answer of one node of three; a model may move by {limit:.3g} at most\n")
    print(f"{'':52} {'Flower 1.41':24} fedward")
    found = {}
    for name, (sent, claimed) in BAD.items():
        found[name] = {"flower": attempt(flower, sent, claimed), "fedward": attempt(fedward, sent, claimed)}
        print(f"{name:52} {found[name]['flower']:24} {found[name]['fedward']}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
