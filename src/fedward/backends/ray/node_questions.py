"""The question to every node of a cluster: what are you, and how do you round?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fedward.backends.compute import Compute
from fedward.backends.ray.node_facts import Facts
from fedward.base.validate import InvalidValue

ANSWER = 60.0
"""Seconds that a node has to say what it is."""

_PAUSE = 0.5

Answers = dict[str, Facts]
"""Facts by a node's number; one without has the reason under ``problem``."""

Question = Callable[[Iterable[str], float], tuple[Answers, Answers]]
"""Asks nodes for so many seconds: answers that stand, and problems that may pass."""


def alive_nodes() -> list[dict[str, Any]]:
    """What Ray says of each node that has a core."""
    import ray

    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def ask_nodes(compute: Compute) -> dict[str, Facts]:
    """The facts of every node, by its name."""
    answers = ask_until_all_answer(
        lambda: [node["NodeID"] for node in alive_nodes()], _question(compute.device)
    )
    if not answers:
        raise InvalidValue(f"cluster {compute.cluster} must have a node with a core, and has none")
    names = {node["NodeID"]: _name(node) for node in alive_nodes()}
    return {names.get(number, number): answer for number, answer in answers.items()}


def ask_until_all_answer(alive: Callable[[], list[str]], ask: Question, seconds: float = ANSWER) -> Answers:
    """Asks again where a problem may pass, as long as there is time and the node is there.

    Nodes hear of each other late, and a process of theirs may die: a healthy node may fail once.

    Args:
      alive: the numbers of the nodes that are there now.
      ask: puts the question.
      seconds: for all of it.
    """
    end = time.monotonic() + seconds
    answers: Answers = {}
    while True:
        nodes = alive()
        found, problems = ask([node for node in nodes if node not in answers], end - time.monotonic())
        answers |= found
        if time.monotonic() > end:
            answers = problems | answers
        nodes = alive()
        if all(node in answers for node in nodes):
            return {node: answers[node] for node in nodes}
        time.sleep(_PAUSE)


def _question(device: str) -> Question:
    import ray
    from ray import exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Inside a function, so that it goes there as it is: a node may have no fedward, or another one.
    def say() -> dict[str, str]:
        try:
            from fedward.backends.ray.node_facts import facts, usable_there
        except ImportError as error:
            return {"problem": f"cannot import fedward: {error}"}
        try:
            found = facts()
            if device != "cpu" and (problem := usable_there(device)):
                found["problem"] = f"cannot be used: {problem}"
            return found
        except Exception as error:
            return {"problem": f"cannot be used: {error}"}

    remote = ray.remote(num_cpus=0, num_gpus=0 if device == "cpu" else 0.01, max_retries=1)(say)
    may_pass = (
        exceptions.TaskUnschedulableError,
        exceptions.NodeDiedError,
        exceptions.WorkerCrashedError,
    )

    def ask(nodes: Iterable[str], seconds: float) -> tuple[Answers, Answers]:
        asked = {}
        for node in nodes:
            strategy = NodeAffinitySchedulingStrategy(node, soft=False)
            asked[remote.options(scheduling_strategy=strategy).remote()] = node
        if asked:
            ray.wait(list(asked), num_returns=len(asked), timeout=max(0.1, seconds))
        answers: Answers = {}
        problems: Answers = {}
        for reference, node in asked.items():
            try:
                answers[node] = ray.get(reference, timeout=0.1)
            except Exception as error:
                line = (str(error).strip().splitlines() or [type(error).__name__])[0]
                kind = problems if isinstance(error, may_pass) else answers
                kind[node] = {"problem": f"does not answer: {line}"}
        return answers, problems

    return ask


def _name(node: Mapping[str, Any]) -> str:
    address, host = node["NodeManagerAddress"], node.get("NodeName") or node.get("NodeManagerHostname")
    return str(address) if host in (None, "", address) else f"{address} ({host})"
