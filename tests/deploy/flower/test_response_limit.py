from __future__ import annotations

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")

import httpx

from fedward.deploy.flower.response_limit import ResponseLimit, TooLong


def client(headers: dict[str, str] | None = None) -> httpx.Client:
    def answer(request: httpx.Request) -> httpx.Response:
        if headers is None:
            return httpx.Response(200, content=b"x" * 100)
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"x" * 100))

    return httpx.Client(transport=httpx.MockTransport(answer))


def test_a_limit_holds_while_its_block_runs() -> None:
    own = client()
    limit = ResponseLimit.of(own)
    with limit.at_most(100):
        assert len(own.get("http://here/").content) == 100
    with pytest.raises(TooLong), limit.at_most(99):
        own.get("http://here/")
    assert len(own.get("http://here/").content) == 100


def test_a_client_has_one_limit() -> None:
    own = client()
    assert ResponseLimit.of(own) is ResponseLimit.of(own)


@pytest.mark.parametrize("headers", [{}, {"content-length": "-1"}, {"content-length": "1e1"}])
def test_a_response_that_does_not_say_how_long_it_is_is_refused(headers: dict[str, str]) -> None:
    own = client(headers)
    with pytest.raises(TooLong), ResponseLimit.of(own).at_most(1000):
        own.get("http://here/")
