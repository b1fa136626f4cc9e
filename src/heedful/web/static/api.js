// The server's answers. Whatever goes wrong becomes a Problem with a sentence to show.

import { counted, number } from "./dom.js";
import { tell, untell } from "./notices.js";

class Problem extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

const SLOW = 1000; // ms without an answer after which the page says why
const WAITED = 500; // ms in line that are worth a word
const TRIES = 4; // of a request that comes when the server is busy

const pause = (time) => new Promise((next) => setTimeout(next, time));

/** Ask for JSON; `body` makes it a POST. A newer question aborts through `signal`. */
export async function ask(path, { body, signal } = {}) {
  const watch = { isDone: false };
  const timer = setTimeout(() => tellWhySlow(watch), SLOW);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const response = await reach(path, body, signal);
      if (response.status !== 503 || attempt === TRIES) return await read(response);
      const seconds = Number(response.headers.get("retry-after")) || 2;
      tell("busy", `The server is busy; retrying in ${seconds} s.`);
      await pause(seconds * 1000);
      if (signal?.aborted) throw new DOMException("no longer wanted", "AbortError");
    }
  } catch (error) {
    untell("busy");
    throw error;
  } finally {
    watch.isDone = true;
    clearTimeout(timer);
  }
}

async function reach(path, body, signal) {
  const asJson = { "content-type": "application/json" };
  const options = body ? { method: "POST", body: JSON.stringify(body), headers: asJson } : {};
  try {
    return await fetch(path, { ...options, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(
      "The server does not answer. If it was stopped, restart it with heedful serve; this page reconnects automatically.",
      "offline",
    );
  }
}

async function read(response) {
  let found = null;
  try {
    found = await response.json();
  } catch {
    /* not JSON: reported below */
  }
  if (response.ok && found !== null) {
    tellWaited(response);
    return found;
  }
  const message = found?.message ?? `The server answered with status ${response.status} and gave no reason.`;
  throw new Problem(message, found?.kind ?? "bug");
}

/** How long an answer waited in line, if that is worth a word. */
function tellWaited(response) {
  const waited = Number(/wait;dur=([\d.]+)/.exec(response.headers.get("server-timing") ?? "")?.[1]);
  if (waited > WAITED)
    tell("busy", `The server is busy: this request waited ${number(waited / 1000, 1)} s in the queue.`);
  else untell("busy");
}

async function tellWhySlow(watch) {
  try {
    const status = await (await fetch("/api/status")).json();
    const others = status.waiting + status.working;
    const why =
      others > status.at_once
        ? `The server is busy: ${counted(others, "request")} in the queue, ${status.at_once} processed at a time.`
        : "Working on it…";
    if (!watch.isDone) tell("busy", why);
  } catch {
    /* the request itself will say that the server is away */
  }
}

/** Only the last of many questions is answered: those before it are dropped. */
export function latest(question) {
  let current = null;
  const asked = async (...given) => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      const found = await question(...given, mine.signal);
      return mine.signal.aborted ? null : found;
    } catch (error) {
      if (mine.signal.aborted) return null;
      throw error;
    }
  };
  asked.abort = () => current?.abort();
  return asked;
}
