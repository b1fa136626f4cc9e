// What if: attention as bars to drag, words to delete, and the prediction that follows.

import { ask, latest } from "./api.js";
import { answerPlace, emptyText, prediction, report, runField, textField } from "./composer.js";
import { fill, h, number, percent, wordsOf } from "./dom.js";
import { examplesOf, noRun, runIn } from "./explain.js";
import { heightOf, inShort, weightAt, withShare, without } from "./weights.js";

const FINE = 0.01; // share of attention that an arrow key moves
const COARSE = 0.1; // that Page up and Page down move
const KEPT = 200; // steps that can be undone
const NAMES = {
  uniform: "Uniform",
  permuted: "Permute",
  random: "Random",
  frozen: "Frozen",
  adversarial: "Adversary",
};

export function whatIf(context) {
  const text = textField(
    (value) => context.go({ text: value, deleted: [], weights: [] }),
    context.served.limits.text_characters,
  );
  const controls = h("div", { class: "controls" });
  const tools = h("div", { class: "toolbar", role: "group", "aria-label": "Change the attention" });
  const bars = h("div", { class: "bars", role: "group", "aria-label": "Attention of each word" });
  const outcome = answerPlace({ id: "outcome" });
  const stage = h("div", { class: "stage" }, tools, bars, h("p", { class: "small quiet" }, "Bars are drawn by the square root of the weight, so that small ones can be seen and large ones reached; the stroke across is the model’s own. Numbers are percent. A click on a word deletes it, a double click on a bar sets it to 0."));
  const element = h(
    "section",
    { class: "view", "aria-labelledby": "view-title" },
    h("h1", { id: "view-title" }, "What if attention were different?"),
    h("p", { class: "asks" }, "Look for a different explanation with the same decision. Drag a bar; or focus it and use the arrow keys, Home for 0, Delete to take the word out."),
    controls,
    text.element,
    outcome.element,
    stage,
  );

  const look = latest((run, body, signal) => ask(`/api/runs/${encodeURIComponent(run)}/attend`, { body, signal }));
  const swap = latest((run, body, signal) => ask(`/api/runs/${encodeURIComponent(run)}/replace`, { body, signal }));
  let about = ""; // run and text that the history is of
  let sheet = null; // the server's last answer
  let weights = null; // what the bars show
  let seed = 0;
  let visited = []; // { jsd, tvd } of every answer about this text
  const history = { past: [], future: [] };

  async function update(state) {
    const run = runIn(context, state);
    if (!controls.contains(document.activeElement))
      fill(controls, runField(context.served, run, (name) => context.go({ run: name, weights: [] }, { isStep: true })));
    text.show(state.text ?? "");
    stage.hidden = !run || !state.text?.trim();
    if (!run) return outcome.show(h("p", {}, noRun(context.served)));
    const asks = JSON.stringify([run, state.text]);
    if (asks !== about) {
      about = asks;
      sheet = weights = null;
      visited = [];
      history.past = [];
      history.future = [];
    }
    if (!state.text?.trim()) {
      outcome.show(emptyText(await examplesOf(context, run), (value) => context.go({ text: value }, { isStep: true })));
      return;
    }
    await see(() => look(run, { text: state.text, deleted: state.deleted ?? [], ...given(state.weights) }));
  }

  const given = (list) => (list?.length ? { weights: list } : {});

  /** Ask, and draw the answer; a problem is told and the bars stay as they were. */
  async function see(question) {
    outcome.wait();
    try {
      const found = await question();
      if (!found) return;
      const isSameWords = sheet && sheet.text === found.text && String(sheet.deleted) === String(found.deleted) && sheet.run === found.run;
      sheet = found;
      visited.push({ jsd: found.jsd, tvd: found.tvd });
      if (!isDragging) weights = found.weights;
      if (isSameWords) moveBars();
      else drawBars();
      drawTools();
      drawOutcome();
    } catch (problem) {
      stage.hidden = !sheet;
      about = sheet ? about : "";
      report(problem, outcome);
    }
  }

  /** A new state of the bars and the words, to be undone. `ownWeights`: back to the model's. */
  function step(changes) {
    history.past.push({ deleted: sheet.deleted, weights: isOwn() ? [] : inShort(weights) });
    history.past.splice(0, history.past.length - KEPT);
    history.future = [];
    apply(changes);
  }

  const isOwn = () => sheet.jsd < 1e-9;
  const apply = ({ deleted = sheet.deleted, weights: list = [] }) => context.go({ deleted, weights: list });

  function undo(from, to) {
    const before = from.pop();
    if (!before) return;
    to.push({ deleted: sheet.deleted, weights: isOwn() ? [] : inShort(weights) });
    apply(before);
  }

  async function replace(by) {
    const { run, text: words, deleted } = sheet;
    seed += 1;
    let found = null;
    outcome.wait();
    try {
      found = await swap(run, { text: words, deleted, by, seed });
    } catch (problem) {
      return report(problem, outcome);
    }
    if (found) step({ weights: inShort(found.weights) });
  }

  // ----- bars -----

  let isDragging = false;

  function drawBars() {
    const kept = new Map();
    sheet.words.forEach((_, place) => {
      if (!sheet.deleted.includes(place)) kept.set(place, kept.size);
    });
    const focused = bars.contains(document.activeElement) ? document.activeElement.closest("[data-place]")?.dataset.place : null;
    fill(
      bars,
      wordsOf(sheet.text, sheet.words).map((word, place) =>
        kept.has(place) ? column(word, place, kept.get(place)) : goneWord(word, place),
      ),
    );
    moveBars();
    if (focused !== null && focused !== undefined)
      bars.querySelector(`[data-place="${focused}"] :is([role=slider], button)`)?.focus();
  }

  function column(word, place, at) {
    const slider = h("div", {
      class: "slider",
      role: "slider",
      tabindex: "0",
      "aria-label": `attention of ${word}`,
      "aria-orientation": "vertical",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "data-at": String(at),
    }, h("i", { class: "own" }), h("i", { class: "now" }));
    slider.addEventListener("pointerdown", (event) => startDrag(event, slider, at));
    slider.addEventListener("keydown", (event) => pressKey(event, at, place));
    slider.addEventListener("dblclick", () => step({ weights: inShort(withShare(weights, at, 0)) }));
    return h(
      "div",
      { class: "column", "data-place": String(place) },
      h("span", { class: "weight", "aria-hidden": "true" }),
      slider,
      h(
        "button",
        { type: "button", class: "word-button", title: "Delete this word", "aria-label": `delete ${word}`, onclick: () => remove(place) },
        h("bdi", {}, word),
      ),
    );
  }

  const goneWord = (word, place) =>
    h(
      "div",
      { class: "column gone", "data-place": String(place) },
      h("button", { type: "button", class: "word-button", title: "Put this word back", "aria-label": `put back ${word}`, onclick: () => restore(place) }, h("bdi", {}, word)),
    );

  function moveBars() {
    for (const slider of bars.querySelectorAll(".slider")) {
      const at = Number(slider.dataset.at);
      slider.style.setProperty("--now", heightOf(weights[at]));
      slider.style.setProperty("--own", heightOf(sheet.own[at]));
      slider.setAttribute("aria-valuenow", (100 * weights[at]).toFixed(1));
      slider.setAttribute("aria-valuetext", `${percent(weights[at])}; the model gives it ${percent(sheet.own[at])}`);
      slider.previousElementSibling.textContent = weights[at] >= 0.0005 ? number(100 * weights[at], 1) : "0";
    }
  }

  function startDrag(event, slider, at) {
    if (event.button !== 0) return;
    event.preventDefault();
    slider.focus();
    slider.setPointerCapture(event.pointerId);
    const before = { deleted: sheet.deleted, weights: isOwn() ? [] : inShort(weights) };
    let isMoved = false;
    const drag = (move) => {
      const box = slider.getBoundingClientRect();
      weights = withShare(weights, at, weightAt((box.bottom - move.clientY) / box.height));
      isMoved = isDragging = true;
      moveBars();
      follow();
    };
    const end = () => {
      slider.removeEventListener("pointermove", drag);
      isDragging = false;
      if (!isMoved) return;
      history.past.push(before);
      history.future = [];
      apply({ weights: inShort(weights) });
    };
    slider.addEventListener("pointermove", drag);
    slider.addEventListener("lostpointercapture", end, { once: true });
  }

  // While a bar is dragged one question is on its way at a time, always about the newest weights.
  let isAsking = false;
  let isStale = false;
  async function follow() {
    if (isAsking) {
      isStale = true;
      return;
    }
    isAsking = true;
    do {
      isStale = false;
      const { run, text: words, deleted } = sheet;
      await see(() => look(run, { text: words, deleted, weights: inShort(weights) }));
    } while (isStale && isDragging);
    isAsking = false;
  }

  function pressKey(event, at, place) {
    const moves = { ArrowUp: FINE, ArrowRight: FINE, ArrowDown: -FINE, ArrowLeft: -FINE, PageUp: COARSE, PageDown: -COARSE };
    const share = { Home: 0, 0: 0, End: 1 }[event.key] ?? (event.key in moves ? weights[at] + moves[event.key] : null);
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      remove(place);
    } else if (share !== null && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      weights = withShare(weights, at, Math.min(1, Math.max(0, share)));
      moveBars();
      step({ weights: inShort(weights) });
    }
  }

  function remove(place) {
    if (weights.length === 1) return;
    const at = sheet.words.map((_, one) => one).filter((one) => !sheet.deleted.includes(one)).indexOf(place);
    step({
      deleted: [...sheet.deleted, place].sort((one, other) => one - other),
      weights: isOwn() ? [] : inShort(without(weights, at)),
    });
  }

  const restore = (place) => step({ deleted: sheet.deleted.filter((one) => one !== place) });

  element.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.tagName === "TEXTAREA") return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) undo(history.future, history.past);
    else undo(history.past, history.future);
  });

  // ----- what came of it -----

  function drawTools() {
    const focused = tools.contains(document.activeElement) ? document.activeElement.textContent : null;
    const tool = (label, run, isOff = false, title = null) =>
      h("button", { type: "button", onclick: run, disabled: isOff, title }, label);
    fill(
      tools,
      tool("Undo", () => undo(history.past, history.future), !history.past.length, "Ctrl+Z"),
      tool("Redo", () => undo(history.future, history.past), !history.future.length, "Ctrl+Shift+Z"),
      tool("Model’s own", () => step({}), isOwn()),
      context.served.counterfactuals
        .slice()
        .sort((one, other) => (one.name === "adversarial") - (other.name === "adversarial"))
        .map(({ name, summary }) => tool(NAMES[name] ?? name, () => replace(name), weights.length < 2, summary)),
      tool("All words back", () => step({ deleted: [] }), !sheet.deleted.length),
    );
    if (focused) [...tools.children].find((one) => one.textContent === focused && !one.disabled)?.focus();
  }

  function drawOutcome() {
    const best = visited.filter((one) => one.tvd <= sheet.same_within).reduce((most, one) => Math.max(most, one.jsd), 0);
    const [tone, sentence] = told(sheet);
    outcome.show(
      h(
        "div",
        { class: "outcome" },
        prediction({ label: sheet.prediction, probabilities: sheet.probabilities, before: sheet.own_probabilities }),
        h(
          "div",
          { class: "finding" },
          h("p", { class: `finding-line ${tone}` }, sentence),
          h(
            "dl",
            { class: "facts tight" },
            fact("attention moved (JSD)", `${number(sheet.jsd)} of at most ${number(sheet.largest_jsd, 2)} nats`),
            fact("prediction moved (TVD)", `${number(sheet.tvd)}; the same up to ${number(sheet.same_within, 2)}`),
            fact("farthest so far, same prediction", best > 0 ? `${number(best)} nats` : "none yet"),
          ),
        ),
        map(visited, sheet),
      ),
    );
  }

  return {
    element,
    update,
    data: () => ({ view: "whatif", answer: sheet, visited }),
  };
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function told({ jsd, tvd, prediction: label, own_prediction: own, same_within: same, deleted }) {
  const words = deleted.length ? " on the words that are left" : "";
  if (label !== own) return ["bad", `The decision turned: ${own} under the model’s own attention${words}, ${label} under this one.`];
  if (jsd < 0.001) return ["open", `This is the model’s own attention${words}. Move it, and see whether the prediction follows.`];
  if (tvd <= same)
    return [jsd >= 0.1 ? "good" : "open", `${jsd >= 0.1 ? "A different" : "A slightly different"} attention, the same prediction: it would explain this decision as well as the model’s own does.`];
  return ["open", `The decision holds, but the prediction moved by ${number(tvd)}: attention matters here.`];
}

