"""Random stacks of the layers that the native engine knows."""

from __future__ import annotations

import copy
import math
import random
from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import Phase, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fedward.backends.engines.flat_model import flat_model
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.models.residual import Residual

_Pair = tuple[int, int]
# Of channels: also those that are no multiple of a vector.
_WIDTHS = (*range(1, 21), 3, 5, 7, 8, 9, 16, 17)
_CLASSES = (1, 2, 3, 4, 5, 7, 8, 9, 10, 12)
_MOST_FLOATS = 1500  # between two layers


@dataclass(frozen=True)
class Stack:
    """A model with random parameters, the shape of its examples, and how many classes it has."""

    module: nn.Module
    shape: tuple[int, ...]
    classes: int

    @property
    def layers(self) -> list[nn.Module]:
        return [layer for layer in self.module.modules() if type(layer) is not nn.Sequential]

    @property
    def start(self) -> Tensor:
        return ParameterSpec.of(self.module).flatten(self.module)

    def examples(self, count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
        """Examples from a continuous distribution; their labels go round all classes."""
        generator = torch.Generator().manual_seed(2**31 + seed)  # not the numbers that the parameters are
        x = torch.randn(count, *self.shape, generator=generator)
        return x, (torch.arange(count) + seed) % self.classes

    def double(self) -> nn.Module:
        return copy.deepcopy(self.module).double()

    def flat(self) -> FlatModule:
        """The model for the loop in float32."""
        return flat_model(copy.deepcopy(self.module))


@dataclass
class _Built:
    """The layers so far, and the shape that they give."""

    rng: random.Random
    channels: int
    height: int
    width: int
    layers: list[nn.Module] = field(default_factory=list)
    learns: bool = False  # some layer so far has parameters

    def sides(self) -> tuple[int, int]:
        return self.height, self.width

    def pair(self, low: int, high: int) -> _Pair:
        return self.rng.randint(low, high), self.rng.randint(low, high)

    def coin(self) -> bool:
        return self.rng.random() < 0.5

    def after(self, kernel: _Pair, stride: _Pair, padding: _Pair) -> None:
        zipped = zip(self.sides(), kernel, stride, padding, strict=True)
        self.height, self.width = ((n + 2 * p - k) // s + 1 for n, k, s, p in zipped)


def _convolution(built: _Built) -> None:
    kind = built.rng.choice(["numbers", "numbers", "numbers", "same", "valid"])
    stride = built.pair(1, 3)
    if kind == "same":
        half = built.pair(0, 2)
        kernel, stride, padding = (2 * half[0] + 1, 2 * half[1] + 1), (1, 1), half
    else:
        padding = built.pair(0, 3) if kind == "numbers" else (0, 0)
        kernel = (
            built.rng.randint(1, min(5, built.height + 2 * padding[0])),
            built.rng.randint(1, min(5, built.width + 2 * padding[1])),
        )
    built.after(kernel, stride, padding)
    outputs = min(built.rng.choice(_WIDTHS), max(1, _MOST_FLOATS // (built.height * built.width)))
    built.layers.append(
        nn.Conv2d(
            built.channels,
            outputs,
            kernel,
            stride=stride,
            padding=padding if kind == "numbers" else kind,
            bias=built.coin(),
        )
    )
    built.channels, built.learns = outputs, True


def _pool(built: _Built, kind: type[nn.Module], **options: Any) -> None:
    padding = built.pair(0, 2)
    # A kernel k with padding p fits if 2 p <= k <= side + 2 p.
    high, wide = (
        built.rng.randint(max(1, 2 * p), min(side + 2 * p, max(4, 2 * p)))
        for side, p in zip(built.sides(), padding, strict=True)
    )
    stride = built.pair(1, 3) if built.coin() else None
    built.after((high, wide), stride or (high, wide), padding)
    built.layers.append(kind((high, wide), stride=stride, padding=padding, **options))


def _largest(built: _Built) -> None:
    _pool(built, nn.MaxPool2d)


def _mean(built: _Built) -> None:
    _pool(built, nn.AvgPool2d, count_include_pad=built.coin())


def _adaptive(built: _Built) -> None:
    most = max(1, min(14, math.isqrt(_MOST_FLOATS // built.channels)))
    high, wide = (built.rng.choice([None, built.rng.randint(1, most), most]) for _ in range(2))
    square = built.coin() and high is not None
    built.layers.append(nn.AdaptiveAvgPool2d(high if square else (high, wide)))
    built.height, built.width = high or built.height, (high if square else wide) or built.width


def _relu(built: _Built) -> None:
    built.layers.append(nn.ReLU())


def _identity(built: _Built) -> None:
    built.layers.append(nn.Identity())


def _normalisation(built: _Built) -> None:
    """Groups of four numbers or more: of fewer, the rounding of one is that of all.

    Never before the first layer with parameters: there PyTorch 2.13 crashes in the backward pass, on the
    layout of memory that the loop has, because the input needs no gradient.
    """
    if not built.learns:
        return
    divisors = [n for n in range(1, built.channels + 1) if built.channels % n == 0]
    values = built.channels * built.height * built.width
    if groups := [n for n in divisors if values // n >= 4]:
        built.layers.append(
            nn.GroupNorm(built.rng.choice(groups), built.channels, affine=built.rng.random() < 0.8)
        )


def _way(built: _Built, outputs: int, kernel: _Pair, stride: _Pair) -> list[nn.Module]:
    """A convolution between what may stand before and after it; both ways of a block end with one shape."""
    before, after = copy.copy(built), copy.copy(built)
    before.layers, after.layers, after.channels, after.learns = [], [], outputs, True
    for _ in range(built.rng.randint(0, 1)):
        built.rng.choice([_relu, _normalisation, _identity])(before)
    padding = (kernel[0] // 2, kernel[1] // 2)
    middle = nn.Conv2d(built.channels, outputs, kernel, stride=stride, padding=padding, bias=built.coin())
    after.after(kernel, stride, padding)
    for _ in range(built.rng.randint(0, 2)):
        built.rng.choice([_normalisation, _normalisation, _relu])(after)
    return [*before.layers, middle, *after.layers]


def _residual(built: _Built) -> None:
    stride = built.pair(1, 2) if built.coin() else (1, 1)
    outputs = built.rng.choice([built.channels, built.rng.choice([5, 6, 9, 16, 17])])
    outputs = min(outputs, max(1, _MOST_FLOATS // (built.height * built.width)))
    path = _way(built, outputs, (built.rng.choice([1, 3, 5]), built.rng.choice([1, 3])), stride)
    same = stride == (1, 1) and outputs == built.channels
    around: list[nn.Module] = [] if same else _way(built, outputs, (1, 1), stride)
    if same and built.rng.random() < 0.3:  # a block within the block
        path.insert(built.rng.choice([0, len(path)]), Residual(nn.Conv2d(outputs, outputs, 1), nn.Identity()))
    if same and built.rng.random() < 0.2:
        path = []
    shortcut = nn.Sequential(*around) if around or built.coin() else nn.Identity()
    built.layers.append(Residual(nn.Sequential(*path), shortcut))
    built.after((1, 1), stride, (0, 0))
    built.channels, built.learns = outputs, built.learns or bool(path or around)


_FOR_IMAGES = (
    (_normalisation, _residual) * 3
    + (_convolution,) * 3
    + (_largest, _mean, _adaptive) * 2
    + (_relu,) * 3
    + (_identity,)
)


def _linears(built: _Built) -> None:
    """Linear layers on what is flat, the last of them for the classes."""
    features = built.channels * built.height * built.width
    widths = [built.rng.randint(1, 40) for _ in range(built.rng.randint(0, 2))]
    for width in [*widths, built.rng.choice(_CLASSES)]:
        if built.coin():
            built.layers.append(nn.ReLU())
        built.layers.append(nn.Linear(features, width, bias=built.coin()))
        features = width
    built.channels, built.height, built.width = features, 1, 1


def _nested(built: _Built) -> nn.Sequential:
    """The layers as one stack, or with some of them in stacks of their own."""
    if len(built.layers) < 2 or built.coin():
        return nn.Sequential(*built.layers)
    cut = built.rng.randint(1, len(built.layers) - 1)
    first, last = built.layers[:cut], built.layers[cut:]
    return nn.Sequential(nn.Sequential(*first), nn.Sequential(nn.Sequential(*last)))


def _randomised(module: nn.Module, seed: int) -> nn.Module:
    """Parameters for which activations keep their size; a bias of zero would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            inputs = parameter[0].numel() if parameter.ndim > 1 else 8
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 1.4 / math.sqrt(inputs))
    return module


def random_stack(seed: int) -> Stack:
    """A stack that makes sense: any options of any covered layers on small images or features."""
    rng = random.Random(seed)
    kind = rng.choice(["images"] * 5 + ["features", "flat images"])
    shape: tuple[int, ...] = (rng.randint(1, 3), rng.randint(1, 12), rng.randint(1, 12))
    if kind == "features":
        shape = rng.choice([(rng.randint(1, 40),), (rng.randint(1, 20), 2)])
    built = _Built(rng, *shape) if len(shape) == 3 else _Built(rng, math.prod(shape), 1, 1)
    if kind == "images":
        body = [rng.choice(_FOR_IMAGES) for _ in range(rng.randint(0, 5))]
        body.insert(rng.randint(0, len(body)), _convolution)
        for layer in body[rng.choice([0, 0, 1]) :]:
            layer(built)
    if kind == "images" and rng.random() < 0.3 and any(isinstance(each, nn.Conv2d) for each in built.layers):
        built.layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        built.height = built.width = 1
    else:
        built.layers += [nn.Flatten()] if len(shape) > 1 or built.coin() else []
        _linears(built)
    built.layers += [nn.ReLU()] if rng.random() < 0.15 else []
    return Stack(_randomised(_nested(built), seed), shape, built.channels)


def stacks() -> st.SearchStrategy[Stack]:
    """Random stacks. By a seed: drawn layer by layer most of them would be alike."""
    return st.integers(0, 2**32 - 1).map(random_stack)


def drawn(count: int) -> settings:
    """How many stacks a test sees. Nothing is shrunk: a smaller seed is not a simpler stack."""
    return settings(max_examples=count, phases=[Phase.explicit, Phase.generate])


def stack_of(*layers: nn.Module, shape: tuple[int, ...], seed: int = 0) -> Stack:
    """A stack made by hand, with random parameters."""
    module = _randomised(nn.Sequential(*layers), seed)
    with torch.no_grad():
        classes = module(torch.zeros(1, *shape)).shape[1]
    return Stack(module, shape, classes)


def small_resnet(seed: int = 0) -> Stack:
    """A block within a block, one with a projection and one without; odd numbers of groups."""
    inner = Residual(
        nn.Sequential(nn.GroupNorm(5, 5, affine=False), nn.Conv2d(5, 5, 3, padding=1)), nn.Identity()
    )
    return stack_of(
        nn.Conv2d(2, 5, 3, padding=1, bias=False),
        nn.GroupNorm(5, 5),
        nn.ReLU(),
        Residual(nn.Sequential(inner, nn.Conv2d(5, 5, 3, padding=1), nn.GroupNorm(1, 5)), nn.Identity()),
        Residual(
            nn.Sequential(
                nn.Conv2d(5, 9, 3, stride=2, padding=1, bias=False),
                nn.GroupNorm(3, 9),
                nn.ReLU(),
                nn.Conv2d(9, 9, 3, padding=1, bias=False),
                nn.GroupNorm(9, 9),
            ),
            nn.Sequential(nn.Conv2d(5, 9, 1, stride=2, bias=False), nn.GroupNorm(3, 9)),
        ),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(9, 4),
        shape=(2, 10, 9),
        seed=seed,
    )


def small_cnn(seed: int = 0) -> Stack:
    """Two convolutions, a pool of each kind and two linear layers."""
    return stack_of(
        nn.Conv2d(2, 5, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(5, 9, (3, 2), stride=(1, 2)),
        nn.ReLU(),
        nn.AvgPool2d(2, stride=1, padding=1, count_include_pad=False),
        nn.Flatten(),
        nn.Linear(108, 11),
        nn.ReLU(),
        nn.Linear(11, 4),
        shape=(2, 10, 9),
        seed=seed,
    )
