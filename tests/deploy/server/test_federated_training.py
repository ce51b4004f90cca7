from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deploy.loopback_nodes import (
    CENTRAL,
    INSDP,
    NODES,
    SGD,
    Loopback,
    nodes_of,
    population,
    prepare,
    run_to_end,
    with_source,
)
from fedward.backends.in_process import InProcess
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.server.attendance import NotEnoughNodes
from fedward.deploy.server.federated_setup import FederatedSetup
from fedward.deploy.server.message_transport import Kind, Reply
from fedward.deploy.wire.packet import Packet, RawArray
from fedward.rundir import checkpoint
from fedward.rundir.store import RunDirectory
from studies.killing import Killed

ADAPTIVE = {
    "preset": "adaptive_clipping",
    "initial_bound": 1.0,
    "noise_multiplier": 2.0,
    "sampler": CENTRAL["sampler"],
    "local": SGD,
}
CND = {
    "preset": "clip_norm_decay",
    "initial_bound": 1.0,
    "decay": 0.9,
    "noise_multiplier": 2.0,
    "sampler": CENTRAL["sampler"],
    "local": SGD,
}
PROJECTED = CENTRAL | {"local": {"name": "projected_sgd", "sgd": SGD}}
LDP = {
    "preset": "ldp_fedsgd",
    "noise_multiplier": 4.0,
    "clip_bound": 1.0,
    "sampler": CENTRAL["sampler"],
}
LOCAL_DP = {"preset": "local_dp", "sampler": CENTRAL["sampler"], "local": INSDP["local"]}
BANDED = {
    "preset": "dp_ftrl",
    "rounds": 4,
    "separation": 2,
    "clip_bound": 1.0,
    "noise_multiplier": 2.0,
    "local": SGD,
}
PRESETS = {
    "user_dp_fedavg": CENTRAL,
    "adaptive_clipping": ADAPTIVE,
    "clip_norm_decay": CND,
    "projected": PROJECTED,
    "insdp_fedavg": INSDP,
    "insdp_fedsgd": INSDP
    | {
        "preset": "insdp_fedsgd",
        "sampler": {"name": "fixed_size", "size": 6},
        "local": INSDP["local"] | {"steps": 1},
    },
    "local_dp": LOCAL_DP,
    "ldp_fedsgd": LDP,
    "dp_ftrl": BANDED,
    # Without a proof: what defences are compared with.
    "fedavg": {"preset": "fedavg", "sampler": CENTRAL["sampler"], "local": SGD},
    "norm_bounding": {
        "preset": "norm_bounding",
        "clip_bound": 1.0,
        "sampler": CENTRAL["sampler"],
        "local": SGD,
    },
    "krum": {
        "preset": "krum",
        "malicious": 1,
        "sampler": {"name": "fixed_size", "size": 6},
        "local": SGD,
    },
    "median": {"preset": "median", "sampler": CENTRAL["sampler"], "local": SGD},
}


def state_of(out: Path) -> ServerState:
    file = out / "checkpoint.pt"
    return checkpoint.from_bytes(file.read_bytes(), str(file))


def simulated(setup: FederatedSetup, data: Federation) -> ServerState:
    """The last state of the same training in a simulation."""
    rounds = setup.experiment.rounds
    steps = train(setup.algorithm, setup.model, data, InProcess(setup.model, data), rounds=rounds, seed=1)
    return list(steps)[-1][0]


@pytest.mark.parametrize("algorithm", list(PRESETS.values()), ids=list(PRESETS))
def test_a_seeded_federation_has_the_bits_and_the_ledger_of_its_simulation(
    algorithm: dict[str, Any], tmp_path: Path, digits_of_12: Federation
) -> None:
    setup = prepare(tmp_path / "run", digits_of_12, algorithm)
    run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model)))
    found, wanted = state_of(tmp_path / "run"), simulated(setup, digits_of_12)
    assert torch.equal(found.parameters, wanted.parameters)
    assert found.ledger == wanted.ledger
    assert found.policy == wanted.policy
    assert not torch.equal(found.parameters, setup.parameters)


def test_a_finished_run_is_left_as_it_is(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path / "run", digits_of_12, rounds=1)
    run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model)))
    before = (tmp_path / "run" / "ledger.json").read_bytes()
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    run_to_end(setup, carrier)
    assert not carrier.asked
    assert (tmp_path / "run" / "ledger.json").read_bytes() == before


def test_a_second_server_on_the_same_run_is_refused(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path / "run", digits_of_12)

    def second(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        with pytest.raises(InvalidValue, match="in use by another process"):
            run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model)))
        return Reply(packet=own())

    run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model), second))
    assert state_of(tmp_path / "run").ledger.rounds == 3


