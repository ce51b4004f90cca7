from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from rich.console import Console

from command_line import output_of
from fedward.certificates.certificate_file import dumps
from fedward.certificates.certified import Certified, certify_setting
from fedward.certificates.confidence import Confidence
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Tally
from fedward.commands.certificate_check import check
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.rounding import epsilon_text, round_up_digits
from fedward.reports.page.certified.certified_curves import certified_table
from fedward.reports.pictures.certified_picture import picture
from fedward.reports.terminal.certified_table import record, table
from fedward.rundir.manifest import Manifest
from fedward.rundir.run_record import ReplicasRecord


def found(votes: int = 95, noise: float = 4.0, replicas: int = 100, **changes: Any) -> Certified:
    """One example, with so many votes of all for its class."""
    event = PoissonSampledDpEvent(0.5, GaussianDpEvent(noise))
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(event, 1)
    arguments: dict[str, Any] = {
        "ledger": ledger,
        "users": 30,
        "confidence": Confidence(looks=(replicas,), method="clopper_pearson"),
        "delta": 0.01,
        "accountant": "rdp",
        "initial_model": "a",
        "data": "b",
        "threats": ("inject",),
    }
    tally = Tally(
        counts=np.array([[votes, replicas - votes]]), replicas=replicas, seed=1, labels=np.array([0])
    )
    return certify_setting(Setting(**arguments | changes), tally)


@pytest.fixture(scope="module")
def sure() -> Certified:
    return found()


@pytest.fixture(scope="module")
def unsure() -> Certified:
    """Certified from the means as they are, but not with confidence."""
    return found(votes=52)


def legends(shown: Any) -> list[list[str]]:
    return [[text.get_text() for text in axis.get_legend().get_texts()] for axis in shown.figure.axes]


def test_the_record_says_what_its_epsilons_are_about(sure: Certified) -> None:
    content = record(sure)
    own = Guarantee.from_json(content["guarantee"])
    assert (own.epsilon, own.delta, own.accountant) == (content["epsilon"], content["delta"], "rdp")
    assert content["statement"] == str(own)
    papers = Guarantee.from_json(content["papers_guarantee"])
    assert (papers.epsilon, papers.accountant) == (content["papers_epsilon"], "moments")
    together = Guarantee.from_json(content["releasing_all"])
    assert together.rounds == 100
    assert together.epsilon > own.epsilon
    assert "all 100 trainings together" in together.caveat


def test_no_k_is_shown_where_not_even_the_clean_prediction_is_certified(
    unsure: Certified, capsys: pytest.CaptureFixture[str]
) -> None:
    table(Console(width=120), {"all": unsure})
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│ inject" in line]
    assert [row[-2].strip() for row in rows] == ["- / 0"]
    (with_confidence,) = (
        curve
        for curve in record(unsure)["curves"]
        if (curve["mode"], curve["with_confidence"]) == ("inject", True)
    )
    assert with_confidence["largest_k"] is None


