"""What goes wrong while somebody looks: a message in the page, never a blank."""

import shutil
import threading

from heedful.importance import explanation
from heedful.web import models
from tests.web.browsing import Visit, serving, visiting


def explained(visit: Visit, text: str) -> None:
    visit.page.get_by_label("Text").fill(text)
    visit.until("([t]) => document.querySelector('#explanation .text')?.textContent === t", text)


def notices(visit: Visit) -> str:
    return visit.page.locator("#notices").inner_text()


def test_a_run_that_is_deleted_and_put_back(browser, own_folder, text):
    with serving(own_folder) as address, visiting(browser, address) as visit:
        visit.open("explain", run="words", text=text)
        visit.see("#explanation .text")
        shutil.move(own_folder / "words", own_folder.parent / "elsewhere")
        visit.page.get_by_label("Text").fill(f"{text} more")
        assert "words is missing" in visit.see(".failure").inner_text()
        visit.until_told("#notices", "words is missing")
        visit.until_told(".decision", "run bilstm")  # the other run still works
        shutil.move(own_folder.parent / "elsewhere", own_folder / "words")
        visit.until_told(".decision", "run words")  # and this one, once it is back
        assert "gone" not in notices(visit)


def test_a_run_whose_file_is_cut_short(browser, own_folder, text):
    with serving(own_folder) as address, visiting(browser, address) as visit:
        visit.open("whatif", run="words", text=text)
        visit.see(".slider")
        model = own_folder / "words" / "model.safetensors"
        model.write_bytes(model.read_bytes()[:100])
        visit.page.get_by_role("button", name="Uniform").click()
        message = visit.see(".failure").inner_text()
        assert "cannot be read any more" in message
        assert "model.safetensors" in message


def test_an_audit_that_is_deleted(browser, own_folder):
    with serving(own_folder) as address, visiting(browser, address) as visit:
        visit.open("documents", audit="words")
        visit.see(".grid-body .row")
        shutil.rmtree(own_folder / "audits")
        visit.page.get_by_label("Sort by").select_option("max_weight")
        assert "words is missing" in visit.see(".failure").inner_text()


def test_a_tab_left_open_over_a_restart_goes_on(browser, own_folder, text):
    with serving(own_folder) as address:
        port = int(address.rpartition(":")[2])
        context = visiting(browser, address)
        visit = context.__enter__()
        visit.open("explain", run="words", text=text)
        visit.see("#explanation .text")
    visit.page.get_by_label("Text").fill(f"{text} more")
    assert "does not answer" in visit.see(".failure").inner_text()
    visit.until_told("#notices", "does not answer")
    with serving(own_folder, port=port):
        visit.until(
            "() => document.querySelector('#explanation .text')",
        )
        assert "was restarted" in visit.see("#notices .notice").inner_text()
        assert "does not answer" not in notices(visit)
        explained(visit, f"{text} again")
    context.__exit__(None, None, None)


def test_a_server_that_serves_other_runs_after_a_restart(browser, own_folder, text):
    with serving(own_folder / "bilstm") as address, visiting(browser, address) as visit:
        visit.open("explain", run="words", text=text)  # a link to a run that is not there
        visit.see("#explanation .text")
        assert visit.page.get_by_label("Run").input_value() == "bilstm"
        assert "the run words, which is not served here" in notices(visit)


def test_a_model_that_fails_on_one_text(browser, served_folder, text, monkeypatch):
    def fails(trained, words, measures):
        if "zebra" in words:
            raise RuntimeError("no stripes")
        return explanation.explain(trained, words, measures)

    monkeypatch.setattr(models, "explain", fails)
    with serving(served_folder) as address, visiting(browser, address) as visit:
        visit.open("explain", run="words", text=f"{text} zebra")
        message = visit.see(".failure").inner_text()
        assert "no stripes" in message
        assert "Other texts and views still work" in message
        assert visit.page.locator(".decision").count() == 1  # the prediction does not need it
        explained(visit, text)
        assert visit.page.locator(".failure").count() == 0


def test_a_slow_answer_says_that_the_server_is_busy(browser, served_folder, text, monkeypatch):
    go_on = threading.Event()

    def slow(trained, words, measures):
        go_on.wait(20)
        return explanation.explain(trained, words, measures)

    monkeypatch.setattr(models, "explain", slow)
    with serving(served_folder) as address, visiting(browser, address) as first:
        first.open("explain", run="words", text=text)
        with visiting(browser, address) as second:
            second.open("explain", run="words", text=f"{text} more")
            second.until_told("#notices", "busy")
            assert "requests in the queue" in notices(second)
            go_on.set()
            second.see("#explanation .text")
            second.until_told("#notices", "in the queue")


def test_no_run_and_no_audit_are_said(browser, own_folder):
    with serving(own_folder / "audits") as address, visiting(browser, address) as visit:
        visit.open("explain")
        assert "No run is served" in visit.see(".answer p").inner_text()
    with serving(own_folder / "words") as address, visiting(browser, address) as visit:
        for view in ("audit", "documents"):
            visit.open(view)
            assert "No audit is served" in visit.see(".answer p").inner_text()
