"""Twitter accounts: who trains, who is public; and the models that attacks begin from."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import fedward
from fedward.core.examples import Examples, Ragged
from studies import Study, Training

LONGEST = 25  # words of a tweet
PUBLIC = 600  # accounts
EPOCHS = 4


@functools.cache
def everybody(data: str | None) -> fedward.Federation:
    """All accounts, three tweets or more each; a fifth of them is tested on, the same for every seed."""
    return fedward.datasets.sentiment140.load(seed=0, data_dir=data, longest=LONGEST)


@functools.cache
def divided(data: str | None) -> tuple[fedward.Federation, Examples]:
    """The 1,700 accounts that train where the model has begun to learn, and the tweets of the public ones."""
    federation = everybody(data)
    public = np.random.default_rng(0).permutation(federation.num_users)[:PUBLIC]
    owner = torch.repeat_interleave(torch.arange(federation.num_users), federation.sizes).numpy()
    shown = np.isin(owner, public)
    own = federation.examples.select(torch.from_numpy(np.flatnonzero(~shown)))
    left = fedward.Federation.from_arrays(
        own.x,
        own.y,
        federation.names[owner[~shown]],
        test=federation.test,
        num_classes=2,
        vocabulary=federation.vocabulary,
    )
    return left, federation.examples.select(torch.from_numpy(np.flatnonzero(shown)))


def accounts(study: Study, data: str | None) -> fedward.Federation:
    return divided(data)[0] if study == "begun" else everybody(data)


def network(training: Training, federation: fedward.Federation, start: Path) -> nn.Module:
    """The initial model; attacks begin from what ``begin`` has left."""
    model = fedward.models.build(
        "sentiment_lstm",
        input_shape=(),
        num_classes=2,
        seed=training.seed,
        vocabulary=federation.vocabulary,
        hidden=training.hidden,
    )
    if training.study == "begun":
        nn.utils.vector_to_parameters(torch.load(start, weights_only=True), trained(model))
    return model


def trained(model: nn.Module) -> list[Tensor]:
    """All but the word vectors."""
    return [p for p in model.parameters() if p.requires_grad]


def begin(training: Training, data: str | None, start: Path) -> None:
    """Adam on the public accounts, pooled; no ε covers them."""
    federation, public = divided(data)
    fresh = fedward.models.build(
        "sentiment_lstm",
        input_shape=(),
        num_classes=2,
        seed=training.seed,
        vocabulary=federation.vocabulary,
        hidden=training.hidden,
    )
    optimizer = torch.optim.Adam(trained(fresh), lr=0.005)
    generator = torch.Generator().manual_seed(training.seed)
    assert isinstance(public.x, Ragged)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(public), generator=generator).split(50):  # type: ignore[no-untyped-call]
            loss = nn.functional.cross_entropy(fresh(public.x[batch]), public.y[batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    torch.save(nn.utils.parameters_to_vector(trained(fresh)).detach(), start)
