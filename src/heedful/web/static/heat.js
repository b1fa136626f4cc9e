// A text once per measure: the user's own words in colour, line under line.
//
// Orange: for the prediction; blue: against it; green: scores without a sign. Long texts fold around the words that matter,
// in every line alike, so that lines stay aligned.

import { counted, fill, gapsOf, h, number, wordsOf } from "./dom.js";

const LONG = 60; // words from which on a text folds
const MATTERING = 5; // words of each measure that stay unfolded
const AROUND = 7; // words on each side of them
const WORTH_FOLDING = 8; // words; shorter stretches stay
const UNREAD = 200; // characters shown of what a model leaves unread
const TOP = 3; // words that are underlined and written out

/** The heat map of an answer; `measures` says which scores in which order. */
export function heatMap({ text, words, scores, unsigned, is_cut: isCut, longest }, measures = Object.keys(scores)) {
  const map = {
    words: wordsOf(text, words),
    gaps: gapsOf(text, words),
    scores,
    unsigned,
    measures,
    folds: foldsOf(words.length, measures.map((measure) => scores[measure])),
  };
  const card = h("div", { class: "card", role: "tooltip", id: `card-${(heatMap.count = (heatMap.count ?? 0) + 1)}`, hidden: true });
  const lines = h("div", { class: "heat" });
  const draw = () => fill(lines, measures.map((measure, row) => line(map, measure, row, card, draw)));
  draw();
  const whole = h(
    "div",
    { class: "heat-map" },
    lines,
    isCut && h("p", { class: "small quiet" }, `The model reads the first ${longest} of a text; the rest is shown without colour.`),
    card,
  );
  whole.addEventListener("pointerover", (event) => point(whole, card, map, event.target));
  whole.addEventListener("focusin", (event) => point(whole, card, map, event.target));
  whole.addEventListener("pointerleave", () => unpoint(whole, card));
  whole.addEventListener("focusout", () => unpoint(whole, card));
  whole.addEventListener("keydown", (event) => {
    if (event.key === "Escape") unpoint(whole, card);
  });
  return whole;
}

const ATTENTION = "attention"; // the measure whose heat map an audit's rule may withhold

/** The heat map of an answer; where its attention should not be shown, why, and a way to look. */
export function judgedHeatMap(sheet, measures = Object.keys(sheet.scores)) {
  if (sheet.shown === null || !measures.includes(ATTENTION)) return heatMap(sheet, measures);
  if (sheet.shown)
    return [h("p", { class: "showing small quiet" }, `The heat map of attention may be shown. ${sheet.why}`), heatMap(sheet, measures)];
  const others = measures.filter((measure) => measure !== ATTENTION);
  const place = h("div", {}, others.length > 0 && heatMap(sheet, others));
  const look = h("button", { type: "button", onclick: () => lookAnyway() }, "Show it anyway (not safe)");
  const notice = h(
    "div",
    { class: "showing withheld" },
    h("p", {}, h("strong", {}, "The heat map of attention should not be shown. "), sheet.why),
    look,
  );
  const lookAnyway = () => {
    look.replaceWith(h("p", { class: "small" }, "Shown below anyway (not safe)."));
    fill(place, heatMap(sheet, measures));
  };
  return [notice, place];
}

export const legend = () =>
  h(
    "p",
    { class: "legend" },
    h("span", {}, h("mark", { class: "unsigned", vars: { "--s": 1 } }, "green"), " weight without a sign, such as attention"),
    h("span", {}, h("mark", { vars: { "--s": 1 } }, "orange"), " supports the prediction"),
    h("span", {}, h("mark", { class: "against", vars: { "--s": 1 } }, "blue"), " opposes it"),
    h("span", {}, "the strongest colour marks each line’s largest score"),
  );

function line(map, measure, row, card, redraw) {
  const scores = map.scores[measure];
  const largest = Math.max(...scores.map((score) => Math.abs(score ?? 0))) || 1;
  const strongest = topPlaces(scores, TOP).filter((place) => scores[place]);
  const pieces = [];
  let fold = 0;
  for (let place = 0; place < map.words.length; place += 1) {
    while (fold < map.folds.length && map.folds[fold].end <= place) fold += 1;
    const folded = map.folds[fold];
    if (folded && !folded.isOpen && place >= folded.start) {
      if (place === folded.start) pieces.push(" ", foldButton(folded, row, redraw), " ");
      continue;
    }
    pieces.push(map.gaps.before[place]);
    pieces.push(wordSpan(map, place, (scores[place] ?? 0) / largest, strongest.includes(place), row, card, map.unsigned.includes(measure)));
  }
  pieces.push(shortened(map.gaps.after));
  const text = h("p", { class: "text", dir: "auto" }, pieces);
  if (row === 0) prepareKeys(text);
  return [
    h("p", { class: "measure" }, measure),
    text,
    h(
      "p",
      { class: "strongest" },
      strongest.map((place) => h("span", {}, h("bdi", {}, map.words[place]), " ", number(scores[place]))),
    ),
  ];
}

