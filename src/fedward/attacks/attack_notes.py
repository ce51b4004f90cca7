"""Notes on what a staged attack leaves of guarantees and certificates, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedward.core.algorithm import Algorithm

if TYPE_CHECKING:
    from fedward.attacks.attack import Attack


def notes_on(attack: Attack, algorithm: Algorithm) -> tuple[str, ...]:
    """A sentence for each thing about an attack on an algorithm that a reader of its results must know."""
    notes = []
    if attack.data and attack.model and attack.model[0].conduct.discards_update:
        notes.append(f"{attack.model[0]} throws away what was trained: the poisoned data has no effect.")
    if attack.who.per_cohort is not None:
        cohorts = "Every cohort of an attacked round" if attack.staged_when_attacked else "Every cohort"
        notes.append(
            f"{cohorts} has exactly {attack.who.per_cohort} attackers: this is not the sampling that "
            "certificates are about."
        )
    if algorithm.handed_out:
        notes.append(
            f"{algorithm.handed_out:,} examples of honest users were handed to the attackers: every ε is "
            "about the federation after that."
        )
    if algorithm.accounting == "users" and any(part.conduct.skips_local_privacy for part in attack.model):
        notes.append(
            "The attackers skip their own clipping and noise, and nobody clips after them. What is "
            "guaranteed to the other users stands: each relies on its own noise."
        )
    return tuple(notes)
