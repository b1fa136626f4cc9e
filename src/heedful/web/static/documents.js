// Documents: the rows behind an audit. Filters and order are the server's work; here only the rows
// in sight exist, so that tens of thousands scroll like ten.

import { ask, latest } from "./api.js";
import { auditIn, noAudit } from "./audit.js";
import { answerPlace, report } from "./composer.js";
import { choice, counted, field, fill, h, number, redraw, spoken } from "./dom.js";
import { failure } from "./notices.js";

const ROW = 44; // px, as the style sheet has it
const PAGE = 100; // rows that are asked for at once
const PAGES = 40; // that are remembered
const BEYOND = 8; // rows drawn above and below what is seen
const FILTERS = ["label", "prediction", "right", "where", "word", "contains", "sort", "order"];
const ANY = "any";

export function documents(context) {
  const controls = h("div", { class: "part" });
  const filters = h("div", { class: "part" });
  const chips = h("div", { class: "chips" });
  const count = h("p", { class: "count", role: "status" });
  const place = answerPlace({ id: "documents", "aria-live": "off" });
  const panel = h("div", { class: "panel" });
  const element = h(
    "section",
    { class: "view", "aria-labelledby": "view-title" },
    h("h1", { id: "view-title" }, "Documents"),
    h("p", { class: "asks" }, "What the audit measured on each document. Filter, sort, and open a document."),
    h("div", { class: "filters" }, controls, filters),
    chips,
    count,
    panel,
    place.element,
  );
  const look = latest((address, signal) => ask(address, { signal }));
  let asked = "";
  let table = null;
  let first = null; // the first answer: how many there are, which columns

  async function update(state) {
    const names = context.served.audits.map((one) => one.name);
    const name = auditIn(context, state);
    redraw(controls, names.length > 0 && field("Audit", choice(names, name, (one) => context.go({ ...none(), audit: one }, { isStep: true }))));
    if (!name) return place.show(noAudit());
    const query = queryOf(state);
    const asks = `${name}?${query}`;
    if (asks !== asked) {
      asked = asks;
      place.wait();
      try {
        const found = await look(addressOf(name, query, 0));
        if (!found) return;
        first = found;
        const focused = place.element.contains(document.activeElement) ? (document.activeElement.dataset.sort ?? "") : null;
        table = grid(context, first, (offset) => ask(addressOf(name, query, offset)), state);
        place.show(table.element);
        table.draw();
        if (focused !== null) table.focus(focused);
      } catch (problem) {
        asked = "";
        first = table = null;
        drawChips(state);
        return report(problem, place);
      }
    } else table?.draw();
    if (!first) return;
    fill(count, first.chosen === first.total ? counted(first.total, "document") : `${first.chosen.toLocaleString("en")} of ${counted(first.total, "document")}`);
    if (document.activeElement?.type !== "search") drawFilters(state);
    drawChips(state);
    await drawPanel(name, state);
  }

  const none = () => Object.fromEntries([...FILTERS, "open", "column"].map((one) => [one, undefined]));

  function drawFilters(state) {
    const one = (label, names, key) =>
      field(label, choice([ANY, ...names], state[key]?.length === 1 ? state[key][0] : ANY, (value) => context.go({ [key]: value === ANY ? [] : [value] })));
    const search = h("input", { type: "search", value: state.contains ?? "", maxlength: "200", placeholder: "text contains" });
    let timer = null;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => context.go({ contains: search.value }), 200);
    });
    const sorts = ["", "label", "prediction", "text", ...first.columns];
    redraw(
      filters,
      first.labels.length > 0 && one("Label", first.labels, "label"),
      one("Prediction", first.predictions, "prediction"),
      first.labels.length > 0 &&
        field("Decision", choice([ANY, "yes", "no"], state.right ?? ANY, (value) => context.go({ right: value === ANY ? "" : value }), (value) => ({ any: "right or wrong", yes: "right", no: "wrong" })[value])),
      field("Search", search),
      field("Sort by", choice(sorts, state.sort ?? "", (value) => context.go({ sort: value }), (value) => (value ? spoken(value) : "as audited"))),
      field("Order", choice(["descending", "ascending"], state.order ?? "descending", (value) => context.go({ order: value }), (value) => ({ descending: "highest first", ascending: "lowest first" })[value])),
      rangeForm(first.columns, (where) => context.go({ where: [...(context.state.where ?? []), where] })),
      columnPicker(first, (column) => context.go({ column })),
    );
  }

  function drawChips(state) {
    const chip = (text, changes) =>
      h("button", { type: "button", class: "chip", "aria-label": `remove filter ${text}`, onclick: () => context.go(changes) }, text, h("span", { "aria-hidden": "true" }, " ×"));
    const ranges = (state.where ?? []).map((one) => chip(intervalOf(one), { where: state.where.filter((other) => other !== one) }));
    const several = ["label", "prediction"].filter((key) => state[key]?.length > 1).map((key) => chip(`${key}: ${state[key].join(" or ")}`, { [key]: [] }));
    const word = state.word ? [chip(`word “${state.word}”`, { word: "" })] : [];
    const all = [...several, ...ranges, ...word];
    const isFiltered = FILTERS.some((key) => state[key]?.length);
    const hadFocus = chips.contains(document.activeElement);
    fill(chips, all, isFiltered && h("button", { type: "button", class: "plain", onclick: () => context.go(none()) }, "Clear all"));
    chips.hidden = !all.length && !isFiltered;
    if (hadFocus) (chips.querySelector("button") ?? table?.element)?.focus();
  }

  const whole = latest((name, at, signal) => ask(`/api/audits/${encodeURIComponent(name)}/documents/${encodeURIComponent(at)}`, { signal }));
  let opened = "";

  /** The document that the address names, once; closed, the table has the focus again. */
  async function drawPanel(name, state) {
    const now = state.open ? `${name}/${state.open}` : "";
    if (now === opened) return;
    opened = now;
    if (!now) {
      fill(panel);
      return table?.element.focus();
    }
    try {
      const found = await whole(name, state.open);
      if (!found) return;
      fill(panel, documentCard(context, first, name, found));
      panel.querySelector("h2").focus();
    } catch (problem) {
      fill(panel, failure(problem));
    }
  }

  const resize = () => table?.draw();
  window.addEventListener("resize", resize);
  return {
    element,
    update,
    data: () => ({ view: "documents", query: asked, documents: first }),
    leave: () => window.removeEventListener("resize", resize),
  };
}

