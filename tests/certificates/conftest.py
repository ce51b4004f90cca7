from __future__ import annotations

import pytest

from certificates.small_certificate import bound, setting
from fedward.certificates.certificate import Certificate, certify


@pytest.fixture(scope="session")
def made() -> Certificate:
    return certify(setting(), bound())
