from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.config.file_content import read_content
from fedward.config.own_code import code_names, import_code, is_code, load_code
from own_module import own_module


@pytest.mark.parametrize("name", ["a:B", "a.b.c:D", "a:B.C", "_a:b"])
def test_import_paths_are_names_of_code(name: str) -> None:
    assert is_code(name)


@pytest.mark.parametrize("name", ["mlp", "a.b", "a:", ":b", "a b:c", "a:b:c", "1a:b", "http://a", 3, None])
def test_other_values_are_not(name: object) -> None:
    assert not is_code(name)


def test_code_is_found_in_tables_lists_and_axes_of_a_sweep() -> None:
    content = {
        "model": {"name": "m:Net"},
        "attack": {"data": [{"name": "m:Bad"}, {"name": "label_flip"}]},
        "sweep": {"algorithm.preset": ["krum", "m:rule"], "model": {"name": ["m:Net", "m:Wide"]}},
        "data": {"name": "image_folder", "folder": "c:Pictures"},
    }
    assert code_names(content) == ["m:Net", "m:Bad", "m:rule", "m:Wide"]


def test_a_file_that_names_code_is_refused_before_anything_of_it_runs(tmp_path: Path) -> None:
    text = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nclass Net: ...\n"
    with own_module(tmp_path, "mine_untrusted", text) as file:
        with pytest.raises(InvalidValue, match=r"names code of its own \(mine_untrusted:Net, .*--trust"):
            config.read(file)
        assert "mine_untrusted" not in sys.modules
    assert not (tmp_path / "ran").exists()


def test_trusted_code_is_found_beside_the_file(tmp_path: Path) -> None:
    with own_module(tmp_path, "mine_beside") as file:
        content = import_code(read_content(file), file)
        experiment = config.from_content(content)
        assert experiment.model.part == "mine_beside:Net"
        assert experiment.model_dump(mode="json")["model"] == {
            "name": "mine_beside:Net",
            "width": 6,
            "weights": None,
        }


def test_a_library_is_not_hidden_by_a_file_of_its_name_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    with own_module(tmp_path, "mine_json", "import json\nclass Net:\n    dumps = json.dumps\n") as file:
        import_code({"model": {"name": "mine_json:Net"}}, file)
        assert load_code("json:dumps")({}) == "{}"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mine_no:Net", None, "there is no module mine_no "),
        ("mine_a:Ne", "class Net: ...", r"mine_a \(.*mine_a.py\) has no Ne; did you mean 'Net'\?"),
        ("mine_b:NET", "NET = 3", "mine_b:NET must be a class or a function, got int"),
        (
            "mine_c:Net",
            "import nowhere_at_all",
            r"mine_c cannot be imported: ModuleNotFound.*line 1\)",
        ),
        ("mine_d:Net", "\n\n1 / 0", r"mine_d cannot be imported: ZeroDivisionError: .*mine_d.py, line 3\)"),
        ("mine_e:Net", "def", r"mine_e cannot be imported: SyntaxError: .*mine_e.py, line 1\)"),
        ("mine_f.sub:Net", "x = 1", "there is no module mine_f.sub|mine_f.sub cannot be imported"),
    ],
)
def test_what_is_wrong_with_own_code_is_one_sentence(
    name: str, text: str | None, message: str, tmp_path: Path
) -> None:
    with own_module(tmp_path, name.partition(":")[0].partition(".")[0], text or "") as file:
        if text is None:
            (tmp_path / "mine_no.py").unlink()
        with pytest.raises(InvalidValue, match=message) as error:
            import_code({"model": {"name": name}}, file)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": "wide"}, "model.width must be a whole number, got 'wide'"),
        ({"wdth": 3}, "model: unknown key 'wdth'; did you mean 'width'?"),
    ],
)
def test_keys_of_own_parts_are_checked_like_ours(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with own_module(tmp_path, "mine_keys") as file:
        content = import_code(read_content(file), file)
        content["model"] |= changes
        with pytest.raises(InvalidValue) as error:
            config.from_content(content)
        assert message in str(error.value)
