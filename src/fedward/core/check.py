"""Checks before the first round that algorithm, model, users and attackers fit together."""

from __future__ import annotations

import copy
from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from fedward.base.validate import InvalidType, InvalidValue, one_of
from fedward.core.algorithm import Algorithm
from fedward.core.check_rounds import bounds_of, check_attacked_rounds, check_bounds, check_rounds
from fedward.core.grid import MOST_USERS
from fedward.core.parameters import ParameterSpec
from fedward.core.roster import Roster
from fedward.core.types import Adversary, Knowledge, PrivateTrainer


def check_setup(
    algorithm: Algorithm,
    module: nn.Module,
    roster: Roster,
    adversary: Adversary | None = None,
    rounds: int | None = None,
) -> None:
    """Raises with a clear message if training could not work or its guarantee could not hold."""
    algorithm.sampler.check(roster.num_users)
    check_cohort(algorithm, roster.num_users)
    if algorithm.exact and roster.num_users > MOST_USERS:
        raise InvalidValue(
            f"number of users must be at most {MOST_USERS:,} with exact noise, got {roster.num_users:,}: "
            "their sum would not be exact"
        )
    if algorithm.mechanism.multiplier > 0 or isinstance(algorithm.local, PrivateTrainer):
        refuse_batch_norm(module)
    require_copyable(module)
    check_output(module, roster)
    if isinstance(algorithm.local, PrivateTrainer):
        refuse_own_tensors(module)
        algorithm.local.check_model(module, roster.sample.batch(torch.arange(1))[0])
    check_clipping(algorithm, size := ParameterSpec.of(module).size)
    algorithm.server.init(torch.zeros(size))  # a step may be made for models of another size
    if rounds is not None:
        check_rounds(algorithm, rounds)
    if adversary is not None:
        check_adversary(adversary, algorithm, roster.num_users, rounds)


def check_adversary(
    adversary: Adversary, algorithm: Algorithm, num_users: int, rounds: int | None = None
) -> None:
    """An adversary must say what it knows, own users that exist, act in time, and be able to train."""
    _check_declared(adversary)
    one_of("knowledge", adversary.knowledge, get_args(Knowledge))
    strangers = sorted(user for user in adversary.users if not 0 <= user < num_users)
    if strangers:
        raise InvalidValue(f"attackers must be users from 0 to {num_users - 1}, got {strangers[0]}")
    _check_staged(adversary, algorithm)
    last = max(adversary.rounds or (0,))
    if rounds is not None and last >= rounds:
        raise InvalidValue(
            f"rounds of the attack must lie below the number of rounds, {rounds}, got {last} "
            "(rounds are counted from 0)"
        )
    check_attacked_rounds(adversary, algorithm, last + 1 if rounds is None else rounds)


def _check_declared(adversary: Adversary) -> None:
    """Silence is no answer: an adversary that leaves something out is not taken for a harmless one."""
    try:
        _ = adversary.users, adversary.knowledge, adversary.needs_all_rows
        _ = adversary.rounds, adversary.per_cohort
    except AttributeError as error:
        if error.obj is not adversary:  # a fault inside of it
            raise
        raise InvalidType(
            f"{error.name} must be declared by {type(adversary).__name__}, got nothing; "
            "fedward.core.types.Adversary says what it means"
        ) from error


def _check_staged(adversary: Adversary, algorithm: Algorithm) -> None:
    """Refuses a guarantee that such attackers take away: the algorithm must say so itself."""
    how = "train with the algorithm of Attack.stage(...), which has no guarantee"
    if adversary.users and algorithm.accounting != "users" and not algorithm.unproven:
        if adversary.knowledge == "cohort":
            raise InvalidValue(f"attackers that are shown all honest updates void the guarantee: {how}")
        if algorithm.accounting == "aggregate":
            raise InvalidValue(f"attackers know or leave out the noise that the guarantee counts on: {how}")
    if adversary.per_cohort is not None and algorithm.sampler.staged is None:
        raise InvalidValue(
            "attackers with an exact number in every cohort need the sampler that draws them so: train with "
            "the algorithm of Attack.stage(...)"
        )


