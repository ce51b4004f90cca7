"""The promises of features, which natural backdoors look for, and of patterns, which others plant."""

from __future__ import annotations

import torch

from fedward.attacks.poisoning import Feature, Pattern
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.testing.conformance import Conformance, Promise, broken, check_promises
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.poisoning_conformance import check_mask
from fedward.testing.repeatable import in_short, require_repeatable
from fedward.testing.small_world import small_pictures


def check_feature(feature: Feature, federation: Federation | None = None) -> Conformance:
    """Runs every promise of ``fedward.attacks.poisoning.Feature``.

    Args:
      federation: with examples that it can be asked about; small pictures if not given.
    """
    data = small_pictures() if federation is None else federation
    promise = Promise[Feature](
        says="marks examples with a bool each, the same each time",
        check=lambda feature: _marks(feature, data.user(0)),
    )
    apart = Promise[Feature](
        says="judges each example by itself", check=lambda feature: _judges_each(feature, data.user(0))
    )
    return check_promises("feature", feature, (*VALUE_PROMISES, promise, apart))


def check_pattern(pattern: Pattern, shape: tuple[int, ...] = (1, 28, 28)) -> Conformance:
    """Runs every promise of ``fedward.attacks.poisoning.Pattern``.

    Args:
      shape: of an image that it fits into.
    """
    inside = Promise[Pattern](
        says="lies inside the image, each pixel once, in reading order",
        check=lambda pattern: _lies_inside(pattern, shape),
    )
    refuses = Promise[Pattern](says="refuses an image that it does not fit into", check=_fits_or_refuses)
    return check_promises("pattern", pattern, (*VALUE_PROMISES, inside, refuses))


def _judges_each(feature: Feature, examples: Examples) -> None:
    together = feature.mask(examples)
    alone = torch.cat([feature.mask(examples.span(place, place + 1)) for place in range(len(examples))])
    if not torch.equal(together, alone):
        broken(
            f"it marks {together.tolist()} together and {alone.tolist()} one by one",
            "Let the mark of an example depend on that example alone, whoever owns it",
        )


def _lies_inside(pattern: Pattern, shape: tuple[int, ...]) -> None:
    places = require_repeatable(lambda: pattern.pixels(shape), "pixels")
    rows, columns = shape[-2:]
    if not isinstance(places, tuple) or not places:
        broken(f"pixels gave {in_short(places)}", "Return at least one (row, column)")
    if list(places) != sorted(set(places)):
        broken(
            f"pixels gave {in_short(places)}", "Return each pixel once, in reading order: sorted(set(...))"
        )
    for row, column in places:
        if not (0 <= row < rows and 0 <= column < columns):
            broken(f"pixel {(row, column)} is outside of {rows} x {columns}", "Count rows and columns from 0")


def _fits_or_refuses(pattern: Pattern) -> None:
    for shape in ((1, 2, 2), (1, 1, 1)):
        try:
            pattern.pixels(shape)
        except InvalidValue:
            continue
        _lies_inside(pattern, shape)


def _marks(feature: Feature, examples: Examples) -> None:
    check_mask("mask", feature.mask, examples)
