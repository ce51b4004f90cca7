from __future__ import annotations

from dataclasses import replace

from fedward.privacy import Guarantee
from fedward.reports.terminal.console import plain_console
from fedward.reports.terminal.epsilon_about import common_lines, differing_columns
from fedward.reports.terminal.sweep_table import table, to_csv
from fedward.studies.sweep.sweep_results import Row

USER = Guarantee(
    epsilon=1.5,
    delta=0.001,
    unit="user",
    adjacency="add/remove",
    sampling="everyone",
    accountant="pld",
    noise_source="seeded",
    rounds=2,
)
EXAMPLE = replace(USER, unit="example", delta=1e-5)
NONE = replace(USER, epsilon=float("inf"), reason="no noise is added", delta=0.5)


def test_what_all_have_in_common_is_said_once() -> None:
    assert differing_columns([USER, NONE, USER]) == {}
    assert common_lines([USER, NONE, USER]) == [
        "each ε: δ = 0.001, user level, add/remove, pld accountant, seeded noise: research only"
    ]
    assert common_lines([NONE]) == []


def test_what_they_differ_in_has_a_column() -> None:
    assert differing_columns([USER, NONE, EXAMPLE]) == {
        "δ": ["0.001", "", "1e-05"],
        "unit": ["user level", "", "example level"],
    }
    assert common_lines([USER, EXAMPLE]) == [
        "each ε: add/remove, pld accountant, seeded noise: research only"
    ]


def test_caveats_are_said_of_how_many_they_are() -> None:
    warned = replace(USER, caveat="weights are not covered")
    assert common_lines([warned, warned])[1:] == ["weights are not covered"]
    assert common_lines([warned, USER, NONE])[1:] == ["1 of them: weights are not covered"]


def row(label: str, guarantee: Guarantee) -> Row:
    return Row(
        labels={"algorithm": label},
        values={"algorithm": None},
        seeds=(1,),
        rounds=(2,),
        guarantee=guarantee,
        statement=str(guarantee),
        measures={},
        directories=("x",),
    )


def test_a_sweep_over_presets_does_not_mix_what_epsilon_is_about() -> None:
    rows = [row("central", USER), row("local", EXAMPLE), row("plain", NONE)]
    console = plain_console(width=120)
    with console.capture() as printed:
        table(console, rows)
    lines = printed.get().splitlines()
    assert [cell.strip() for cell in lines[1].strip("┃").split("┃")] == ["algorithm", "ε", "δ", "unit"]
    assert "each ε: add/remove, pld accountant, seeded noise: research only" in lines
    head, *cells = to_csv(rows).splitlines()
    assert head == "algorithm,seeds,rounds,epsilon,delta,unit,adjacency,accountant,statement"
    assert cells[0].startswith(
        'central,1,2,1.5,0.001,user,add/remove,pld,"(ε = 1.5000, δ = 0.001) user level'
    )
    assert cells[2] == "plain,1,2,,,,,,no guarantee: no noise is added"