def check_cohort(algorithm: Algorithm, num_users: int) -> None:
    """A rule that needs more rows than a cohort is expected to have would never move the model."""
    root = algorithm.root_user
    if root is not None and not 0 <= root < num_users:
        raise InvalidValue(
            f"the root user of {algorithm.aggregator} must be one of the {num_users} users, from 0 to "
            f"{num_users - 1}, got {root}"
        )
    expected, least = algorithm.sampler.expected_size(num_users), algorithm.aggregator.least_rows
    if expected < least:
        raise InvalidValue(
            f"{algorithm.aggregator} needs cohorts of at least {least} users, but {algorithm.sampler} of "
            f"{num_users} users is expected to give {expected:g}; sample more users"
        )


def refuse_batch_norm(module: nn.Module) -> None:
    """Under DP a layer must not mix examples or carry statistics of them past the clipping."""
    for name, layer in module.named_modules():
        if isinstance(layer, _NormBase) and (layer.track_running_stats or isinstance(layer, _BatchNorm)):
            raise InvalidValue(
                f"layer {name or 'of the model'} is {type(layer).__name__}, which is refused under "
                "differential privacy: it mixes examples or keeps statistics of them; use nn.GroupNorm or "
                "nn.LayerNorm instead"
            )


def refuse_own_tensors(module: nn.Module) -> None:
    """Where users clip for themselves, nothing in the model may answer for its own gradient."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if type(tensor) not in (Tensor, nn.Parameter):
            raise InvalidValue(
                f"{name} of the model is a {type(tensor).__name__}, which is refused where users protect "
                "themselves: such a class can say of its own gradient that it is small; use nn.Parameter"
            )


def check_clipping(algorithm: Algorithm, size: int) -> None:
    """Checks that norm, policy and local trainer fit the model and each other, before a round is reserved."""
    sizes = algorithm.norm.sizes
    if sizes is not None and sum(sizes) != size:
        raise InvalidValue(f"sizes of the layers must add up to {size} parameters, got {sum(sizes)}")
    bounds = bounds_of(algorithm, 0)
    check_bounds(algorithm, bounds)
    algorithm.local.at_round(0, bounds)


def check_output(module: nn.Module, roster: Roster) -> None:
    """Runs the model on two examples and checks that it scores every class."""
    x, _ = roster.sample.batch(torch.arange(len(roster.sample)))
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            scores = module(x)
    except (Exception, SystemExit) as error:  # no model may end the program that trains it
        raise InvalidValue(
            f"{type(module).__name__} cannot read a batch of shape {tuple(x.shape)} and type {x.dtype}: "
            f"{_in_words(error)}"
        ) from error
    finally:
        module.train(was_training)
    wanted = (len(x), roster.num_classes)
    if (
        not isinstance(scores, Tensor)
        or scores.ndim != 2
        or len(scores) != wanted[0]
        or scores.shape[1] < wanted[1]
    ):
        got = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise InvalidValue(f"model output must be a score for each example and class, {wanted}, got {got}")
    if scores.layout != torch.strided or not scores.is_floating_point() or scores.is_meta:
        kind = f"{scores.dtype}, {scores.layout} on {scores.device}".replace("torch.", "")
        raise InvalidType(f"model output must be a plain tensor of floats, got {kind}")
    if not bool(torch.isfinite(scores).all()):
        broken = int((~torch.isfinite(scores)).any(1).nonzero()[0])
        raise InvalidValue(
            f"model output must be finite before training starts, got {scores[broken].tolist()} for the "
            f"example {broken} of user {roster.names[0]}"
        )


def require_copyable(module: nn.Module) -> None:
    """Whoever trains has a copy of the model: one that holds a lock or an open file has none."""
    try:
        copy.deepcopy(module)
    except Exception as error:
        raise InvalidValue(
            f"{type(module).__name__} must be a model that can be copied, got {error}; keep locks, open "
            "files and generators out of its attributes, or give it a __deepcopy__"
        ) from error


def _in_words(error: BaseException) -> str:
    return f"it ends the program, {error!r}" if isinstance(error, SystemExit) else str(error)
