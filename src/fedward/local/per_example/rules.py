"""A table from layers to their rules. A layer that is not in it is done one example at a time."""

from __future__ import annotations

from torch import nn

from fedward.local.per_example.convolution import CONVOLUTION
from fedward.local.per_example.embedding import EMBEDDING
from fedward.local.per_example.linear import LINEAR
from fedward.local.per_example.normalisation import NORMALISATION
from fedward.local.per_example.rule import Rule

RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: LINEAR,
    nn.Conv1d: CONVOLUTION,
    nn.Conv2d: CONVOLUTION,
    nn.Conv3d: CONVOLUTION,
    nn.Embedding: EMBEDDING,
    nn.LayerNorm: NORMALISATION,
    nn.GroupNorm: NORMALISATION,
    nn.InstanceNorm1d: NORMALISATION,
    nn.InstanceNorm2d: NORMALISATION,
    nn.InstanceNorm3d: NORMALISATION,
}
"""For each kind of layer the rule that finds the gradients of single examples."""
