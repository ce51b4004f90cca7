"""Verifying and signing runs: of today, of earlier versions, edited ones, many at once."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

import fedward
from api.all_kinds_of_runs import run_of
from config.tiny_sweep import CONTENT
from fedward.api.verify_api import renew_digests
from fedward.base.validate import InvalidValue
from fedward.privacy import ledger_file
from fedward.rundir.digest_log import NAME

pytest.importorskip("cryptography")
OLDER = Path(__file__).parents[1] / "studies" / "training" / "older_runs" / "fc34a4a.tar.gz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verified")


@pytest.fixture(scope="module")
def made(folder: Path) -> Path:
    return run_of("attacked training", folder)


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture(scope="module")
def keys(folder: Path) -> Any:
    return fedward.new_key(folder / "mine.pem")


def forge(run: Path, name: str, change: Any) -> None:
    """Edits a JSON file and takes the digests anew, as an editor could."""
    content = json.loads((run / name).read_text())
    change(content)
    (run / name).write_text(json.dumps(content))
    renew_digests(run)


def problems(run: Path, **options: Any) -> str:
    return "\n".join(map(str, fedward.verify(run, **options).all_damage))


def whats(found: Any) -> set[str]:
    return {each.what for each in found.matched}


def test_a_run_is_computed_again_with_its_data(run: Path) -> None:
    found = fedward.verify(run)
    assert found.holds
    assert {"digests", "epsilon", "rounds", "telemetry", "checkpoint", "model", "data"} <= whats(found)
    assert {"measured", "spending"} <= whats(found)
    assert [each.what for each in found.trusted] == ["author"]
    assert json.loads(json.dumps(found.to_json()))["holds"] is True


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("result.json", lambda each: each.update(accuracy=0.99), "says accuracy 0.99, and 0."),
        ("result.json", lambda each: each.update(attack_success=0.0), "says attack_success"),
        ("result.json", lambda each: each.update(rejected_updates=3), "says rejected updates"),
        ("result.json", lambda each: each["guarantee"].update(epsilon=0.1), "says ε = 0.1, and"),
    ],
)
def test_edited_numbers_are_found_though_the_digests_were_renewed(
    run: Path, name: str, change: Any, said: str
) -> None:
    forge(run, name, change)
    assert said in problems(run)


def test_a_ledger_that_is_not_of_the_experiment_is_found(run: Path) -> None:
    file = run / "ledger.json"
    ledger, _ = ledger_file.loads(file.read_text())
    event = json.loads(file.read_text())["entries"][0]["event"]
    text = file.read_text().replace(json.dumps(event["event"]["noise_multiplier"]), "9.0")
    content = json.loads(text)
    content.pop("digest")
    from fedward.base.strict_json import digest

    content["claims"] = []
    file.write_text(json.dumps(content | {"digest": digest(content)}))
    renew_digests(run)
    assert ledger.rounds == 2
    found = problems(run)
    assert "ledger.json" in found
    assert "spends" in found


def test_another_model_is_found(run: Path, folder: Path) -> None:
    other = run_of("training", folder, seed=9)
    shutil.copy(other / "model.pt", run / "model.pt")
    renew_digests(run)
    assert "model.pt does not hold the parameters of checkpoint.pt" in problems(run)


def test_the_model_of_a_convolution_is_that_of_its_checkpoint(tmp_path: Path) -> None:
    # Flat weights of a convolution have its input channels last, those of a state_dict first.
    data = {"name": "digits", "users": 20}
    fedward.train(
        CONTENT | {"rounds": 1, "data": data, "model": {"name": "digits_cnn"}}, out=tmp_path, quiet=True
    )
    found = fedward.verify(tmp_path)
    assert found.holds
    assert "model" in whats(found)


@pytest.mark.parametrize("name", ["run.json", "rounds.jsonl", "digests.jsonl", "checkpoint.pt"])
def test_a_pipe_among_the_files_is_named_and_nobody_waits_for_it(run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    (wrong,) = fedward.verify(run).all_damage
    assert wrong.file == run / name
    assert "is a named pipe, not a plain file of its owner" in str(wrong)


def test_a_pipe_in_a_sweep_hides_no_other_run(folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(run_of("sweep", folder), runs / "swept")
    shutil.copytree(run_of("training", folder), runs / "trained")
    (runs / "swept" / "table.csv").unlink(missing_ok=True)
    os.mkfifo(runs / "swept" / "table.csv")
    found = fedward.verify(runs)
    assert [each.intact for each in sorted(found.members, key=lambda each: each.path)] == [False, True]


def test_a_curve_and_scores_of_another_run_are_found(folder: Path, tmp_path: Path) -> None:
    one, other = run_of("membership", folder), run_of("membership", folder, seed=3)
    for name, said in (("curves.npz", "has a curve of"), ("scores-target-000.npz", "comes out")):
        copy = Path(shutil.copytree(one, tmp_path / name.partition(".")[0]))
        shutil.copy(other / name, copy / name)
        renew_digests(copy)
        assert said in problems(copy)


def test_scores_of_another_certification_are_found(folder: Path, tmp_path: Path) -> None:
    one, other = run_of("certification", folder), run_of("certification", folder, seed=3)
    copy = Path(shutil.copytree(one, tmp_path / "scores"))
    for file in other.glob("scores-*.npz"):
        shutil.copy(file, copy / file.name)
    renew_digests(copy)
    found = problems(copy)
    assert "has other scores than the replicas beside it" in found
    assert "result.json" in found
    copy = Path(shutil.copytree(one, tmp_path / "certified"))
    forge(copy, "certified.json", lambda each: next(iter(each.values())).update(replicas=10**6))
    assert "certified.json says replicas of" in problems(copy)


def test_a_table_that_is_not_that_of_its_trainings_is_found(folder: Path, tmp_path: Path) -> None:
    sweep = run_of("sweep", folder)
    copy = Path(shutil.copytree(sweep, tmp_path / "sweep"))
    forge(copy, "sweep.json", lambda each: each["combinations"][0]["accuracy"].update(mean=0.999))
    assert "says accuracy of" in problems(copy)
    copy = Path(shutil.copytree(sweep, tmp_path / "swapped"))
    one, two, *_ = sorted(each.parent for each in copy.glob("*/run.json"))
    for source, target in ((one, copy / "x"), (two, one), (copy / "x", two)):
        source.rename(target)
    # Each is whole by itself: the sweep knows which is which.
    found = fedward.verify(copy)
    assert all(each.intact for each in found.members)
    assert f"{one / NAME} is damaged" in problems(copy)
    renew_digests(copy)
    assert not fedward.verify(copy).intact


def test_one_bad_run_hides_no_other(folder: Path, tmp_path: Path) -> None:
    good = run_of("training", folder)
    for name in ("a", "b", "c"):
        shutil.copytree(good, tmp_path / name)
    (tmp_path / "a" / "run.json").unlink()
    (tmp_path / "b" / "ledger.json").write_bytes(b"\xff\0")
    found = fedward.verify(tmp_path)
    assert [each.intact for each in found.members] == [False, False, True]
    assert not found.holds


def test_without_the_log_a_run_that_had_one_is_damaged(run: Path) -> None:
    (run / NAME).unlink()
    with pytest.raises(InvalidValue, match=rf"{NAME} is missing"):
        fedward.load(run)
    assert f"{NAME} is missing" in problems(run)
    assert fedward.verify(run, renew=True).holds
    assert fedward.load(run).digests.adopted


def test_runs_of_the_first_version_are_verified_and_say_that_they_have_no_digests(tmp_path: Path) -> None:
    with tarfile.open(OLDER) as packed:
        packed.extractall(tmp_path, filter="data")
    for name in ("poisson", "insdp", "system", "certified-declared"):
        found = fedward.verify(tmp_path / name)
        assert found.intact, (name, found.all_damage)
        assert not found.digests.there
        assert "digests" in {each.what for each in found.trusted}
        assert not fedward.load(tmp_path / name).digests.there


def test_a_run_of_an_earlier_version_has_digests_once_it_goes_on(tmp_path: Path) -> None:
    with tarfile.open(OLDER) as packed:
        packed.extractall(tmp_path, filter="data")
    run = tmp_path / "declared-killed"
    assert not fedward.load(run).digests.there
    fedward.train(tmp_path / "declared.toml", out=run, quiet=True)
    found = fedward.load(run)
    assert isinstance(found, fedward.RunRecord)
    assert (found.digests.there, found.digests.adopted) == (True, True)
    assert found.manifest.digests == 1
    assert fedward.verify(run).intact


def test_a_signature_says_whose_a_run_is_and_that_it_is_as_it_was(run: Path, keys: Any) -> None:
    assert stat.S_IMODE(keys.private.stat().st_mode) == 0o600
    assert not fedward.verify(run, key=keys.public).holds
    signed = fedward.sign(run, key=keys.private)
    assert signed.key == keys.fingerprint
    found = fedward.verify(run, key=keys.public)
    assert found.holds
    assert [each.state for each in found.signatures] == ["valid"]
    assert "author" not in {each.what for each in found.trusted}


def test_a_forger_who_renews_digests_voids_the_signature(run: Path, keys: Any) -> None:
    fedward.sign(run, key=keys.private)
    forge(run, "result.json", lambda each: each.update(test_examples=41))
    found = fedward.verify(run, key=keys.public)
    assert found.intact
    assert not found.authentic
    (signature,) = found.signatures
    assert (signature.state, signature.changed) == ("changed", ("result.json",))
    assert "has changed since (result.json)" in str(signature)


@pytest.mark.parametrize("way", ["changed", "removed"])
def test_a_damaged_file_voids_the_signature_though_its_digest_is_as_it_was(
    run: Path, keys: Any, way: str
) -> None:
    fedward.sign(run, key=keys.private)
    if way == "removed":
        (run / "model.pt").unlink()
    else:
        (run / "model.pt").write_bytes(b"another")
    found = fedward.verify(run, key=keys.public)
    assert (found.intact, found.authentic) == (False, False)
    assert [(each.state, each.changed) for each in found.signatures] == [("changed", ("model.pt",))]
    assert "author" in {each.what for each in found.trusted}


def test_damage_of_a_training_voids_the_signature_of_its_sweep(
    folder: Path, tmp_path: Path, keys: Any
) -> None:
    copy = Path(shutil.copytree(run_of("sweep", folder), tmp_path / "sweep"))
    fedward.sign(copy, key=keys.private)
    file = next(copy.glob("*/model.pt"))
    file.write_bytes(b"another")
    (signature,) = fedward.verify(copy, key=keys.public).signatures
    assert (signature.state, signature.changed) == ("changed", (str(file.relative_to(copy)),))


def test_a_signature_of_somebody_else_is_not_that_of_the_key(run: Path, keys: Any, tmp_path: Path) -> None:
    other = fedward.new_key(tmp_path / "other.pem")
    fedward.sign(run, key=other.private)
    assert not fedward.verify(run, key=keys.public).holds
    fedward.sign(run, key=keys.private)
    assert fedward.verify(run, key=keys.public).holds
    assert fedward.verify(run, key=other.public).holds


@pytest.mark.parametrize("key", ["key", "signed", "signature"])
def test_a_forged_signature_is_damage(run: Path, keys: Any, key: str, tmp_path: Path) -> None:
    signed = fedward.sign(run, key=keys.private)
    other = fedward.sign(run, key=fedward.new_key(tmp_path / "other.pem").private)
    content, others = (json.loads(each.file.read_text()) for each in (signed, other))
    content[key] = others[key] if key != "signed" else content[key] | {"when": "2020-01-01"}
    signed.file.write_text(json.dumps(content))
    found = fedward.verify(run, key=keys.public)
    assert not found.holds
    assert f"{signed.file} is damaged" in problems(run)


def test_a_run_that_goes_on_is_not_signed_any_more(tmp_path: Path, keys: Any) -> None:
    out = tmp_path / "run"
    fedward.train(CONTENT, out=out, quiet=True)
    fedward.sign(out, key=keys.private)
    fedward.train(CONTENT, out=out, quiet=True)  # it is finished: nothing changes
    assert fedward.verify(out, key=keys.public).holds
    fedward.train(CONTENT | {"rounds": 3}, out=out, quiet=True)
    found = fedward.verify(out, key=keys.public)
    assert found.intact
    assert [each.state for each in found.signatures] == ["changed"]
    assert "checkpoint.pt" in found.signatures[0].changed


def test_the_signature_of_a_sweep_covers_its_trainings(folder: Path, tmp_path: Path, keys: Any) -> None:
    copy = Path(shutil.copytree(run_of("sweep", folder), tmp_path / "sweep"))
    fedward.sign(copy, key=keys.private)
    assert fedward.verify(copy, key=keys.public).holds
    forge(next(each.parent for each in copy.glob("*/run.json")), "result.json", lambda each: None)
    assert not fedward.verify(copy, key=keys.public).holds


def test_a_damaged_run_is_not_signed(run: Path, keys: Any) -> None:
    (run / "model.pt").write_bytes(b"another")
    with pytest.raises(InvalidValue, match=r"a damaged run must not be signed: .*model\.pt"):
        fedward.sign(run, key=keys.private)


def test_keys_that_others_may_read_or_that_are_none_are_refused(run: Path, tmp_path: Path) -> None:
    made = fedward.new_key(tmp_path / "mine.pem")
    with pytest.raises(InvalidValue, match="is there already"):
        fedward.new_key(tmp_path / "mine.pem")
    with pytest.raises(InvalidValue, match="is a private key: give the public one"):
        fedward.verify(run, key=made.private)
    made.public.chmod(0o600)
    with pytest.raises(InvalidValue, match="must be a private key"):
        fedward.sign(run, key=made.public)
    made.private.chmod(0o640)
    with pytest.raises(InvalidValue, match="for its owner alone, got mode 640"):
        fedward.sign(run, key=made.private)
    with pytest.raises(InvalidValue, match="cannot be read: No such file"):
        fedward.sign(run, key=tmp_path / "none.pem")


def test_weights_are_verified_by_their_own_digest(tmp_path: Path) -> None:
    table = {"learning_rate": 0.1, "batch_size": 12}
    content = {"seed": 1, "epochs": 1, "data": CONTENT["data"], "model": {"name": "mlp"}, "training": table}
    fedward.pretrain(content, out=tmp_path / "weights.pt", quiet=True)
    assert fedward.verify(tmp_path / "weights.pt").holds
    whole = (tmp_path / "weights.pt").read_bytes()
    for place in (len(whole) // 2, len(whole) - 1):
        (tmp_path / "weights.pt").write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert "weights.pt is damaged" in problems(tmp_path / "weights.pt")
