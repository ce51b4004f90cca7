"""Checks of what a model is asked to be."""

from __future__ import annotations

from fedward.base.validate import InvalidType, InvalidValue, whole

_OTHER = "; choose another model: fedward list model"


def check(
    model: str, input_shape: tuple[int, ...], num_classes: int, *, only: tuple[int, ...] | None = None
) -> None:
    """Refuses shapes and numbers of classes that ``model`` cannot have; ``only`` is the one shape it takes.

    >>> check("mnist_cnn", (3, 32, 32), 10, only=(1, 28, 28))
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: input shape of mnist_cnn must be (1, 28, 28), got (3, 32, 32); \
choose another model: fedward list model
    """
    whole("number of classes", num_classes, at_least=2)
    if not isinstance(input_shape, (tuple, list)):
        raise InvalidType(f"input shape of {model} must be a tuple, got {input_shape!r}")
    if only is not None and tuple(input_shape) != only:
        raise InvalidValue(f"input shape of {model} must be {only}, got {tuple(input_shape)}{_OTHER}")
    if len(input_shape) == 0:
        raise InvalidValue(f"input shape of {model} must have at least one dimension, got ()")
    for size in input_shape:
        whole(f"input shape of {model}, each size,", size)


def check_picture(model: str, input_shape: tuple[int, ...], *, channels: int, least: int) -> None:
    """Refuses what is not a picture of so many channels and at least ``least`` pixels either way."""
    if len(input_shape) != 3 or input_shape[0] != channels or min(input_shape[1:]) < least:
        raise InvalidValue(
            f"input shape of {model} must be {channels} channels of at least {least} x {least} pixels, "
            f"got {tuple(input_shape)}{_OTHER}"
        )
