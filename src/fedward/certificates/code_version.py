"""The version of the code that computed a certificate: libraries, and a digest of the source."""

from __future__ import annotations

from importlib.metadata import version

from fedward.base.source_digest import source_digest
from fedward.version import __version__


def code_version() -> dict[str, str]:
    """The versions of fedward and of the libraries that bounds come from, and a digest of fedward's source.

    >>> sorted(code_version())
    ['dp_accounting', 'fedward', 'numpy', 'scipy', 'source']
    """
    return {
        "fedward": __version__,
        "source": source_digest(),
        "dp_accounting": version("dp-accounting"),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }
