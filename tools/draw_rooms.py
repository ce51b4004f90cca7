"""The drawing of the rooms and of who knows whom, made from the real imports: docs/rooms.svg.

python tools/draw_rooms.py            # writes it
python tools/draw_rooms.py --check    # exits with 1 if it is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

from check_imports import graph
from rooms import ROOMS, SOURCE

TARGET = Path(__file__).parents[1] / "docs" / "rooms.svg"

# Rooms that stand side by side: none of a floor knows another of it, but for the parts among themselves.
FLOORS = (
    ("commands",),
    ("api",),
    ("reports",),
    ("forecast",),
    ("flower",),
    ("deploy",),
    ("studies",),
    ("rundir",),
    ("config",),
    ("testing", "auditing"),
    ("lockstep", "certificates", "backends"),
    ("features", "attacks", "presets"),
    ("datasets", "models"),
    ("sampling", "local", "clipping", "aggregation", "mechanisms", "server"),
    ("core",),
    ("privacy",),
    ("base",),
)
_WIDTH, _ROOM, _FLOOR, _HEIGHT = 1040, 130, 62, 34


def drawing(known: dict[str, list[str]]) -> str:
    """The picture: floors from the ground up, and a line for every room that knows another one.

    A line that goes down one floor is dark; the others are thin, so that the order can be seen.
    """
    centre = {
        room: (_WIDTH * (place + 1) / (len(floor) + 1), 30 + _FLOOR * level)
        for level, floor in enumerate(FLOORS)
        for place, room in enumerate(floor)
    }
    lines = []
    for room, others in known.items():
        for other in others:
            if room in centre and other in centre:
                (x, y), (u, v) = centre[room], centre[other]
                near = v - y <= _FLOOR
                ink = 'stroke="#336" stroke-width="1.4"' if near else 'stroke="#99b" stroke-width="0.5"'
                lines.append(f'<line x1="{x:g}" y1="{y:g}" x2="{u:g}" y2="{v:g}" {ink}/>')
    boxes = [
        f'<rect x="{x - _ROOM / 2:g}" y="{y - _HEIGHT / 2:g}" width="{_ROOM}" height="{_HEIGHT}" rx="5" '
        f'fill="#fff" stroke="#336"/><text x="{x:g}" y="{y + 5:g}" text-anchor="middle">{room}</text>'
        for room, (x, y) in centre.items()
    ]
    height = 30 + _FLOOR * (len(FLOORS) - 1) + 30
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="15" role="img" aria-label="The rooms of fedward; every line goes down to a room that the '
        'upper one imports.">'
    )
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


if __name__ == "__main__":
    drawn = {room for floor in FLOORS for room in floor}
    left_out = {"version", "fedward", "cli", "__main__", "fedward_command"}
    assert drawn | left_out == set(ROOMS), "every room must be in the drawing, or be left out on purpose"
    text = drawing(graph(SOURCE))
    if "--check" in sys.argv[1:]:
        same = TARGET.exists() and TARGET.read_text(encoding="utf8") == text
        print("docs/rooms.svg is up to date" if same else "docs/rooms.svg is out of date")
        sys.exit(0 if same else 1)
    TARGET.write_text(text, encoding="utf8")
    print("written: docs/rooms.svg")
