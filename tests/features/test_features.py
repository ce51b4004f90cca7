"""The features themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary
from fedward.features import (
    HOG,
    PUBLIC_FEATURES,
    Given,
    NetworkFeatures,
    PublicFeature,
    Scattering,
    WordVectors,
)
from fedward.models import build

PICTURES = torch.rand(7, 1, 16, 16, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("feature", [HOG(cells=4), Scattering(scales=2, angles=4), Given()], ids=repr)
def test_a_feature_of_one_picture_does_not_depend_on_the_others(feature: PublicFeature) -> None:
    found = feature.compute(PICTURES, None)
    assert found.shape[0] == 7
    assert bool(torch.isfinite(found).all())
    assert torch.allclose(feature.compute(PICTURES[3:4], None)[0], found[3], atol=1e-5)
    assert feature.source == ""
    assert isinstance(feature, PublicFeature)


def test_hog_finds_which_way_an_edge_runs() -> None:
    across = torch.zeros(1, 1, 8, 8)
    across[..., 4:] = 1.0  # bright on the right: the gradient points along the rows, at angle 0
    found = HOG(cells=1, bins=4).compute(torch.cat([across, across.transpose(2, 3)]), None)
    assert found.argmax(dim=1).tolist() == [0, 1]


def test_scattering_hardly_moves_when_a_picture_does_and_the_picture_does() -> None:
    blob = torch.zeros(2, 1, 32, 32)
    blob[0, 0, 12:16, 12:20] = 1.0
    blob[1, 0, 13:17, 13:21] = 1.0
    found, pixels = Scattering(scales=3, angles=4).compute(blob, None), blob.flatten(1)

    def moved(x: torch.Tensor) -> float:
        return float((x[0] - x[1]).norm() / x[0].norm())

    assert moved(found) < 0.6 * moved(pixels)
    assert float(found[:, 16:].norm()) > 0.01  # it is not the average alone


def test_scattering_tells_directions_apart() -> None:
    stripes = (torch.arange(32) % 4 < 2).float().expand(1, 1, 32, 32)
    found = Scattering(scales=2, angles=2).compute(torch.cat([stripes, stripes.transpose(2, 3)]), None)
    assert float((found[0] - found[1]).norm() / found[0].norm()) > 0.1


def test_a_text_has_the_mean_of_its_words_vectors() -> None:
    words = Vocabulary(("cat", "sat"), torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    texts = Ragged.from_sequences([[2, 3], [1, 2]])  # the second begins with a word that nobody knows
    assert WordVectors().compute(texts, words).tolist() == [[1.0, 2.0], [1.0, 0.0]]


def test_a_network_gives_what_its_last_layer_reads(tmp_path: Path) -> None:
    model = build("mlp", input_shape=(4,), num_classes=3, seed=1)
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    feature = NetworkFeatures(model="mlp", weights=str(tmp_path / "weights.pt"), trained_on="another table")
    assert feature.source.startswith("another table (weights.pt, ")
    assert str(tmp_path) not in feature.source
    assert feature.source_labels
    x = torch.rand(5, 4)
    last = [each for each in model.modules() if isinstance(each, torch.nn.Linear)][-1]
    found = feature.compute(x, None)
    assert torch.allclose(last(found), model(x), atol=1e-5)


def test_a_network_is_read_from_safetensors(tmp_path: Path) -> None:
    safetensors = pytest.importorskip(
        "safetensors.torch", reason="the extra fedward[features] is not installed"
    )
    model = build("mlp", input_shape=(4,), num_classes=3, seed=1)
    safetensors.save_file(dict(model.state_dict()), tmp_path / "net.safetensors")
    torch.save(model.state_dict(), tmp_path / "net.pt")
    x = torch.rand(5, 4)
    one, other = (
        NetworkFeatures(model="mlp", weights=str(tmp_path / name)).compute(x, None)
        for name in ("net.safetensors", "net.pt")
    )
    assert torch.equal(one, other)
    (tmp_path / "net.safetensors").write_bytes(b"no tensors")
    with pytest.raises(InvalidValue, match="safetensors"):
        NetworkFeatures(model="mlp", weights=str(tmp_path / "net.safetensors")).compute(x, None)


@pytest.mark.parametrize(
    ("feature", "x", "words"),
    [
        (HOG(), PICTURES.flatten(1), "must be pictures"),
        (HOG(cells=20), PICTURES, "at least 20 x 20 pixels"),
        (Scattering(scales=5), PICTURES, "at least 32 x 32 pixels"),
        (WordVectors(), PICTURES, "must be texts"),
        (Given(), Ragged.from_sequences([[1]]), "must be numbers"),
        (NetworkFeatures(model="mlp", weights="nowhere.pt"), torch.rand(2, 4), "there is no file"),
    ],
    ids=repr,
)
def test_examples_of_another_kind_are_refused(
    feature: PublicFeature, x: torch.Tensor | Ragged, words: str
) -> None:
    with pytest.raises(InvalidValue, match=words):
        feature.compute(x, None)


def test_every_feature_says_what_it_was_fitted_to() -> None:
    for part in PUBLIC_FEATURES.values():
        assert {"source", "source_labels", "compute"} <= set(dir(part))
        assert part.__doc__
