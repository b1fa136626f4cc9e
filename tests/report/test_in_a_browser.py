"""The report as a reader meets it: opened from disk, without a network."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from heedful.report import render
from tests.report import browser as browsers
from tests.report.audits import HOSTILE, hostile_audit, made_audit
from tests.report.browser import visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers.browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    audits = {
        "one": {"bilstm": made_audit()},
        "two": {"bilstm": made_audit(0.0), "words": made_audit(1.0, seed=1)},
        "hostile": {" ".join(HOSTILE): hostile_audit()},
    }
    for name, named in audits.items():
        (folder / f"{name}.html").write_text(render(named), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in audits}


@pytest.mark.parametrize("name", ["one", "two", "hostile"])
def test_a_report_asks_for_nothing_but_itself(browser, pages, name):
    with visit(browser, pages[name]) as seen:
        seen.see_everything()
        assert seen.requests == [pages[name].as_uri()]
        assert seen.complaints == []
        assert seen.dialogs == []


@pytest.mark.parametrize("name", ["one", "two", "hostile"])
def test_every_figure_shows_marks_before_and_after_it_comes_alive(browser, pages, name):
    marks = "charts => charts.map(c => c.querySelectorAll('svg [class*=\"mark-\"] path').length)"
    with visit(browser, pages[name], java_script_enabled=False) as still:
        charts = still.page.locator(".chart")
        before = [chart.locator("svg [class*='mark-'] path").count() for chart in charts.all()]
    with visit(browser, pages[name]) as seen:
        seen.see_everything()
        after = seen.page.locator(".chart").evaluate_all(marks)
    assert len(before) == len(after) >= 10
    assert min(before) > 0
    assert before == after


def test_hostile_text_is_text(browser, pages):
    with visit(browser, pages["hostile"]) as seen:
        seen.see_everything()
        text = seen.page.locator("main").inner_text()
        for words in HOSTILE:
            if words.isprintable():
                assert words in text
        assert "a⟨U+202E⟩b" in text
        assert "⟨U+D83D⟩" in text
        assert "⟨U+2028⟩" in text
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator("script").count() == 3
        assert seen.page.locator("style").count() == 1


def test_a_script_that_slipped_through_would_not_run(browser, pages, tmp_path):
    opened = tmp_path / "opened.html"
    evil = '<script>alert(1)</script><img src="http://localhost:9/x" onerror="alert(2)">'
    opened.write_text(pages["one"].read_text(encoding="utf-8").replace("</main>", f"{evil}</main>"))
    with visit(browser, opened) as seen:
        seen.page.wait_for_timeout(300)
        assert seen.dialogs == []
        assert any("Content Security Policy" in complaint for complaint in seen.complaints)


def test_tooltips_show_words_as_text(browser, pages):
    with visit(browser, pages["hostile"]) as seen:
        seen.see_everything()
        dots = seen.page.locator("figure", has_text="Which words attention prefers").first
        shown = set()
        for dot in dots.locator("svg .mark-symbol.role-mark path").all():
            dot.hover(force=True)
            shown.add(seen.page.locator("#vg-tooltip-element").inner_text())
            if any("<script>" in text for text in shown):
                break
        assert any("<script>alert(1)</script>" in text for text in shown)
        assert seen.page.locator("#vg-tooltip-element script, #vg-tooltip-element img").count() == 0
        assert seen.dialogs == []


def test_keys_alone_reach_the_skip_link_the_theme_and_the_details(browser, pages):
    with visit(browser, pages["one"]) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        reached = []
        for _ in range(80):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate("document.activeElement.id || document.activeElement.localName")
            )
            if reached[-1] == "theme":
                before = page.evaluate("getComputedStyle(document.body).backgroundColor")
                page.keyboard.press("Enter")
                assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
                assert page.locator("#theme").get_attribute("aria-pressed") == "true"
            if reached[-1] == "summary":
                page.keyboard.press("Enter")
                assert page.evaluate("document.activeElement.parentElement.open")
                break
        assert "theme" in reached
        assert "summary" in reached


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


COLOURS = """selector => [...document.querySelectorAll(selector)].map(one => {
  const solid = c => !/, 0\\)$/.test(c);
  let behind = one;
  while (behind && !solid(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const back = getComputedStyle(behind).backgroundColor;
  return [one.textContent.slice(0, 30), getComputedStyle(one).color, back];
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(browser, pages, scheme):
    """WCAG AA asks for 4.5 of small text."""
    with visit(browser, pages["one"], color_scheme=scheme) as seen:
        parts = (
            "main p, main h1, main h2, main h3, main td, main th, .pill, .mark, figcaption, dt, a"
        )
        found = seen.page.evaluate(COLOURS, parts)
        assert len(found) > 100
        weak = [row for row in found if contrast(row[1], row[2]) < 4.5]
        assert weak == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_the_deepest_colour(browser, pages, scheme):
    with visit(browser, pages["one"], color_scheme=scheme) as seen:
        script = (
            "all => all.map(m => [getComputedStyle(m).color, getComputedStyle(m).backgroundColor])"
        )
        full = seen.page.locator('mark[style="--s:1.0"], .legend mark').evaluate_all(script)
        assert len(full) >= 2
        assert all(contrast(*pair) >= 4.5 for pair in full)


def test_dark_and_light_differ_in_charts_too(browser, pages):
    script = "getComputedStyle(document.querySelector('.chart svg text')).fill"
    colours = set()
    for scheme in ("light", "dark"):
        with visit(browser, pages["one"], color_scheme=scheme) as seen:
            colours.add(seen.page.evaluate(script))
            seen.see_everything()
            colours.add(seen.page.evaluate(script))
    assert len(colours) == 2


@pytest.mark.parametrize("name", ["one", "two", "hostile"])
def test_a_narrow_screen_does_not_scroll_sideways(browser, pages, name):
    with visit(browser, pages[name], viewport={"width": 400, "height": 800}) as seen:
        seen.see_everything()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 400


def test_paper_shows_the_verdict_on_one_page_and_what_a_reader_opened_behind_it(browser, pages):
    with visit(browser, pages["one"], color_scheme="dark") as seen:
        seen.page.emulate_media(media="print")
        assert not seen.page.locator("details pre").is_visible()
        assert not seen.page.locator(".top").is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 41, 51)"
        pages_printed = printed_pages(seen.page)
        assert pages_printed == 2  # the verdict with its answers, and the documents
        seen.page.locator("details:has(pre)").evaluate("one => { one.open = true; }")
        assert seen.page.locator("details pre").is_visible()
        assert printed_pages(seen.page) > pages_printed


def printed_pages(page) -> int:
    return len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4", prefer_css_page_size=True)))


def test_headings_leave_no_level_out(browser, pages):
    for name in ("one", "two"):
        with visit(browser, pages[name]) as seen:
            script = "all => all.map(h => +h.localName[1])"
            levels = seen.page.locator("h1,h2,h3,h4").evaluate_all(script)
            assert levels[0] == 1
            assert levels.count(1) == 1
            assert all(after - before <= 1 for before, after in pairwise(levels))
