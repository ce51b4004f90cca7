"""The self-test of audits, with its progress."""

from __future__ import annotations

from rich.console import Console

from fedward.reports.terminal.console import say
from fedward.studies.audit.self_test import SelfTestResult, mutants, try_mutant, try_sound


def run_self_test(sound: int, console: Console) -> SelfTestResult:
    """Audits every broken mechanism, and a sound one so many times; says what became of each as it comes."""
    tried = []
    for mutant in mutants():
        found = try_mutant(mutant)
        tried.append(found)
        caught = "caught" if found.caught else "NOT CAUGHT"
        say(console, f"{found.name}: {caught} with {found.runs:,} trainings, {found.seconds:.1f} s")
    alarms = 0
    for number, alarm in enumerate(try_sound(sound), 1):
        alarms += alarm
        if number % 10 == 0:
            say(console, f"{number} of {sound} audits of the sound mechanism: {alarms} false alarms")
    return SelfTestResult(mutants=tuple(tried), sound=sound, false_alarms=alarms)
