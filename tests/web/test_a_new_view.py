"""One line in `app.js` is enough: a new view has a tab, an address and a title."""

import pytest

from tests.web.browsing import visiting

DUMMY = """const VIEWS = {
  dummy: {
    name: "Dummy",
    make: (context) => {
      const element = document.createElement("section");
      element.innerHTML = "<h1 id='view-title'>A dummy</h1><p class='drawn'></p>";
      const update = (state) => (element.querySelector(".drawn").textContent = state.run);
      return { element, update };
    },
  },"""


@pytest.mark.browser
def test_a_new_view_has_a_tab_an_address_and_a_title(browser, address):
    with visiting(browser, address) as visit:

        def with_dummy(route):
            script = route.fetch()
            route.fulfill(response=script, body=script.text().replace("const VIEWS = {", DUMMY))

        visit.page.route("**/static/app.js", with_dummy)
        visit.open("explain", run="words", text="good")
        tab = visit.see("#views a:has-text('Dummy')")
        assert tab.get_attribute("href").startswith("#dummy?")
        tab.click()
        visit.until_told("#view-title", "A dummy")
        visit.until_told(".drawn", "words")
        assert visit.page.title() == "Dummy · heedful"
        assert tab.get_attribute("aria-current") == "page"
        visit.open("dummy", run="bilstm")  # as a link from elsewhere
        visit.until_told(".drawn", "bilstm")
