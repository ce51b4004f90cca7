from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedward.base.validate import InvalidValue
from fedward.core.digest import tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.core.vocabulary import Vocabulary
from fedward.models import build, weights_file
from fedward.models.initial_weights import load_weights
from fedward.models.weights_file import About
from models.other_files import write_other_files

ABOUT = About(
    model={"name": "mlp"},
    data={"name": "digits", "digest": "d"},
    training={},
    start="s",
    seed=1,
    epochs=1,
    wanted=1,
    versions={"fedward": "1"},
)


def mlp(num_classes: int = 10, seed: int = 1) -> nn.Module:
    return build("mlp", input_shape=(1, 8, 8), num_classes=num_classes, seed=seed)


def tensors(model: nn.Module) -> dict[str, Tensor]:
    spec = ParameterSpec.of(model)
    return weights_file.copy_trained(spec, spec.flatten(model))


def write(path: Path, model: nn.Module, about: About = ABOUT) -> Path:
    path.write_bytes(weights_file.to_bytes(about, tensors(model)))
    return path


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def test_all_weights_are_loaded_where_the_shapes_are_the_same(tmp_path: Path) -> None:
    stored, here = mlp(seed=5), mlp()
    found = load_weights(write(tmp_path / "weights.pt", stored), here, "mlp")
    assert same(stored, here)
    assert (found.loaded, found.fresh) == (("1.weight", "1.bias", "3.weight", "3.bias"), ())
    assert found.digest == tensor_digest(ParameterSpec.of(stored).flatten(stored))
    assert str(found) == (
        f"starts from {tmp_path / 'weights.pt'}, mlp trained on digits for 1 epoch: 4 of 4 tensors loaded"
    )


def test_a_last_layer_of_another_shape_keeps_what_the_seed_drew(tmp_path: Path) -> None:
    stored, here, fresh = mlp(100, seed=5), mlp(2), mlp(2)
    found = load_weights(write(tmp_path / "weights.pt", stored), here, "mlp")
    assert isinstance(here, nn.Sequential)
    assert isinstance(stored, nn.Sequential)
    assert isinstance(fresh, nn.Sequential)
    assert same(here[1], stored[1])
    assert same(here[3], fresh[3])
    assert (found.loaded, found.fresh) == (("1.weight", "1.bias"), ("3.weight", "3.bias"))
    assert str(found).endswith(
        "2 of 4 tensors loaded; 3.weight, 3.bias of another shape there, drawn from the seed"
    )
    assert found.digest == tensor_digest(ParameterSpec.of(here).flatten(here))


def test_convolutions_come_back_as_they_were(tmp_path: Path) -> None:
    """Within the flat vector their channels run fastest; in the file and in the module they do not."""
    stored, here = (build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=seed) for seed in (5, 1))
    about = replace(ABOUT, model={"name": "digits_cnn"})
    load_weights(write(tmp_path / "weights.pt", stored, about), here, "digits_cnn")
    assert same(stored, here)


def test_the_state_dict_of_a_run_is_read_too(tmp_path: Path) -> None:
    stored, here = mlp(seed=5), mlp()
    torch.save(stored.state_dict(), tmp_path / "model.pt")
    found = load_weights(tmp_path / "model.pt", here, "mlp")
    assert same(stored, here)
    assert str(found) == f"starts from {tmp_path / 'model.pt'}: 4 of 4 tensors loaded"


def refused(path: Path, message: str, name: str = "mlp", model: nn.Module | None = None, **more: Any) -> None:
    """The file is refused with this message, and the model is left as it was."""
    model = mlp() if model is None else model
    before = ParameterSpec.of(model).flatten(model)
    with pytest.raises(InvalidValue, match=message):
        load_weights(path, model, name, **more)
    assert torch.equal(ParameterSpec.of(model).flatten(model), before)


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "weights.pt", mlp())
    cnn = build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=1)
    refused(path, r"weights .* must be those of digits_cnn, got those of mlp", "digits_cnn", cnn)
    torch.save(cnn.state_dict(), tmp_path / "model.pt")
    refused(tmp_path / "model.pt", r"must be those of mlp, but 1\.bias is not among them")
    torch.save(mlp().state_dict() | {"more": torch.zeros(1)}, tmp_path / "model.pt")
    refused(tmp_path / "model.pt", r"must be those of mlp, but it has no more")


def test_another_shape_anywhere_but_in_the_last_layer_is_refused(tmp_path: Path) -> None:
    other = build("mlp", input_shape=(1, 9, 9), num_classes=10, seed=5)
    refused(
        write(tmp_path / "weights.pt", other),
        r"1\.weight has shape \(100, 81\) there and \(100, 64\) here; only the last layer may differ",
    )


