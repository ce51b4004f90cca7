"""A picture while it is drawn: its panels, and every number that goes into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from string import ascii_lowercase
from typing import Any

from fedward.reports.pictures.picture import Picture, PicturePoint, panels
from fedward.reports.pictures.picture_style import DASHES, MARKS, PictureStyle, style_called

_MOST_MARKS = 30
# The sample of a line in a legend is as wide as so many letters.
_SAMPLE = 7
Ends = Sequence[float | None]


class Panel:
    """One chart of a sketch. Whatever is drawn in it is kept as points.

    Args:
      axes: matplotlib's.
      style: of the picture.
      chart: its name among the points, and its title.
      tag: "(a)", "(b)", ... where titles are left to a caption and there are several panels.
    """

    def __init__(self, axes: Any, style: PictureStyle, chart: str, tag: str = "") -> None:
        self.axes = axes
        self.style = style
        self.chart = chart
        self.tag = tag
        self.points: list[PicturePoint] = []
        self.legend_rows = 0
        self._set_letters()

    def line(
        self,
        name: str,
        x: Sequence[float],
        y: Sequence[float],
        low: Ends = (),
        high: Ends = (),
        *,
        number: int = 0,
        label: str | None = "",
        band: bool = False,
        **options: Any,
    ) -> None:
        """A line that differs from others in colour, dashes and marks by its number.

        Args:
          name: among the points.
          x, y: its points.
          low, high: the interval of each, if it has any.
          number: which line it is.
          label: in the legend; its name if not given, nothing if None.
          band: draw intervals as a band, not as bars.
          options: matplotlib's.
        """
        self._keep(name, x, y, low, high)
        chosen = {
            "color": self.colour(number),
            "linestyle": DASHES[number % len(DASHES)],
            "linewidth": self.style.line,
            "marker": MARKS[number % len(MARKS)] if len(x) <= _MOST_MARKS else None,
            "markersize": 3,
            "label": name if label == "" else label,
        } | options
        self.axes.plot(x, y, **chosen)
        known = [(a, b, c, d) for a, b, c, d in zip(x, y, low, high, strict=False) if None not in (c, d)]
        if not known:
            return
        at, middle, below, above = (list(each) for each in zip(*known, strict=True))
        if band:
            if len(known) == len(x):
                self.axes.fill_between(at, below, above, color=chosen["color"], alpha=0.15, linewidth=0)
        else:
            around = [[m - b for m, b in zip(middle, below, strict=True)]]
            around += [[a - m for m, a in zip(middle, above, strict=True)]]
            self.axes.errorbar(at, middle, yerr=around, fmt="none", ecolor=chosen["color"], capsize=2)

    def bars(self, name: str, values: Mapping[str, tuple[float, float | None, float | None]]) -> None:
        """A bar for each name, with its interval where it has one."""
        places = range(len(values))
        y, low, high = zip(*values.values(), strict=True)
        self._keep(name, list(values), y, low, high)
        self.axes.bar(places, y, width=0.6, color=self.style.colours[2 if self.style.width else 0])
        for place, (value, below, above) in zip(places, values.values(), strict=True):
            if below is not None and above is not None:
                around = [[value - below], [above - value]]
                self.axes.errorbar(place, value, yerr=around, color="black", capsize=4)

    def across(self, name: str, values: Mapping[str, tuple[float, float | None, float | None]]) -> None:
        """A mark for each name on a scale that goes across, with its interval where it has one."""
        for place, (at, (value, below, above)) in enumerate(values.items()):
            self.points.append(
                PicturePoint(chart=self.chart, line=name, x=at, y=value, low=below, high=above)
            )
            ends = [
                [value - (value if below is None else below)],
                [(value if above is None else above) - value],
            ]
            self.axes.errorbar(
                value, place, xerr=ends, marker="o", markersize=4, capsize=3, color=self.colour(0)
            )
        self.axes.set_yticks(range(len(values)), list(values))
        self.axes.invert_yaxis()

    def point(
        self,
        name: str,
        x: tuple[float, float | None, float | None],
        y: tuple[float, float | None, float | None],
        *,
        number: int,
        full: bool,
    ) -> None:
        """A mark with an interval both ways, where it has them: a value and its ends. Full or hollow."""
        self.points.append(PicturePoint(chart=self.chart, line=name, x=x[0], y=y[0], low=y[1], high=y[2]))
        colour = self.colour(number)
        self.axes.errorbar(
            x[0],
            y[0],
            xerr=_around(x),
            yerr=_around(y),
            fmt=MARKS[number % len(MARKS)],
            markersize=6,
            markerfacecolor=colour if full else "white",
            markeredgecolor=colour,
            ecolor=colour,
            elinewidth=0.8,
            capsize=2,
            label=name,
        )

    def per_cent(self, *, x: bool = False, y: bool = False) -> None:
        """Shares of one are read in per cent on these axes."""
        for asked, axis in ((x, self.axes.xaxis), (y, self.axes.yaxis)):
            if asked:
                axis.set_major_formatter(lambda value, _place: f"{100 * value:g}")

    def label(self, *, x: str, y: str, title: str | None = None, bottom: float | None = None) -> None:
        """Names of the axes, a title where the style has titles, and a grid."""
        self.axes.set_xlabel(x, fontsize=self.style.letters)
        self.axes.set_ylabel(y, fontsize=self.style.letters)
        if self.style.titles:
            self.axes.set_title(self.chart if title is None else title, fontsize=10, wrap=True)
        elif self.tag:
            self.axes.set_title(self.tag, fontsize=self.style.letters, loc="left")
        if bottom is not None:
            self.axes.set_ylim(bottom=bottom)
        self.axes.grid(alpha=0.3, linewidth=0.5 if self.style.width else 0.8)
        self.axes.set_axisbelow(True)

    def legend(self, **options: Any) -> None:
        """Names of the lines, if any has one: within the panel or, on paper, below it."""
        names = self.axes.get_legend_handles_labels()[1]
        if not names:
            return
        own: dict[str, Any] = {"fontsize": self.style.small, "title_fontsize": self.style.small}
        if self.style.width:
            columns = max(1, min(len(names), self._characters // (max(map(len, names)) + _SAMPLE)))
            self.legend_rows = -(-len(names) // columns) + ("title" in options)
            own |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": columns, "frameon": False}
            own |= {"bbox_transform": self._below_labels(), "borderpad": 0.1, "labelspacing": 0.25}
            own |= {"handlelength": 2.2, "handletextpad": 0.5, "columnspacing": 1.0}
            options = {key: value for key, value in options.items() if key == "title"}
        self.axes.legend(**own | options)

    @property
    def _characters(self) -> int:
        """About how many letters fit across a panel."""
        across = self.axes.get_subplotspec().get_gridspec().ncols
        return int(72 * (self.style.width or 0) / across / (0.52 * self.style.small))

    def _below_labels(self) -> Any:
        """Where the names of the horizontal axis end, whatever the height of the panel is."""
        from matplotlib.transforms import ScaledTranslation

        down = -3.4 * self.style.letters / 72
        return self.axes.transAxes + ScaledTranslation(0, down, self.axes.figure.dpi_scale_trans)

    def colour(self, number: int) -> str:
        return self.style.colours[number % len(self.style.colours)]

    def _keep(self, name: str, x: Sequence[float | str], y: Sequence[float], low: Ends, high: Ends) -> None:
        for place, (at, value) in enumerate(zip(x, y, strict=True)):
            below, above = (ends[place] if ends else None for ends in (low, high))
            self.points.append(
                PicturePoint(chart=self.chart, line=name, x=at, y=value, low=below, high=above)
            )

    def _set_letters(self) -> None:
        if self.style.width:
            self.axes.tick_params(labelsize=self.style.letters, width=0.6, length=2.5)
            for edge in self.axes.spines.values():
                edge.set_linewidth(0.6)


def _around(values: tuple[float, float | None, float | None]) -> list[list[float]] | None:
    """How far the ends of an interval are from its value; None where there is none."""
    value, low, high = values
    return None if low is None or high is None else [[value - low], [high - value]]


class Sketch:
    """A figure with a panel for each chart.

    Args:
      charts: their names, row by row.
      size: of a panel in inches, on a screen.
      style: ``screen``, ``paper`` or ``paper-wide``.
      across: the most panels side by side, on a screen.
      height: how many times as high as usual a panel is on paper.
      options: matplotlib's, of ``subplots``.
    """

    def __init__(
        self,
        charts: Sequence[str],
        size: tuple[float, float],
        style: str = "screen",
        *,
        across: int = 3,
        height: float = 1.0,
        **options: Any,
    ) -> None:
        self.style = style_called(style)
        rows = -(-len(charts) // (self.style.across if self.style.width else across))
        columns = -(-len(charts) // rows)
        whole = (size[0] * columns, size[1] * rows)
        if self.style.width is not None:
            whole = (self.style.width, self.style.height * height * rows)
        self.figure, axes = panels(rows, columns, whole, **options)
        places = iter(axes.flatten())
        tags = [f"({letter})" for letter in ascii_lowercase] if len(charts) > 1 else [""]
        self.panels = [
            Panel(place, self.style, chart, tags[number % len(tags)])
            for number, (place, chart) in enumerate(zip(islice(places, len(charts)), charts, strict=True))
        ]
        for place in places:
            place.set_visible(False)

    def foot(self, text: str) -> None:
        """A line below all panels; on paper it belongs to the caption."""
        if self.style.titles:
            self.figure.supxlabel(text, fontsize=7)

    def picture(self, caption: str = "") -> Picture:
        """What was drawn, with a caption: what the panels are, and what else is said."""
        if self.style.width is not None:  # legends take their room from nobody
            rows = self.panels[0].axes.get_subplotspec().get_gridspec().nrows
            more = rows * max(panel.legend_rows for panel in self.panels) * 1.35 * self.style.small / 72
            self.figure.set_figheight(self.figure.get_figheight() + more)
        several = len(self.panels) > 1
        names = [f"{panel.tag} {panel.chart}" if several else panel.chart for panel in self.panels]
        about = "; ".join([*names, *([caption] if caption else [])])
        points = tuple(point for panel in self.panels for point in panel.points)
        return Picture(figure=self.figure, data=points, caption=f"{about}.")
