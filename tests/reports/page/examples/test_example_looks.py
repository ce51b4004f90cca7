from __future__ import annotations

import base64
import io
import math

import numpy as np
import pytest
from matplotlib.image import imread

from fedward.base.validate import InvalidValue
from fedward.reports.page.examples.example_looks import as_pixels, data_uri, is_picture


@pytest.mark.parametrize("channels", [1, 3])
def test_a_picture_comes_back_as_it_was(channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (channels, 5, 7), dtype=np.uint8)
    kind, content = data_uri(pixels).split(",")
    assert kind == "data:image/png;base64"
    found = imread(io.BytesIO(base64.b64decode(content)), format="png")
    found = found[None] if channels == 1 else found[:, :, :3].transpose(2, 0, 1)
    assert np.array_equal(np.rint(found * 255), pixels)


def test_what_is_no_picture_is_refused() -> None:
    assert not is_picture((64,))
    assert not is_picture((2, 8, 8))
    with pytest.raises(InvalidValue, match="one or three channels"):
        data_uri(np.zeros((2, 4, 4), dtype=np.uint8))


def test_standardised_values_are_stretched_all_alike() -> None:
    x = np.array([-1.0, 0.0, 1.0, 3.0], dtype=np.float32).reshape(1, 1, 2, 2)
    assert as_pixels(np.concatenate([x, x / 3]))[0].ravel().tolist() == [0, 64, 128, 255]
    plain = np.array([0.0, 0.5, 0.25, 1.0], dtype=np.float32).reshape(1, 1, 2, 2)
    assert as_pixels(plain * 0.5).max() == 128
    assert math.isclose(as_pixels(plain).max(), 255)
