"""The page as a person uses it: in a real browser that reaches nothing but the server."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qs

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from heedful.auditing.results import Audit
from heedful.importance.explanation import explain
from tests.report import browser as browsers
from tests.web.browsing import Visit, serving, visiting


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as seen:
        yield seen
        assert seen.strangers == [], "the page asked somebody else"
        assert seen.complaints == []


def state(page: Page) -> dict[str, list[str]]:
    """What the address says after its #, which follows a little later."""
    page.wait_for_timeout(300)
    return parse_qs(page.evaluate("location.hash").partition("?")[2])


def shares(page: Page) -> list[float]:
    """The weights that the bars show, in percent."""
    bars = page.locator(".slider").all()
    return [float(bar.get_attribute("aria-valuenow") or "nan") for bar in bars]


def finding(visit: Visit) -> str:
    return visit.see(".finding-line").inner_text()


# ----- Explain -----


def test_a_typed_text_is_explained_as_the_library_explains_it(visit, words, text):
    visit.open("explain", run="words")
    visit.page.get_by_label("Text").press_sequentially(text[:20], delay=5)
    visit.page.get_by_label("Text").fill(text)
    visit.until("([t]) => document.querySelector('#explanation .text')?.textContent === t", text)
    found = explain(words, text)
    assert visit.see(".decision bdi").inner_text() == str(found.prediction)
    shown = [float(one) for one in visit.page.locator(".classes .value").all_inner_texts()]
    assert np.allclose(shown, found.probabilities, atol=5e-4)
    measures = visit.page.locator("#explanation .measure").all_inner_texts()
    assert measures == list(found.scores)
    assert state(visit.page)["text"] == [text]
    lines = visit.page.locator("#explanation .text").all_inner_texts()
    assert lines == [text] * len(measures)


def test_a_word_shows_all_its_scores_to_mouse_and_keyboard(visit, words, text):
    visit.open("explain", run="words", text=text)
    second = visit.see("#explanation mark[data-place='1']")
    second.hover()
    card = visit.see(".card:not([hidden])").inner_text()
    found = explain(words, text)
    for measure, scores in found.scores.items():
        assert measure in card
        assert f"{round(float(scores[1]), 4) + 0.0:.4f}".replace("-", "−") in card
    visit.page.mouse.move(0, 0)
    visit.page.locator("#explanation button.word").first.focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.see(".card:not([hidden])").inner_text() == card
    assert visit.page.locator(".card:not([hidden]) bdi").inner_text() == found.words[1]
    visit.page.keyboard.press("Escape")
    assert visit.page.locator(".card:not([hidden])").count() == 0


def test_a_long_text_folds_around_words_that_matter_in_every_line_alike(visit, text):
    long = " ".join([text, *["nothing"] * 150, text])
    visit.open("explain", run="words", text=long)
    visit.see("#explanation .fold")
    lines = visit.page.locator("#explanation .text").all()
    folds = [line.locator(".fold").all_inner_texts() for line in lines]
    assert len(set(map(tuple, folds))) == 1
    hidden = sum(int(re.search(r"\d+", fold)[0]) for fold in folds[0])
    assert hidden > 50
    seen = lines[0].locator(".word").count()
    visit.page.locator("#explanation .fold").first.click()
    opened = int(re.search(r"\d+", folds[0][0])[0])
    counts = [
        line.locator(".word").count() for line in visit.page.locator("#explanation .text").all()
    ]
    assert counts == [seen + opened] * len(lines)


def test_texts_are_shown_as_text_whatever_they_hold(visit):
    nasty = "<img src=x onerror=alert(1)> <b>bold</b> \u202egnihtemos 😀 fine"
    visit.open("explain", run="words", text=nasty)
    line = visit.see("#explanation .text").inner_text()
    assert line == nasty.replace("\u202e", "⟨U+202E⟩")
    assert visit.page.locator("#explanation img, #explanation b").count() == 0
    # Emoji count twice in a browser: the last word must still be the last word.
    assert (
        visit.page.locator("#explanation .text").first.locator(".word").last.inner_text() == "fine"
    )


