"""Everybody can use the page: labels, contrast, focus, in the light and in the dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.web.browsing import Visit, visiting

# A view, and what is there once it has been drawn.
VIEWS = {
    "explain": "#explanation .text",
    "whatif": ".slider",
    "compare": ".between",
    "documents": ".grid-body .row",
    "audit": ".chart[data-live]",
}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def open_view(visit: Visit, view: str, text: str) -> None:
    visit.open(view, run="words", text=text, audit="words", runs="words,bilstm")
    if view == "audit":
        visit.see("figure").scroll_into_view_if_needed()
    visit.see(VIEWS[view])
    visit.until("() => !document.querySelector('[aria-busy]')")


@pytest.mark.parametrize("view", list(VIEWS))
def test_axe_finds_nothing_in_the_light_or_in_the_dark(browser, address, text, view):
    with visiting(browser, address, bypass_csp=True) as visit:
        open_view(visit, view, text)
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            found = Axe().run(visit.page, options=RULES)
            told = [
                (one["id"], one["help"], [node["html"][:120] for node in one["nodes"][:3]])
                for one in found.response["violations"]
            ]
            assert told == [], scheme


@pytest.mark.parametrize("view", list(VIEWS))
def test_the_tab_key_reaches_everything_in_reading_order_and_shows_where_it_is(
    browser, address, text, view
):
    with visiting(browser, address) as visit:
        open_view(visit, view, text)
        stops = visit.page.evaluate(FOCUSABLE)
        visit.page.evaluate("document.activeElement.blur()")
        places, shown = [], []
        for _ in range(min(len(stops), 40)):
            visit.page.keyboard.press("Tab")
            place, is_shown = visit.page.evaluate(WHERE)
            places.append(place)
            shown.append(is_shown)
        assert places == list(range(len(places)))
        assert all(shown)


# Everything that the tab key should stop at, marked with its place.
FOCUSABLE = """() => {
  const stops = "a[href], button, input, select, textarea, summary, [tabindex]";
  const all = [...document.querySelectorAll(stops)].filter((one) => one.tabIndex >= 0
    && !one.disabled && one.checkVisibility({ visibilityProperty: true }));
  all.forEach((one, place) => { one.dataset.stop = place; });
  return all.map((one) => one.outerHTML.slice(0, 60));
}"""
WHERE = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const isShown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return [Number(one.dataset.stop), isShown];
}"""


def test_a_whole_finding_with_the_keyboard_alone(browser, address, text):
    """From a typed text to another attention, to a deleted word, and back."""
    with visiting(browser, address) as visit:
        visit.open("explain", run="words")
        keyboard = visit.page.keyboard

        def tab_to(description: str) -> None:
            for _ in range(80):
                keyboard.press("Tab")
                if visit.page.evaluate("(s) => document.activeElement.matches(s)", description):
                    return
            raise AssertionError(f"the tab key never reaches {description}")

        tab_to("textarea")
        keyboard.insert_text(text)
        visit.see("#explanation .text")
        tab_to("button.word")
        keyboard.press("ArrowRight")
        visit.see(".card:not([hidden])")
        keyboard.press("Escape")
        tab_to(".onward a")
        keyboard.press("Enter")
        visit.see(".slider")
        visit.page.locator("#skip").focus()
        keyboard.press("Enter")  # past the header
        tab_to(".slider")
        keyboard.press("End")
        visit.until("() => Number(document.querySelector('.slider').ariaValueNow) === 100")
        keyboard.press("Tab")
        keyboard.press("Enter")  # its word: deleted
        visit.see(".column.gone")
        keyboard.press("Control+z")
        visit.until("() => !document.querySelector('.column.gone')")
        keyboard.press("Control+z")
        visit.until(
            "() => document.querySelector('.finding-line').textContent.includes('own attention')"
        )


def test_a_narrow_screen_does_not_scroll_sideways(browser, address, text):
    with visiting(browser, address) as visit:
        visit.page.set_viewport_size({"width": 390, "height": 800})
        for view in VIEWS:
            open_view(visit, view, text)
            width = visit.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, view
