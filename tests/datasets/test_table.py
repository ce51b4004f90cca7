from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base import limited_files
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.federation import Federation
from fedward.datasets import table
from fedward.datasets.columns import Wanted
from fedward.datasets.directory import MissingFile
from fedward.datasets.table_files import read_csv, read_parquet
from support import flat_inputs

ROWS = [(f"u{i % 10}", i % 3, i / 4, -i) for i in range(40)]
WANTED = Wanted(user="user", label="label", features=None, by_user=True)


def text(rows: Any = ROWS, header: str = "user,label,age,height") -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def save(folder: Path, content: str, name: str = "some.csv") -> Path:
    (folder / name).write_text(content)
    return folder


def load(data_dir: Path, **options: Any) -> Federation:
    usual: dict[str, Any] = {"file": "some.csv", "data_dir": data_dir, "seed": 0}
    return table.load(**usual | options)


def values(federation: Federation) -> torch.Tensor:
    assert isinstance(federation.examples.x, torch.Tensor)
    return federation.examples.x


def test_rows_stay_with_their_user_and_label(tmp_path: Path) -> None:
    federation = load(save(tmp_path, text()))
    assert federation.test is not None
    assert (federation.num_users, federation.num_classes) == (8, 3)
    for user, name in enumerate(federation.names):
        examples = federation.user(user)
        for x, y in zip(flat_inputs(examples), examples.y.tolist(), strict=True):
            i = int(-x[1])
            assert x.tolist() == [i / 4, -i]
            assert (f"u{i % 10}", i % 3) == (name, y)
    assert len(federation.test) == 8
    again = load(tmp_path, seed=1)
    assert again.test is not None
    assert torch.equal(again.test.x, federation.test.x)  # type: ignore[arg-type]


def test_columns_can_be_named_and_chosen(tmp_path: Path) -> None:
    save(tmp_path, text(header="hospital,ill,age,height"))
    federation = load(tmp_path, user="hospital", label="ill", features=("height",), users=3)
    assert federation.num_users == 3
    assert values(federation).shape == (12, 1)
    both = load(tmp_path, user="hospital", label="ill", features=["height", "age"])
    assert torch.equal(values(both)[:, 0] / -4, values(both)[:, 1])


def test_labels_that_are_text_are_numbered_in_alphabetical_order(tmp_path: Path) -> None:
    names = ("zebra", "ant", "cat")
    federation = load(save(tmp_path, text([(u, names[y], a, h) for u, y, a, h in ROWS])))
    assert federation.num_classes == 3
    for x, y in zip(values(federation), federation.examples.y.tolist(), strict=True):
        assert sorted(names)[y] == names[int(-x[1]) % 3]


def test_other_splits_need_no_user_and_do_not_train_on_one(tmp_path: Path) -> None:
    save(tmp_path, text([row[1:] for row in ROWS], "label,age,height"))
    federation = load(tmp_path, split="iid", users=4)
    assert federation.test is not None
    assert (federation.num_users, len(federation.examples), len(federation.test)) == (4, 32, 8)
    with pytest.raises(InvalidValue, match="must have the column 'user'; it has label, age, height"):
        load(tmp_path)
    named = load(save(tmp_path, text()), split="iid", users=4)
    assert values(named).shape == (32, 2)


