"""A test for hooks: whether anything acts on a module besides its own ``forward``."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.module import _has_any_global_hook


def has_global_hooks() -> bool:
    """Whether a hook is set for all modules there are."""
    return bool(_has_any_global_hook())  # type: ignore[no-untyped-call]


def is_changed(module: nn.Module) -> bool:
    """Whether anything acts on a call of the module, or on its gradients, besides its own ``forward``.

    >>> layer = nn.Linear(2, 2)
    >>> is_changed(layer)
    False
    >>> handle = layer.register_forward_hook(print)
    >>> is_changed(layer)
    True
    """
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    own = [p for p in module._parameters.values() if p is not None]
    hooked = any(p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None) for p in own)
    return any(hooks) or hooked or "forward" in vars(module)
