"""A server state as bytes, and back."""

from __future__ import annotations

import io
import pickle

import torch

from fedward.core.types import ServerState
from fedward.core.validate import InvalidValue
from fedward.privacy import ledger_file, user_ledgers_file

_FORMAT = "fedward checkpoint 2"
_KEYS = {"format", "replica", "round", "parameters", "server", "policy", "ledger", "users"}


def to_bytes(state: ServerState) -> bytes:
    content = {
        "format": _FORMAT,
        "replica": state.replica,
        "round": state.round,
        "parameters": state.parameters,
        "server": list(state.server),
        "policy": list(state.policy),
        "ledger": ledger_file.dumps(state.ledger),
        "users": None if state.users is None else user_ledgers_file.dumps(state.users),
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def from_bytes(content: bytes, source: str) -> ServerState:
    """Reads a checkpoint; tensors and plain values only, no code is run."""
    try:
        saved = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    except (RuntimeError, EOFError, pickle.UnpicklingError, ValueError, KeyError) as error:
        raise InvalidValue(f"{source} is damaged and cannot be read: {error}") from error
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT or saved.keys() != _KEYS:
        raise InvalidValue(f"{source} must be a file of the format {_FORMAT!r}")
    ledger, _ = ledger_file.loads(saved["ledger"])
    return ServerState(
        replica=saved["replica"],
        round=saved["round"],
        parameters=saved["parameters"],
        server=tuple(saved["server"]),
        policy=tuple(saved["policy"]),
        ledger=ledger,
        users=None if saved["users"] is None else user_ledgers_file.loads(saved["users"]),
    )
