// The frame: which view stands there, what is served, what the address says.

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
const LOOK_AGAIN = 3000; // ms until a silent server is looked for again

const content = document.getElementById("content");
let state = link.read();
let current = null; // { view, element, update, data, leave }
let served = null;

/** Change the state, and the address with it. `isStep`: the browser's back button undoes it. */
function go(changes, { isStep = false, isQuiet = false } = {}) {
  const view = changes.view ?? state.view;
  const kept = view === state.view ? state : pick(state, SHARED);
  state = { ...kept, ...changes, view };
  const address = link.write(state);
  if (address !== location.hash) history[isStep ? "pushState" : "replaceState"](null, "", address);
  if (!isQuiet) draw();
  else drawViews();
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
  if (!VIEWS[state.view]) state.view = "explain";
  drawViews();
  if (current?.view !== state.view) {
    current?.leave?.();
    current = { view: state.view, ...VIEWS[state.view].make(context) };
    fill(content, current.element);
    document.title = `${VIEWS[state.view].name} · heedful`;
    window.scrollTo(0, 0);
  }
  current.update(state);
}

function drawViews() {
  fill(
    document.getElementById("views"),
    Object.entries(VIEWS).map(([view, { name }]) =>
      h(
        "li",
        {},
        h("a", { href: context.href({ view }), "aria-current": view === state.view && "page" }, name),
      ),
    ),
  );
}

/** What is served; asked for again until the server answers. */
async function load() {
  try {
    const found = await ask("/api/served");
    if (served && served.started !== found.started)
      tell("restart", "The server was started anew since this page was opened.", {
        action: { label: "Reload", run: () => location.reload() },
      });
    served = found;
    untell("served");
    tellProblems();
    if (!current) draw();
  } catch (problem) {
    if (served) tell("served", problem.message, { tone: "bad" });
    else fill(content, h("section", {}, h("h1", {}, "No answer"), failure(problem)));
    lookAgain();
  }
}

let waiting = null;

/** Look for a silent server in a while, and go on once it is back. */
function lookAgain() {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    await load();
    current?.update(state);
  }, LOOK_AGAIN);
}

function tellProblems() {
  const problems = [...served.runs, ...served.audits].map((one) => one.problem).filter(Boolean);
  if (problems.length) tell("problems", problems.join(" "), { tone: "bad" });
  else untell("problems");
}

/** A view met a problem: whatever it was about is looked at anew. */
window.addEventListener("problem", ({ detail }) => {
  if (detail.kind === "gone") load();
  if (detail.kind !== "offline") return;
  tell("served", detail.message, { tone: "bad" });
  lookAgain();
});

window.addEventListener("hashchange", () => {
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
      await navigator.clipboard.writeText(location.href);
      flash(event.target, "Copied");
    } catch {
      tell("link", `This view's address: ${location.href}`);
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
fill(content, h("section", {}, h("p", { class: "quiet" }, "Asking the server what it serves…")));
load();
