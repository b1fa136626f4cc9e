// What if: attention as bars to drag, words to delete, and the prediction that follows.

import { ask, latest } from "./api.js";
import { weightBars } from "./bars.js";
import { answerPlace, emptyText, prediction, report, runField, sheetOf, textField } from "./composer.js";
import { fill, h, number, redraw } from "./dom.js";
import { examplesOf, noRun, runIn } from "./explain.js";
import { triesMap } from "./map.js";
import { inShort, without } from "./weights.js";

const KEPT = 200; // steps that can be undone
const DIFFERENT = 0.1; // nats from which on an attention is called different
const NAMES = { uniform: "Uniform", permuted: "Permute", random: "Random", frozen: "Frozen", adversarial: "Adversary" };
const HOW = "The height of a bar is the square root of the weight, so that small weights remain visible; the horizontal line marks the model’s own weight. Numbers are percentages. Click a word to delete it; double-click a bar to set it to 0.";

export function whatIf(context) {
  const text = textField(
    (value) => context.go({ text: value, deleted: [], weights: [] }),
    context.served.limits.text_characters,
  );
  const controls = h("div", { class: "controls" });
  const tools = h("div", { class: "toolbar", role: "group", "aria-label": "Change the attention" });
  const bars = weightBars({ onmove: follow, onset: (weights) => step({ weights: inShort(weights) }), ontoggle: toggle });
  const fixed = h("p", { class: "small quiet", id: "fixed", hidden: true });
  const stage = h("div", { class: "stage" }, tools, fixed, bars.element, h("p", { class: "small quiet" }, HOW));
  // Below the bars, so that they stay under the hand, and always in sight.
  const outcome = answerPlace({ id: "outcome", class: "answer at-hand" });
  const element = h(
    "section",
    { class: "view", "aria-labelledby": "view-title" },
    h("h1", { id: "view-title" }, "What if attention were different?"),
    h("p", { class: "asks" }, "Look for a different explanation with the same decision. Drag a bar, or focus it and press the arrow keys; Home sets it to 0, Delete removes the word."),
    controls,
    text.element,
    stage,
    outcome.element,
  );

  const at = (run, what) => `/api/runs/${encodeURIComponent(run)}/${what}`;
  const look = latest((run, body, signal) => ask(at(run, "attend"), { body, signal }));
  const swap = latest((run, body, signal) => ask(at(run, "replace"), { body, signal }));
  const past = [];
  const future = [];
  let about = ""; // the run and the text that all of this is of
  let sheet = null; // the server's last answer
  let visited = []; // JSD and TVD of the last answers
  let farthest = 0; // nats, of all that kept the prediction
  let seed = 0;

  async function update(state) {
    const run = runIn(context, state);
    const hasText = Boolean(state.text?.trim());
    redraw(controls, runField(context.served, run, (name) => context.go({ run: name, deleted: [], weights: [] }, { isStep: true })));
    text.show(state.text ?? "");
    stage.hidden = !run || !hasText;
    if (!run) return outcome.show(h("p", {}, noRun(context.served)));
    const now = JSON.stringify([run, state.text]);
    forget(now);
    if (!hasText) {
      look.abort();
      const examples = await examplesOf(context, run);
      if (now !== about) return;
      outcome.show(emptyText(examples, (value) => context.go({ text: value }, { isStep: true })));
      return;
    }
    const { deleted, weights } = position();
    await see(() => look(run, { text: state.text, deleted, weights: weights.length ? weights : null }));
  }

  /** Another run or text: what was tried on the last one is over. */
  function forget(now) {
    if (now === about) return;
    about = now;
    sheet = null;
    visited = [];
    farthest = 0;
    past.length = future.length = 0;
  }

  /** Ask, and draw the answer; after a problem the bars stay as they were. */
  async function see(question) {
    outcome.wait();
    try {
      const found = await question();
      if (!found) return;
      if (found.withheld) {
        stage.hidden = true;
        return outcome.show(h("p", { class: "withheld" }, found.withheld));
      }
      sheet = { ...found, isFixed: Boolean(sheetOf(context.served, found.run).why_fixed) };
      visited = [...visited.slice(1 - KEPT), { jsd: found.jsd, tvd: found.tvd }];
      if (found.tvd <= found.same_within) farthest = Math.max(farthest, found.jsd);
      bars.show(sheet);
      drawTools();
      outcome.show(finding(sheet, visited, farthest));
    } catch (problem) {
      stage.hidden = !sheet;
      if (!sheet) about = "";
      report(problem, outcome);
    }
  }

  // While a bar is dragged one question is on its way at a time, always about the newest weights.
  let next = null;
  let isAsking = false;
  async function follow(weights) {
    next = weights;
    if (isAsking) return;
    isAsking = true;
    try {
      while (next && sheet) {
        const body = { text: sheet.text, deleted: sheet.deleted, weights: inShort(next) };
        next = null;
        await see(() => look(sheet.run, body));
      }
    } finally {
      isAsking = false;
    }
  }

  /** What the address says of words and weights; no weights: the model's own. */
  function position() {
    return { deleted: context.state.deleted ?? [], weights: context.state.weights ?? [] };
  }

  /** A new position, which can be undone; weights that it does not name are the model's own. */
  function step({ deleted = position().deleted, weights = [] }) {
    next = null;
    swap.abort();
    past.push(position());
    past.splice(0, past.length - KEPT);
    future.length = 0;
    context.go({ deleted, weights });
  }

  function undo(from, to) {
    const before = from.pop();
    if (!before) return;
    to.push(position());
    context.go(before);
  }

  function pressUndo(event) {
    const key = event.key.toLowerCase();
    const isUndo = (event.ctrlKey || event.metaKey) && (key === "z" || key === "y");
    if (!isUndo || event.target.closest?.("textarea, input")) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) undo(future, past);
    else undo(past, future);
  }

  /** Delete a word, or put it back. */
  function toggle(place) {
    const { deleted, weights } = position();
    if (deleted.includes(place)) return step({ deleted: deleted.filter((one) => one !== place) });
    if (sheet.words.length - deleted.length < 2) return;
    const kept = place - deleted.filter((one) => one < place).length; // among those that are left
    step({
      deleted: [...deleted, place].sort((one, other) => one - other),
      weights: weights.length ? inShort(without(weights, kept)) : [],
    });
  }

  async function replace(by) {
    const before = JSON.stringify([about, position()]);
    seed += 1;
    outcome.wait();
    try {
      const found = await swap(sheet.run, { text: sheet.text, deleted: sheet.deleted, by, seed });
      const isWanted = found && element.isConnected && before === JSON.stringify([about, position()]);
      if (isWanted) step({ weights: inShort(found.weights) });
    } catch (problem) {
      report(problem, outcome);
    }
  }

  function drawTools() {
    const focused = tools.contains(document.activeElement) ? document.activeElement.textContent : null;
    const tool = (label, onclick, isOff = false, title = null) =>
      h("button", { type: "button", onclick, disabled: isOff, title }, label);
    const { counterfactuals: had, why_fixed: whyFixed } = sheetOf(context.served, sheet.run);
    const others = context.served.counterfactuals
      .filter(({ name }) => had.includes(name))
      .toSorted((one, other) => (one.name === "adversarial") - (other.name === "adversarial"));
    const isAlone = sheet.own.length < 2;
    fixed.hidden = !whyFixed;
    fixed.textContent = whyFixed && `${whyFixed}. Words can be deleted.`;
    fill(
      tools,
      tool("Undo", () => undo(past, future), !past.length, "Ctrl+Z"),
      tool("Redo", () => undo(future, past), !future.length, "Ctrl+Shift+Z"),
      tool("Model’s own", () => step({}), !position().weights.length),
      others.map(({ name, summary }) => tool(NAMES[name] ?? name, () => replace(name), isAlone, summary)),
      tool("Restore all words", () => step({ deleted: [] }), !sheet.deleted.length),
    );
    if (focused === null) return;
    const enabled = [...tools.children].filter((one) => !one.disabled);
    (enabled.find((one) => one.textContent === focused) ?? enabled[0])?.focus();
  }

  document.addEventListener("keydown", pressUndo);
  return {
    element,
    update,
    data: () => ({ view: "whatif", answer: sheet, visited }),
    leave: () => document.removeEventListener("keydown", pressUndo),
  };
}

