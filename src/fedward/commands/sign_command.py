"""``fedward sign``: vouches for runs as they are now, and makes the keys for that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fedward.base.validate import InvalidValue
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, place, require_option


@grouped
def sign_command(
    runs: Annotated[list[Path] | None, Argument(metavar="RUN", help="Runs or sweeps to sign.")] = None,
    key: Annotated[Path | None, Option("--key", help="The private key, a file for you alone.")] = None,
    new_key: Annotated[
        str | None,
        Option(
            "--new-key", metavar="FILE", help="Make a key: the private one there, the public one in FILE.pub."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sign runs as they are now, or make a key to sign with (Ed25519).

    A signature covers the digests of all files, ledgers and certificates among them. Whatever changes later
    voids it, and fedward verify says so. A damaged run is refused.
    """
    from fedward.api.verify_api import new_key as make
    from fedward.api.verify_api import sign

    if new_key is not None:
        if runs or key is not None:
            raise InvalidValue("--new-key makes a key and signs nothing: leave out the runs and --key")
        made = make(place(new_key, "--new-key"))
        answer(
            as_json,
            {
                "private": str(made.private),
                "public": str(made.public),
                "fingerprint": made.fingerprint,
            },
            f"{made.private}: the private key, for you alone; who has it can sign in your name",
            f"{made.public}: the public key, to give to whoever verifies your runs",
            f"fingerprint {made.fingerprint}: tell it to them by another way, so that nobody can give "
            "them another key",
        )
        return
    private = require_option("--key", key)
    if not runs:
        raise InvalidValue("runs to sign must be given, got none")
    signed = [sign(run, key=private) for run in runs]
    answer(
        as_json,
        {"signed": [each.to_json() for each in signed]},
        *(f"{each.file}: signed by the key {each.key}" for each in signed),
    )
