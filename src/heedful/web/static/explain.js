// Explain: a text, its prediction, and what each measure points at.

import { ask, latest } from "./api.js";
import { answerPlace, emptyText, prediction, readable, report, runField, sheetOf, textField } from "./composer.js";
import { fill, h, number, redraw } from "./dom.js";
import { judgedHeatMap, legend } from "./heat.js";

export function explain(context) {
  const text = textField(
    (value) => context.go({ text: value }),
    context.served.limits.text_characters,
  );
  const controls = h("div", { class: "controls" });
  const first = answerPlace({ id: "prediction" });
  const rest = answerPlace({ id: "explanation" });
  const element = h(
    "section",
    { class: "view", "aria-labelledby": "view-title" },
    h("h1", { id: "view-title" }, "Explain"),
    h("p", { class: "asks" }, "Which words does each measure call important for the decision, and do the measures agree?"),
    controls,
    text.element,
    first.element,
    rest.element,
  );
  // The prediction is asked for by itself: it is there at once, whatever the measures take.
  const predict = latest((run, body, signal) => ask(`/api/runs/${encodeURIComponent(run)}/attend`, { body, signal }));
  const measure = latest((run, body, signal) => ask(`/api/runs/${encodeURIComponent(run)}/explain`, { body, signal }));
  let asked = "";
  let found = null;

  async function update(state) {
    const run = runIn(context, state);
    drawControls(run, state);
    text.show(state.text ?? "");
    if (!run) {
      asked = "";
      rest.show();
      return first.show(h("p", {}, noRun(context.served)));
    }
    const measures = measuresOf(context, run, state);
    const asks = JSON.stringify([run, state.text, measures]);
    if (asks === asked) return;
    asked = asks;
    if (!state.text?.trim()) {
      predict.abort();
      measure.abort();
      found = null;
      const examples = await examplesOf(context, run);
      if (asks !== asked) return;
      first.show(emptyText(examples, (value) => context.go({ text: value }, { isStep: true })));
      rest.show();
      return;
    }
    first.wait();
    rest.wait();
    const quick = predict(run, { text: state.text }).then((sheet) => {
      if (!sheet) return;
      const { label } = sheet.decided.reduce((best, one) => (one.probability > best.probability ? one : best));
      first.show(prediction({ label, probabilities: sheet.decided, run }));
    });
    const slow = measure(run, { text: state.text, measures }).then((sheet) => {
      if (!sheet) return;
      found = sheet;
      rest.show(explanation(context, sheet));
    });
    for (const [work, place] of [
      [quick, first],
      [slow, rest],
    ])
      work.catch((problem) => {
        asked = "";
        found = null;
        if (place === rest && first.element.querySelector(".failure")) return rest.show();
        report(problem, place);
      });
  }

  function drawControls(run, state) {
    redraw(
      controls,
      runField(context.served, run, (name) => context.go({ run: name }, { isStep: true })),
      measurePicker(context, [run], measuresOf(context, run, state), (measures) => context.go({ measures })),
    );
  }

  return { element, update, data: () => ({ view: "explain", explanation: found }) };
}

/** The explanation: heat maps, agreement, and what happens without the top words. */
function explanation(context, sheet) {
  if (sheet.withheld) return [h("p", { class: "withheld" }, sheet.withheld)];
  const measures = Object.keys(sheet.scores);
  return [
    h("h2", {}, "Which words each measure points at"),
    legend(),
    h("article", { class: "document" }, judgedHeatMap(sheet, measures)),
    h(
      "p",
      { class: "onward" },
      h("a", { href: context.href({ view: "whatif", run: sheet.run, text: sheet.text }) }, "What if attention were different?"),
      h("a", { href: context.href({ view: "compare", text: sheet.text }) }, "Compare runs on this text"),
    ),
    h("div", { class: "columns" }, agreementTable(sheet, measures), deletionTable(sheet)),
  ];
}

