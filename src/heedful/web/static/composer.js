// What several views share: a run and a text to ask about, and a prediction.

import { choice, counted, field, fill, h, number } from "./dom.js";
import { failure } from "./notices.js";

const PAUSE = 140; // ms without a key after which a text is asked about
const CLASSES = 8; // that have a bar; of more, the likeliest

/** The sheet of a run by its name; an empty one where there is none. */
export const sheetOf = (served, name) => served.runs.find((run) => run.name === name) ?? {};

/** The runs that have attention to look at. */
export const readable = (served) => served.runs.filter((run) => run.has_attention);

/** A text field that tells of its text once the typing pauses. */
export function textField(ontext, limit) {
  const area = h("textarea", {
    rows: 3,
    spellcheck: "false",
    dir: "auto",
    maxlength: String(limit),
    placeholder: "Type or paste a text",
  });
  let timer = null;
  let told = ""; // the text that the page has heard of; what is typed since then stays
  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      told = area.value;
      ontext(told);
    }, PAUSE);
  });
  return {
    element: field("Text", area, { class: "field wide" }),
    /** The text of the state, unless it is the one that was typed here. */
    show(text) {
      if (text === told) return;
      clearTimeout(timer);
      area.value = told = text;
    },
  };
}

/** A choice of the run. */
export function runField(served, chosen, onchange) {
  const names = readable(served).map((run) => run.name);
  return field("Run", choice(names, chosen, onchange));
}

/** Probabilities as bars, the decision first in words; `before` marks where they stood. */
export function prediction({ label, probabilities, before = null, run = null }) {
  const chance = (place) => Math.max(probabilities[place].probability, before?.[place].probability ?? 0);
  const places = probabilities.map((_, place) => place);
  const drawn = places.toSorted((one, other) => chance(other) - chance(one)).slice(0, CLASSES);
  const left = places.length - drawn.length;
  return h(
    "div",
    { class: "prediction" },
    h(
      "p",
      { class: "decision" },
      h("bdi", {}, label),
      " ",
      h("span", { class: "quiet" }, number(top(probabilities))),
      run && h("span", { class: "by" }, "run ", h("bdi", {}, run)),
    ),
    h(
      "dl",
      { class: "classes" },
      drawn.sort((one, other) => one - other).map((place) => classBar(probabilities[place], before?.[place])),
    ),
    left > 0 && h("p", { class: "small quiet" }, `and ${counted(left, "less likely class", "less likely classes")}`),
  );
}

const classBar = ({ label, probability }, before) =>
  h(
    "div",
    {},
    h("dt", {}, h("bdi", {}, label)),
    h(
      "dd",
      {},
      h(
        "span",
        { class: "share", "aria-hidden": "true" },
        h("i", { class: "part-of", vars: { "--p": `${100 * probability}%` } }),
        before && h("i", { class: "before", vars: { "--at": `${100 * before.probability}%` } }),
      ),
      h("span", { class: "value" }, number(probability)),
    ),
  );

const top = (probabilities) => Math.max(...probabilities.map((one) => one.probability));

/** A place for an answer: says that it works, what it found, or what went wrong. */
export function answerPlace(attributes = {}) {
  const element = h("div", { class: "answer", "aria-live": "polite", ...attributes });
  return {
    element,
    show: (...children) => {
      element.removeAttribute("aria-busy");
      fill(element, ...children);
    },
    wait: () => element.setAttribute("aria-busy", "true"),
  };
}

/** Tell the frame of a problem, and show it. */
export function report(problem, place) {
  window.dispatchEvent(new CustomEvent("problem", { detail: problem }));
  const told = place.element?.querySelector(".failure")?.textContent;
  if (told !== problem.message) place.show(failure(problem)); // else it is there, and read out once
  if (!problem.kind) throw problem; // a slip of this page: let the console have it
}

/** What a view shows when there is no text yet. */
export const emptyText = (examples, ontext) =>
  h(
    "div",
    { class: "empty" },
    h("p", { class: "quiet" }, "The answer appears here while you type."),
    examples.length > 0 &&
      h(
        "div",
        {},
        h("p", { class: "small quiet" }, "Or try one of these:"),
        h(
          "ul",
          { class: "examples" },
          examples.map((text) =>
            h("li", {}, h("button", { type: "button", class: "example", onclick: () => ontext(text) }, text)),
          ),
        ),
      ),
  );
