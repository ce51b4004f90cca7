"""The arenas on MNIST: 100 users, 539 writers, and how long a backdoor lasts.

    python experiments/arena_on_mnist/run.py --data DIR [--only NAME] [--seeds N]

Every training is kept, and gone on with after a kill.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from arena_tables import add_options, carry_out, print_tables

from published import place_of
from support import parser

HERE = Path(__file__).parent
FILES = ("users_of_600", "writers")


def main() -> None:
    made = parser(__doc__ or "")
    add_options(made, FILES)
    chosen = made.parse_args()
    place = place_of(chosen, HERE)
    names = FILES if chosen.only is None else (chosen.only,)
    if not chosen.show:
        carry_out(place, names, chosen)
        place.publish(*(f"{name}.{kept}" for name in names for kept in ("json", "csv", "png")))
    print_tables(place, names)


if __name__ == "__main__":
    main()
