from __future__ import annotations

import errno
import json
import os
import socket
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.backends.processes.shared_data import SharedData, attach
from fedward.backends.processes.worker_buffers import (
    ALIGNMENT,
    allocate_tensors,
    pack,
    pack_tensors,
    read,
    tensors_of,
    unpack,
    write,
)
from fedward.core.examples import Examples, Ragged
from support import flat_inputs

DTYPES = (torch.float32, torch.float64, torch.int64, torch.int16, torch.uint8, torch.bool, torch.bfloat16)


def flat(count: int, *shape: int, seed: int = 0) -> Examples:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, *shape, generator=generator)
    return Examples(x, torch.arange(count) % 3)


def ragged() -> Examples:
    return Examples(Ragged.from_sequences([[5, 3], [7], [2, 2, 9]]), torch.tensor([0, 1, 1]))


def same(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(a, b)


def drawn(data: st.DataObject) -> list[Tensor]:
    tensors = []
    for _ in range(data.draw(st.integers(0, 4))):
        shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
        dtype = data.draw(st.sampled_from(DTYPES))
        order = data.draw(st.permutations(range(len(shape))))
        tensors.append(torch.randint(0, 100, shape).to(dtype).permute(order))
    return tensors


def check(found: list[Tensor], tensors: list[Tensor]) -> None:
    assert len(found) == len(tensors)
    for before, after in zip(tensors, found, strict=True):
        assert before.dtype == after.dtype
        assert torch.equal(before, after)
        if before.numel() and 1 not in before.shape:
            assert before.stride() == after.stride()
            assert after.data_ptr() % ALIGNMENT == 0


@given(st.data())
def test_tensors_come_out_of_a_block_as_they_went_in(data: st.DataObject) -> None:
    tensors = drawn(data)
    places, block = pack(tensors)
    check(unpack(block, places), tensors)


def test_the_order_of_dimensions_in_memory_is_kept() -> None:
    """Convolutions choose their method by it, and the method decides about the last bits."""
    pictures = torch.randn(5, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    places, block = pack([pictures])
    (found,) = unpack(block, places)
    assert same(pictures, found)


@pytest.mark.parametrize("strange", [torch.arange(12.0)[::2], torch.ones(1).expand(6), torch.tensor(3.0)])
def test_tensors_with_gaps_or_overlaps_keep_their_values(strange: Tensor) -> None:
    places, block = pack([strange])
    (found,) = unpack(block, places)
    assert torch.equal(found, strange)


def test_examples_are_read_back_with_their_note() -> None:
    several = [flat(7, 3), ragged(), flat(0, 3), flat(4, 2, 2, seed=1)]
    shared = SharedData(several, {"note": [1, 2]})
    found, note = attach(shared.file, shared.where)
    shared.close()
    assert note == {"note": [1, 2]}
    for before, after in zip(several, found, strict=True):
        assert all(map(same, tensors_of(before), tensors_of(after)))
        assert all(t.data_ptr() % ALIGNMENT == 0 for t in tensors_of(after) if t.numel())


def test_who_writes_into_shared_examples_harms_nobody_else() -> None:
    original = flat(7, 3)
    shared = SharedData([original], None)
    (mine,), _ = attach(shared.file, shared.where)
    (theirs,), _ = attach(shared.file, shared.where)
    assert isinstance(mine.x, Tensor)
    mine.x.zero_()
    (later,), _ = attach(shared.file, shared.where)
    shared.close()
    assert all(
        isinstance(e.x, Tensor) and same(e.x, flat_inputs(original)) for e in (original, theirs, later)
    )


def test_shared_examples_have_no_name_and_do_not_need_the_original() -> None:
    before = set(Path("/dev/shm").iterdir()) if Path("/dev/shm").is_dir() else set()
    shared = SharedData([flat(7, 3)], None)
    assert os.fstat(shared.file).st_nlink == 0
    if Path("/dev/shm").is_dir():
        assert set(Path("/dev/shm").iterdir()) <= before
    (found,), _ = attach(shared.file, shared.where)
    shared.close()
    shared.close()
    assert isinstance(found.x, Tensor)
    assert same(flat_inputs(found), flat_inputs(flat(7, 3)))


def test_an_unlinked_file_does_where_there_is_no_memory_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = SharedData([flat(7, 3)], "note")
    assert list(tmp_path.iterdir()) == []
    (found,), note = attach(shared.file, shared.where)
    shared.close()
    assert note == "note"
    assert isinstance(found.x, Tensor)
    assert same(flat_inputs(found), flat_inputs(flat(7, 3)))


def test_a_full_disk_is_an_error_and_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(file: int, offset: int, size: int) -> None:
        opened.append(file)
        raise OSError(errno.ENOSPC, "no space left on device")

    opened: list[int] = []
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OSError, match="no space left"):
        SharedData([flat(7, 3)], None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])
    assert list(tmp_path.iterdir()) == []


def sent(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors after a way through a socket, which takes them in parts."""
    kinds, several = pack_tensors(tensors)
    here, there = socket.socketpair()
    with here, there:
        writer = threading.Thread(target=write, args=(there.fileno(), several))
        writer.start()
        found, room = allocate_tensors(json.loads(json.dumps(kinds)))
        read(here.fileno(), room)
        writer.join()
    return found


@given(st.data())
def test_tensors_come_out_of_a_socket_as_they_went_in(data: st.DataObject) -> None:
    tensors = drawn(data)
    check(sent(tensors), tensors)


def test_many_tensors_come_out_of_a_socket_each_in_memory_of_its_own() -> None:
    tensors = [torch.full((1 + 400 * number,), float(number)) for number in range(70)]  # 4 MB together
    found = sent(tensors)
    assert all(map(same, found, tensors))
    assert all(each.untyped_storage().nbytes() == each.nbytes for each in found)


def test_an_end_in_the_middle_of_a_tensor_is_told() -> None:
    here, there = socket.socketpair()
    with here:
        with there:
            there.sendall(b"12345")
        with pytest.raises(EOFError):
            read(here.fileno(), allocate_tensors([(1, "float32", (2,), (0,))])[1])
