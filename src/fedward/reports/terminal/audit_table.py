"""The findings of an audit, on the terminal: promises and bounds in a table, and the verdict."""

from __future__ import annotations

import math

from rich.console import Console

from fedward.privacy.rounding import delta_text, round_up
from fedward.reports.numbers import duration, many
from fedward.reports.terminal.console import say, table
from fedward.rundir.audit_result import AuditResult
from fedward.studies.audit.audit_findings import PASS_PROVES_NOTHING
from fedward.studies.audit.self_test import SelfTestResult


def show(console: Console, result: AuditResult, seconds: float) -> None:
    """Promises, bounds, the estimate, and the verdict as a sentence."""
    promised = [
        ["promised", name, "infinite" if epsilon is None else round_up(epsilon), "what was spent"]
        for name, epsilon in result.accountants.items()
    ]
    bounds = [
        ["at least", each.method, least(each.epsilon), each.assumes or "nothing about the mechanism"]
        for each in result.bounds
    ]
    fit = "infinite" if result.estimate is None else f"{result.estimate:.4f}"
    estimate = ["estimate", "best fit", fit, "no bound"]
    about = f"ε at δ = {delta_text(result.guarantee.delta)}, {result.guarantee.unit} level, "
    title = about + result.guarantee.adjacency
    console.print(table(["", "by", "ε", "assumes"], [*promised, *bounds, estimate], left=2, title=title))
    say(console, f"attack: {result.attack}", *(f"assumed: {each}" for each in result.assumptions))
    say(console, f"{many(result.runs, 'training')} in {duration(seconds)}")
    violated = result.verdict == "violation"
    say(console, result.sentence, style="bold red" if violated else "green")
    if not violated:
        say(console, PASS_PROVES_NOTHING)


def least(epsilon: float) -> str:
    """A lower bound with four decimals, never above it.

    >>> least(4.28499)
    '4.2849'
    """
    return f"{math.floor(epsilon * 1e4) / 1e4:.4f}"


def show_self_test(console: Console, found: SelfTestResult) -> None:
    """What became of every broken mechanism, and of the sound one."""
    rows = [
        [
            each.name,
            "caught" if each.caught else "NOT CAUGHT",
            round_up(each.claimed, 2),
            least(each.lower_bound),
            f"{each.runs:,}",
            f"{each.seconds:.1f}",
        ]
        for each in found.mutants
    ]
    headings = ["broken mechanism", "", "promised", "at least", "runs", "seconds"]
    console.print(table(headings, rows, left=2))
    say(
        console,
        f"sound mechanism: {found.false_alarms} false alarms in {many(found.sound, 'audit')}; at most "
        f"{found.error:.0%} of them may be wrong",
        "the self-test passed" if found.passed else "THE SELF-TEST FAILED",
        style=None if found.passed else "bold red",
    )