function queryOf(state) {
  const query = new URLSearchParams();
  for (const key of [...FILTERS, "column"]) for (const value of [state[key] ?? []].flat()) if (value !== "") query.append(key, value);
  return query.toString();
}

const addressOf = (name, query, offset) => `/api/audits/${encodeURIComponent(name)}/documents?${query}&offset=${offset}&count=${PAGE}`;

/** 'max_weight:(0.25,0.5]' as people read it. */
function intervalOf(where) {
  const found = /^(.*):[[(](.*),(.*)[\])]$/.exec(where);
  if (!found) return where;
  const [, column, low, high] = found;
  const short = (end) => Number(Number(end).toPrecision(4));
  if (low && high) return `${spoken(column)} ${short(low)} to ${short(high)}`;
  if (low) return `${spoken(column)} from ${short(low)}`;
  return high ? `${spoken(column)} up to ${short(high)}` : `has ${spoken(column)}`;
}

function rangeForm(columns, onadd) {
  const column = choice(columns, "epsilon_max_jsd", () => {}, spoken);
  const ends = ["from", "to"].map((name) => h("input", { type: "number", step: "any", placeholder: name, "aria-label": name }));
  return h(
    "details",
    { class: "picker menu" },
    h("summary", {}, "By number"),
    h(
      "form",
      {
        class: "range",
        onsubmit: (event) => {
          event.preventDefault();
          event.target.closest("details").open = false;
          onadd(`${column.value}:[${ends[0].value},${ends[1].value}]`);
        },
      },
      field("Number", column),
      ends,
      h("button", {}, "Add"),
    ),
  );
}

function columnPicker({ columns, shown }, onchange) {
  const box = (name) =>
    h(
      "label",
      {},
      h("input", {
        type: "checkbox",
        value: name,
        checked: shown.includes(name),
        onchange: ({ target }) => {
          const boxes = [...target.closest("fieldset").querySelectorAll("input:checked")];
          onchange(boxes.map((one) => one.value));
        },
      }),
      spoken(name),
    );
  return h("details", { class: "picker menu" }, h("summary", {}, `Columns (${shown.length})`), h("fieldset", {}, h("legend", { class: "quiet small" }, "Numbers shown"), columns.map(box)));
}

