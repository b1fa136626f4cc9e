// Audit: the verdict, the ten answers with their evidence, and charts that lead to documents.

import { ask, latest } from "./api.js";
import { answerPlace, report } from "./composer.js";
import { figure } from "./chart.js";
import { choice, field, fill, h, redraw } from "./dom.js";
import { failure } from "./notices.js";

const MARKS = { may: "✓", "may-not": "✗", "not-safe": "?" };

export function audit(context) {
  const controls = h("div", { class: "controls" });
  const place = answerPlace({ id: "audit", "aria-live": "off" });
  const element = h("section", { class: "view", "aria-labelledby": "view-title" }, h("h1", { id: "view-title" }, "Audit"), controls, place.element);
  const look = latest((name, signal) => ask(`/api/audits/${encodeURIComponent(name)}`, { signal }));
  let drawn = "";
  let found = null;

  async function update(state) {
    const names = context.served.audits.map((one) => one.name);
    const name = auditIn(context, state);
    redraw(controls, names.length > 0 && field("Audit", choice(names, name, (one) => context.go({ audit: one, question: "" }, { isStep: true }))));
    if (!name) return place.show(noAudit());
    if (name !== drawn) {
      drawn = name;
      place.wait();
      try {
        const sheet = await look(name);
        if (!sheet) return;
        found = sheet;
        place.show(verdict(sheet), answers(context, sheet), evidence(sheet), picked(context, sheet));
        drawFigures(context, name, place.element);
      } catch (problem) {
        drawn = "";
        found = null;
        return report(problem, place);
      }
    }
    if (state.question) document.getElementById(`question-${state.question}`)?.scrollIntoView();
  }

  return { element, update, data: () => ({ view: "audit", audit: found }) };
}

/** The audit of the state, or of its run, or the first one. */
export function auditIn(context, state) {
  const names = context.served.audits.map((one) => one.name);
  if (names.includes(state.audit)) return state.audit;
  const ofRun = context.served.audits.find((one) => one.run && one.run === state.run);
  return ofRun?.name ?? names[0];
}

export const noAudit = () =>
  h("p", {}, "No audit is served. Create one with ", h("code", {}, "heedful audit RUN DATA -o DIR"), " and pass its folder to ", h("code", {}, "heedful serve"), ".");

const verdict = (sheet) =>
  h(
    "div",
    { class: `verdict-card alone ${sheet.verdict}` },
    h("p", { class: "verdict" }, h("span", { class: "mark", "aria-hidden": "true" }, MARKS[sheet.verdict]), sheet.sentence),
    h("p", { class: "plain" }, sheet.in_plain_words.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part))),
    sheet.instead && h("p", { class: "instead" }, sheet.instead),
    sheet.next_steps.length > 0 && h("p", {}, sheet.lead),
    sheet.next_steps.length > 0 && h("pre", { class: "commands", tabindex: "0" }, sheet.next_steps.join("\n")),
    h(
      "details",
      { class: "more" },
      h("summary", {}, "How sure is this?"),
      sheet.scope && h("p", {}, sheet.scope),
      sheet.single_texts && h("p", {}, sheet.single_texts),
      h("p", {}, `${sheet.why} Of ${sheet.questions.length} questions: ${sheet.tally}.`),
      h("p", { class: "small quiet" }, `${sheet.caveat} ${sheet.record}`),
      h("dl", { class: "facts" }, sheet.about.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("bdi", {}, value))))),
    ),
    h(
      "details",
      { class: "more" },
      h("summary", {}, "What these terms mean"),
      h("dl", { class: "terms" }, Object.entries(sheet.terms).map(([term, meaning]) => [h("dt", {}, term), h("dd", {}, meaning)])),
    ),
  );

const pill = ({ judgement, mark }) =>
  h("span", { class: `pill ${judgement.replace(" ", "-")}` }, h("span", { class: "mark", "aria-hidden": "true" }, mark), judgement);

function bar({ bar: at, score, interval }) {
  if (!at) return null;
  const one = (kind, where) => h("i", { class: kind, vars: { "--at": `${where}%` } });
  return h(
    "span",
    {
      class: "bar",
      role: "img",
      "aria-label": `score ${score}, interval ${interval}, between floor 0 and ceiling 1`,
      vars: { "--floor": `${at.floor}%`, "--ceiling": `${at.ceiling}%`, "--low": `${at.low}%`, "--high": `${at.high}%` },
    },
    h("i", { class: "track" }),
    one("end", at.floor),
    one("end", at.ceiling),
    h("i", { class: "span" }),
    at.cut !== null && one("cut", at.cut),
    one(`dot${at.is_beyond ? " beyond" : ""}`, at.score),
  );
}

