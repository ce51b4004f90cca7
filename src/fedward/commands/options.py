"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="The experiment file (TOML).")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Another value for a key of the file, in TOML; KEY= takes it out."
    ),
]
Data = Annotated[Path | None, typer.Option("--data", help="Where data sets lie; else FEDWARD_DATA.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Threads or processes that train, 0 for neither; else one a core."),
]
Device = Annotated[
    str, typer.Option("--device", help="Where models are trained: cpu, or cuda where there is one.")
]
Engine = Annotated[
    str | None,
    typer.Option("--engine", help="native, generic, or auto: native where it covers the model."),
]
Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="KEY=V,V,...", help="A key of the file and the values it takes."),
]
SaveSpace = Annotated[
    bool, typer.Option("--save-space", help="Keep running sums, not the confidences of every replica.")
]
BlockSize = Annotated[
    int | None, typer.Option("--block", help="How many replicas go through their rounds together.")
]