def test_another_population_is_another_run(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path / "run", digits_of_12, rounds=1)
    run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model)))
    first, *others = setup.file.population.nodes
    moved = replace(setup.file.population, nodes=(*others, first))
    other = replace(setup, file=replace(setup.file, population=moved))
    with pytest.raises(InvalidValue, match="data"):
        run_to_end(other, Loopback(nodes_of(digits_of_12, setup.model)))


def test_no_round_is_paid_for_while_nodes_are_missing(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path / "run", digits_of_12, least_nodes=3)
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    lost = carrier.nodes_there.pop(101)
    with pytest.raises(NotEnoughNodes, match="3 declared nodes must be there before a round begins, got 2"):
        run_to_end(setup, carrier)
    assert not (tmp_path / "run" / "ledger.json").exists()
    carrier.nodes_there[101] = lost
    run_to_end(setup, carrier)
    assert torch.equal(state_of(tmp_path / "run").parameters, simulated(setup, digits_of_12).parameters)


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_a_node_that_leaves_drops_its_users_and_changes_no_price(
    source: str, tmp_path: Path, digits_of_12: Federation
) -> None:
    setup = prepare(tmp_path / "run", digits_of_12, with_source(CENTRAL, source))
    carrier = Loopback(nodes_of(digits_of_12, setup.model))

    def leaves(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        if round == 1 and number == 100:
            del carrier.nodes_there[100]
            return Reply(problem="killed in the middle of its training")
        return Reply(packet=own())

    carrier.answers = leaves
    run_to_end(setup, carrier)
    ledger = state_of(tmp_path / "run").ledger
    assert ledger == setup.algorithm.planned_ledger(setup.people.num_users, 3)
    assert not any(number == 100 and kind == "task" for number, kind, _ in carrier.asked[-2:])


def test_a_node_that_comes_back_takes_part_again(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path / "run", digits_of_12, rounds=4)
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    back = carrier.nodes_there[102]

    def blinks(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        if round == 0:
            carrier.nodes_there.pop(102, None)
        if round == 1:
            carrier.nodes_there[102] = back
        return Reply(packet=own())

    carrier.answers = blinks
    run_to_end(setup, carrier)
    greeted = [number for number, kind, _ in carrier.asked if kind == "greeting"]
    assert greeted.count(102) == 2
    assert carrier.asked[-1][0] == 102 or any(n == 102 and k == "task" for n, k, _ in carrier.asked[-3:])


def _changed(packet: Packet, **fields: Any) -> Packet:
    return Packet(fields={**packet.fields, **fields}, arrays=packet.arrays)


def _array(packet: Packet, **changes: Any) -> Packet:
    return Packet(fields=packet.fields, arrays={"rows": replace(packet.arrays["rows"], **changes)})


BAD_ANSWERS: dict[str, Callable[[Packet], Packet]] = {
    "another version": lambda p: _changed(p, version=2),
    "no version": lambda p: Packet(
        fields={k: v for k, v in p.fields.items() if k != "version"}, arrays=p.arrays
    ),
    "a user that was not asked": lambda p: _changed(p, users=["99", *p.fields["users"][1:]]),
    "a user twice": lambda p: _changed(p, users=[p.fields["users"][0]] * len(p.fields["users"])),
    "a claimed number of examples": lambda p: _changed(p, num_examples=10**6),
    "a huge shape": lambda p: _array(p, shape=(10**9, 10**9)),
    "shape (1,)": lambda p: _array(p, shape=(1,)),
    "float64": lambda p: _array(p, kind="float64"),
    "objects": lambda p: _array(p, kind="object"),
    "too few bytes": lambda p: _array(p, data=p.arrays["rows"].data[:-4]),
    "too many bytes": lambda p: _array(p, data=p.arrays["rows"].data * 2),
    "no array": lambda p: Packet(fields=p.fields),
    "one more array": lambda p: Packet(
        fields=p.fields, arrays={**p.arrays, "more": RawArray(kind="float32", shape=(0,), data=b"")}
    ),
    "users as a number": lambda p: _changed(p, users=7),
    "true as a number": lambda p: _changed(p, budget=True),
    "a negative count": lambda p: _changed(p, failed=-1),
    "a norm that is NaN": lambda p: _changed(p, normed=p.fields["users"][:1], norms=[math.nan]),
}


@pytest.mark.parametrize("fault", BAD_ANSWERS)
def test_what_a_malicious_node_sends_costs_it_its_own_users_and_nobody_else_anything(
    fault: str, tmp_path: Path, digits_of_12: Federation
) -> None:
    def forged(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        answer = own()
        if kind == "task" and number == 101:
            answer = BAD_ANSWERS[fault](answer)
        return Reply(packet=answer)

    def silent(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        if kind == "task" and number == 101:
            return Reply(problem="nothing came")
        return Reply(packet=own())

    states = []
    for name, answers in (("forged", forged), ("silent", silent)):
        setup = prepare(tmp_path / name, digits_of_12, rounds=1)
        run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model), answers))
        states.append(state_of(tmp_path / name))
    assert torch.equal(states[0].parameters, states[1].parameters)
    assert states[0].ledger == states[1].ledger


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30], ids=str)
def test_rows_without_a_finite_norm_count_as_zero_and_large_ones_are_clipped(
    value: float, tmp_path: Path, digits_of_12: Federation
) -> None:
    import numpy as np

    def forged(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        answer = own()
        if kind == "task" and number == 101:
            rows = np.frombuffer(answer.arrays["rows"].data, dtype="<f4").copy()
            rows[0] = value
            answer = _array(answer, data=rows.tobytes())
        return Reply(packet=answer)

    states = []
    for name, answers in (("forged", forged), ("honest", None)):
        setup = prepare(tmp_path / name, digits_of_12, rounds=1)
        run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model), answers))
        states.append(state_of(tmp_path / name).parameters)
    # One user's row in place of another of norm 1: at most twice the bound over the declared cohort.
    assert 0 < float((states[0] - states[1]).norm()) <= 2 * 1.0 / 6 + 1e-6


