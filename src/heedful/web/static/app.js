// The frame: the current view, what is served, and the address.

import { audit } from "./audit.js";
import { ask } from "./api.js";
import { compare } from "./compare.js";
import { documents } from "./documents.js";
import { fill, h } from "./dom.js";
import { explain } from "./explain.js";
import { exporters } from "./export.js";
import * as link from "./link.js";
import { failure, tell, untell } from "./notices.js";
import { whatIf } from "./whatif.js";

const VIEWS = {
  explain: { name: "Explain", make: explain },
  whatif: { name: "What if", make: whatIf },
  compare: { name: "Compare", make: compare },
  documents: { name: "Documents", make: documents },
  audit: { name: "Audit", make: audit },
};
// What goes along when one view is left for another.
const SHARED = ["run", "text", "measures", "audit"];
const ADDRESS = 250; // ms between two changes of the address
const LOOK_AGAIN = 3000; // ms until a silent server is looked for again

const content = document.getElementById("content");
let state = link.read();
let current = null; // { view, element, update, data, leave }
let served = null;

/** Change the state, and the address with it. `isStep`: the browser's back button undoes it. */
function go(changes, { isStep = false } = {}) {
  if (isStep) writeAddress(); // where the back button leads to
  const view = changes.view ?? state.view;
  const kept = view === state.view ? state : pick(state, SHARED);
  state = { ...kept, ...changes, view };
  if (isStep) history.pushState(null, "", link.write(state));
  else writing ??= setTimeout(writeAddress, ADDRESS);
  draw();
}

let writing = null;

/** The address follows the state a little later: browsers refuse to change it many times a second. */
function writeAddress() {
  clearTimeout(writing);
  writing = null;
  const address = link.write(state);
  if (address !== location.hash) history.replaceState(null, "", address);
}

const pick = (from, names) =>
  Object.fromEntries(names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]));

const context = {
  go,
  get served() {
    return served;
  },
  get state() {
    return state;
  },
  href: (changes) => link.write({ ...pick(state, SHARED), ...changes }),
};

function draw() {
  if (!served) return;
  if (!Object.hasOwn(VIEWS, state.view)) state.view = "explain";
  drawViews();
  if (current?.view !== state.view) {
    const isFirst = !current;
    current?.leave?.();
    current = { view: state.view, ...VIEWS[state.view].make(context) };
    fill(content, current.element);
    document.title = `${VIEWS[state.view].name} · heedful`;
    window.scrollTo(0, 0);
    if (!isFirst) content.focus({ preventScroll: true });
  }
  tellOtherRun();
  current.update(state);
}

const tabs = Object.fromEntries(Object.entries(VIEWS).map(([view, { name }]) => [view, h("a", {}, name)]));
fill(document.getElementById("views"), Object.values(tabs).map((tab) => h("li", {}, tab)));

function drawViews() {
  for (const [view, tab] of Object.entries(tabs)) {
    tab.href = context.href({ view });
    if (view === state.view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
}

/** A link may name a run or an audit that this server does not have. */
function tellOtherRun() {
  const lacks = (kind) => state[kind] && !served[`${kind}s`].some((one) => one.name === state[kind]);
  const missing = ["run", "audit"].filter(lacks).map((kind) => `the ${kind} ${state[kind]}`);
  if (missing.length) tell("other", `This link names ${missing.join(" and ")}, which is not served here. Another one is shown instead.`);
  else untell("other");
}

/** What is served; requested until the server answers with all of it. */
async function load() {
  const isBack = await refresh();
  if (!isBack || hasProblems()) lookAgain();
  if (isBack) draw();
}

/** Ask what is served; whether there was an answer. */
async function refresh() {
  try {
    const found = await ask("/api/served");
    if (served && served.started !== found.started)
      tell("restart", "The server was restarted since this page was opened.", {
        action: { label: "Reload", run: () => location.reload() },
      });
    served = found;
    untell("served");
    tellProblems();
    return true;
  } catch (problem) {
    if (served) tell("served", problem.message, { tone: "bad" });
    else fill(content, h("section", {}, h("h1", {}, "No answer"), failure(problem)));
    return false;
  }
}

let waiting = null;

/** Look for a silent server, or for what is gone from it, in a while. */
function lookAgain() {
  clearTimeout(waiting);
  waiting = setTimeout(load, LOOK_AGAIN);
}

const hasProblems = () => [...served.runs, ...served.audits].some((one) => one.problem);

function tellProblems() {
  const problems = [...served.runs, ...served.audits].map((one) => one.problem).filter(Boolean);
  if (problems.length) tell("problems", problems.join(" "), { tone: "bad" });
  else untell("problems");
}

/** A view met a problem: whatever it was about is loaded again. */
window.addEventListener("problem", async ({ detail }) => {
  if (detail.kind === "offline") tell("served", detail.message, { tone: "bad" });
  else if (detail.kind === "gone") await refresh(); // what went wrong stays to be read
  else return;
  lookAgain();
});

window.addEventListener("hashchange", () => {
  clearTimeout(writing);
  writing = null;
  state = link.read();
  draw();
});

function prepareTools() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const darkSystem = matchMedia("(prefers-color-scheme: dark)");
  const remembered = recall("heedful-theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkSystem.matches);
  const label = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    fill(button.firstElementChild, isDark() ? "Light" : "Dark");
  };
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;
  label();
  darkSystem.addEventListener("change", label);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep("heedful-theme", root.dataset.theme);
    label();
  });

  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    content.focus();
  });
  document.getElementById("link").addEventListener("click", async (event) => {
    try {
      writeAddress();
      await navigator.clipboard.writeText(location.href);
      flash(event.target, "Copied");
    } catch {
      tell("link", `Address of this view: ${location.href}`);
    }
  });
  const menu = document.getElementById("export");
  fill(
    menu.lastElementChild,
    Object.entries(exporters).map(([name, run]) =>
      h(
        "button",
        {
          type: "button",
          onclick: async () => {
            menu.open = false;
            menu.firstElementChild.focus();
            try {
              writeAddress();
              await run({ name: `heedful-${state.view}`, element: content, data: current?.data?.() ?? {}, state });
              untell("export");
            } catch (error) {
              tell("export", `This view could not be exported: ${error.message}.`, { tone: "bad" });
            }
          },
        },
        name,
      ),
    ),
  );
  const menus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const one of menus()) if (!one.contains(event.target)) one.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const one of menus()) {
      one.open = false;
      one.firstElementChild.focus();
    }
  });
}

function flash(button, text) {
  const before = button.textContent;
  fill(button, text);
  setTimeout(() => fill(button, before), 1500);
}

function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    /* not kept */
  }
}

prepareTools();
fill(content, h("section", {}, h("p", { class: "quiet" }, "Loading…")));
load();