@pytest.mark.parametrize(("features", "classes"), [(4, 3), (5, 2)])
def test_a_model_of_one_layer_of_another_shape_has_nothing_to_load(
    features: int, classes: int, tmp_path: Path
) -> None:
    """A bias of the right length belongs to its weight: it is not loaded without it."""
    stored, here = (
        build("logistic_regression", input_shape=(size,), num_classes=count, seed=1)
        for size, count in ((features, classes), (4, 2))
    )
    torch.save(stored.state_dict(), tmp_path / "model.pt")
    refused(tmp_path / "model.pt", r"nothing in it has the shape", "logistic_regression", here)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_refused(value: float, tmp_path: Path) -> None:
    stored = mlp(seed=5)
    with torch.no_grad():
        stored.get_parameter("3.bias")[1] = value
    refused(
        write(tmp_path / "weights.pt", stored), r"must be finite and of torch\.float32, but 3\.bias is not"
    )


def test_weights_of_another_type_are_refused(tmp_path: Path) -> None:
    torch.save(mlp().double().state_dict(), tmp_path / "model.pt")
    refused(tmp_path / "model.pt", r"must be finite and of torch\.float32, but 1\.weight is not")


def test_a_pretraining_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "weights.pt", mlp(), replace(ABOUT, wanted=3))
    refused(path, r"are not finished: 1 of 3 epochs; the same `fedward pretrain` goes on with them")


def test_files_of_any_other_kind_are_refused_and_run_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    others = write_other_files(tmp_path)
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save({"1.weight": "text"}, tmp_path / "words.pt")
    for name in (*others, "list.pt", "words.pt"):
        # The whole message: what torch advises, to run what is in the file, is not passed on.
        refused(
            tmp_path / name,
            rf"^weights .*{name} must be a file of `fedward pretrain` or a state_dict of tensors, got "
            "another kind of file or a damaged one$",
        )
    whole = write(tmp_path / "cut.pt", mlp()).read_bytes()
    (tmp_path / "cut.pt").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "cut.pt", r"cut\.pt is damaged or not of the format")
    (tmp_path / "directory.pt").mkdir()
    refused(tmp_path / "directory.pt", r"weights .*directory\.pt cannot be read")
    refused(tmp_path / "none.pt", r"weights: there is no file .*none\.pt")
    assert not (tmp_path / "trap").exists()


WORDS = Vocabulary(words=("a", "b", "c"), vectors=torch.eye(3))


def text_model(name: str, words: Vocabulary = WORDS, seed: int = 1) -> nn.Module:
    return build(name, input_shape=(), num_classes=2, seed=seed, vocabulary=words, hidden=4)


def test_learned_word_vectors_belong_to_their_words(tmp_path: Path) -> None:
    about = replace(ABOUT, model={"name": "word_lstm"}, vocabulary=weights_file.words_digest(WORDS))
    path = write(tmp_path / "weights.pt", text_model("word_lstm", seed=5), about)
    here = text_model("word_lstm")
    load_weights(path, here, "word_lstm", WORDS)
    assert same(here, text_model("word_lstm", seed=5))
    others = Vocabulary(words=("b", "a", "c"))
    refused(
        path, r"must be of the same words", "word_lstm", text_model("word_lstm", others), vocabulary=others
    )


def test_frozen_word_vectors_are_not_in_the_file_and_stay_the_datas(tmp_path: Path) -> None:
    about = replace(ABOUT, model={"name": "sentiment_lstm"}, vocabulary=weights_file.words_digest(WORDS))
    path = write(tmp_path / "weights.pt", text_model("sentiment_lstm", seed=5), about)
    assert "embedding.weight" not in weights_file.from_bytes(path.read_bytes(), "file")[1]
    others = Vocabulary(words=("x", "y"), vectors=torch.ones(2, 3))
    here = text_model("sentiment_lstm", others)
    table = here.get_parameter("embedding.weight").clone()
    found = load_weights(path, here, "sentiment_lstm", others)
    assert torch.equal(here.get_parameter("embedding.weight"), table)
    assert not found.fresh
    # A state_dict has them, and they must be those that the rest was trained with.
    torch.save(text_model("sentiment_lstm", seed=5).state_dict(), tmp_path / "model.pt")
    again = text_model("sentiment_lstm")
    load_weights(tmp_path / "model.pt", again, "sentiment_lstm", WORDS)
    assert same(again, text_model("sentiment_lstm", seed=5))
    refused(
        tmp_path / "model.pt",
        r"were trained with another embedding\.weight, which is not trained",
        "sentiment_lstm",
        text_model("sentiment_lstm", others),
        vocabulary=others,
    )
