// Messages to the reader: what is wrong, what is waited for. One line for each kind of matter.

import { fill, h } from "./dom.js";

const place = () => document.getElementById("notices");
const shown = new Map();

/** Show a message about a matter in place of the last one about it. */
export function tell(matter, message, { tone = "open", action = null } = {}) {
  if (shown.get(matter)?.message === message) return;
  shown.set(matter, { message, tone, action });
  draw();
}

export function untell(matter) {
  if (shown.delete(matter)) draw();
}

function draw() {
  fill(
    place(),
    [...shown].map(([matter, { message, tone, action }]) =>
      h(
        "p",
        { class: `notice ${tone}` },
        message,
        h(
          "span",
          { class: "notice-tools" },
          action && h("button", { type: "button", onclick: action.run }, action.label),
          h("button", { type: "button", class: "plain", "aria-label": "dismiss", onclick: () => untell(matter) }, "×"),
        ),
      ),
    ),
  );
}

/** What went wrong, where the answer would have stood. */
export const failure = (problem) =>
  h("div", { class: "failure", role: "alert" }, h("p", {}, problem.message));