/** The outcome: the prediction, a sentence, the distances, and a map of all tries. */
function finding(sheet, visited, farthest) {
  const [tone, sentence] = told(sheet);
  const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return h(
    "div",
    { class: "outcome" },
    prediction({ label: sheet.prediction, probabilities: sheet.probabilities, before: sheet.own_probabilities, run: sheet.run }),
    h(
      "div",
      { class: "finding" },
      h("p", { class: `finding-line ${tone}` }, sentence),
      h(
        "dl",
        { class: "facts tight" },
        fact("change in attention (JSD)", `${number(sheet.jsd)} of at most ${number(sheet.largest_jsd, 2)} nats`),
        fact("change in prediction (TVD)", `${number(sheet.tvd)}; the same up to ${number(sheet.same_within, 2)}`),
        fact("largest so far, same prediction", farthest > 0 ? `${number(farthest)} nats` : "none yet"),
      ),
    ),
    triesMap(visited, sheet),
    sheet.is_cut && h("p", { class: "small quiet" }, `The model reads the first ${sheet.longest} of a text; the rest is ignored.`),
  );
}

function told({ jsd, tvd, prediction: label, own_prediction: own, same_within: same, deleted, isFixed }) {
  const words = deleted.length ? " on the remaining words" : "";
  if (label !== own) return ["bad", `The decision changed: ${own} under the model’s own attention${words}, ${label} under this one.`];
  if (jsd < 0.001) return ["open", `This is the model’s own attention${words}.${isFixed ? "" : " Change it and see whether the prediction changes."}`];
  if (tvd > same) return ["open", `The decision is the same, but the prediction changed by ${number(tvd)}: attention matters here.`];
  const isDifferent = jsd >= DIFFERENT;
  return [isDifferent ? "good" : "open", `${isDifferent ? "A different" : "A slightly different"} attention, the same prediction: the prediction alone cannot distinguish it from the model’s own.`];
}
