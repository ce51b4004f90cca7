"""Every ε that is shown of a run comes from its ledgers; a file beside them that says another is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fedward
from command_line import answer, exit_code
from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.privacy import Ledger, remembered
from fedward.privacy.rounding import round_up_digits
from fedward.reports.page import render
from fedward.rundir.catalogue.facts import read
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.store import RunDirectory
from fedward.rundir.sweep_record import SweepRecord
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from studies.self_protected_runs import FEDSGD, INSDP, LDP, QUANTILE, setup_for
from tiny_experiment import CONTENT, TEXT, changed


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spent") / "run"
    run_to_end(prepare(config.from_content(CONTENT)), path)
    return path


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "runs" / "run"))


def edit(file: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def with_epsilon(epsilon: float | None) -> Callable[[Any], object]:
    return lambda result: result["guarantee"].__setitem__("epsilon", epsilon)


def loaded(path: Path) -> RunRecord:
    found = load(path)
    assert isinstance(found, RunRecord)
    return found


def epsilon_of(path: Path) -> float:
    guarantee = loaded(path).guarantee()
    assert guarantee is not None
    return guarantee.epsilon


def test_another_epsilon_in_the_result_is_refused_with_both_files_and_both_numbers(
    run: Path, tmp_path: Path, command: Any
) -> None:
    true = epsilon_of(run)
    edit(run / "result.json", with_epsilon(0.125))
    said = f"{run / 'result.json'} says ε = 0.125, and {run / 'ledger.json'} comes to ε = {true:.12g}"
    for reader in (load, lambda path: render([load(path)]), lambda path: RunDirectory(path).result()):
        with pytest.raises(InvalidValue) as caught:
            reader(run)
        assert said in str(caught.value)
    file = tmp_path / "tiny.toml"
    file.write_text(TEXT)
    for words in (
        ("report", run, "--out", tmp_path / "page.html"),
        ("runs", "compare", run, run),
        ("run", file, "--out", run, "--workers", 0),
    ):
        found = command(*words)
        assert found.code == 2
        assert said in " ".join(found.err.split())
    assert not (tmp_path / "page.html").exists()


def test_a_list_of_runs_shows_no_epsilon_of_a_run_whose_files_disagree(
    run: Path, tmp_path: Path, command: Any
) -> None:
    shutil.copytree(run, run.with_name("other"))
    true = round_up_digits(epsilon_of(run))
    assert command("runs", "--in", run.parent).out.count(true) == 2
    edit(run / "result.json", with_epsilon(0.125))
    out = command("runs", "--in", run.parent).out
    assert "0.125 " not in out.split("cannot be read")[0]
    assert f"{run} cannot be read: {run / 'result.json'} says ε = 0.125" in out
    rows = {each["run"]: each for each in command("runs", "--in", run.parent, "--json").json()["runs"]}
    assert "epsilon" not in rows[str(run)]
    assert rows[str(run)]["state"] == "damaged"
    assert "says ε = 0.125, and" in rows[str(run)]["note"]
    written = command("runs", "export", tmp_path / "all.csv", "--in", run.parent)
    assert "cannot be read" in " ".join(written.err.split())
    assert "0.125" not in (tmp_path / "all.csv").read_text()


def test_the_index_notices_another_number_of_the_same_length_at_the_same_time(
    run: Path, command: Any
) -> None:
    """As an editor that keeps times, or a copy, leaves it."""
    file = run / "result.json"
    true = json.loads(file.read_text())["guarantee"]["epsilon"]
    assert str(true)[0] != "9"
    command("runs", "--in", run.parent)
    before = file.stat()
    file.write_text(file.read_text().replace(f'"epsilon": {true}', f'"epsilon": 9{str(true)[1:]}'))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert "says ε = 9" in command("runs", "--in", run.parent).out


def test_many_runs_that_spent_the_same_are_accounted_once_and_then_not_again(
    run: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        shutil.copytree(run, run.with_name(f"more-{number}"))
    remembered._guarantee.cache_clear()
    real, counted = Ledger.guarantee, []

    def counting(self: Ledger, delta: float, accountant: str) -> Any:
        counted.append(delta)
        return real(self, delta, accountant)

    monkeypatch.setattr(Ledger, "guarantee", counting)
    assert len(command("runs", "--in", run.parent, "--json").json()["runs"]) == 41
    assert len(counted) == 1
    remembered._guarantee.cache_clear()
    assert len(command("runs", "--in", run.parent, "--json").json()["runs"]) == 41
    assert len(counted) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_epsilon(None), None),  # not a guarantee at all: damage
        (lambda r: r["guarantee"].__setitem__("delta", 0.001), "says delta = 0.001, and .* comes to 0.01"),
        (lambda r: r["guarantee"].__setitem__("accountant", "pld"), "accountant = pld, and .* comes to rdp"),
        (lambda r: r["guarantee"].__setitem__("unit", "example"), "unit = example, and .* comes to user"),
        (lambda r: r["guarantee"].__setitem__("noise_source", "system"), "noise source = system"),
        (lambda r: r["guarantee"].__setitem__("rounds", 1), "rounds = 1, and .* comes to 2"),
    ],
)
def test_whatever_else_a_guarantee_is_about_must_be_that_of_the_ledger(
    run: Path, change: Any, said: str | None
) -> None:
    edit(run / "result.json", change)
    with pytest.raises(InvalidValue, match=said or "result.json"):
        load(run)


@pytest.mark.usefixtures("edited_by_hand")
def test_sentences_are_made_from_the_ledger_and_not_read(run: Path, command: Any) -> None:
    true = str(loaded(run).guarantee())
    edit(run / "result.json", lambda result: result.__setitem__("statement", "(ε = 0.001, δ = 1e-9) for all"))
    edit(run / "result.json", lambda result: result["guarantee"].__setitem__("sampling", "nobody at all"))
    record = loaded(run)
    assert record.result is not None
    assert record.result.statement == str(record.guarantee()) == true
    assert read(run).facts["statement"] == true
    for shown in (render([record]), command("runs", "--in", run.parent, "--json").out):
        assert "0.001, δ" not in shown
        assert "nobody at all" not in shown


def test_without_its_ledger_a_run_has_no_epsilon_and_says_why(run: Path, command: Any) -> None:
    (run / "ledger.json").unlink()
    why = f"what was spent is not known, {run / 'ledger.json'} is missing"
    record = loaded(run)
    guarantee = record.guarantee()
    assert guarantee is not None
    assert (guarantee.private, guarantee.reason) == (False, why)
    assert record.result is not None
    assert not record.result.guarantee.private
    assert record.result.accuracy is not None
    assert record.result.accuracy > 0  # the rest is shown as it is
    facts = read(run)
    assert (facts.state, facts.note) == ("finished", why)
    assert "epsilon" not in facts.facts
    assert f"{run} has no ε: {why}" in command("runs", "--in", run.parent).out
    page = render([record])
    assert "No privacy guarantee" in page
    assert "is missing" in page


def test_with_a_damaged_ledger_a_run_has_no_epsilon_and_says_why(run: Path, command: Any) -> None:
    edit(run / "ledger.json", lambda ledger: ledger["entries"][0].__setitem__("count", 1))
    why = f"{run / 'ledger.json'} cannot be used: ledger file must be as it was written"
    with pytest.raises(InvalidValue, match="damaged or changed"):
        load(run)
    out = command("runs", "--in", run.parent).out
    assert f"cannot be read: {why}" in out
    assert "epsilon" not in read(run).facts


def test_a_ledger_that_was_replaced_by_another_whole_one_is_noticed(run: Path, tmp_path: Path) -> None:
    louder = changed(CONTENT, algorithm__noise_multiplier=20.0)
    run_to_end(prepare(config.from_content(louder)), tmp_path / "louder")
    shutil.copy(tmp_path / "louder" / "ledger.json", run / "ledger.json")
    with pytest.raises(InvalidValue, match=r"result.json says ε = .*ledger.json comes to ε = "):
        load(run)


@pytest.fixture(scope="module", params=["own noise", "own noise and looks"])
def of_users(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "run"
    run_to_end(setup_for(INSDP if request.param == "own noise" else LDP | {"policy": QUANTILE}), path)
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_epsilon(0.125), "result.json says ε = 0.125, and .*users.json comes to ε = "),
        (lambda r: r["users"].__setitem__("median", 0.01), "says users' ε of median 0.01 and .*users.json"),
        (lambda r: r["users"]["histogram"][0].__setitem__(0, 0.5), "users.json comes to users' ε of median"),
    ],
)
@pytest.mark.usefixtures("edited_by_hand")
def test_what_users_have_spent_comes_from_their_ledgers(
    of_users: Path, tmp_path: Path, change: Any, said: str, command: Any
) -> None:
    run = Path(shutil.copytree(of_users, tmp_path / "run"))
    true = loaded(run)
    edit(run / "result.json", lambda result: result.__setitem__("each_user", "ε of a user: median 0.0000"))
    again = loaded(run)
    assert true.result is not None
    assert again.result is not None
    assert again.result.each_user == true.result.each_user
    assert command("users", run).code == 0
    edit(run / "result.json", change)
    with pytest.raises(InvalidValue, match=said):
        load(run)
    told = command("users", run)
    assert told.code == 2
    assert "result.json says" in told.err
    assert read(run).state == "damaged"


@pytest.mark.usefixtures("edited_by_hand")
def test_without_the_ledgers_of_users_the_servers_does_not_stand_for_them(
    of_users: Path, tmp_path: Path
) -> None:
    """What the server spent is nothing, or looks alone: no user's ε."""
    run = Path(shutil.copytree(of_users, tmp_path / "run"))
    (run / "users.json").unlink()
    for finished in (True, False):
        if not finished:
            (run / "result.json").unlink()
        guarantee = loaded(run).guarantee()
        assert guarantee is not None
        assert guarantee.reason == f"what was spent is not known, {run / 'users.json'} is missing"


@pytest.mark.usefixtures("edited_by_hand")
def test_the_shares_of_looks_come_from_the_ledger(tmp_path: Path) -> None:
    adaptive = changed(CONTENT, algorithm__preset="adaptive_clipping", algorithm__clip_bound=None)
    adaptive["algorithm"] |= {"initial_bound": 0.1, "quantile": 0.5, "bit_noise": 3.0}
    run_to_end(prepare(config.from_content(adaptive)), tmp_path)
    true = loaded(tmp_path).result
    assert true is not None
    assert true.shares
    edit(tmp_path / "result.json", lambda result: result.__setitem__("shares", ["the looks cost nothing"]))
    again = loaded(tmp_path).result
    assert again is not None
    assert again.shares == true.shares
    edit(tmp_path / "result.json", lambda result: result.__setitem__("epsilon_of_looks", 0.0))
    with pytest.raises(InvalidValue, match=r"says epsilon_of_looks = 0.0, and .*ledger.json comes to"):
        load(tmp_path)


@pytest.mark.usefixtures("edited_by_hand")
def test_a_papers_claim_has_a_ledger_of_its_own(tmp_path: Path) -> None:
    run_to_end(setup_for(FEDSGD, privacy={"delta": 1e-5, "accountant": "moments"}), tmp_path)
    true = loaded(tmp_path).result
    assert true is not None
    assert "the paper's claim: (ε = " in true.papers_claim_statement
    edit(tmp_path / "result.json", lambda r: r.__setitem__("papers_claim_statement", "the claim: (ε = 0.1)"))
    again = loaded(tmp_path).result
    assert again == true
    edit(tmp_path / "result.json", lambda result: result["papers_claim"].__setitem__("epsilon", 0.1))
    with pytest.raises(InvalidValue, match=r"says ε = 0.1, and .*papers-ledger.json comes to ε = "):
        load(tmp_path)
    (tmp_path / "papers-ledger.json").unlink()  # as fc34a4a left it
    old = loaded(tmp_path).result
    assert old is not None
    assert old.papers_claim is None
    assert old.papers_claim_statement.endswith("of an earlier version, which stored no ledger of it")
    assert old.statement == true.statement


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("swept")
    (path / "file.toml").write_text(TEXT + "[sweep]\nseeds = 2\nalgorithm.noise_multiplier = [1.0, 2.0]\n")
    with pytest.MonkeyPatch.context() as patch:
        words = ("sweep", path / "file.toml", "--out", path / "sweep", "--workers", 0, "--json")
        assert exit_code(*words, monkeypatch=patch) == 0
    return path / "sweep"


