"""The page in headless Chromium: it renders, its slider and its tables work, its console is silent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fedward.reports.numbers import percent_certified
from fedward.reports.page import render
from fedward.rundir.run_record import load

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desktop": (1440, 900)}
ROOT = Path(__file__).parents[3]
AXE = Path("axe-core", "axe.min.js")
SAID = "return document.querySelector('.said').textContent"


def axes() -> list[Path]:
    """Where axe-core may be installed: beside fedward, or where NODE_PATH says."""
    folders = filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep))
    return [each / AXE for each in (ROOT / "node_modules", *map(Path, folders))]


@pytest.fixture(scope="module")
def page(
    private_run: Path, attacked_run: Path, certified_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    out.write_text(render([load(each) for each in (private_run, attacked_run, certified_run)]))
    return out


@pytest.fixture
def shown(browser: Any, page: Path) -> Any:
    browser.size(*SIZES["desktop"])
    browser.media()
    browser.go(page)
    yield browser
    assert browser.errors() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_every_screen_in_light_and_dark(shown: Any, page: Path, size: str, dark: bool) -> None:
    shown.size(*SIZES[size])
    shown.media(dark=dark)
    shown.go(page)
    wide = SIZES[size][0]
    assert shown.run("return document.documentElement.scrollWidth") == wide
    # Nothing sticks out but what may be scrolled by itself.
    out = shown.run(
        """return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, .shelf, pre'))
           .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"""
    )
    assert out == []
    paper, ink = shown.run(
        "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color].map(c => "
        "c.match(/\\d+/g).slice(0, 3).map(Number))"
    )
    assert (sum(paper) < sum(ink)) is dark
    smallest = shown.run(
        """return Math.min(...[...document.querySelectorAll('svg.chart text')].map(
           e => parseFloat(getComputedStyle(e).fontSize) * e.closest('svg').getScreenCTM().a))"""
    )
    assert smallest >= 9


def test_every_label_of_a_chart_lies_inside_it(shown: Any) -> None:
    shown.size(*SIZES["phone"])
    assert (
        shown.run(
            """return [...document.querySelectorAll('svg.chart')].flatMap(svg => {
             const box = svg.getBoundingClientRect();
             return [...svg.querySelectorAll('text')].filter(text => {
               const own = text.getBoundingClientRect();
               return own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1;
             }).map(text => text.textContent)})"""
        )
        == []
    )


def test_the_slider_shows_what_the_certificate_says_at_every_k(shown: Any, certified_run: Path) -> None:
    certificate = load(certified_run).certificates["all"]  # type: ignore[union-attr]
    for number, attack in enumerate(certificate.attacks):
        shown.run(
            "const s = document.querySelector('.threat'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change'))",
            number,
        )
        most = int(shown.run("return document.querySelector('.range').max"))
        assert most == int(attack.k.max()) + 1
        for k in (0, 1, most // 2, most - 1, most):
            shown.run(
                "const r = document.querySelector('.range'); r.value = arguments[0];"
                "r.dispatchEvent(new Event('input'))",
                k,
            )
            accuracy = (*attack.accuracy, 0.0)[k]
            said = shown.run(SAID)
            assert f"({percent_certified(accuracy)}) are right and certified against {k};" in said
            lost = shown.run(
                "return [...document.querySelectorAll('.gallery > li')].map(e => "
                "[e.classList.contains('lost'), e.querySelector('.standing').textContent])"
            )
            wanted = [(int(own) < k) for own in attack.k[: len(lost)]]
            assert [faded for faded, _ in lost] == wanted
            assert [told for _, told in lost] == ["not certified" if each else "certified" for each in wanted]
            assert shown.run("return document.querySelector('output.k').textContent") == str(k)


def test_the_slider_works_with_the_keyboard(shown: Any) -> None:
    before, said = int(shown.run("return document.querySelector('.range').value")), shown.run(SAID)
    assert before > 0
    shown.press(".range", "\ue012")  # the key "left"
    assert int(shown.run("return document.querySelector('.range').value")) == before - 1
    assert shown.run(SAID) != said
    assert f"{before - 1} attackers" in shown.run(
        "return document.querySelector('.range').getAttribute('aria-valuetext')"
    )


def test_the_first_state_is_the_one_without_the_script(shown: Any, page: Path) -> None:
    html = page.read_text()
    assert f'<p class="said" aria-live="polite">{shown.run(SAID)}</p>' in html
    lost = shown.run("return document.querySelectorAll('.gallery > .lost').length")
    assert html.count('<li class="lost">') == lost


def column(browser: Any, place: int) -> list[str]:
    return browser.run(  # type: ignore[no-any-return]
        "return [...document.querySelector('#all table').tBodies[0].rows].map("
        "r => r.children[arguments[0]].textContent)",
        place,
    )


def heading(browser: Any, place: int) -> Any:
    return browser.run(
        "return document.querySelector('#all table').tHead.rows[0].cells[arguments[0]]"
        ".getAttribute('aria-sort')",
        place,
    )


def test_tables_sort_both_ways_and_say_so(shown: Any) -> None:
    accuracy = [float(text.split("\xa0")[0]) for text in column(shown, 2)]
    button = "#all thead th:nth-child(3) button"
    shown.click(button)
    assert [float(t.split("\xa0")[0]) for t in column(shown, 2)] == sorted(accuracy)
    assert heading(shown, 2) == "ascending"
    shown.press(button, "\ue007")  # the key "enter"
    assert [float(t.split("\xa0")[0]) for t in column(shown, 2)] == sorted(accuracy, reverse=True)
    assert heading(shown, 2) == "descending"
    shown.click("#all thead th:nth-child(1) button")
    assert column(shown, 0) == sorted(column(shown, 0))
    assert heading(shown, 2) is None


def test_what_has_no_number_is_sorted_last_both_ways(shown: Any) -> None:
    place = shown.run(
        "return [...document.querySelector('#all table').tHead.rows[0].cells].findIndex("
        "c => c.textContent.startsWith('ε'))"
    )
    for _ in range(2):
        shown.click(f"#all thead th:nth-child({place + 1}) button")
        assert column(shown, place)[-1] == "-"


def test_paper_shows_what_is_folded_and_no_slider(shown: Any) -> None:
    folded = "return [...document.querySelectorAll('details:not([open]) > :last-child:not(.hint)')]"
    assert shown.run(folded + ".filter(e => e.checkVisibility({contentVisibilityAuto: true})).length") == 0
    shown.media(paper=True)
    assert shown.run(folded + ".length") > 5
    assert shown.run(folded + ".filter(e => e.getBoundingClientRect().height === 0).length") == 0
    assert shown.run("return getComputedStyle(document.querySelector('.controls')).display") == "none"
    assert shown.pdf().startswith(b"%PDF")


def test_pictures_are_drawn_and_nothing_was_asked_for(shown: Any) -> None:
    broken = "return [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length"
    assert shown.run(broken) == 0
    assert shown.run("return document.images.length") > 300
    asked = shown.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in asked if not name.startswith("data:")] == []


def test_a_script_that_a_file_smuggles_in_would_not_run(
    browser: Any, private_run: Path, tmp_path: Path
) -> None:
    """The page escapes what files say; were it to fail, the policy would still stop it."""
    html = render([load(private_run)]).replace(
        "</main>",
        "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\"></main>",
    )
    (tmp_path / "page.html").write_text(html)
    browser.go(tmp_path / "page.html")
    assert browser.run("return document.title") != "taken"
    assert any("Content Security Policy" in error for error in browser.errors())


def test_several_variants_can_be_chosen(browser: Any, tmp_path: Path, varied_run: Path) -> None:
    record = load(varied_run)
    (tmp_path / "page.html").write_text(render([record]))
    browser.go(tmp_path / "page.html")
    for number, certificate in enumerate(record.certificates.values()):  # type: ignore[union-attr]
        browser.run(
            "const s = document.querySelector('.variant'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change'))",
            number,
        )
        browser.run(
            "const r = document.querySelector('.range'); r.value = 1; r.dispatchEvent(new Event('input'))"
        )
        accuracy = (*certificate.attacks[0].accuracy, 0.0)[1]
        assert f"({percent_certified(accuracy)})" in browser.run(SAID)
    assert browser.errors() == []


def test_paper_breaks_no_word_and_no_number(shown: Any) -> None:
    shown.media(paper=True)
    style = "return getComputedStyle(document.querySelector('#all {}')).{}"
    assert shown.run(style.format("td.number", "whiteSpace")) == "nowrap"
    assert shown.run(style.format("table", "overflowWrap")) == "break-word"


def test_the_details_begin_within_four_screens(shown: Any) -> None:
    begin = shown.run("return document.querySelector('#details').getBoundingClientRect().top")
    assert begin <= 4 * SIZES["desktop"][1]


def test_the_contents_stay_and_lead_into_folded_details(shown: Any) -> None:
    for size in SIZES:
        shown.size(*SIZES[size])
        shown.run("window.scrollTo(0, 1500)")
        assert 0 <= shown.run("return document.querySelector('nav').getBoundingClientRect().top") < 1
    folded = "return document.querySelector('#run-2').closest('details').open"
    assert not shown.run(folded)
    shown.click("nav a[href='#run-2']")
    assert shown.run(folded)
    top = shown.run("return document.querySelector('#run-2').getBoundingClientRect().top")
    assert 0 <= top < SIZES[size][1]
    assert shown.run("return document.querySelector('nav a[aria-current]').hash") == "#run-2"


LEGEND = "return [...document.querySelectorAll('#all figure .legend b')].map(e => e.textContent)"
PLACE = "return document.querySelector('#all figure .place').textContent"


def rows_of_first_chart(browser: Any) -> list[list[str]]:
    return browser.run(  # type: ignore[no-any-return]
        "return [...document.querySelector('#all figure table').tBodies[0].rows].map("
        "r => [...r.cells].map(c => c.textContent))"
    )


def test_the_arrow_keys_read_the_values_of_a_chart(shown: Any) -> None:
    rows, before = rows_of_first_chart(shown), shown.run(LEGEND)
    shown.press("#all figure .reader", "\ue012")  # the key "left", from the last row
    round_, *values = rows[-2]
    assert shown.run(LEGEND) == values
    assert shown.run(PLACE) == f"round: {round_}"
    told = shown.run("return document.querySelector('#all figure .reader').getAttribute('aria-valuetext')")
    assert told.startswith(f"round: {round_}; ")
    assert all(value in told for value in values)
    assert shown.run("return document.querySelectorAll('#all figure .dot.placed').length") == len(values)
    shown.run("document.activeElement.blur()")
    assert shown.run(LEGEND) == before


def test_pointing_at_a_chart_reads_its_values(shown: Any) -> None:
    point = (
        "const svg = document.querySelector('#all svg.chart'), box = svg.getBoundingClientRect();"
        "const at = Number(svg.dataset.left) / svg.viewBox.baseVal.width;"
        "svg.dispatchEvent(new PointerEvent(arguments[0], {clientX: box.left + at * box.width, clientY: 9}))"
    )
    before = shown.run(LEGEND)
    shown.run(point, "pointermove")
    first, *values = rows_of_first_chart(shown)[0]
    assert shown.run(LEGEND) == values
    assert shown.run(PLACE) == f"round: {first}"
    shown.run(point, "pointerleave")
    assert shown.run(LEGEND) == before


def test_the_chart_of_a_certificate_follows_its_slider(shown: Any) -> None:
    chart = "document.querySelector('.explorer figure')"
    for key, step in (("\ue012", -1), ("\ue014", 0)):  # left and back
        shown.press(".explorer .range", key)
        k = shown.run("return document.querySelector('.range').value")
        place = shown.run(f"return {chart}.querySelector('.place').textContent")
        assert place == f"k, attackers: {k}", step
    assert shown.run(f"return {chart}.querySelector('.here').classList.contains('placed')")
    # Both are seen together.
    both = "const f = {}, r = document.querySelector('.range'); return r.getBoundingClientRect().bottom - f"
    assert shown.run(both.format(chart) + ".getBoundingClientRect().top") < SIZES["desktop"][1]


def test_a_table_that_scrolls_says_so(shown: Any) -> None:
    hint = (
        "const e = document.querySelector('#all > .scroll');"
        "return [e.scrollWidth > e.clientWidth + 1, !e.previousElementSibling.hidden]"
    )
    for size, wide in (("phone", True), ("desktop", False)):
        shown.size(*SIZES[size])
        # An observer of sizes is called before the next frame.
        shown.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert shown.run(hint) == [wide, wide]


@pytest.mark.skipif(not any(map(Path.is_file, axes())), reason="there is no axe-core: npm install axe-core")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(shown: Any, page: Path, size: str, dark: bool) -> None:
    shown.size(*SIZES[size])
    shown.media(dark=dark)
    shown.go(page)
    shown.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    axe = next(filter(Path.is_file, axes())).read_text(encoding="utf8")
    found = shown.run(
        f"{axe}; return axe.run(document, {{resultTypes: ['violations']}}).then(found => "
        "found.violations.map(each => `${each.id}: ${each.nodes[0].target} ${each.nodes[0].failureSummary}`))"
    )
    assert found == []
