"""All mutations that ``make mutants`` tries."""

from __future__ import annotations

from mutation import Mutation
from mutations_promises import PROMISES
from mutations_storage import STORAGE
from mutations_training import TRAINING

MUTATIONS: tuple[Mutation, ...] = (*TRAINING, *PROMISES, *STORAGE)
