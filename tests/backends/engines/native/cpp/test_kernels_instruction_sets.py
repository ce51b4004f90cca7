"""Which instructions the compiled engine holds and where, and which it uses on a processor."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_engine = pytest.importorskip("fedward.backends.engines.native._engine", reason="the engine was not compiled")

# `make sanitize` compiles the kernels for AVX-512 so that AVX2 is enough for them.
BY_HALVES = "FEDWARD_AVX512_BY_HALVES" in os.environ.get("FEDWARD_CXXFLAGS", "")
NEEDS = {"avx2": {"avx2", "fma"}, "avx512": {"avx2", "fma"} if BY_HALVES else {"avx512f"}}
on_x86_64 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="these instruction sets are of x86-64"
)

FUNCTION = re.compile(r"[0-9a-f]+ <(.*)>:")
INSTRUCTION = re.compile(r"\s+[0-9a-f]+:\s+(\S+)\s*(.*)")
# What came after the first x86-64 and could get in by a flag: everything with VEX or EVEX begins with v or
# has a wide or a mask register; the rest are SSE3 to SSE4.2 and the bit manipulations.
WIDE = re.compile(r"%[yz]mm|%k[0-7]")
WIDEST = re.compile(r"%zmm|%k[0-7]|%[xy]mm(1[6-9]|2\d|3[01])")
LATER = re.compile(
    r"v\w+"
    r"|addsub.*|hadd.*|hsub.*|lddqu|movshdup|movsldup|movddup"
    r"|pabs.*|palignr|ph(add|sub).*|pmaddubsw|pmulhrsw|pshufb|psign."
    r"|blend.*|dpp.|extractps|insertps|movntdqa|mpsadbw|packusdw|pblend.*|pcmpeqq|pcmpgtq|pcmp.str.|pextr[bdq]"
    r"|phminposuw|pinsr[bdq]|pm(ax|in)(sb|sd|ud|uw)|pmov[sz]x.*|pmuldq|pmulld|ptest|round[ps][ds]|crc32.*|popcnt"
    r"|andn|bextr|bls(i|r|msk)|bzhi|lzcnt|mulx|pdep|pext|rorx|s[ah][lr]x|ad[co]x|movbe"
)


def beyond_the_baseline(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Function, mnemonic and operands of each instruction that the first x86-64 did not have."""
    function = ""
    for line in lines:
        if found := FUNCTION.fullmatch(line.rstrip()):
            function = found[1]
        elif (found := INSTRUCTION.match(line)) and (LATER.fullmatch(found[1]) or WIDE.search(found[2])):
            yield function, found[1], found[2]


@pytest.fixture(scope="module")
def later() -> list[tuple[str, str, str]]:
    if shutil.which("objdump") is None:
        pytest.skip("there is no objdump")
    command = ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", str(_engine.__file__)]
    code = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert any("fedward::Plan::Plan(" in line for line in code), "the names of the functions were stripped"
    return list(beyond_the_baseline(code))


def test_an_instruction_beyond_the_baseline_is_seen() -> None:
    code = [
        "0000000000001000 <fedward::train(int)>:",
        "    1000:\tmovaps %xmm0,%xmm1",
        "    1003:\tmulps  0x10(%rax),%xmm1",
        "    1007:\ttzcnt  %rax,%rax",
        "    100c:\tvfmadd231ps %xmm0,%xmm1,%xmm2",
        "    1011:\tpmulld %xmm0,%xmm1",
        "0000000000002000 <fedward::avx2::(anonymous namespace)::step(float*)>:",
        "    2000:\tandn   %eax,%ebx,%ecx",
        "    2005:\tret",
    ]
    assert [(name.split("(")[0], what) for name, what, _ in beyond_the_baseline(code)] == [
        ("fedward::train", "vfmadd231ps"),
        ("fedward::train", "pmulld"),
        ("fedward::avx2::", "andn"),
    ]


