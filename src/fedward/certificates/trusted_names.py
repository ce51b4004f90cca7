"""The names of what the check of a certificate recomputes, and of what rests on trust."""

from __future__ import annotations

from typing import Literal

Recomputed = Literal[
    "scores",
    "numbers",
    "copies",
    "draw",
    "bounds",
    "k",
    "accuracy",
    "epsilon",
    "words",
    "experiment",
    "retrained",
]
Trusted = Literal[
    "trainings",
    "ledger",
    "divisor",
    "groups",
    "independence",
    "fixed_beforehand",
    "choice",
    "initial_model",
    "data",
    "public_data",
]
