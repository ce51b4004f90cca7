from __future__ import annotations

import torch

from fedward.backends.processes.worker_holdings import Holdings
from fedward.core.examples import Examples


def examples() -> Examples:
    return Examples(torch.ones(4, 3), torch.zeros(4, dtype=torch.int64))


def test_a_tensor_is_sent_once() -> None:
    holdings, tensor = Holdings([]), torch.ones(5)
    assert holdings.parameters(tensor) == holdings.parameters(tensor)
    assert len(holdings.settle()[0]) == 1
    holdings.parameters(tensor)
    assert holdings.settle() == ([], [])


def test_an_equal_tensor_is_another_one() -> None:
    holdings = Holdings([])
    assert holdings.parameters(torch.ones(5)) != holdings.parameters(torch.ones(5))


def test_a_tensor_that_was_written_to_is_sent_again() -> None:
    holdings, tensor = Holdings([]), torch.ones(5)
    first = holdings.parameters(tensor)
    holdings.settle()
    tensor.add_(1)
    assert holdings.parameters(tensor) != first
    ((_, _, (_, array)),), _ = holdings.settle()
    assert array.view("float32").tolist() == [2.0] * 5


def test_examples_that_were_written_to_are_sent_again() -> None:
    holdings, own = Holdings([]), examples()
    first = holdings.examples(own)
    own.y.add_(1)
    assert holdings.examples(own) != first


def test_an_inference_tensor_is_the_same_within_a_chunk_only() -> None:
    with torch.inference_mode():
        tensor = torch.ones(5)
    holdings = Holdings([])
    first = holdings.parameters(tensor)
    assert holdings.parameters(tensor) == first
    holdings.settle()
    assert holdings.parameters(tensor) != first


def test_trainers_are_known_by_what_they_are_and_not_by_who() -> None:
    holdings = Holdings([])
    first = holdings.trainer(b"fast")
    assert holdings.trainer(bytes(bytearray(b"fast"))) == first
    assert holdings.trainer(b"slow") != first
    assert [sent for _, _, sent in holdings.settle()[0]] == [b"fast", b"slow"]
    assert holdings.trainer(b"fast") == first
    assert holdings.settle() == ([], [])


def test_shared_examples_are_never_sent() -> None:
    shared = [examples(), examples()]
    holdings = Holdings(shared)
    assert [holdings.examples(each) for each in reversed(shared)] == [1, 0]
    assert holdings.settle() == ([], [])


def test_what_was_not_used_for_longest_is_dropped_first() -> None:
    tensors = [torch.ones(16) for _ in range(3)]  # 64 bytes each
    holdings = Holdings([], limit=128)
    a, b = (holdings.parameters(tensor) for tensor in tensors[:2])
    holdings.settle()
    assert holdings.parameters(tensors[0]) == a
    holdings.settle()
    holdings.parameters(tensors[2])
    assert holdings.settle()[1] == [b]
    assert holdings.parameters(tensors[0]) == a
    assert holdings.parameters(tensors[1]) != b


def test_what_a_chunk_needs_is_held_even_beyond_the_limit() -> None:
    tensors = [torch.ones(16) for _ in range(5)]
    holdings = Holdings([], limit=128)
    numbers = [holdings.parameters(tensor) for tensor in tensors]
    new, drop = holdings.settle()
    assert [number for number, _, _ in new] == numbers
    assert drop == []
    holdings.parameters(tensors[4])
    assert holdings.settle() == ([], numbers[:3])
