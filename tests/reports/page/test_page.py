from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
import shutil
import struct
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.beside_headline import ceiling_in_words, release_in_words
from fedward.certificates.ceiling import ceilings
from fedward.certificates.trust import list_trusted
from fedward.reports.page import render, write
from fedward.rundir.run_record import ReplicasRecord, load


def text_of(page: str) -> str:
    """What a person reads: no tags, no script, no pictures."""
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body))).replace("\xa0", " ")


class Tags(HTMLParser):
    """Every tag with its attributes, and whether all that are opened are closed."""

    EMPTY = ("meta", "img", "br", "input", "link", "hr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def assert_self_contained(page: str) -> None:
    for tag, attributes in Tags(page).found:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            if name in ("src", "href", "srcset", "xlink:href", "action", "data", "poster"):
                assert (value or "").startswith(("data:image/png;base64,", "#")), (tag, value)
    assert "@import" not in page
    assert "url(" not in page


@pytest.fixture(scope="module")
def everything(private_run: Path, attacked_run: Path, own_protection_run: Path, certified_run: Path) -> str:
    return render([load(each) for each in (private_run, attacked_run, own_protection_run, certified_run)])


def test_the_page_is_whole_and_asks_no_server(everything: str) -> None:
    assert everything.startswith("<!doctype html>")
    assert Tags(everything).open == []
    assert_self_contained(everything)
    ids = [attributes["id"] for _, attributes in Tags(everything).found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_policy_forbids_everything_but_the_page_itself(everything: str) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', everything)
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(policy).split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", everything, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_every_picture_of_curves_has_words_and_a_table(everything: str) -> None:
    charts = re.findall(r'<svg class="chart".*?</svg>', everything, flags=re.DOTALL)
    assert len(charts) >= 8
    for chart in charts:
        title, words = re.search(r'aria-labelledby="(\S+) (\S+)"', chart).groups()  # type: ignore[union-attr]
        assert re.search(rf'<title id="{title}">[^<]+</title>', chart)
        assert re.search(rf'<desc id="{words}">[^<]+</desc>', chart)
    assert everything.count("The same numbers as a table") == len(charts)
    for tag, attributes in Tags(everything).found:
        if tag == "img":
            assert attributes.get("alt")


def test_all_that_the_files_say_is_on_the_page(
    everything: str, private_run: Path, attacked_run: Path
) -> None:
    text = text_of(everything)
    for run in (private_run, attacked_run):
        result = json.loads((run / "result.json").read_text())
        assert f"{100 * result['accuracy']:.1f} %" in text
        assert result["statement"] in text
    success = json.loads((attacked_run / "result.json").read_text())["attack_success"]
    assert f"attack success {100 * success:.1f} %" in text
    assert "No privacy guarantee" in text
    assert "no noise is added" in text
    assert "Research only" in text
    assert "What each user has spent on its own device" in text


def test_the_same_runs_give_the_same_page(
    everything: str, private_run: Path, attacked_run: Path, own_protection_run: Path, certified_run: Path
) -> None:
    again = [load(each) for each in (private_run, attacked_run, own_protection_run, certified_run)]
    assert render(again) == everything


@pytest.mark.usefixtures("edited_by_hand")
def test_what_files_say_is_never_markup(private_run: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)<!--"
    run = tmp_path / evil
    shutil.copytree(private_run, run)
    manifest = json.loads((run / "run.json").read_text())
    manifest["experiment"]["data"]["name"] = "</script><img src=x onerror=alert(1)>"
    manifest["engine"] = "{{ 7 * 7 }}\"><b onclick='x'>"
    manifest["environment"]["command"] = "</pre><iframe src=https://example.org>"
    (run / "run.json").write_text(json.dumps(manifest))
    page = render([load(run)])
    assert_self_contained(page)
    assert Tags(page).open == []
    assert page.count("<script") == 1
    assert "{{ 7 * 7 }}" in html.unescape(page)


def test_control_characters_of_a_name_are_shown_and_obeyed_by_nobody(
    private_run: Path, tmp_path: Path
) -> None:
    evil = tmp_path / "\x1b[31m\u202e\x9b\udcff"
    shutil.copytree(private_run, evil)
    page = render([load(evil)])
    assert not set(page) & set("\x1b\u202e\x9b")
    assert r"\x1b[31m\u202e\x9b\xff" in text_of(page)


@pytest.mark.usefixtures("edited_by_hand")
def test_a_variant_with_markup_in_its_name_stays_inside_the_data_of_the_script(
    certified_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(certified_run, run)
    manifest = json.loads((run / "run.json").read_text())
    evil = "</script><script>alert(1)</script>"
    manifest["experiment"]["variants"] = {evil: manifest["experiment"]["variants"]["all"]}
    (run / "run.json").write_text(json.dumps(manifest))
    page = render([load(run)])
    assert_self_contained(page)
    (data,) = re.findall(r'<script type="application/json" class="data">(.*?)</script>', page)
    assert json.loads(data)["variants"][0]["name"] == evil


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_that_is_not_finished_is_reported_as_far_as_it_goes(private_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(private_run, run)
    (run / "result.json").unlink()
    rounds = (run / "rounds.jsonl").read_text().splitlines(keepends=True)
    (run / "rounds.jsonl").write_text("".join(rounds[:2]) + rounds[2][:20])  # cut off by a kill
    text = text_of(render([load(run)]))
    assert "not finished: 3 of 3 rounds" in text
    assert f"accuracy {100 * json.loads(rounds[1])['accuracy']:.1f} %" in text
    assert "so far" in text
    (run / "ledger.json").unlink()
    (run / "rounds.jsonl").unlink()
    (run / "telemetry.jsonl").unlink()
    text = text_of(render([load(run)]))
    assert "not finished: 0 of 3 rounds" in text
    assert "nothing is spent" in text


def test_runs_with_the_same_name_are_told_apart(private_run: Path, tmp_path: Path) -> None:
    for parent in ("a", "b"):
        shutil.copytree(private_run, tmp_path / parent / "run")
    page = render([load(tmp_path / "a" / "run"), load(tmp_path / "b" / "run")])
    assert "a/run</h2>" in page
    assert "b/run</h2>" in page


def test_a_page_with_ten_thousand_certified_pictures_is_small(
    tmp_path: Path, an_experiment: Any, make_certified: Any
) -> None:
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part, size in (("train", 100), ("t10k", 10_000)):
        # Noise: no other pictures are larger.
        images = rng.integers(0, 256, (size, 28, 28), dtype=np.uint8)
        head = struct.pack(">4B3I", 0, 0, 8, 3, size, 28, 28)
        (raw / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes(), 0))
        head = struct.pack(">4BI", 0, 0, 8, 1, size)
        labels = (np.arange(size) % 10).astype(np.uint8)
        (raw / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(head + labels.tobytes(), 0))
    content = an_experiment(data={"name": "mnist", "users": 50})
    content["algorithm"] |= {"sampler": {"name": "poisson", "rate": 0.1}, "noise_multiplier": 3.0}
    run = make_certified(content, tmp_path / "run", data=tmp_path)
    page = render([load(run)], tmp_path)
    assert len(page.encode()) < 1_000_000
    assert page.count("data:image/png") >= 300
    assert "The first 300 of 10,000 test examples" in text_of(page)
    # Without the data it says so, and shows the same numbers.
    without = render([load(run)], tmp_path / "nowhere")
    assert "the data set mnist is not at hand" in without
    assert "data:image/png" not in without
    assert_self_contained(without)


@pytest.mark.usefixtures("edited_by_hand")
def test_other_data_than_that_of_the_run_is_not_shown(certified_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(certified_run, run)
    with np.load(run / "labels.npz") as file:
        labels = file["labels"]
    np.savez(run / "labels.npz", labels=labels[::-1])
    page = render([load(run)])
    assert "the data at hand is not that of the run" in page
    assert "data:image/png" not in page


@pytest.mark.parametrize("again", ["run", "./run", "other/../run"])
def test_the_same_run_twice_is_refused(
    private_run: Path, tmp_path: Path, again: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(private_run, tmp_path / "run")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidValue, match="each run may be given once, got run and"):
        write(["run", again], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_json_that_fedward_did_not_write_is_one_line(private_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(private_run, run)
    telemetry = [json.loads(line) for line in (run / "telemetry.jsonl").read_text().splitlines()]
    (run / "telemetry.jsonl").write_text("".join(json.dumps({"round": r["round"]}) + "\n" for r in telemetry))
    with pytest.raises(
        InvalidValue, match=r"telemetry\.jsonl is damaged, it does not say 'bounds': put back a copy"
    ):
        render([load(run)])


def test_a_certificate_is_shown_with_what_it_rests_on(everything: str, certified_run: Path) -> None:
    said = text_of(everything)
    assert "Bounds and k are shown as the certificate file has them" in said
    record = load(certified_run)
    assert isinstance(record, ReplicasRecord)
    (certificate,) = record.certificates.values()
    for each in list_trusted(certificate):
        assert f"{each.says[0].upper()}{each.says[1:]}." in said


def test_the_ceiling_of_m_and_the_cost_of_a_release_stand_beside_the_headline(
    everything: str, certified_run: Path
) -> None:
    said = text_of(everything)
    record = load(certified_run)
    assert isinstance(record, ReplicasRecord)
    ((name, certificate),) = record.certificates.items()
    found = ceilings(certificate.setting, classes=certificate.classes, examples=certificate.examples)
    replicas = certificate.setting.confidence.replicas
    assert ceiling_in_words(found) in said
    assert release_in_words(record.one_training(name), certificate.releasing_all, replicas) in said
    for attack, ceiling in zip(certificate.attacks, found, strict=True):
        assert attack.k.max() <= ceiling.k
