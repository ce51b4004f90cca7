from __future__ import annotations

from collections.abc import Iterable

from fedward.backends.ray.node_questions import Answers, ask_until_all_answer


class Nodes:
    """Nodes of which one answers at the third question, and one never."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.questions: list[list[str]] = []

    def alive(self) -> list[str]:
        return list(self.names)

    def ask(self, nodes: Iterable[str], seconds: float) -> tuple[Answers, Answers]:
        asked = list(nodes)
        self.questions.append(asked)
        answers: Answers = {}
        problems: Answers = {}
        for name in asked:
            late = name == "never" or (name == "late" and len(self.questions) < 3)
            (problems if late else answers)[name] = {"problem": "not yet"} if late else {"fedward": "1"}
        return answers, problems


def test_a_node_that_fails_once_is_asked_again_and_the_others_are_not() -> None:
    nodes = Nodes("early", "late")
    assert ask_until_all_answer(nodes.alive, nodes.ask) == {
        "early": {"fedward": "1"},
        "late": {"fedward": "1"},
    }
    assert nodes.questions == [["early", "late"], ["late"], ["late"]]


def test_a_node_that_never_answers_keeps_its_problem() -> None:
    nodes = Nodes("early", "never")
    answers = ask_until_all_answer(nodes.alive, nodes.ask, seconds=0.2)
    assert answers == {"early": {"fedward": "1"}, "never": {"problem": "not yet"}}


def test_a_node_that_has_gone_is_no_longer_waited_for() -> None:
    nodes = Nodes("early", "never")

    def alive() -> list[str]:
        names = nodes.alive()
        if nodes.questions:
            nodes.names = ["early"]
        return names

    assert ask_until_all_answer(alive, nodes.ask) == {"early": {"fedward": "1"}}


def test_a_cluster_without_nodes_has_no_answers() -> None:
    nodes = Nodes()
    assert ask_until_all_answer(nodes.alive, nodes.ask) == {}