def test_an_emptied_text_stays_empty_whatever_was_on_its_way(visit, text):
    visit.open("explain", run="words", text=text)
    visit.see("#explanation .text")
    visit.page.get_by_label("Text").fill(f"{text} more")
    visit.page.wait_for_timeout(150)  # asked, most likely not answered
    visit.page.get_by_label("Text").fill("")
    visit.see(".empty")
    visit.page.wait_for_timeout(800)
    assert visit.page.locator("#explanation .text").count() == 0


def test_back_brings_the_run_back(visit, text):
    visit.open("explain", run="words", text=text)
    visit.see("#explanation .text")
    visit.page.get_by_label("Run").select_option("bilstm")
    visit.until_told(".decision", "run bilstm")
    visit.page.go_back()
    visit.until_told(".decision", "run words")
    assert visit.page.get_by_label("Run").input_value() == "words"


def test_a_text_without_words_is_a_sentence_in_the_page(visit):
    visit.open("explain", run="words", text="  ☃  ")
    message = visit.see(".failure, .decision").inner_text()
    assert message
    visit.page.get_by_label("Text").fill("")
    assert "appears here while you type" in visit.see(".empty").inner_text()
    visit.complaints.clear()  # the browser itself names the status 422


def test_a_heat_map_that_may_be_shown_is_shown_with_the_guarantee(visit, text):
    visit.open("explain", run="words", text=text)
    said = visit.see("#explanation .showing").inner_text()
    assert said.startswith("The heat map of attention may be shown. A false picture is shown for")
    assert "attention" in visit.page.locator("#explanation .measure").all_inner_texts()


def test_a_withheld_heat_map_is_replaced_by_the_reason_until_it_is_asked_for(visit):
    visit.open("explain", run="words", text="qqq www eee")
    said = visit.see("#explanation .withheld").inner_text()
    assert "should not be shown. Deleting words hardly changes this decision" in said
    measures = visit.page.locator("#explanation .measure")
    before = measures.all_inner_texts()
    assert "attention" not in before
    visit.page.get_by_role("button", name="Show it anyway (not safe)").click()
    assert measures.all_inner_texts() == ["attention", *before]
    assert "not safe" in visit.see("#explanation .withheld").inner_text()
    assert visit.page.locator("#explanation .withheld button").count() == 0


def test_a_run_without_a_served_audit_says_nothing_about_showing(visit, text):
    visit.open("explain", run="bilstm", text=text)
    visit.see("#explanation .text")
    assert visit.page.locator("#explanation .showing").count() == 0


def test_measures_are_chosen_and_the_link_keeps_them(visit, text):
    visit.open("explain", run="words", text=text)
    visit.see("#explanation .measure")
    visit.page.get_by_text("Measures (4)").click()
    visit.page.get_by_label("polarity", exact=True).check()
    visit.until(
        "() => [...document.querySelectorAll('.measure')].some((m) => m.textContent === 'polarity')"
    )
    assert "polarity" in state(visit.page)["measures"][0].split(",")


# ----- What if -----


def test_a_bar_is_dragged_and_the_prediction_follows(visit, words, text):
    visit.open("whatif", run="words", text=text)
    bar = visit.see(".slider")
    assert "model’s own attention" in finding(visit)
    before = shares(visit.page)
    assert np.isclose(sum(before), 100, atol=0.1 * len(before))
    box = bar.bounding_box()
    middle = box["x"] + box["width"] / 2
    visit.page.mouse.move(middle, box["y"] + box["height"] - 2)
    visit.page.mouse.down()
    for share in (0.3, 0.6, 0.9):
        visit.page.mouse.move(middle, box["y"] + box["height"] * (1 - share))
    visit.page.mouse.up()
    visit.until(
        "() => !document.querySelector('.finding-line').textContent.includes('own attention.')"
    )
    after = shares(visit.page)
    assert after[0] == pytest.approx(81, abs=3)  # bars are drawn by the root of the weight
    rest = np.array(before[1:]) / sum(before[1:])
    assert np.allclose(np.array(after[1:]) / sum(after[1:]), rest, atol=0.02)
    weights = [float(one) for one in state(visit.page)["weights"][0].split(",")]
    assert weights[0] == pytest.approx(after[0] / 100, abs=1e-3)
    from heedful.counterfactual.what_if import decide, read

    expected = decide(read(words, text), weights)
    visit.until(
        "([jsd]) => document.querySelector('dl.facts dd').textContent.startsWith(jsd)",
        f"{expected.jsd:.3f}",
    )
    shown = [float(one) for one in visit.page.locator(".classes .value").all_inner_texts()]
    assert np.allclose(shown, expected.probabilities, atol=2e-3)


