from __future__ import annotations

import subprocess
import sys

import pytest


def test_the_public_names_are_there_with_flower() -> None:
    pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")
    from fedward import flower

    assert set(flower.__all__) >= {"client_app", "server_app", "Rules"}


def test_without_flower_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['flwr'] = None; sys.modules['flwr.app'] = None; import fedward.flower"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'Flower is not installed: pip install "fedward[flower]"' in done.stderr
