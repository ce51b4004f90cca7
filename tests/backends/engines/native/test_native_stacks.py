"""That the random stacks of the other tests are as different as they should be."""

from __future__ import annotations

import itertools

from torch import nn
from torch.nn.modules.utils import _pair

from backends.engines.native.stacks import Stack, random_stack
from fedward.models.residual import Residual


def options_of(stack: Stack) -> set[str]:
    """Names for what a stack has."""
    found = {f"classes {stack.classes}", f"shape of {len(stack.shape)}"}
    kinds = [type(layer).__name__ for layer in stack.layers]
    found |= {*kinds, f"first {kinds[0]}", f"last {kinds[-1]}"}
    found |= {f"{one} {other}" for one, other in itertools.pairwise(kinds)}
    found |= {"nested"} if any(type(child) is nn.Sequential for child in stack.module.children()) else set()
    found |= {"several linear layers"} if kinds.count("Linear") > 1 else set()
    if kinds[0] == "Flatten" and len(stack.shape) == 3 and stack.shape[0] > 1 and stack.shape[1] > 1:
        found.add("flatten channels first")
    for layer in stack.layers:
        if isinstance(layer, nn.Conv2d):
            found |= {f"kernel {side}" for side in layer.kernel_size} | {f"stride {s}" for s in layer.stride}
            found |= {f"convolution bias {layer.bias is not None}", f"into {layer.in_channels}"}
            found |= {f"out {layer.out_channels}"}
            found |= {"rectangular kernel"} if len(set(layer.kernel_size)) > 1 else set()
            padding = layer.padding if not isinstance(layer.padding, str) else (layer.padding,)
            found |= {f"padding {side}" for side in padding}
            found |= (
                {"wide padding"}
                if padding[0] != 0 and padding[0] in range(layer.kernel_size[0], 4)
                else set()
            )
        if isinstance(layer, nn.Linear):
            found |= {f"linear bias {layer.bias is not None}", f"width {layer.out_features // 10 * 10}"}
        if isinstance(layer, (nn.MaxPool2d, nn.AvgPool2d)):
            name = type(layer).__name__
            found |= {f"{name} padded"} if any(_pair(layer.padding)) else set()
            found |= {f"{name} own stride"} if _pair(layer.stride) != _pair(layer.kernel_size) else set()
            found |= {f"{name} rectangular"} if len(set(_pair(layer.kernel_size))) > 1 else set()
            if isinstance(layer, nn.AvgPool2d) and any(_pair(layer.padding)):
                found.add(f"counts padding {layer.count_include_pad}")
        if isinstance(layer, nn.GroupNorm):
            found |= {f"groups {layer.num_groups}", f"affine {layer.affine}"}
        if isinstance(layer, Residual):
            found |= {
                f"path of {len(list(layer.path.children()))}",
                f"shortcut {type(layer.shortcut).__name__}",
            }
            found |= (
                {"block in block"}
                if any(isinstance(each, Residual) for each in layer.path.modules())
                else set()
            )
            first = next(layer.path.children(), None)
            found |= {f"path begins with {type(first).__name__}"}
        if isinstance(layer, nn.AdaptiveAvgPool2d):
            found.add(f"adaptive {type(layer.output_size).__name__}")
            if isinstance(layer.output_size, tuple):
                found |= {"adaptive None"} if None in layer.output_size else set()
                found |= {"adaptive wide"} if max(side or 0 for side in layer.output_size) > 12 else set()
    return found


def test_the_random_stacks_have_every_option_of_every_layer() -> None:
    seen = set().union(*(options_of(random_stack(seed)) for seed in range(250)))
    kinds = ("Conv2d", "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "ReLU", "Flatten", "Linear", "Identity")
    wanted = {*kinds, *(f"first {kind}" for kind in kinds), "last Linear", "last ReLU", "last Flatten"}
    wanted |= {"ReLU ReLU", "MaxPool2d ReLU", "AvgPool2d ReLU", "AdaptiveAvgPool2d ReLU", "Flatten ReLU"}
    wanted |= {"Conv2d Conv2d", "nested", "several linear layers", "flatten channels first"}
    wanted |= (
        {f"kernel {n}" for n in range(1, 6)} | {f"stride {n}" for n in (1, 2, 3)} | {"rectangular kernel"}
    )
    wanted |= {f"padding {side}" for side in (0, 1, 2, 3, "same", "valid")} | {"wide padding"}
    wanted |= {f"{kind} bias {has}" for kind in ("linear", "convolution") for has in (True, False)}
    wanted |= {f"into {n}" for n in (1, 2, 3)} | {"out 5", "out 8", "out 16", "out 17"}
    wanted |= {f"{kind} {what}" for kind in kinds[1:3] for what in ("padded", "own stride", "rectangular")}
    wanted |= {
        "counts padding True",
        "counts padding False",
        "adaptive int",
        "adaptive None",
        "adaptive wide",
    }
    wanted |= {"width 0", "width 10", "width 20", "width 30", "classes 1", "classes 2", "classes 10"}
    wanted |= {"shape of 1", "shape of 2", "shape of 3"}
    wanted |= {"GroupNorm", "Residual", "first Residual", "affine True", "affine False"}
    wanted |= {f"groups {n}" for n in (1, 2, 3, 5, 7, 9, 17)} | {"block in block", "path of 0", "path of 1"}
    wanted |= {"shortcut Identity", "shortcut Sequential"}
    wanted |= {f"path begins with {kind}" for kind in ("Conv2d", "ReLU", "GroupNorm", "Residual")}
    assert wanted <= seen, wanted - seen