def test_keys_move_a_bar_zero_it_delete_its_word_and_undo_all_of_it(visit, text):
    visit.open("whatif", run="words", text=text)
    bar = visit.see(".slider")
    before = shares(visit.page)
    bar.focus()
    visit.page.keyboard.press("PageUp")
    visit.until(
        "([b]) => Number(document.querySelector('.slider').ariaValueNow) > b + 9", before[0]
    )
    visit.page.keyboard.press("Home")
    visit.until("() => Number(document.querySelector('.slider').ariaValueNow) === 0")
    visit.page.keyboard.press("Delete")
    visit.see(".column.gone")
    assert state(visit.page)["deleted"] == ["0"]
    assert visit.page.locator(".slider").count() == len(before) - 1
    for _ in range(3):
        visit.page.keyboard.press("Control+z")
        visit.page.wait_for_timeout(150)
    visit.until("([n]) => document.querySelectorAll('.slider').length === n", len(before))
    visit.until_told(".finding-line", "own attention")
    assert np.allclose(shares(visit.page), before, atol=0.11)
    visit.page.keyboard.press("Control+Shift+z")
    visit.until(
        "([b]) => Number(document.querySelector('.slider').ariaValueNow) > b + 9", before[0]
    )


def test_a_word_is_deleted_by_a_click_and_comes_back(visit, words, text):
    visit.open("whatif", run="words", text=text)
    visit.see(".slider")
    whole = visit.page.locator(".classes .value").all_inner_texts()
    visit.page.locator(".word-button").nth(1).click()
    visit.see(".column.gone")
    cut = words.tokenizer.offsets(text)
    shorter = text[: cut[1][0]] + text[cut[1][1] :]
    expected = words.probabilities([shorter])[0]
    shown = [float(one) for one in visit.page.locator(".classes .value").all_inner_texts()]
    assert np.allclose(shown, expected, atol=5e-4)
    visit.page.get_by_role("button", name="put back").click()
    visit.until("() => !document.querySelector('.column.gone')")
    assert visit.page.locator(".classes .value").all_inner_texts() == whole
    visit.page.get_by_role("button", name="Undo").click()
    visit.see(".column.gone")


@pytest.mark.parametrize("name", ["Uniform", "Permute", "Random", "Frozen", "Adversary"])
def test_attention_is_replaced_and_undone(visit, text, name):
    visit.open("whatif", run="words", text=text)
    visit.see(".slider")
    before = shares(visit.page)
    visit.page.get_by_role("button", name=name).click()
    visit.until("() => location.hash.includes('weights=')")
    visit.until("() => !document.querySelector('.toolbar button').disabled")
    after = shares(visit.page)
    assert sum(after) == pytest.approx(100, abs=0.1 * len(after))
    if name == "Uniform":
        assert np.allclose(after, 100 / len(after), atol=0.06)
    visit.page.get_by_role("button", name="Undo").click()
    visit.until("() => !location.hash.includes('weights=')")
    visit.until_told(".finding-line", "own attention")
    assert np.allclose(shares(visit.page), before, atol=0.06)


def test_a_link_brings_a_finding_back(visit, browser, address, text):
    visit.open("whatif", run="words", text=text)
    visit.see(".slider")
    visit.page.locator(".word-button").nth(2).click()
    visit.see(".column.gone")
    visit.page.get_by_role("button", name="Uniform").click()
    visit.until("() => location.hash.includes('weights=')")
    visit.until("() => !document.querySelector('#outcome').ariaBusy")
    told, bars = finding(visit), shares(visit.page)
    with visiting(browser, address) as other:
        other.page.goto(visit.page.url)
        other.see(".column.gone")
        assert finding(other) == told
        assert np.allclose(shares(other.page), bars, atol=0.06)


def test_a_double_click_on_a_word_deletes_it_and_puts_it_back(visit, text):
    visit.open("whatif", run="words", text=text, weights=",".join(["1"] * len(text.split())))
    visit.see(".slider")
    count = visit.page.locator(".slider").count()
    for button in (0, 0):  # faster than any answer
        visit.page.evaluate("(n) => document.querySelectorAll('.word-button')[n].click()", button)
    visit.until("([n]) => document.querySelectorAll('.slider').length === n", count)
    assert visit.page.locator(".failure").count() == 0


