// Compare: the same text as several runs see it.

import { ask, latest } from "./api.js";
import { answerPlace, emptyText, prediction, readable, report, textField } from "./composer.js";
import { h, number, redraw } from "./dom.js";
import { examplesOf, measurePicker, noRun } from "./explain.js";
import { judgedHeatMap, legend } from "./heat.js";

const USUAL = ["attention", "leave-one-out"];

export function compare(context) {
  const text = textField((value) => context.go({ text: value }), context.served.limits.text_characters);
  const controls = h("div", { class: "controls" });
  const place = answerPlace({ id: "comparison" });
  const element = h(
    "section",
    { class: "view", "aria-labelledby": "view-title" },
    h("h1", { id: "view-title" }, "Compare"),
    h("p", { class: "asks" }, "The same text, read by several runs: do they make the same decision, and for the same reasons?"),
    controls,
    text.element,
    place.element,
  );
  const look = latest((body, signal) => ask("/api/compare", { body, signal }));
  let asked = "";
  let found = null;

  async function update(state) {
    const names = readable(context.served).map((run) => run.name);
    const most = context.served.limits.runs_compared;
    const runs = (state.runs ?? names.slice(0, 2)).filter((name) => names.includes(name)).slice(0, most);
    const measures = state.measures ?? USUAL;
    redraw(
      controls,
      runPicker(names, runs, most, (chosen) => context.go({ runs: chosen })),
      measurePicker(context, runs, measures, (chosen) => context.go({ measures: chosen })),
    );
    text.show(state.text ?? "");
    if (!runs.length) {
      asked = "";
      look.abort();
      return place.show(h("p", { class: "quiet" }, names.length ? "Choose the runs to compare." : noRun(context.served)));
    }
    const asks = JSON.stringify([runs, state.text, measures]);
    if (asks === asked) return;
    asked = asks;
    if (!state.text?.trim()) {
      look.abort();
      found = null;
      const examples = await examplesOf(context, runs[0]);
      if (asks === asked) place.show(emptyText(examples, (value) => context.go({ text: value }, { isStep: true })));
      return;
    }
    place.wait();
    try {
      const sheet = await look({ runs, text: state.text, measures });
      if (!sheet) return;
      found = sheet;
      place.show(sideBySide(context, sheet));
    } catch (problem) {
      asked = "";
      found = null;
      report(problem, place);
    }
  }

  return { element, update, data: () => ({ view: "compare", comparison: found }) };
}

function runPicker(names, chosen, most, onchange) {
  const box = (name) =>
    h(
      "label",
      {},
      h("input", {
        type: "checkbox",
        value: name,
        checked: chosen.includes(name),
        disabled: !chosen.includes(name) && chosen.length >= most,
        onchange: ({ target }) =>
          onchange([...target.closest("fieldset").querySelectorAll("input:checked")].map((one) => one.value)),
      }),
      h("bdi", {}, name),
    );
  return h("fieldset", { class: "runs-chosen" }, h("legend", {}, "Runs"), names.map(box));
}

function sideBySide(context, { runs, agreements, distances }) {
  return [
    agreements.length > 0 && betweenRuns(agreements, distances),
    runs.filter((sheet) => !sheet.withheld).length > 1 && !agreements.length && h("p", { class: "quiet small" }, "These runs split the text into different words, so their attention cannot be compared word by word."),
    legend(),
    h(
      "div",
      { class: "beside-each-other" },
      runs.map((sheet) =>
        h(
          "article",
          { class: "document", "aria-label": sheet.run },
          h("header", {}, h("h2", {}, h("a", { href: context.href({ view: "explain", run: sheet.run, text: sheet.text }) }, h("bdi", {}, sheet.run)))),
          prediction({ label: sheet.prediction, probabilities: sheet.probabilities }),
          sheet.withheld ? h("p", { class: "withheld" }, sheet.withheld) : judgedHeatMap(sheet),
        ),
      ),
    ),
  ];
}

const betweenRuns = (agreements, distances) =>
  h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Similarity of the runs’ attention" },
    h(
      "table",
      { class: "between" },
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, "attention of"), ["rank agreement (τ)", "same top words", "distance (JSD, nats)"].map((name) => h("th", { scope: "col", class: "figures-right" }, name))),
      ),
      h(
        "tbody",
        {},
        agreements.map(({ first, second, kendall_tau: tau, top_overlap: overlap }, place) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("bdi", {}, first), " and ", h("bdi", {}, second)),
            h("td", { class: "figures-right" }, number(tau, 2)),
            h("td", { class: "figures-right" }, number(100 * overlap, 0), "%"),
            h("td", { class: "figures-right" }, number(distances[place].jsd)),
          ),
        ),
      ),
    ),
  );