function wordSpan(map, place, strength, isTop, row, card, isUnsigned) {
  const kind = ["word", isUnsigned ? "unsigned" : strength < 0 && "against", isTop && "strong", Math.abs(strength) < 0.04 && "pale"];
  const attributes = {
    class: kind.filter(Boolean).join(" "),
    "data-place": String(place),
    vars: { "--s": Math.abs(strength).toFixed(2) },
  };
  // One line can be walked with the keyboard; its words show the scores of all.
  if (row === 0)
    Object.assign(attributes, { type: "button", tabindex: "-1", "aria-describedby": card.id });
  return h(row === 0 ? "button" : "mark", attributes, map.words[place]);
}

/** What the model does not read, and nobody needs to read once per measure. */
const shortened = (rest) => (rest.length > UNREAD ? `${rest.slice(0, UNREAD)}…` : rest);

const foldButton = (folded, row, redraw) =>
  h(
    "button",
    {
      type: "button",
      class: "fold",
      tabindex: row === 0 ? "0" : "-1",
      title: "Show them",
      onclick: ({ target }) => {
        const map = target.closest(".heat-map");
        folded.isOpen = true;
        redraw();
        map.querySelector(`button.word[data-place="${folded.start}"]`).focus();
      },
    },
    `… ${counted(folded.end - folded.start, "word")} …`,
  );

/** Stretches of words that matter to no measure. */
function foldsOf(count, lines) {
  if (count <= LONG) return [];
  const isKept = new Array(count).fill(false);
  for (const scores of lines)
    for (const place of topPlaces(scores, MATTERING))
      isKept.fill(true, Math.max(0, place - AROUND), Math.min(count, place + AROUND + 1));
  const folds = [];
  for (let start = 0; start < count; start += 1) {
    if (isKept[start]) continue;
    let end = start;
    while (end < count && !isKept[end]) end += 1;
    if (end - start >= WORTH_FOLDING) folds.push({ start, end, isOpen: false });
    start = end;
  }
  return folds;
}

const topPlaces = (scores, count) =>
  scores
    .map((score, place) => [Math.abs(score ?? 0), place])
    .sort(([one, first], [other, second]) => other - one || first - second)
    .slice(0, count)
    .map(([, place]) => place);

/** Arrow keys walk from word to word; only one of them is a stop of the tab key. */
function prepareKeys(text) {
  const first = text.querySelector("button.word");
  if (first) first.tabIndex = 0;
  text.addEventListener("keydown", (event) => {
    const words = [...text.querySelectorAll("button.word")];
    const at = words.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: words.length - 1 }[event.key];
    if (at < 0 || to === undefined || !words[to]) return;
    event.preventDefault();
    words[at].tabIndex = -1;
    words[to].tabIndex = 0;
    words[to].focus();
  });
}

/** All scores of the word under the pointer. */
function point(whole, card, map, target) {
  const place = target.closest?.("[data-place]")?.dataset.place;
  if (place === undefined) return unpoint(whole, card);
  for (const word of whole.querySelectorAll(".pointed")) word.classList.remove("pointed");
  for (const word of whole.querySelectorAll(`[data-place="${place}"]`)) word.classList.add("pointed");
  fill(
    card,
    h("p", { class: "card-word" }, h("bdi", {}, map.words[place])),
    h(
      "table",
      {},
      map.measures.map((measure) => {
        const scores = map.scores[measure];
        const rank = 1 + scores.filter((one) => Math.abs(one ?? 0) > Math.abs(scores[place] ?? 0)).length;
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, measure),
          h("td", {}, number(scores[place], 4)),
          h("td", { class: "quiet" }, `${rank} of ${scores.length}`),
        );
      }),
    ),
  );
  card.hidden = false;
  const box = target.getBoundingClientRect();
  const left = Math.min(box.left, window.innerWidth - card.offsetWidth - 12);
  const below = box.bottom + 8;
  const isLow = below + card.offsetHeight > window.innerHeight;
  card.style.left = `${Math.max(8, left)}px`;
  card.style.top = `${isLow ? Math.max(8, box.top - card.offsetHeight - 8) : below}px`;
}

function unpoint(whole, card) {
  card.hidden = true;
  for (const word of whole.querySelectorAll(".pointed")) word.classList.remove("pointed");
}
