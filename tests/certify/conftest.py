from __future__ import annotations

import pytest

from certify.small_certificate import bound, setting
from fedward.certify.certificate import Certificate, certify


@pytest.fixture(scope="session")
def made() -> Certificate:
    return certify(setting(), bound())