KILLS = list(range(12))


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_a_server_killed_at_any_moment_goes_on_with_its_ledger_right(
    source: str, tmp_path: Path, digits_of_12: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = with_source(CENTRAL, source)
    for moment in KILLS:
        setup = prepare(tmp_path / f"run-{moment}", digits_of_12, algorithm, rounds=2)
        count = 0

        def killing(real: Callable[..., Any], moment: int = moment) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                nonlocal count
                count += 1
                if count == moment + 1:
                    raise Killed
                return real(*arguments)

            return call

        def dies(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
            return Reply(packet=killing(own)())

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", killing(os.replace))
            carrier = Loopback(nodes_of(digits_of_12, setup.model), dies)
            with suppress(Killed):
                run_to_end(setup, carrier)
        reserved = _reserved(setup.file.out)
        run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model)))
        ledger = state_of(setup.file.out).ledger
        assert ledger.rounds == 2
        vain = sum(entry.count for entry in ledger.entries if not entry.released)
        assert vain == (1 if reserved and source == "system" else 0), moment
        if source == "seeded":
            assert torch.equal(state_of(setup.file.out).parameters, simulated(setup, digits_of_12).parameters)


def _reserved(out: Path) -> bool:
    """Whether a round is reserved on disk that no checkpoint holds."""
    if not (out / "ledger.json").exists():
        return False
    ledger = RunDirectory(out).ledger()
    stored = state_of(out).round if (out / "checkpoint.pt").exists() else 0
    return ledger.reserved is not None and ledger.reserved.first_round >= stored


@pytest.mark.parametrize("preset", ["insdp_fedavg", "local_dp", "ldp_fedsgd"])
def test_users_that_protect_themselves_are_charged_at_their_nodes(
    preset: str, tmp_path: Path, digits_of_12: Federation
) -> None:
    from fedward.deploy.node.node_ledger import NodeLedger

    algorithm = with_source(PRESETS[preset])
    setup = prepare(tmp_path / "run", digits_of_12, algorithm)
    rules = {
        place: Rules(trust_server=False, epsilon=50.0, delta=1e-3, ledger=tmp_path / f"node-{place}")
        for place in range(NODES)
    }
    nodes = {
        number: replace(node, rules=rules[number - 100])
        for number, node in nodes_of(digits_of_12, setup.model).items()
    }
    run_to_end(setup, Loopback(nodes))
    users = state_of(tmp_path / "run").users
    assert users is not None
    for place in range(NODES):
        spent = NodeLedger(tmp_path / f"node-{place}", rules[place].budget).read()
        for user in range(4):
            at_server = users.ledger(place * 4 + user).spending
            at_node = spent.ledger(str(user)) if spent is not None else None
            assert (at_node.spending if at_node is not None else ()) == at_server


def test_an_exhausted_user_drops_out_whatever_the_server_asks(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    everyone = with_source(INSDP) | {"sampler": {"name": "everyone"}}
    together = population(digits_of_12, nodes=1)
    setup = prepare(tmp_path / "run", digits_of_12, everyone, rounds=3, population=together)
    event = setup.algorithm.protector.local_event(0)
    ledger = setup.algorithm.new_user_ledgers(1).ledger(0)
    enough_for_two = ledger.charged(event, 2).guarantee(1e-3, "pld").epsilon
    rules = Rules(trust_server=False, epsilon=enough_for_two, delta=1e-3, ledger=tmp_path / "ledger")
    sent: list[int] = []

    def counted(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        answer = own()
        if kind == "task":
            sent.append(len(answer.fields["users"]))
            assert answer.fields["budget"] + sent[-1] == 12
        return Reply(packet=answer)

    run_to_end(setup, Loopback(nodes_of(digits_of_12, setup.model, rules, nodes=1), counted))
    assert sent == [12, 12, 0]
