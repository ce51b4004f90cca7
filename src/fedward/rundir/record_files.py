"""The files of a run directory that only readers of finished runs need: certificates and summaries."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedward.base.strict_json import parse
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.certificates.certificate_file import loads


def certificates(folder: Path, variants: Sequence[str]) -> dict[str, Certificate]:
    """The certificate of each variant that has one; nothing is recomputed."""
    return {name: read_certificate(file) for name, file in certificate_files(folder, variants).items()}


def certificate_files(folder: Path, variants: Sequence[str]) -> dict[str, Path]:
    """Where the certificate of each variant is that has one, packed or not."""
    found = {}
    for variant in variants:
        name = f"certificate-{variant}" if len(variants) > 1 else "certificate"
        for file in (folder / f"{name}.json", folder / f"{name}.json.gz"):
            if file.is_file():
                found[variant] = file
                break
    return found


def read_certificate(file: Path) -> Certificate:
    """The certificate in a file, packed or not; nothing is recomputed."""
    content = file.read_bytes()
    try:
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf8")
        return loads(text).certificate
    except (InvalidValue, UnicodeDecodeError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise InvalidValue(f"{file} cannot be used: {error}") from error


def json_object(file: Path) -> dict[str, Any] | None:
    """The content of a JSON file; None if there is none."""
    if not file.is_file():
        return None
    try:
        content = parse(file.read_text(encoding="utf8"), str(file))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} is damaged and cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise InvalidValue(f"{file} must hold one JSON object")
    return content


def frame(rows: list[dict[str, Any]]) -> Any:
    """The rows as a table of pandas, which is not needed for anything else."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise InvalidValue("to_pandas needs pandas, which is not installed: pip install pandas") from None
    return pandas.json_normalize(rows)