@pytest.mark.usefixtures("edited_by_hand")
def test_the_table_of_a_sweep_shows_what_the_ledgers_of_its_runs_come_to(
    swept: Path, tmp_path: Path, command: Any
) -> None:
    path = Path(shutil.copytree(swept, tmp_path / "sweep"))
    true = fedward.load(path)
    assert isinstance(true, SweepRecord)
    first = true.combinations[0]
    edit(path / "sweep.json", lambda found: found["combinations"][0].__setitem__("statement", "(ε = 0.1)"))
    assert fedward.load(path).combinations[0]["statement"] == first["statement"]  # type: ignore[union-attr]
    edit(path / "sweep.json", lambda found: found["combinations"][0].__setitem__("epsilon", 0.125))
    said = rf"sweep.json says epsilon = 0.125, and .*ledger.json comes to {first['epsilon']}"
    with pytest.raises(InvalidValue, match=said):
        fedward.load(path)
    assert command("report", path, "--out", tmp_path / "page.html").code == 2
    shutil.copy(swept / "sweep.json", path / "sweep.json")
    edit(path / first["runs"][1] / "result.json", with_epsilon(0.125))
    with pytest.raises(InvalidValue, match=r"result.json says ε = 0.125"):
        fedward.load(path)
    shutil.rmtree(path / first["runs"][1])
    gone = fedward.load(path).combinations[0]  # type: ignore[union-attr]
    assert (gone["epsilon"], gone["delta"]) == (None, None)
    assert gone["statement"] == f"no ε: {path / first['runs'][1]} holds no finished run"