def test_the_check_shows_the_same_as_the_certification(unsure: Certified, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(check)
    (tmp_path / "scores.npz").write_bytes(unsure.replicas.to_bytes())
    file = tmp_path / "certificate.json"
    file.write_text(dumps(unsure.certificate, "scores.npz"))
    (row,) = (line.split("│") for line in output_of(app, file).splitlines() if "│ inject" in line)
    assert [cell.strip() for cell in row[2:4]] == ["-", "-"]


def test_so_does_the_page(unsure: Certified) -> None:
    run = ReplicasRecord(
        path=Path("run"),
        manifest=Manifest(experiment={}),
        certificates={"all": unsure.certificate},
        certified={"all": record(unsure)},
    )
    rows = [[cell.text for cell in row] for row in certified_table(run).rows]
    largest = {(row[0], row[1][:3]): row[-1] for row in rows}
    assert largest["k attackers join", "yes"] == "none"
    assert largest["k attackers join", "no:"] == "0"


def test_a_picture_of_one_training_says_what_each_epsilon_is_about(sure: Certified) -> None:
    shown = picture({"all": sure})
    assert sure.papers_epsilon is not None
    assert legends(shown) == [
        [f"ε = {round_up_digits(sure.papers_epsilon, 3)} at δ = 0.01 (moments, one training)"],
        [
            f"ε = {round_up_digits(sure.epsilon, 3)} at δ = 0.01 (rdp, one training)",
            f"M = 100: nothing above k = {sure.ceilings[0].k}",
        ],
    ]
    assert "user level, add/remove" in shown.figure.get_supxlabel()
    drawn = [axis.lines[0].get_drawstyle() for axis in shown.figure.axes]
    assert set(drawn) == {"steps-post"}


def test_the_ceiling_of_m_is_an_upright_line_that_no_curve_with_confidence_crosses(sure: Certified) -> None:
    (ceiling,) = sure.ceilings
    (panel,) = picture({"all": replace(sure, papers_guarantee=None, curves=sure.curves[:1])}).figure.axes
    curve, upright = panel.lines
    assert set(np.asarray(upright.get_xdata()).tolist()) == {ceiling.k + 1}
    assert np.max(np.asarray(curve.get_xdata())) <= ceiling.k + 1
    # All replicas agree: the curve ends where M ends it.
    (panel,) = picture({"all": found(votes=100)}).figure.axes[1:]
    assert np.max(np.asarray(panel.lines[0].get_xdata())) == ceiling.k + 1


def test_the_table_ends_with_what_m_allows_and_what_a_release_costs(
    sure: Certified, capsys: pytest.CaptureFixture[str]
) -> None:
    table(Console(width=1000), {"all": sure})
    *_, limit, release = capsys.readouterr().out.splitlines()
    (ceiling,) = sure.ceilings
    assert limit.startswith(f"With M = 100 trainings nothing above k = {ceiling.k} (inject) can be certified")
    assert f"one training spends ε = {epsilon_text(sure.epsilon)}" in release
    assert f"computed from 100, spends ε = {epsilon_text(sure.releasing_all.epsilon)}" in release
    assert record(sure)["ceilings"][0]["k"] == ceiling.k
    table(Console(width=1000), {"one": sure, "other": sure})
    *_, limit, _ = capsys.readouterr().out.splitlines()
    assert limit.startswith("other: With M = 100")


def test_three_replicas_do_not_end_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    table(Console(width=1000), {"all": found(votes=3, replicas=3)})
    *_, limit, _ = capsys.readouterr().out.splitlines()
    assert "With M = 3 trainings nothing at all can be certified, however good the model is; M = " in limit
    assert legends(picture({"all": found(votes=3, replicas=3)}))[1][1] == "M = 3: nothing at all"


def test_what_variants_have_in_common_is_said_once_below(sure: Certified, unsure: Certified) -> None:
    shown = picture({"a": sure, "b": unsure})
    assert legends(shown)[1] == [
        f"a, ε = {round_up_digits(sure.epsilon, 3)}",
        f"b, ε = {round_up_digits(unsure.epsilon, 3)}",
    ]
    foot = shown.figure.get_supxlabel()
    assert "at δ = 0.01 (moments, one training) as in the paper and at δ = 0.01 (rdp, one training)" in foot
    assert "user level, add/remove" in foot


def test_variants_with_other_deltas_keep_their_own(sure: Certified) -> None:
    shown = picture({"a": sure, "b": found(delta=0.001)})
    assert legends(shown)[1][1].endswith("at δ = 0.001 (rdp, one training)")


def test_lines_have_dots_only_where_there_are_few_of_them(sure: Certified, unsure: Certified) -> None:
    assert max(len(curve.accuracy) for curve in sure.curves) < 30
    long = replace(sure, curves=tuple(replace(each, accuracy=each.accuracy * 30) for each in sure.curves))
    pictures = [
        {name: replace(each, ceilings=()) for name, each in shown.items()}
        for shown in ({"all": sure}, {"all": long}, {"a": sure, "b": unsure})
    ]
    shown = [{line.get_marker() for a in picture(each).figure.axes for line in a.lines} for each in pictures]
    assert shown == [{"."}, {"None"}, {"None"}]


@pytest.mark.parametrize(("variants", "outside"), [(2, False), (5, True)])
def test_the_legend_of_many_variants_hides_no_curve(sure: Certified, variants: int, outside: bool) -> None:
    shown = picture({str(number): sure for number in range(variants)}).figure
    shown.draw_without_rendering()
    for axis in shown.axes:
        legend = axis.get_legend()
        assert legend is not None
        assert (legend.get_window_extent().y1 <= axis.get_window_extent().y0) == outside
