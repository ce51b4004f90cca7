from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.core.digest import data_digest
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary
from fedward.datasets import digits
from fedward.models import build
from fedward.reports.page.examples.example_looks import class_name, looks
from fedward.reports.page.examples.triggered import triggers
from fedward.studies.stored_data import Library


def pixels(uri: str) -> Any:
    content = base64.b64decode(uri.split(",")[1])
    return np.rint(imread(io.BytesIO(content), format="png") * 255).astype(int)


def stored(path: Path) -> tuple[dict[str, Any], str]:
    manifest = json.loads((path / "run.json").read_text())
    return manifest["experiment"], manifest["data"]["digest"]


def test_the_trigger_is_all_that_changes_and_the_model_is_asked_about_both(attacked_run: Path) -> None:
    (found,) = triggers(*stored(attacked_run), attacked_run / "model.pt", Library())
    assert found.name == "single_pixel"
    assert not found.same
    assert len(found.pairs) == 6
    test = digits.load(users=12, seed=1).test
    assert test is not None
    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=1)
    model.load_state_dict(torch.load(attacked_run / "model.pt", weights_only=True))
    others = torch.nonzero(test.y != 0).flatten()[:6]
    before = test.x[others]
    assert isinstance(before, torch.Tensor)
    for i, pair in enumerate(found.pairs):
        old, new = pixels(pair.before.picture), pixels(pair.after.picture)
        assert np.array_equal(old, np.rint(before[i, 0].numpy() * 255))
        changed = np.argwhere(old != new)
        assert changed.tolist() in ([[7, 7]], [])
        assert new[7, 7] == 255
        assert pair.is_class == str(int(test.y[others[i]]))
        assert pair.wanted == "0"
        bad = before[i].clone()
        bad[0, 7, 7] = 1.0
        said = [str(int(model(x[None]).argmax())) for x in (before[i], bad)]
        assert [pair.says_before, pair.says_after] == said


def test_a_flipped_label_leaves_the_picture_as_it_is(an_experiment: Any) -> None:
    attack = {
        "who": {"name": "random", "count": 2},
        "data": [{"name": "label_flip", "source": 1, "target": 7}],
    }
    content = json.loads(config.from_content(an_experiment(attack=attack)).model_dump_json())
    digest = data_digest(digits.load(users=12, seed=1))
    (found,) = triggers(content, digest, None, Library())
    assert found.same
    assert {(pair.is_class, pair.wanted, pair.says_after) for pair in found.pairs} == {("1", "7", "")}


def test_other_data_and_a_damaged_model_are_refused(attacked_run: Path, tmp_path: Path) -> None:
    content, digest = stored(attacked_run)
    with pytest.raises(InvalidValue, match="not the data that the run was made on"):
        triggers(content, "another", None, Library())
    (tmp_path / "model.pt").write_bytes(b"not a model")
    with pytest.raises(InvalidValue, match=r"model\.pt is damaged or of another model"):
        triggers(content, digest, tmp_path / "model.pt", Library())


def test_texts_are_shown_as_words_and_classes_too_where_words_are_predicted() -> None:
    vocabulary = Vocabulary(("the", "cat", "sat"))
    x = Ragged.from_sequences([[2, 3], [4, 1]])
    federation = Federation.from_arrays(x, [2, 3], [0, 1], vocabulary=vocabulary, num_classes=4)
    assert [look.text for look in looks(federation, federation.examples)] == ["the cat", "sat <unknown>"]
    assert class_name(federation, 2) == "cat"
    long = Examples.from_arrays(Ragged.from_sequences([[2] * 500]), [0])
    (look,) = looks(federation, long)
    assert look.text.startswith("... ")
    assert len(look.text) < 200


def test_rows_of_numbers_have_no_looks() -> None:
    federation = Federation.from_arrays([[0.1, 0.2], [0.3, 0.4]], [0, 1], [0, 1])
    assert [(look.picture, look.text) for look in looks(federation, federation.examples)] == [
        ("", ""),
        ("", ""),
    ]
    assert class_name(federation, 1) == "1"


def test_a_data_set_that_is_not_at_hand_is_never_fetched(tmp_path: Path, an_experiment: Any) -> None:
    content = an_experiment(data={"name": "mnist", "users": 10})
    with pytest.raises(InvalidValue, match="the data set mnist is not at hand; --data says where it lies"):
        Library(tmp_path / "nowhere").load(content)