def test_an_answer_about_other_words_is_not_taken(visit, text):
    visit.open("whatif", run="words", text=text)
    visit.see(".slider")
    visit.page.evaluate(
        """() => {
          const tools = [...document.querySelectorAll(".toolbar button")];
          tools.find((one) => one.textContent === "Adversary").click();
          document.querySelector(".word-button").click();
        }"""
    )
    visit.see(".column.gone")
    visit.page.wait_for_timeout(1500)  # time for the adversary's answer
    assert "weights" not in state(visit.page)


# ----- Compare -----


def test_runs_stand_side_by_side(visit, text):
    visit.open("compare", text=text, runs="words,bilstm")
    visit.see(".beside-each-other .document")
    names = visit.page.locator(".beside-each-other h2").all_inner_texts()
    assert names == ["words", "bilstm"]
    assert visit.page.locator(".beside-each-other .decision").count() == 2
    assert visit.page.locator(".between tbody tr").count() == 1
    visit.page.get_by_role("checkbox", name="bilstm").uncheck()
    visit.until("() => document.querySelectorAll('.beside-each-other .document').length === 1")
    visit.page.locator(".beside-each-other h2 a").click()
    visit.see("#explanation .text")
    assert state(visit.page)["run"] == ["words"]


# ----- Documents -----


def chosen(visit: Visit) -> str:
    return visit.see(".count").inner_text()


def test_documents_are_filtered_sorted_and_opened(visit, served_folder):
    audit = Audit.load(served_folder / "audits" / "words")
    visit.open("documents", audit="words")
    visit.see(".grid-body .row")
    assert chosen(visit) == f"{audit.documents} documents"
    label = sorted(set(audit.predictions))[0]
    visit.page.get_by_label("Prediction").select_option(label)
    count = audit.predictions.count(label)
    visit.until_told(".count", f"{count} of")
    visit.page.get_by_label("Sort by").select_option("max_weight")
    rows = [place for place in range(audit.documents) if audit.predictions[place] == label]
    best = max(rows, key=lambda place: audit.columns["max_weight"][place])
    visit.until(
        "([t]) => document.querySelector('#row-0 .cell-text')?.textContent.startsWith(t)",
        audit.texts[best][:40],
    )
    visit.page.locator("#row-0").click()
    visit.see("#explanation .text")
    assert state(visit.page)["text"] == [audit.texts[best]]
    visit.page.go_back()
    assert chosen(visit).startswith(f"{count} of")


def test_a_range_is_added_and_taken_away(visit, served_folder):
    audit = Audit.load(served_folder / "audits" / "words")
    numbers = audit.columns["max_weight"]
    cut = float(np.round(np.median(numbers), 3))
    visit.open("documents", audit="words")
    visit.page.get_by_text("By number").click()
    visit.page.get_by_label("Number", exact=True).select_option("max_weight")
    visit.page.get_by_label("from").fill(str(cut))
    visit.page.get_by_role("button", name="Add").click()
    count = int((numbers >= cut).sum())
    visit.until_told(".count", f"{count} of")
    visit.page.get_by_role("button", name="remove filter").click()
    visit.until("() => !document.querySelector('.count').textContent.includes(' of ')")


def test_who_searches_keeps_the_caret_while_a_document_is_open(visit):
    visit.open("documents", audit="words", open="3")
    visit.see(".panel h2")
    search = visit.page.get_by_label("Search")
    search.focus()
    visit.page.keyboard.type("neutral", delay=60)
    visit.until_told(".count", "document")
    visit.page.wait_for_timeout(400)
    assert search.input_value() == "neutral"
    assert search.evaluate("(one) => one === document.activeElement")


def test_documents_are_walked_with_the_keyboard(visit):
    visit.open("documents", audit="words")
    visit.see(".grid-body .row")
    visit.page.locator(".grid").focus()
    visit.page.keyboard.press("End")
    last = visit.page.evaluate(
        "document.querySelector('.grid').getAttribute('aria-activedescendant')"
    )
    assert visit.see(f"#{last}").get_attribute("aria-selected") == "true"
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("Enter")
    visit.see("#explanation .text")