def test_test_rows_can_have_a_file_of_their_own(tmp_path: Path) -> None:
    save(tmp_path, text())
    save(tmp_path, "height,more,label,age\n5,x,2,6\n", "held.csv")
    federation = load(tmp_path, test_file="held.csv")
    assert federation.test is not None
    assert federation.num_users == 10
    assert federation.test.x.tolist() == [[6.0, 5.0]]  # type: ignore[union-attr]
    assert federation.test.y.tolist() == [2]
    save(tmp_path, "height,label,age\n5,many,6\n", "held.csv")
    with pytest.raises(InvalidValue, match="must both be numbers or both be text"):
        load(tmp_path, test_file="held.csv")
    save(tmp_path, "height,label\n5,1\n", "held.csv")
    with pytest.raises(InvalidValue, match=r"held\.csv must have the column 'age'"):
        load(tmp_path, test_file="held.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must have the column 'label'; it has no columns"),
        ("user,label,age\n", "must hold at least one row, got 0"),
        ("user,label\na,0\nb,1\n", "must have columns beside user and label, got none"),
        ("user,labels,age\na,0,1\n", "must have the column 'label'; did you mean 'labels'"),
        ("user,label,age,age\na,0,1,2\n", "must name every column once"),
        ("user,label,age\na,0,1\nb,1\n", "must hold 3 columns, but line 3 has 2"),
        ("user,label,age\na,0,1\nb,1,\n", "column 'age' of .* must hold finite numbers, but line 3 has ''"),
        ("user,label,age\na,0,1\n\nb,1,old\n", "column 'age' of .*, but line 4 has 'old'"),
        ("user,label,age\na,0,1\nb,1,nan\n", "line 3 has 'nan'"),
        ("user,label,age\na,0,1\nb,1,1e99\n", "line 3 has '1e99'"),
        ("user,label,age\na,0,1\n,1,2\n", "column 'user' of .* must hold names of users, but line 3 has ''"),
        ("user,label,age\na,0,1\nb,,2\n", "column 'label' of .* must hold classes, but line 3 has ''"),
        ("user,label,age\na,0,1\nb,l,2\n", "whole numbers only, or text only, but line 3 has 'l'"),
        ("user,label,age\na,0,1\nb,0.5,2\n", "whole numbers only, or text only, but line 3 has '0.5'"),
        ("user,label,age\na,0,1\nb,inf,2\n", "whole numbers only, or text only, but line 3 has 'inf'"),
        ("user,label,age\na,0,1\nb,-1,2\n", "labels of .* must be from 0 to 999999, got -1"),
        ("user,label,age\na,0,1\nb,1000000,2\n", "must be from 0 to 999999, got 1000000"),
        ("user,label,age\na,0,1\na,1,2\n", "at least 2 users, one to train on, got 1"),
        ('user,label,age\na,0,"1\n', "must be a CSV file, but line 2 is not"),
        ("user,label,age\na,0,1\nb,1,2", "must end with a line break; its last line is cut off"),
    ],
)
def test_a_wrong_table_is_refused_by_its_cell(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        load(save(tmp_path, content))


@given(st.integers(0, len(text()) - 1))
def test_a_table_cut_off_anywhere_is_refused_or_has_fewer_whole_rows(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut-table.csv"
    path.write_text(text()[:length])
    rows = text()[:length].count("\n") - 1
    if rows > 0 and text()[length - 1] == "\n":
        assert read_csv(path, WANTED).x.tolist() == [list(map(float, row[2:])) for row in ROWS[:rows]]
    else:
        with pytest.raises(InvalidValue, match=r"cut-table\.csv must"):
            read_csv(path, WANTED)


def arrays(**changes: Any) -> dict[str, Any]:
    content = {
        "x": np.arange(40, dtype=np.uint8).reshape(20, 1, 2),
        "y": np.arange(20) % 4,
        "users": np.arange(20) // 4,
    }
    return {name: array for name, array in (content | changes).items() if array is not None}


def save_arrays(folder: Path, **changes: Any) -> Path:
    np.savez(folder / "some.npz", **arrays(**changes))
    return folder


def test_arrays_of_any_shape_are_taken_and_bytes_scaled(tmp_path: Path) -> None:
    federation = load(save_arrays(tmp_path), file="some.npz")
    assert federation.test is not None
    assert values(federation).shape == (16, 1, 2)
    assert (federation.num_users, federation.num_classes) == (4, 4)
    for user, name in enumerate(federation.names):
        x = federation.user(user).x
        assert isinstance(x, torch.Tensor)
        expected = torch.arange(8 * name, 8 * name + 8).view(4, 1, 2) / 255
        assert torch.allclose(x, expected)
    floats = load(save_arrays(tmp_path, x=np.full((20, 3), 7.5)), file="some.npz")
    assert bool((values(floats) == 7.5).all())
    tokens = load(save_arrays(tmp_path, x=np.full((20, 3), 7)), file="some.npz")
    assert values(tokens).dtype == torch.int64


def test_test_arrays_are_used_and_text_can_name_users_and_classes(tmp_path: Path) -> None:
    names = np.array(["b", "a"])
    save_arrays(
        tmp_path,
        y=names[np.arange(20) % 2],
        users=names[np.arange(20) // 10],
        x_test=np.zeros((3, 1, 2), np.uint8),
        y_test=np.array(["a", "a", "b"]),
    )
    federation = load(tmp_path, file="some.npz")
    assert federation.test is not None
    assert federation.names.tolist() == ["a", "b"]
    assert federation.test.y.tolist() == [0, 0, 1]
    assert federation.user(1).y.tolist() == [1, 0] * 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "must hold the arrays x, y, users, but y is missing"),
        ({"users": None}, "but users is missing"),
        ({"x_test": np.zeros((1, 1, 2))}, "must hold the arrays x, y, users, x_test, y_test, but y_test"),
        ({"y": np.arange(19)}, r"y of .* each of 20 examples, got int64 of shape \(19,\)"),
        ({"y": np.zeros(20)}, "y of .* got float64"),
        ({"users": np.zeros((20, 2), int)}, r"users of .* got int64 of shape \(20, 2\)"),
        ({"users": np.zeros(20)}, "users of .* got float64"),
        ({"x": np.float32(3)}, r"x of .* must hold at least one example, got shape \(\)"),
        ({"x": np.zeros((0, 2))}, r"x of .* must hold at least one example, got shape \(0, 2\)"),
        ({"y": np.arange(20) - 1}, "labels of .* must be from 0 to 999999, got -1"),
        ({"x": np.full((20, 2), np.nan)}, "examples must be finite"),
        ({"x_test": np.zeros((1, 3)), "y_test": np.zeros(1, int)}, "must have the same shape and type"),
    ],
)
def test_wrong_arrays_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        load(save_arrays(tmp_path, **changes), file="some.npz")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "some.npz", **arrays(users=np.array([print] * 20, dtype=object)), allow_pickle=True)
    with pytest.raises(InvalidValue, match=r"some\.npz must be an archive of arrays, .*pickle"):
        load(tmp_path, file="some.npz")


