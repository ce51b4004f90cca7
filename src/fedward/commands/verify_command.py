"""``fedward verify``: whether runs are as they were written, and say what their files come to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fedward.commands.options import Data, grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console

if TYPE_CHECKING:
    from fedward.studies.verification.verification import Verification


@grouped
def verify_command(
    runs: Annotated[
        list[Path],
        Argument(
            metavar="RUN", help="Runs, sweeps, directories of runs, or files of weights by fedward pretrain."
        ),
    ],
    key: Annotated[
        Path | None,
        Option("--key", help="The public key of whoever should have signed them."),
    ] = None,
    data: Data = None,
    renew: Annotated[
        bool,
        Option("--renew", help="First take the digests anew: what files hold now is right from now on."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute again whatever can be of runs: digests, ε, metrics, certificates, tables; and who signed them.

    Every damaged file is named, with what that means. What matches and what rests on trust is listed. Nothing
    is written without --renew. The exit code is 1 if anything is damaged, or not signed by --key.
    """
    from fedward.api.verify_api import verify_all
    from fedward.reports.terminal.verification_table import print_verification

    found: list[Verification] = verify_all(runs, data=data, key=key, renew=renew)
    holds = all(each.holds for each in found)
    if as_json:
        answer(True, {"holds": holds, "verified": [each.to_json() for each in found]})
    else:
        for each in found:
            print_verification(plain_console(), each)
    if not holds:
        raise typer.Exit(1)