def test_of_thirty_thousand_documents_only_those_in_sight_exist(browser, served_folder, tmp_path):
    small = Audit.load(served_folder / "audits" / "words")
    times = 30_000 // small.documents
    many = replace(
        small,
        texts=tuple(f"{n} {text}" for n in range(times) for text in small.texts),
        labels=small.labels * times,
        predictions=small.predictions * times,
        columns={name: np.tile(small.columns[name], times) for name in ("words", "max_weight")},
        evidence={},
    )
    many.save(tmp_path / "many")
    with serving(tmp_path / "many") as address, visiting(browser, address) as visit:
        visit.open("documents", audit="many")
        visit.see(".grid-body .row")
        visit.page.locator(".grid").focus()
        visit.page.keyboard.press("End")
        last = many.documents - 1
        visit.until(
            "([n, t]) => document.querySelector(`#row-${n} .cell-text`)?.textContent.startsWith(t)",
            last,
            many.texts[last][:40],
        )
        assert visit.page.locator(".grid-body .row").count() < 60
        visit.page.evaluate("document.querySelector('.grid').scrollTop = 44 * 12345")
        visit.until(
            "([n, t]) => document.querySelector(`#row-${n} .cell-text`)?.textContent.startsWith(t)",
            12345,
            many.texts[12345][:40],
        )


# ----- Audit -----


def test_the_audit_gives_all_ten_answers(visit, served_folder):
    audit = Audit.load(served_folder / "audits" / "words")
    visit.open("audit", audit="words")
    assert audit.sentence in visit.see(".verdict").inner_text()
    names = visit.page.locator(".answers tbody th").all_inner_texts()
    assert [name.split("\n")[0] for name in names] == [one.question for one in audit.answers]


def test_a_click_on_a_bar_opens_the_documents_behind_it(visit):
    visit.open("audit", audit="words")
    figure = visit.page.locator("figure", has_text="A different attention, the same prediction")
    figure.first.scroll_into_view_if_needed()
    figure.first.locator(".chart[data-live]").wait_for()
    bars = figure.first.locator(".mark-rect path")
    heights = [(bar.bounding_box() or {"height": 0})["height"] for bar in bars.all()]
    bars.nth(int(np.argmax(heights))).click()
    visit.see(".grid-body .row")
    where = state(visit.page)["where"][0]
    assert where.startswith("epsilon_max_jsd:[")
    assert visit.page.locator(".chip").count() == 1
    assert " of " in chosen(visit)


def test_the_same_without_a_mouse(visit):
    visit.open("audit", audit="words")
    figure = visit.page.locator(
        "figure", has_text="A different attention, the same prediction"
    ).first
    option = figure.locator("option").last
    count = option.inner_text().rpartition(": ")[2]
    figure.get_by_role("combobox").select_option(option.get_attribute("value"))
    figure.get_by_role("button", name="Open these documents").press("Enter")
    visit.see(".grid-body .row")
    assert chosen(visit).startswith(f"{count} of")


# ----- Export -----


@pytest.mark.parametrize("view", ["explain", "whatif", "compare", "documents", "audit"])
def test_every_view_is_exported_in_every_form(visit, browser, text, view, tmp_path):
    visit.open(view, run="words", text=text, audit="words", runs="words,bilstm")
    visit.see(
        {
            "explain": "#explanation .text",
            "whatif": ".slider",
            "compare": ".between",
            "documents": ".grid-body .row",
            "audit": ".verdict",
        }[view]
    )
    found = {}
    for form in ("PNG", "SVG", "HTML", "JSON"):
        visit.page.locator("#export summary").click()
        with visit.page.expect_download() as download:
            visit.page.locator("#export").get_by_role("button", name=form).click()
        found[form] = tmp_path / download.value.suggested_filename
        download.value.save_as(found[form])
    assert found["PNG"].read_bytes().startswith(b"\x89PNG")
    assert json.loads(found["JSON"].read_text())["heedful"]["view"] == view
    svg = found["SVG"].read_text()
    assert "foreignObject" not in svg
    words_of_text = text.split()
    if view not in ("audit", "documents"):
        assert f">{words_of_text[0]}</text>" in svg
    page = found["HTML"].read_text()
    assert "<script" not in page
    with browsers.visit(browser, found["HTML"]) as alone:
        assert alone.page.locator("h1").count() >= 1
        assert alone.requests == [found["HTML"].as_uri()]
        assert alone.complaints == []