function answers(context, sheet) {
  const jump = (question) => ({
    href: context.href({ view: "audit", audit: sheet.name, question: String(question.place) }),
  });
  return h(
    "section",
    { "aria-labelledby": "answers-title" },
    h("h2", { id: "answers-title" }, "The answers"),
    h("p", { class: "quiet" }, "A score of 0 is what an explanation known to be worthless gets on the same documents, 1 what the best available one gets."),
    h(
      "table",
      { class: "answers alone" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "question"), h("th", { scope: "col" }, "answer"))),
      h(
        "tbody",
        {},
        sheet.questions.map((question) => {
          const [told] = question.told;
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, question.was_asked ? h("a", jump(question), question.name) : question.name, h("span", { class: "asks" }, sheet.terms[question.name] ?? question.asks)),
            h(
              "td",
              {},
              h(
                "div",
                { class: "told" },
                pill(told),
                told.reason && h("span", { class: "reason" }, told.reason),
                told.lead && [bar(told.lead), h("span", { class: "lead" }, `${told.lead.name} ${told.lead.score} (${told.lead.interval})`, told.lead.outside && h("b", {}, ` ${told.lead.outside}`)), told.lead.cut && h("span", { class: "lead cut-in-words" }, told.lead.cut)],
              ),
            ),
          );
        }),
      ),
    ),
  );
}

/** Figures take a moment longer than answers: they come where a place is kept for them. */
async function drawFigures(context, name, element) {
  const places = [...element.querySelectorAll(".figures[data-of]")];
  try {
    const { figures } = await ask(`/api/audits/${encodeURIComponent(name)}/figures`);
    for (const place of places) {
      const own = figures.filter((one) => place.dataset.of.split(" ").includes(one.place));
      fill(place, own.map((one) => figure(one, (query) => openDocuments(context, name, query))));
    }
  } catch (problem) {
    places.forEach((place) => fill(place, failure(problem)));
  }
}

function openDocuments(context, audit, query) {
  const state = { view: "documents", audit };
  for (const [name, value] of new URLSearchParams(query)) (state[name] ??= []).push(value);
  for (const name of ["sort", "order", "word", "contains", "right"]) if (state[name]) [state[name]] = state[name];
  context.go(state, { isStep: true });
}

const figuresOf = (...places) =>
  h("div", { class: "figures", "data-of": places.join(" ") }, h("p", { class: "quiet" }, "Drawing…"));

const evidence = (sheet) =>
  h(
    "section",
    { "aria-labelledby": "evidence-title" },
    h("h2", { id: "evidence-title" }, "The evidence"),
    figuresOf("scores", "instead"),
    sheet.questions
      .filter((question) => question.was_asked)
      .map((question) =>
        h(
          "div",
          { class: "question", id: `question-${question.place}` },
          h("header", {}, h("h3", {}, question.name), pill(question.told[0])),
          h("p", { class: "asks" }, question.asks),
          testTable(question),
          question.facts.length > 0 && factList(question),
          figuresOf(question.name),
        ),
      ),
  );

const testTable = (question) =>
  h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `Tests of ${question.name}` },
    h(
      "table",
      { class: "tests" },
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, "test"), ["value", "floor", "ceiling"].map((name) => h("th", { scope: "col", class: "figures-right" }, name)), h("th", { scope: "col", colspan: "2" }, "score (95% interval)"), h("th", { scope: "col" }, "judgement")),
      ),
      h(
        "tbody",
        {},
        question.tests.map((test) => [
          h(
            "tr",
            { class: "told-below" },
            h("th", { scope: "row", rowspan: "2" }, test.name, test.note && h("span", { class: "note" }, test.note)),
            [test.value, test.floor, test.ceiling].map((value) => h("td", { class: "figures-right" }, value)),
            h("td", {}, bar(test)),
            h("td", { class: "nowrap" }, test.score, " ", h("span", { class: "small quiet" }, test.interval)),
            h("td", {}, pill(test)),
          ),
          h("tr", { class: "known" }, h("td", { colspan: "6" }, [test.rule, test.known].filter(Boolean).join(". ").replace("..", "."))),
        ]),
      ),
    ),
  );

const factList = (question) =>
  h(
    "ul",
    { class: "beside small" },
    question.facts.map(({ name, note, mean, interval }) => h("li", {}, `${name}: ${mean} (${interval})`, note && h("span", { class: "quiet" }, ` ${note}`))),
  );

function picked(context, sheet) {
  if (!sheet.shown.length) return null;
  return h(
    "section",
    { "aria-labelledby": "picked-title" },
    h("h2", { id: "picked-title" }, "Documents worth a look"),
    h(
      "ul",
      { class: "picked" },
      sheet.shown.map(({ why, place, text }) =>
        h(
          "li",
          {},
          h("a", { href: context.href({ view: "documents", audit: sheet.name, open: String(place) }) }, why),
          h("p", { class: "small quiet", dir: "auto" }, text),
        ),
      ),
    ),
    h("p", {}, h("a", { href: context.href({ view: "documents", audit: sheet.name }) }, `All ${sheet.documents.toLocaleString("en")} documents`)),
  );
}

