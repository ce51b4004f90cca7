"""Modules and arrays of somebody's own, made by a seed: some sound, most with something that misbehaves."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedward.api.train_api import train
from fedward.backends.compute import Compute
from fedward.base.validate import InvalidValue
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation

FEATURES, CLASSES, USERS, EACH = 6, 3, 8, 5
EXPERIMENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 2,
    "algorithm": {
        "preset": "fedavg",
        "sampler": {"name": "poisson", "rate": 0.9},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 3, "epochs": 1},
    },
}
PRIVATE = {
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 1.0,
        "sampler": {"name": "poisson", "rate": 0.9},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 3, "epochs": 1},
    },
    "privacy": {"users": USERS, "accountant": "rdp"},
}


class Quirk(nn.Module):
    """A layer that does something to what goes through it."""

    def __init__(self, does: Callable[[Tensor], Any], only: str = "") -> None:
        super().__init__()
        self.does, self.only = does, only

    def forward(self, x: Tensor) -> Any:
        if self.only and (self.only == "training") != self.training:
            return x
        return self.does(x)


class Holds(nn.Module):
    """A linear layer that has something besides."""

    def __init__(self, what: Any, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.what = what

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layer(x)
        return found


class Grows(nn.Module):
    """A layer that gets new parameters, or buffers, while it is used."""

    def __init__(self, width: int, kind: str) -> None:
        super().__init__()
        self.layer, self.kind, self.calls = nn.Linear(width, width), kind, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        if self.kind == "parameter":
            self.register_parameter(f"extra{self.calls}", nn.Parameter(torch.zeros(2)))
        elif self.kind == "buffer":
            self.register_buffer(f"extra{self.calls}", torch.zeros(2))
        elif self.kind == "freezes":
            self.layer.weight.requires_grad_(False)
        elif self.kind == "replaces":
            self.layer = nn.Linear(x.shape[-1], x.shape[-1])
        elif self.kind == "writes":
            with torch.no_grad():
                self.layer.weight.fill_(float("nan"))
        found: Tensor = self.layer(x)
        return found


def _numpy_noise(x: Tensor) -> Tensor:
    return x + torch.as_tensor(np.random.standard_normal(tuple(x.shape)), dtype=x.dtype)  # noqa: NPY002


def _through_numpy(x: Tensor) -> Tensor:
    return torch.from_numpy(x.detach().numpy() * 2)


def _raise(error: type[BaseException], x: Tensor) -> Tensor:
    raise error("something of one's own")


def _writes_input(x: Tensor) -> Tensor:
    with torch.no_grad():
        x.mul_(2.0)
    return x


_DOES: tuple[Callable[[Tensor], Any], ...] = (
    lambda x: x * float("nan"),
    lambda x: x * float("inf"),
    lambda x: x * 1e38 * 1e38,
    lambda x: x.detach(),
    lambda x: x.double(),
    lambda x: x.half(),
    lambda x: x.bfloat16(),
    lambda x: x.long(),
    lambda x: x.to_sparse(),
    lambda x: x.to("meta"),
    lambda x: torch.complex(x, x),
    lambda x: x.numpy() if not x.requires_grad else x.detach().numpy(),
    lambda x: x.tolist(),
    lambda x: None,
    lambda x: (x, x),
    lambda x: {"scores": x},
    lambda x: x[:1],
    lambda x: x[:, :0],
    lambda x: x.sum(),
    lambda x: x.reshape(-1),
    lambda x: x[..., None],
    lambda x: x.T,
    lambda x: torch.zeros_like(x),
    lambda x: torch.ones(len(x), 1),
    lambda x: x + torch.empty(2**45),
    lambda x: x + torch.randn_like(x),
    lambda x: x + random.random(),
    lambda x: x[torch.randperm(len(x))],
    lambda x: np.asarray(x.detach()),
    lambda x: torch.quantize_per_tensor(x.detach(), 0.1, 0, torch.qint8),
    _numpy_noise,
    _through_numpy,
    _writes_input,
    *(partial(_raise, error) for error in (ValueError, KeyError, SystemExit, RecursionError)),
    *(
        partial(_raise, error)
        for error in (MemoryError, StopIteration, GeneratorExit, AssertionError, OSError)
    ),
)


def _layer(choice: random.Random, width: int) -> list[nn.Module]:
    kinds: tuple[Callable[[], list[nn.Module]], ...] = (
        lambda: [nn.Linear(width, width), nn.ReLU()],
        lambda: [nn.Linear(width, width, bias=False), nn.Tanh()],
        lambda: [nn.LayerNorm(width)],
        lambda: [nn.BatchNorm1d(width)],
        lambda: [nn.Dropout(choice.choice((0.0, 0.5, 1.0)))],
        lambda: [nn.LazyLinear(width)],
        lambda: [nn.LazyBatchNorm1d()],
        lambda: [Holds(threading.Lock(), width)],
        lambda: [Holds(open("/dev/null"), width)],  # noqa: SIM115
        lambda: [Holds(lambda: None, width)],
        lambda: [Holds((each for each in "abc"), width)],
        lambda: [Holds(torch.zeros(3), width)],
        lambda: [Holds([nn.Linear(2, 2)], width)],
        lambda: [Grows(width, choice.choice(("parameter", "buffer", "freezes", "replaces", "writes")))],
        lambda: [Quirk(choice.choice(_DOES), choice.choice(("", "training", "evaluation")))],
        lambda: [
            nn.Linear(width, width, dtype=choice.choice((torch.float64, torch.float16, torch.bfloat16)))
        ],
        lambda: [nn.Linear(width, width, device="meta")],
        lambda: [nn.utils.parametrizations.weight_norm(nn.Linear(width, width))],
        lambda: [nn.utils.parametrizations.spectral_norm(nn.Linear(width, width))],
        lambda: [nn.Linear(width, width + 1)],
        lambda: [nn.Embedding(4, width)],
        lambda: [nn.Unflatten(1, (width, 1)), nn.Conv1d(width, width, 1), nn.Flatten()],
        lambda: [nn.Identity()],
        lambda: [nn.Bilinear(width, width, width)],
        lambda: [_frozen(nn.Linear(width, width))],
        lambda: [_spoilt(nn.Linear(width, width), choice)],
    )
    return choice.choice(kinds)()


def _frozen(layer: nn.Module) -> nn.Module:
    for each in layer.parameters():
        each.requires_grad_(False)
    return layer


def _spoilt(layer: nn.Linear, choice: random.Random) -> nn.Module:
    how = choice.randrange(6)
    with torch.no_grad():
        if how == 0:
            layer.weight.fill_(float("nan"))
        elif how == 1:
            layer.weight = nn.Parameter(layer.weight.to_sparse())
        elif how == 2:
            layer.weight = nn.Parameter(layer.weight[:1, :1].expand(layer.weight.shape))
        elif how == 3:
            layer.bias = layer.weight[0]  # type: ignore[assignment]
        elif how == 4:
            layer.weight.untyped_storage().resize_(0)
        else:
            layer.weight = nn.Parameter(torch.complex(layer.weight, layer.weight))
    return layer


def own_model(seed: int) -> nn.Module:
    """A model; one in some four has nothing wrong."""
    choice = random.Random(f"model {seed}")
    layers: list[nn.Module] = [nn.Flatten()] if choice.random() < 0.3 else []
    layers += [nn.Linear(FEATURES, FEATURES), nn.ReLU()]
    for _ in range(choice.choice((0, 1, 1, 2))):
        layers += _layer(choice, FEATURES)
    if choice.random() < 0.95:
        layers.append(nn.Linear(FEATURES, CLASSES if choice.random() < 0.9 else CLASSES - 1))
    if choice.random() < 0.1:
        layers += [Quirk(choice.choice(_DOES))]
    if choice.random() < 0.05:
        layers += [layers[0]]
    return nn.Sequential(*layers)


def _arrays(choice: random.Random) -> tuple[Any, Any, Any]:
    """Inputs, labels and users, one or more of them changed."""
    n = USERS * EACH
    draw = np.random.default_rng(choice.getrandbits(32))
    x: Any = draw.standard_normal((n, FEATURES))
    y: Any = np.arange(n) % CLASSES
    users: Any = np.arange(n) // EACH
    if choice.random() < 0.6:
        x = choice.choice(_CHANGES)(x, choice)
    if choice.random() < 0.3:
        y = choice.choice(_CHANGES)(y, choice)
    if choice.random() < 0.2:
        users = choice.choice(_CHANGES)(users, choice)
    return x, y, users


def _typed(kind: Any, a: Any, choice: random.Random) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(kind)


def _ragged(a: Any, choice: random.Random) -> Any:
    rows = np.asarray(a).tolist()
    rows[choice.randrange(len(rows))] = [1.0, 2.0]
    return rows


def _with(value: Any, a: Any, choice: random.Random) -> Any:
    changed = np.array(a, dtype=object if not isinstance(value, float | int) else None)
    changed = changed.astype(float) if isinstance(value, float) else changed
    try:
        changed.reshape(-1)[choice.randrange(changed.size)] = value
    except OverflowError:
        changed = changed.astype(object)
        changed.reshape(-1)[0] = value
    return changed


class LiesAboutItsLength(list[Any]):
    def __len__(self) -> int:
        return 10**9


class NeverEnds:
    def __iter__(self) -> Any:
        return iter(int, 1)

    def __len__(self) -> int:
        return USERS * EACH


_KINDS = ("f2", "f4", ">f8", "g", "u8", "i1", "u1", "?", "c16", "U3", "S3", "O", "M8[s]", "V8", ">i4", "F")
_CHANGES: tuple[Callable[[Any, random.Random], Any], ...] = (
    *(partial(_typed, kind) for kind in _KINDS),
    *(
        partial(_with, value)
        for value in (float("nan"), float("inf"), -1, 2**40, 1e300, None, "x", b"x", [1])
    ),
    _ragged,
    lambda a, c: np.ma.masked_array(a, mask=np.asarray(a) == np.asarray(a).reshape(-1)[0]),
    lambda a, c: torch.as_tensor(a).to_sparse(),
    lambda a, c: torch.as_tensor(a).to("meta"),
    lambda a, c: torch.quantize_per_tensor(torch.as_tensor(a).float(), 0.1, 0, torch.qint8),
    lambda a, c: torch.as_tensor(a).to(c.choice((torch.float16, torch.bfloat16, torch.bool, torch.uint8))),
    lambda a, c: torch.as_tensor(a).float().requires_grad_(),
    lambda a, c: np.full(np.shape(a), 2**63, dtype=np.uint64),
    lambda a, c: np.asarray(a)[:0],
    lambda a, c: np.asarray(a)[:-1],
    lambda a, c: np.asarray(a)[..., None],
    lambda a, c: np.asarray(a).reshape(-1),
    lambda a, c: np.asarray(a)[::-1],
    lambda a, c: np.broadcast_to(np.asarray(a)[:1], np.shape(a)),
    lambda a, c: list(a),
    lambda a, c: tuple(map(str, np.asarray(a).tolist())),
    lambda a, c: iter(np.asarray(a)),
    lambda a, c: {"a": a},
    lambda a, c: None,
    lambda a, c: "abc",
    lambda a, c: 3,
    lambda a, c: np.zeros(np.shape(a)),
    lambda a, c: LiesAboutItsLength(np.asarray(a).tolist()),
    lambda a, c: NeverEnds(),
    lambda a, c: (
        np.asarray(a).view(np.recarray) if np.asarray(a).dtype.names else np.matrix(np.atleast_2d(a))
    ),
    lambda a, c: memoryview(np.ascontiguousarray(a).data),
    lambda a, c: Path("x"),
)


def try_out(seed: int, folder: Path) -> int:
    """Trains what a seed makes: it works, or it is refused in words; anything else is let through."""
    choice = random.Random(f"own {seed}")
    torch.manual_seed(seed)
    try:
        x, y, users = _arrays(choice)
        federation = Federation.from_arrays(x, y, users, num_classes=CLASSES)
    except InvalidValue as error:
        print(f"refused: {error}")
        return 0
    try:
        model = own_model(seed)
    except Exception as error:  # torch itself makes no such model
        print(f"no model: {error}")
        return 0
    private = PRIVATE if choice.random() < 0.3 else {}
    workers = 2 if seed % 25 == 0 else 0
    engine = choice.choice(("auto", "generic"))
    try:
        run = train(
            EXPERIMENT | private,
            model,
            federation,
            out=folder / "run",
            compute=Compute(workers=workers, engine=engine),
        )
        print(f"trained: {run}")
    except (InvalidValue, TrainingFailed) as error:
        print(f"refused: {error}")
    return 0