function agreementTable({ agreements }, measures) {
  if (measures.length < 2) return null;
  const between = (one, other) =>
    agreements.find(({ first, second }) => [first, second].includes(one) && [first, second].includes(other));
  return h(
    "section",
    { "aria-labelledby": "agreement-title" },
    h("h2", { id: "agreement-title" }, "Do the measures rank words alike?"),
    h("p", { class: "quiet small" }, "Kendall’s τ between the sizes of two measures’ scores. 1: the same order; 0: unrelated; −1: reversed."),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rank agreement of the measures" },
      h(
        "table",
        { class: "agreement" },
        h("thead", {}, h("tr", {}, h("td", {}), measures.slice(0, -1).map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          measures.slice(1).map((row, place) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, row),
              measures.slice(0, -1).map((column, at) => {
                if (at > place) return h("td", {});
                const tau = between(row, column)?.kendall_tau ?? null;
                return h("td", { class: "figures-right tau", vars: { "--t": Math.max(0, tau ?? 0).toFixed(2) } }, number(tau, 2));
              }),
            ),
          ),
        ),
      ),
    ),
  );
}

function deletionTable({ deletions, prediction: label }) {
  if (!deletions.length) return null;
  const byMeasure = Map.groupBy(deletions, (one) => one.measure);
  const most = Math.max(...[...byMeasure.values()].map((some) => some.length));
  const names = Array.from({ length: most }, (_, place) => (place ? `without ${place + 1} words` : "without the top word"));
  return h(
    "section",
    { "aria-labelledby": "without-title" },
    h("h2", { id: "without-title" }, "Without the top words"),
    h("p", { class: "quiet small" }, "Probability of ", h("bdi", {}, label), " after the words that a measure ranks first are deleted, one after another. The better a measure knows the reasons, the further the probability falls."),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Probability without the top words" },
      h(
        "table",
        { class: "without" },
        h("thead", {}, h("tr", {}, ["measure", ...names].map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          [...byMeasure].map(([measure, some]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, measure),
              some.map(({ words, probability }) => h("td", {}, h("span", { class: "value" }, number(probability)), h("bdi", { class: "small quiet" }, words.at(-1)))),
            ),
          ),
        ),
      ),
    ),
  );
}

let pending = null;

/** Several boxes ticked in a row are one question. */
function soon(run) {
  clearTimeout(pending);
  pending = setTimeout(run, 300);
}

/** The measures of the state that a run has, or else its usual ones. */
function measuresOf(context, run, state) {
  const { measures: had = [], usual_measures: usual = [] } = sheetOf(context.served, run);
  const chosen = (state.measures ?? []).filter((name) => had.includes(name));
  return chosen.length ? chosen : usual;
}

/** Which measures are shown, of those that some of the runs have. */
export function measurePicker(context, runs, chosen, onchange) {
  const had = new Set(runs.flatMap((run) => sheetOf(context.served, run).measures ?? []));
  const offered = context.served.measures.filter(({ name }) => had.has(name));
  const box = ({ name, summary }) =>
    h(
      "label",
      { title: summary },
      h("input", {
        type: "checkbox",
        value: name,
        checked: chosen.includes(name),
        onchange: ({ target }) => {
          const boxes = [...target.closest("fieldset").querySelectorAll("input:checked")];
          if (!boxes.length) {
            target.checked = true;
            return;
          }
          soon(() => onchange(boxes.map((one) => one.value)));
        },
      }),
      name,
    );
  return h(
    "details",
    { class: "picker menu" },
    h("summary", {}, `Measures (${chosen.length})`),
    h("fieldset", {}, h("legend", { class: "quiet small" }, "Shown, in this order"), offered.map(box)),
  );
}

/** The run of the state, or the first that can be read. */
export function runIn(context, state) {
  const names = readable(context.served).map((run) => run.name);
  return names.includes(state.run) ? state.run : names[0];
}

export function noRun(served) {
  return served.runs.length
    ? "None of the served runs can be used here: they have no attention, or their folders are missing."
    : "No run is served. To explain texts, start heedful serve with a run folder.";
}

/** Texts to begin with: those that the audit of a run picked. */
export async function examplesOf(context, run) {
  const name = context.served.runs.find((one) => one.name === run)?.audits[0];
  if (!name) return [];
  try {
    const { shown } = await ask(`/api/audits/${encodeURIComponent(name)}`);
    return [...new Set(shown.map((one) => one.text))].filter((text) => text.length < 200).slice(0, 4);
  } catch {
    return [];
  }
}
