from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")

from flwr.app import Context, RecordDict

from deploy.loopback_nodes import CENTRAL, INSDP, prepare, with_source
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.deploy.flower.server_app import require_silence, server_app


def test_secure_aggregation_is_refused_when_the_app_is_made() -> None:
    with pytest.raises(InvalidValue, match="secagg is refused"):
        server_app("experiment.toml", secagg=True)


def test_a_server_without_its_file_says_which_key_names_it() -> None:
    app = server_app("experiment.toml")
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})
    with pytest.raises(InvalidValue, match="must name the server's file, federation ="):
        app(grid=None, context=context)


def test_flowers_telemetry_is_refused_where_data_is_private(
    tmp_path: Path, digits_of_12: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = [prepare(tmp_path, digits_of_12, with_source(each)) for each in (CENTRAL, INSDP)]
    monkeypatch.delenv("FLWR_TELEMETRY_ENABLED", raising=False)
    for setup in private:
        with pytest.raises(InvalidValue, match="FLWR_TELEMETRY_ENABLED=0"):
            require_silence(setup)
    require_silence(prepare(tmp_path, digits_of_12, CENTRAL))
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    for setup in private:
        require_silence(setup)