/** The table: a window on all rows, of which only those in sight are made. */
function grid(context, first, fetchPage, state) {
  const pages = new Map([[0, first.rows]]);
  const body = h("div", { class: "grid-body", role: "rowgroup", vars: { "--rows": String(first.chosen) } });
  const element = h(
    "div",
    {
      class: "grid",
      role: "grid",
      tabindex: "0",
      "aria-label": "Documents",
      "aria-rowcount": String(first.chosen + 1),
      vars: { "--numbers": String(first.shown.length) },
    },
    h("div", { class: "grid-head", role: "rowgroup" }, h("div", { role: "row", class: "row", "aria-rowindex": "1" }, headers(context, first, state))),
    body,
  );
  let active = 0;
  const loading = new Set();

  async function need(page) {
    if (pages.has(page) || loading.has(page)) return;
    loading.add(page);
    try {
      pages.set(page, (await fetchPage(page * PAGE)).rows);
      if (pages.size > PAGES) pages.delete(pages.keys().next().value);
      draw();
    } catch (problem) {
      window.dispatchEvent(new CustomEvent("problem", { detail: problem }));
    } finally {
      loading.delete(page);
    }
  }

  function draw() {
    const top = Math.max(0, Math.floor(element.scrollTop / ROW) - BEYOND);
    const bottom = Math.min(first.chosen, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + BEYOND);
    const rows = [];
    for (let place = top; place < bottom; place += 1) {
      const page = Math.floor(place / PAGE);
      const row = pages.get(page)?.[place - page * PAGE];
      if (!row) need(page);
      rows.push(drawRow(place, row));
    }
    fill(body, rows, !first.chosen && h("p", { class: "quiet nothing" }, "No document matches these filters. Remove one."));
    element.setAttribute("aria-activedescendant", `row-${active}`);
  }

  const drawRow = (place, row) =>
    h(
      "div",
      {
        role: "row",
        id: `row-${place}`,
        class: `row${place === active ? " active" : ""}`,
        "aria-rowindex": String(place + 2),
        "aria-selected": String(place === active),
        vars: { "--place": String(place) },
        onclick: () => {
          active = place;
          openRow(context, first, row);
        },
      },
      row
        ? [
            h("span", { role: "gridcell", class: "cell-text", dir: "auto" }, row.text, !row.is_whole && "…"),
            first.labels.length > 0 && h("span", { role: "gridcell" }, h("bdi", {}, row.label ?? "–")),
            h("span", { role: "gridcell", class: row.is_right === false ? "wrong" : "" }, h("bdi", {}, row.prediction), row.is_right === false && h("span", { class: "small" }, " ✗")),
            first.shown.map((name) => h("span", { role: "gridcell", class: "cell-number" }, number(row.numbers[name]))),
          ]
        : h("span", { role: "gridcell", class: "quiet" }, "…"),
    );

  let frame = null;
  element.addEventListener("scroll", () => {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      draw();
    });
  });
  element.addEventListener("keydown", (event) => {
    if (event.target !== element) return;
    const seen = Math.floor(element.clientHeight / ROW) - 1;
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + seen, PageUp: active - seen, Home: 0, End: first.chosen - 1 }[event.key];
    if (event.key === "Enter") {
      const page = Math.floor(active / PAGE);
      openRow(context, first, pages.get(page)?.[active - page * PAGE], event.shiftKey);
    } else if (to !== undefined) {
      event.preventDefault();
      active = Math.min(first.chosen - 1, Math.max(0, to));
      const [above, below] = [active * ROW, (active + 2) * ROW - element.clientHeight];
      if (element.scrollTop > above) element.scrollTop = above;
      if (element.scrollTop < below) element.scrollTop = below;
      draw();
    }
  });
  /** The header that had the focus has it again, or else the table. */
  const focus = (sort) => ([...element.querySelectorAll("[data-sort]")].find((one) => one.dataset.sort === sort) ?? element).focus();
  return { element, draw, focus };
}

function headers(context, { labels, shown }, state) {
  const order = state.order ?? "descending";
  const header = (name, sort, kind = null) => {
    const isSorted = state.sort === sort;
    const next = isSorted && order === "descending" ? "ascending" : "descending";
    return h(
      "span",
      { role: "columnheader", class: kind, "aria-sort": isSorted ? order : "none" },
      h("button", { type: "button", class: "plain", "data-sort": sort, onclick: () => context.go({ sort, order: next }), title: `Sort by ${name}` }, name, h("span", { "aria-hidden": "true" }, isSorted ? { ascending: " ↑", descending: " ↓" }[order] : "")),
    );
  };
  return [
    header("text", "text"),
    labels.length > 0 && header("label", "label"),
    header("prediction", "prediction"),
    shown.map((name) => header(spoken(name), name, "cell-number")),
  ];
}

/** A document opens in Explain where its model is served; elsewhere its numbers are shown. */
async function openRow(context, first, row, isNumbers = false) {
  if (!row) return;
  const run = context.served.audits.find((one) => one.name === first.audit)?.run;
  if (!run || isNumbers) return context.go({ open: String(row.place) }, { isStep: true });
  try {
    const whole = row.is_whole ? row : await ask(`/api/audits/${encodeURIComponent(first.audit)}/documents/${row.place}`);
    context.go({ view: "explain", run, text: whole.text, audit: first.audit }, { isStep: true });
  } catch (problem) {
    window.dispatchEvent(new CustomEvent("problem", { detail: problem }));
  }
}

function documentCard(context, first, audit, { text, label, prediction, numbers }) {
  const run = context.served.audits.find((one) => one.name === audit)?.run;
  const to = (view, name) => h("a", { href: context.href({ view, run, text, audit }) }, name);
  return h(
    "article",
    { class: "document" },
    h("header", {}, h("h2", { tabindex: "-1" }, "predicted ", h("bdi", {}, prediction), label !== null && [", labelled ", h("bdi", {}, label)]), h("button", { type: "button", onclick: () => context.go({ open: "" }) }, "Close")),
    h("p", { class: "whole", dir: "auto" }, text),
    run ? h("p", { class: "onward" }, to("explain", "Explain"), to("whatif", "What if?"), to("compare", "Compare runs")) : h("p", { class: "quiet small" }, "The run of this audit is not served, so the text cannot be explained here."),
    h("details", {}, h("summary", {}, `All ${Object.keys(numbers).length} numbers`), h("dl", { class: "facts" }, Object.entries(numbers).map(([name, value]) => h("div", {}, h("dt", {}, spoken(name)), h("dd", {}, number(value, 4)))))),
  );
}