def test_an_archive_has_no_columns_to_choose(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="features must be left out with an NPZ file, got age"):
        load(save_arrays(tmp_path), file="some.npz", features=["age"])


def test_a_missing_file_or_another_ending_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"some\.csv must be a table, but there is no such file; put it"):
        load(tmp_path)
    (tmp_path / "some.csv").mkdir()
    with pytest.raises(MissingFile, match="no such file"):
        load(tmp_path)
    with pytest.raises(InvalidValue, match=r"ends with \.csv, \.npz, \.parquet, got .*some\.pkl"):
        load(tmp_path, file="some.pkl")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["age", "age"]}, "features must be different columns"),
        ({"features": ["label"]}, "without user and label, got label"),
        ({"test_share": 0.0}, "test share must be"),
        ({"split": "iid", "users": 0}, "number of users must be"),
    ],
)
def test_wrong_options_are_refused_before_any_file_is_read(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        load(tmp_path, **options)


@pytest.mark.parametrize("options", [{"user": 3}, {"label": None}, {"features": "age"}, {"features": []}])
def test_options_of_a_wrong_type_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidType, match="must be"):
        load(tmp_path, **options)


def test_without_pyarrow_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "some.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidValue, match=r"needs pyarrow: pip install 'fedward\[parquet\]'"):
        load(tmp_path, file="some.parquet")


def write_parquet(path: Path, columns: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    parquet.write_table(pyarrow.table(columns), path)


def parquet_columns() -> dict[str, Any]:
    users, labels, ages, heights = (list(column) for column in zip(*ROWS, strict=True))
    return {"user": users, "label": labels, "age": ages, "height": heights}


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    write_parquet(tmp_path / "some.parquet", parquet_columns())
    a, b = load(tmp_path, file="some.parquet"), load(save(tmp_path, text()))
    assert torch.equal(values(a), values(b))
    assert torch.equal(a.examples.y, b.examples.y)
    assert a.names.tolist() == b.names.tolist()


@pytest.mark.parametrize(
    ("column", "replacement", "message"),
    [
        ("age", None, "column 'age' of .* must hold finite numbers, but row 7 has 'nan'"),
        ("label", None, "column 'label' of .* must hold whole numbers or text, got float64"),
        ("user", None, "column 'user' of .* must hold whole numbers or text, got object"),
    ],
)
def test_missing_cells_of_parquet_are_refused(
    tmp_path: Path, column: str, replacement: Any, message: str
) -> None:
    columns = parquet_columns()
    columns[column][7] = replacement
    write_parquet(tmp_path / "some.parquet", columns)
    with pytest.raises(InvalidValue, match=message):
        load(tmp_path, file="some.parquet")


def test_columns_of_lists_are_no_numbers(tmp_path: Path) -> None:
    columns = parquet_columns()
    columns["age"] = [[float(age)] for age in columns["age"]]
    write_parquet(tmp_path / "some.parquet", columns)
    with pytest.raises(InvalidValue, match=r"column 'age' of .* must hold finite numbers, got object"):
        load(tmp_path, file="some.parquet")


def test_categories_are_read_as_their_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    columns = parquet_columns()
    columns["label"] = pyarrow.array(["cat", "ant"] * 20).dictionary_encode()
    write_parquet(tmp_path / "some.parquet", columns)
    federation = load(tmp_path, file="some.parquet")
    assert federation.user(0).y.tolist() == [(int(-x[1]) + 1) % 2 for x in federation.user(0).x]  # type: ignore[union-attr]


@given(st.data())
def test_a_parquet_file_cut_off_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.parquet"
    write_parquet(path, parquet_columns())
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(InvalidValue, match=r"cut\.parquet must be a whole Parquet file"):
        read_parquet(path, WANTED)


def test_one_long_text_does_not_make_a_column_larger_than_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited_files, "_UNPACKED", 1 << 20)
    rows = [["a" * 4000, 0, 1, 2], *([user, 0, 1, 2] for user in range(500))]
    save(tmp_path, text(rows), "some.csv")
    with pytest.raises(InvalidValue, match="at most 1 MB, got 7 MB: 501 of up to 4,000 letters in user"):
        read_csv(tmp_path / "some.csv", Wanted(user="user", label="label", features=None, by_user=True))


def test_parquet_that_repeats_one_value_for_ever_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.setattr(limited_files, "_UNPACKED", 1 << 18)
    wanted = Wanted(user="user", label="label", features=None, by_user=True)
    many = np.zeros(1 << 17, dtype=np.int64)
    write_parquet(tmp_path / "many.parquet", {"user": many, "label": many})
    with pytest.raises(InvalidValue, match="262,144 values"):
        read_parquet(tmp_path / "many.parquet", wanted)
    texts = ["x" * 4000] * 4000
    write_parquet(tmp_path / "texts.parquet", {"user": texts, "label": list(range(4000))})
    with pytest.raises(InvalidValue, match="4,000 of up to 4,000 letters in user"):
        read_parquet(tmp_path / "texts.parquet", wanted)
