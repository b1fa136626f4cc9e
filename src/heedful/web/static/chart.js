// Charts: drawn by Vega when they come into sight; a mark leads to the documents behind it.

import { h } from "./dom.js";

const OPTIONS = {
  mode: "vega-lite",
  renderer: "svg",
  ast: true, // without eval
  actions: false,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
};

let library = null;
const undrawn = new WeakMap(); // what draws a chart that nobody has scrolled to yet

/** Draw every chart in an element, seen or not. */
export const drawAll = (element) =>
  Promise.all([...element.querySelectorAll(".chart")].map((place) => undrawn.get(place)?.()));

/** Vega, loaded once somebody looks at a chart. */
function loaded() {
  library ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "/static/charts.js" });
    script.addEventListener("load", () => resolve(window.embedChart));
    script.addEventListener("error", () => {
      library = null;
      reject(new Error("the charts could not be loaded from the server"));
    });
    document.head.append(script);
  });
  return library;
}

/** A figure; `onselect` is told the query of the documents behind a mark that is clicked. */
export function figure({ title, caption, chart, leads_to_documents: leads }, onselect) {
  const place = h("div", { class: "chart", role: "img", "aria-label": title, tabindex: "0" });
  const behind = leads ? documentsBehind(chart) : [];
  const whole = h(
    "figure",
    { class: leads ? "leads" : null },
    h("p", { class: "title" }, title),
    place,
    h("figcaption", {}, caption, leads && " A click on a mark opens the documents behind it."),
    leads && keyboardWay(title, behind, onselect),
  );
  const drawNow = async () => {
    watcher.disconnect();
    undrawn.delete(place);
    if (place.isConnected) await draw(place, chart, onselect);
  };
  const watcher = new IntersectionObserver(
    (seen) => {
      if (seen.some((one) => one.isIntersecting)) drawNow();
    },
    { rootMargin: "400px" },
  );
  watcher.observe(place);
  undrawn.set(place, drawNow);
  return whole;
}

async function draw(place, chart, onselect) {
  try {
    const embed = await loaded();
    const fresh = h("div", { "aria-hidden": "true" }); // the chart's name and its list speak for it
    const { view } = await embed(fresh, chart, OPTIONS);
    place.replaceChildren(fresh);
    place.style.setProperty("--width", `${fresh.querySelector("svg").getAttribute("width")}px`);
    place.dataset.live = "true";
    view.addEventListener("click", (_, item) => {
      const query = item?.datum?.behind ?? item?.datum?.[0]?.behind;
      if (query !== undefined && query !== null) onselect(query);
    });
  } catch (error) {
    place.replaceChildren(h("p", { class: "quiet" }, `This chart could not be drawn: ${error.message}.`));
  }
}

/** The rows of a chart that stand for documents. */
function documentsBehind(chart) {
  const rows = Object.values(chart.datasets ?? {}).flat();
  const found = new Map();
  for (const row of rows) if (row.behind && row.documents !== 0 && !found.has(row.behind)) found.set(row.behind, row);
  return [...found.values()];
}

/** The same without a mouse: a list of what stands behind the marks. */
function keyboardWay(title, rows, onselect) {
  const select = h(
    "select",
    { "aria-label": `Documents behind “${title}”` },
    rows.map((row) => h("option", { value: row.behind }, nameOf(row))),
  );
  return h(
    "p",
    { class: "behind small" },
    select,
    h("button", { type: "button", onclick: () => onselect(select.value) }, "Open these documents"),
  );
}

const short = (value) => (typeof value === "number" ? Number(value.toPrecision(3)).toString() : value);

function nameOf(row) {
  const query = new URLSearchParams(row.behind);
  const label = query.getAll("prediction").join(", ");
  const among = label && ` (predicted ${label})`;
  const count = row.documents === undefined ? "" : `: ${row.documents.toLocaleString("en")}`;
  if (row.word) return row.word;
  if (row.test) return `${row.question} · ${row.test}`;
  if (row.measure) return row.k === undefined ? row.measure : `${row.measure}, k = ${row.k}`;
  if (row.start !== undefined) return `${columnOf(query)} ${short(row.start)} to ${short(row.end)}${among}${count}`;
  if (row.bin) return `largest weight ${row.bin}${among}${count}`;
  return `${columnOf(query)}${among}`;
}

const columnOf = (query) => (query.get("sort") ?? "documents").replaceAll("_", " ");
