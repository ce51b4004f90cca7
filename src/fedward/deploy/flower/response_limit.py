"""A limit on the responses of an HTTP client: longer ones are refused before their bodies are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx


class TooLong(Exception):
    """A response that is longer than was allowed, or does not say how long it is; its body was not read."""


class ResponseLimit:
    """A hook on the responses of a client, which holds while a block of ``at_most`` runs."""

    def __init__(self) -> None:
        self._most: int | None = None

    @classmethod
    def of(cls, client: httpx.Client) -> ResponseLimit:
        """The limit of a client: the one that it has, or a new one."""
        hooks: list[Callable[..., Any]] = client.event_hooks["response"]
        for hook in hooks:
            if isinstance(hook, cls):
                return hook
        limit = cls()
        hooks.append(limit)
        return limit

    def __call__(self, response: httpx.Response) -> None:
        if self._most is None:
            return
        length = response.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > self._most:
            raise TooLong

    @contextmanager
    def at_most(self, most: int) -> Iterator[None]:
        """So many bytes for each response."""
        self._most = most
        try:
            yield
        finally:
            self._most = None
