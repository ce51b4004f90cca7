from __future__ import annotations

import hashlib
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward.api.report_api import report
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.reports.audit.audit_files import file_digests
from fedward.reports.audit.audit_page import render_audit
from fedward.rundir.run_record import RunRecord, load
from own_module import own_module
from tiny_experiment import CONTENT, changed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


def trained(folder: Path, name: str, **changes: Any) -> Path:
    fedward.train(changed(CONTENT, **changes), out=folder / name, compute=IN_PROCESS, quiet=True)
    return folder / name


@pytest.fixture(scope="module")
def seeded(folder: Path) -> Path:
    return trained(folder, "seeded")


@pytest.fixture(scope="module")
def certified(folder: Path) -> Path:
    out = folder / "certified"
    fedward.certify(CONTENT, replicas=3, score="vote", out=out, compute=IN_PROCESS, quiet=True)
    return out


def text_of(*paths: Path) -> str:
    page = render_audit([load(path) for path in paths])
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.S)).split())


def test_a_run_is_told_whole(seeded: Path) -> None:
    text, run = text_of(seeded), load(seeded)
    assert isinstance(run, RunRecord)
    guarantee = run.guarantee()
    assert guarantee is not None
    assert f"all digits: {guarantee.epsilon!r}" in text
    assert str(guarantee) in text
    for fact in (
        "add/remove: one of them joins",
        "Poisson sampling q = 0.5",
        "rdp accountant",
        "5, declared",
    ):
        assert fact in text
    assert "algorithm.noise_multiplier 2.0" in text
    assert f"data {run.manifest.data.digest}" in text
    assert f"torch {run.manifest.versions['torch']}" in text
    assert "of 10 users, for 2 rounds; nobody attacked" in text
    assert "The number that sums are divided by, from N = 10 users, was declared" in text
    assert "Cohorts stay secret" in text
    for not_covered in ("Telemetry:", "Choosing:", "Initial weights:", "Robustness: nothing is certified"):
        assert not_covered in text
    for line in ("Name", "Date", "Signature"):
        assert line in text.partition("Sign-off")[2]


def test_the_digests_are_those_of_the_files(seeded: Path) -> None:
    text = text_of(seeded)
    for name in ("run.json", "result.json", "ledger.json", "model.pt"):
        assert hashlib.sha256((seeded / name).read_bytes()).hexdigest() in text
    digests = file_digests(seeded)
    assert digests[-1].name == "checkpoint.pt"
    assert sum(each.size for each in digests) == sum(file.stat().st_size for file in seeded.iterdir())


def test_seeded_noise_is_research_and_system_noise_is_not(folder: Path, seeded: Path) -> None:
    page = render_audit([load(seeded)])
    assert '<p class="warning"><strong>Research only.</strong>' in page
    system = trained(folder, "system", algorithm__noise_source="system")
    page = render_audit([load(system)])
    assert "Research only" not in page
    assert "system entropy" in page


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_that_is_not_finished_says_so(seeded: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(seeded, tmp_path / "copy"))
    (copy / "result.json").unlink()
    assert "Not finished. The run goes on, or was left" in text_of(copy)


def test_no_noise_is_no_guarantee(folder: Path) -> None:
    plain = {"preset": "fedavg", "sampler": {"name": "everyone"}, "local": CONTENT["algorithm"]["local"]}
    fedward.train(CONTENT | {"algorithm": plain}, out=folder / "plain", compute=IN_PROCESS, quiet=True)
    text = text_of(folder / "plain")
    assert "Nothing is guaranteed about privacy." in text
    assert "Cohorts stay secret" not in text


def test_a_certificate_states_what_releasing_all_trainings_costs(certified: Path) -> None:
    text, record = text_of(certified), load(certified)
    (certificate,) = record.certificates.values()  # type: ignore[union-attr]
    assert "About one training, if it alone is released" in text
    assert "About all 3 trainings released together" in text
    assert repr(certificate.releasing_all.epsilon) in text
    assert "is no private release" in text
    assert "What in it rests on trust That the scores come from 3 trainings" in text
    assert "Robustness: nothing is certified" not in text


def test_own_parts_are_taken_at_their_word(folder: Path) -> None:
    with own_module(folder, "mine_audit") as file:
        run = fedward.train(file, trust=True, out=folder / "own", compute=IN_PROCESS, quiet=True)
    text = text_of(run.path)
    assert "The part mine_audit:HalfMean is code of its owner" in text
    assert "What mine_audit:HalfMean declares of itself is taken as it is." in text
    assert f"own code, mine_audit:Net {run.manifest.code['mine_audit:Net']}" in text
    assert "--trust" in text


class Outline(HTMLParser):
    """The tags of a page, what it asks for, and its headings in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.headings: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href")]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


def test_the_page_asks_for_nothing_runs_nothing_and_has_an_outline(seeded: Path, certified: Path) -> None:
    page = render_audit([load(seeded), load(certified)])
    outline = Outline()
    outline.feed(page)
    assert not outline.tags & {"script", "img", "link", "iframe"}
    assert all(address.startswith("#") for address in outline.addresses)
    assert outline.headings.count(1) == 1
    steps = [after - before for before, after in zip(outline.headings, outline.headings[1:], strict=False)]
    assert max(steps) == 1
    assert "default-src &#39;none&#39;" in page
    assert "size: A4" in page
    assert page.count("<caption>") == page.count("<table")


def test_a_page_is_written_from_python(seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = report(seeded, for_audit=True)
    assert (found.path, found.runs) == (Path("audit.html"), (seeded,))
    assert "record for audit" in found.path.read_text(encoding="utf8")
    plain = report([seeded], out="x.html")
    assert "fedward report" in plain.path.read_text(encoding="utf8")
    with pytest.raises(InvalidValue, match="not a run directory"):
        report(tmp_path / "nothing", for_audit=True, out="y.html")
    assert not Path("y.html").exists()
