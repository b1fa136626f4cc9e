// Attention as bars: one per word, to be dragged or moved with keys; a word below each, to be deleted.

import { fill, h, number, percent, wordsOf } from "./dom.js";
import { heightOf, weightAt, withShare } from "./weights.js";

const FINE = 0.01; // share of attention that an arrow key moves
const COARSE = 0.1; // that Page up and Page down move
const KEYS = {
  ArrowUp: FINE, ArrowRight: FINE, ArrowDown: -FINE, ArrowLeft: -FINE, PageUp: COARSE, PageDown: -COARSE,
};
const ENDS = { Home: 0, 0: 0, End: 1 };

/**
 * The bars of an answer. While one is dragged `onmove` hears of every new weights, and `onset` of the
 * last; a key or a double click is set at once. `ontoggle` hears of a word to delete or to put back.
 * Bars of an answer that `isFixed` only show.
 */
export function weightBars({ onmove, onset, ontoggle }) {
  const element = h("div", { class: "bars", role: "group", "aria-label": "Attention of each word" });
  let sheet = null;
  let weights = [];
  let isDragging = false;

  /** Draw an answer; a hand that drags a bar is not interrupted. */
  function show(answer) {
    const isSameWords = sheet && ["run", "text"].every((key) => sheet[key] === answer[key]) && String(sheet.deleted) === String(answer.deleted);
    sheet = answer;
    if (!isSameWords) isDragging = false; // the bar is gone
    if (!isDragging) weights = answer.weights;
    if (!isSameWords) draw();
    move();
  }

  function draw() {
    const focused = element.contains(document.activeElement) && document.activeElement.closest("[data-place]").dataset.place;
    let kept = 0;
    fill(
      element,
      wordsOf(sheet.text, sheet.words).map((word, place) =>
        sheet.deleted.includes(place) ? goneWord(word, place) : column(word, place, kept++),
      ),
    );
    if (focused) element.querySelector(`[data-place="${focused}"] :is([role=slider], button)`)?.focus();
  }

  function column(word, place, at) {
    const slider = h(
      "div",
      {
        class: "slider",
        role: "slider",
        tabindex: "0",
        "aria-label": `attention of ${word}`,
        "aria-orientation": "vertical",
        "aria-readonly": String(Boolean(sheet.isFixed)),
        "aria-valuemin": "0",
        "aria-valuemax": "100",
        onpointerdown: (event) => drag(event, at),
        onkeydown: (event) => press(event, at, place),
        ondblclick: () => sheet.isFixed || set(withShare(weights, at, 0)),
      },
      h("i", { class: "own" }),
      h("i", { class: "now" }),
    );
    const remove = {
      type: "button",
      class: "word-button",
      title: "Delete this word",
      "aria-label": `delete ${word}`,
      onclick: () => ontoggle(place),
    };
    return h(
      "div",
      { class: "column", "data-place": String(place) },
      h("span", { class: "weight", "aria-hidden": "true" }),
      slider,
      h("button", remove, h("bdi", {}, word)),
    );
  }

  function goneWord(word, place) {
    const restore = {
      type: "button",
      class: "word-button",
      title: "Put this word back",
      "aria-label": `put back ${word}`,
      onclick: () => ontoggle(place),
    };
    return h("div", { class: "column gone", "data-place": String(place) }, h("button", restore, h("bdi", {}, word)));
  }

  /** Every bar to its weight. */
  function move() {
    element.querySelectorAll(".slider").forEach((slider, at) => {
      slider.style.setProperty("--now", heightOf(weights[at]));
      slider.style.setProperty("--own", heightOf(sheet.own[at]));
      slider.setAttribute("aria-valuenow", (100 * weights[at]).toFixed(1));
      slider.setAttribute("aria-valuetext", `${percent(weights[at])}; the model gives it ${percent(sheet.own[at])}`);
      slider.previousElementSibling.textContent = weights[at] >= 0.0005 ? number(100 * weights[at], 1) : "0";
    });
  }

  function set(changed) {
    weights = changed;
    move(); // at once; the server's answer comes after
    onset(weights);
  }

  function drag(event, at) {
    if (event.button !== 0 || sheet.isFixed) return;
    event.preventDefault();
    const slider = event.currentTarget;
    const box = slider.getBoundingClientRect();
    slider.focus();
    slider.setPointerCapture(event.pointerId);
    const follow = ({ clientY }) => {
      isDragging = true;
      weights = withShare(weights, at, weightAt((box.bottom - clientY) / box.height));
      move();
      onmove(weights);
    };
    const end = () => {
      slider.removeEventListener("pointermove", follow);
      if (isDragging) onset(weights);
      isDragging = false;
    };
    slider.addEventListener("pointermove", follow);
    slider.addEventListener("lostpointercapture", end, { once: true });
  }

  function press(event, at, place) {
    if (event.ctrlKey || event.metaKey) return;
    const share = ENDS[event.key] ?? (event.key in KEYS ? weights[at] + KEYS[event.key] : null);
    const isDeletion = event.key === "Delete" || event.key === "Backspace";
    if ((share === null || sheet.isFixed) && !isDeletion) return;
    event.preventDefault();
    if (isDeletion) ontoggle(place);
    else set(withShare(weights, at, Math.min(1, Math.max(0, share))));
  }

  return { element, show };
}