/** Where all tries of this text stand: how far attention moved, and how far the prediction did. */
function map(visited, { largest_jsd: widest, same_within: same }) {
  const [width, height, left, bottom] = [210, 130, 26, 22];
  const make = (tag, attributes, text = null) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    if (text !== null) one.textContent = text;
    return one;
  };
  const x = (jsd) => left + (jsd / widest) * (width - left - 6);
  // Small moves are what matters: the root spreads them.
  const y = (tvd) => 6 + (1 - Math.sqrt(Math.min(1, tvd))) * (height - bottom - 6);
  const picture = make("svg", { viewBox: `0 0 ${width} ${height}`, class: "map", role: "img", "aria-label": `${visited.length} tries: attention moved against prediction moved` });
  picture.append(
    make("rect", { x: left, y: y(same), width: width - left - 6, height: height - bottom - y(same), class: "same" }),
    make("path", { d: `M${left} 6V${height - bottom}H${width - 6}`, class: "axes" }),
    make("text", { x: (width + left) / 2, y: height - 6, "text-anchor": "middle" }, "attention moved"),
    make("text", { x: 10, y: (height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${(height - bottom) / 2})` }, "prediction moved"),
    ...visited.slice(-KEPT).map(({ jsd, tvd }, place, all) =>
      make("circle", { cx: x(jsd), cy: y(tvd), r: place === all.length - 1 ? 4.5 : 2.5, class: place === all.length - 1 ? "now" : "then" }),
    ),
  );
  return picture;
}