@on_x86_64
def test_only_the_kernels_of_a_set_hold_its_instructions(later: list[tuple[str, str, str]]) -> None:
    sets = ("fedward::avx2::", "fedward::avx512::")
    assert [each for each in later if not any(name in each[0] for name in sets)] == []
    assert [each for each in later if sets[0] in each[0] and WIDEST.search(each[2])] == []


@on_x86_64
@pytest.mark.skipif(BY_HALVES, reason="the kernels are compiled to be watched, not to be fast")
def test_the_kernels_of_a_set_use_what_it_has(later: list[tuple[str, str, str]]) -> None:
    registers = {"fedward::avx2::": "%ymm", "fedward::avx512::": "%zmm"}
    for name, register in registers.items():
        used = [
            each for each in later if name in each[0] and each[1].startswith("vfm") and register in each[2]
        ]
        assert len(used) > 50


def _flags() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.is_file():
        pytest.skip("this system does not say what its processor has")
    (line, *_) = [line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")]
    return set(line.split(":")[1].split())


@on_x86_64
@pytest.mark.parametrize("name", ["avx2", "avx512"])
def test_a_set_that_the_processor_lacks_is_refused(name: str) -> None:
    if NEEDS[name] <= _flags():
        assert _engine.instruction_set(name) == name
    else:
        with pytest.raises(ValueError, match=f"this processor has no {name}"):
            _engine.instruction_set(name)
        with pytest.raises(ValueError, match=f"this processor has no {name}"):
            _tiny(name)


@on_x86_64
def test_the_widest_set_that_there_is_is_chosen() -> None:
    flags = _flags()
    widest = [name for name in ("avx512", "avx2") if NEEDS[name] <= flags]
    assert _engine.instruction_set() == [*widest, "portable"][0]
    assert _tiny("auto").instructions == [*widest, "portable"][0]


def test_a_set_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="instruction set must be auto, portable, avx2 or avx512, got sse9"):
        _engine.instruction_set("sse9")


def test_the_portable_kernels_run_everywhere_and_learn_the_same() -> None:
    portable = _tiny("portable")
    assert portable.instructions == "portable"
    found = _trained(portable)
    assert np.abs(found).max() > 0.01
    np.testing.assert_allclose(found, _trained(_tiny("auto")), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["portable", "avx2", "avx512"])
def test_examples_that_end_within_a_vector_are_read_to_their_end(name: str) -> None:
    # So large that they go through one by one: nothing after the first follows in memory.
    features = 40_001
    try:
        layers = [
            _engine.Layer("relu"),
            _engine.Layer("convolution", outputs=2, kernel=(1, 1), weight_at=0),
        ]
        engine = _engine.Engine(features, 1, 1, layers, 2 * features, name)
    except ValueError as reason:
        pytest.skip(str(reason))
    assert engine.chunk == 1
    x = np.random.default_rng(0).normal(size=(1, features)).astype(np.float32)
    none = np.zeros(1, dtype=np.int64)
    found = engine.gradient(np.zeros(2 * features, dtype=np.float32), x, none, none)
    np.testing.assert_allclose(found.reshape(2, -1), [[-0.5], [0.5]] * np.maximum(x, 0), rtol=1e-6)


def _tiny(instructions: str) -> Any:
    """A convolution, a pool and a linear layer for two classes."""
    layers = [
        _engine.Layer("convolution", outputs=5, kernel=(3, 3), padding=(1, 1), weight_at=0, bias_at=45),
        _engine.Layer("relu"),
        _engine.Layer("largest", kernel=(2, 2), stride=(2, 2)),
        _engine.Layer(
            "convolution", outputs=2, kernel=(3, 3), weight_at=50, bias_at=140, channels_last=False
        ),
    ]
    return _engine.Engine(1, 6, 6, layers, 142, instructions)


def _trained(engine: Any) -> Any:
    rng = np.random.default_rng(0)
    start = rng.normal(0, 0.3, 142).astype(np.float32)
    x = rng.normal(size=(7, 1, 6, 6)).astype(np.float32)
    y = np.arange(7) % 2
    order = np.concatenate([rng.permutation(7) for _ in range(3)])
    return engine.train(start, x, y, order, [4, 3] * 3, learning_rate=0.1, momentum=0.9)
