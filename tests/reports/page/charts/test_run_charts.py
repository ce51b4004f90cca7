from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, PoissonSampledDpEvent

from fedward.privacy import epsilon_of
from fedward.privacy.ledger import Entry
from fedward.reports.page.charts.run_charts import epsilon_chart
from fedward.rundir.run_record import RunRecord, load


def a_run(path: Path) -> RunRecord:
    run = load(path)
    assert isinstance(run, RunRecord)
    return run


def epsilons(run: RunRecord) -> dict[str, tuple[tuple[float, float], ...]]:
    """The curve of each accountant."""
    chart = epsilon_chart(run, "run")
    assert chart is not None
    return {line.name: line.points for line in chart.lines}


def test_every_accountant_is_asked_for_every_round(private_run: Path) -> None:
    run = a_run(private_run)
    found = epsilons(run)
    assert list(found) == ["moments (the papers')", "rdp", "pld"]
    assert run.ledger is not None
    (event, times), *_ = run.ledger.spending
    assert times == 3
    for name, accountant in (("moments (the papers')", "moments"), ("rdp", "rdp")):
        wanted = [epsilon_of([(event, t)], 1e-2, accountant, "add/remove") for t in (1, 2, 3)]
        assert [t for t, _ in found[name]] == [1, 2, 3]
        assert [epsilon for _, epsilon in found[name]] == pytest.approx(wanted)
    for moments, pld in zip(found["moments (the papers')"], found["pld"], strict=True):
        assert moments[0] == pld[0]
        assert moments[1] > pld[1]


def test_a_run_without_a_guarantee_spends_nothing_that_is_known(attacked_run: Path) -> None:
    assert epsilon_chart(a_run(attacked_run), "run") is None


def test_where_users_protect_themselves_it_is_the_one_drawn_most_often(own_protection_run: Path) -> None:
    run = a_run(own_protection_run)
    found = epsilons(run)
    assert run.users is not None
    assert run.manifest.delta is not None
    for name, accountant in (("moments (the papers')", "moments"), ("rdp", "rdp")):
        largest = run.users.guarantees(run.manifest.delta, accountant).worst.epsilon
        rounds, epsilon = found[name][-1]
        assert rounds == 3.0
        assert epsilon == pytest.approx(largest)
    assert epsilon_chart(dataclasses.replace(run, telemetry=()), "run") is None


def test_rounds_in_which_the_bound_looked_at_norms_are_drawn_too(private_run: Path) -> None:
    run = a_run(private_run)
    assert run.ledger is not None
    both = ComposedDpEvent([GaussianDpEvent(2.0), GaussianDpEvent(3.0)])
    event = PoissonSampledDpEvent(0.5, both)
    looking = dataclasses.replace(run.ledger, entries=(Entry(event=event, first_round=0, count=3),))
    found = epsilons(dataclasses.replace(run, ledger=looking, result=None))
    wanted = [epsilon_of([(event, t)], 1e-2, "rdp", "add/remove") for t in (1, 2, 3)]
    assert [epsilon for _, epsilon in found["rdp"]] == pytest.approx(wanted)
