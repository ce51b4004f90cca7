"""The promises of a norm: it measures groups of coordinates and clips each to its bound."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fedward.clipping.norms import l2_norm
from fedward.core.types import Norm
from fedward.testing.conformance import Conformance, Promise, broken, check_promises
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, require_repeatable
from fedward.testing.small_world import random_rows

_BOUNDS = (1e-30, 1e-3, 0.5, 1.0, 3e30)


def check_norm(norm: Norm) -> Conformance:
    """Runs every promise of ``fedward.core.types.Norm``."""
    return check_promises("norm", norm, (*VALUE_PROMISES, *_PROMISES))


def _size(norm: Norm) -> int:
    return 12 if norm.sizes is None else sum(norm.sizes)


def _parts(norm: Norm, row: Tensor) -> list[Tensor]:
    """The groups of a row; those of a norm that does not say where they lie are taken together."""
    return [row] if norm.sizes is None else list(torch.split(row, list(norm.sizes)))


def _rows(size: int) -> dict[str, Tensor]:
    ones = torch.ones(size)
    mixed = ones.clone()
    mixed[0] = 3e38
    one_bad = ones.clone()
    one_bad[-1] = math.nan
    usual = {f"random row {i}": row * 10.0 ** (i - 4) for i, row in enumerate(random_rows(9, size, 3))}
    return usual | {
        "row of zeros": 0 * ones,
        "row of ones": ones,
        "row of huge numbers": 3e38 * ones,
        "row with one huge number": mixed,
        "row of the smallest numbers": 1e-45 * ones,
        "row with a NaN": one_bad,
        "row of infinities": math.inf * ones,
        "row of huge numbers in double precision": 1e300 * ones.double(),
    }


def _declares_groups(norm: Norm) -> None:
    if not isinstance(norm.groups, int) or norm.groups < 1:
        broken(f"groups is {norm.groups!r}", "Return how many groups are clipped apart, at least 1")
    if norm.sizes is not None and (len(norm.sizes) != norm.groups or min(norm.sizes) < 1):
        broken(
            f"sizes is {norm.sizes!r} for {norm.groups} groups", "Return one size, at least 1, for each group"
        )


def _measures(norm: Norm) -> None:
    for name, row in _rows(_size(norm)).items():
        if not bool(torch.isfinite(row).all()):
            continue
        norms = norm.measure(row)
        if len(norms) != norm.groups:
            broken(f"measure gave {len(norms)} norms for {norm.groups} groups", "Return one for each group")
        true = [l2_norm(part) for part in _parts(norm, row)]
        own = [math.hypot(*norms)] if norm.sizes is None else list(norms)
        for measured, real in zip(own, true, strict=True):
            if not math.isclose(measured, real, rel_tol=1e-6):
                broken(
                    f"measure gave {measured} for the {name}, whose L2 norm is {real}",
                    "Return L2 norms in double precision; a square in float32 overflows above 1.8e19",
                )


def _clips(norm: Norm) -> None:
    for name, row in _rows(_size(norm)).items():
        norms = norm.measure(row)
        for bound in _BOUNDS:
            bounds = (bound,) * norm.groups
            clipped = norm.clip(row.clone(), norms, bounds)
            if clipped.shape != row.shape:
                broken(f"clip gave shape {tuple(clipped.shape)} for {tuple(row.shape)}", "Keep the shape")
            for part in _parts(norm, clipped):
                limit = bound if norm.sizes is not None else math.hypot(*bounds)
                if not l2_norm(part) <= limit:
                    broken(
                        f"the {name} has norm {l2_norm(part)} after it was clipped to {limit}",
                        "Scale down a little more than rounding may add, and make zeros of what "
                        "is not finite",
                    )


def _keeps_what_fits(norm: Norm) -> None:
    for row in random_rows(5, _size(norm), 4):
        bounds = tuple(2 * each + 1 for each in norm.measure(row))
        if not torch.equal(norm.clip(row, norm.measure(row), bounds), row):
            broken(
                f"clip changed {in_short(row)}, which was within its bounds {bounds}", "Return it as it is"
            )


def _repeats_itself(norm: Norm) -> None:
    (row,) = random_rows(1, _size(norm), 5)
    bounds = (0.1,) * norm.groups
    require_repeatable(lambda: norm.measure(row), "measure", row)
    require_repeatable(lambda: norm.clip(row, norm.measure(row), bounds), "clip", row)


_PROMISES: tuple[Promise[Norm], ...] = (
    Promise(says="declares its groups", check=_declares_groups),
    Promise(says="measures the L2 norm of each group", check=_measures),
    Promise(says="lets no group through above its bound", check=_clips),
    Promise(says="leaves a row within its bounds as it is", check=_keeps_what_fits),
    Promise(says="gives the same bits again and writes to no row", check=_repeats_itself),
)
