// Elements from plain values. Text becomes text, never markup, and nothing in it stays hidden.

const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]/gu;

/** The text with every sign written out that steers readers or browsers without being seen. */
export const visible = (text) =>
  String(text)
    .replace(/\r\n?/g, "\n")
    .replace(HIDDEN, (sign) =>
      sign === "\n" || sign === "\t"
        ? sign
        : `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );

/** An element: `h("p", { class: "small", onclick, vars: { "--s": 1 } }, "text", child, …)`. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars")
      for (const [key, of] of Object.entries(value)) element.style.setProperty(key, of);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : visible(value));
  }
  add(element, children);
  return element;
}

/** Children of all kinds: elements, texts, lists of them, nothing. */
export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

/** The element with these children and no others. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/** A number as people read it; a dash where there is none. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const rounded = Number(value.toFixed(digits)) + 0;
  return rounded.toFixed(digits).replace("-", "−");
}

export const percent = (value, digits = 1) => `${number(100 * value, digits)}%`;
export const counted = (count, noun, plural = `${noun}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
export const spoken = (name) => name.replaceAll("_", " ");

/** Words of a text that the server counted in characters; a browser counts some of them twice. */
export function wordsOf(text, words) {
  const signs = Array.from(text);
  return words.map(({ start, end }) => signs.slice(start, end).join(""));
}

/** What stands before each word, and after the last one. */
export function gapsOf(text, words) {
  const signs = Array.from(text);
  let position = 0;
  const before = words.map(({ start, end }) => {
    const gap = signs.slice(position, Math.max(start, position)).join("");
    position = Math.max(end, position);
    return gap;
  });
  return { before, after: signs.slice(position).join("") };
}

/** Redraw the children of an element; focus and opened menus stay where they were. */
export function redraw(element, ...children) {
  const stops = () => [...element.querySelectorAll("button, input, select, summary, a")];
  const focused = stops().indexOf(document.activeElement);
  const opened = [...element.querySelectorAll("details")].map((one) => one.open);
  fill(element, ...children);
  [...element.querySelectorAll("details")].forEach((one, place) => (one.open = opened[place] ?? false));
  if (focused >= 0) stops()[focused]?.focus({ preventScroll: true });
}

/** A label and its control, tied together. */
export function field(label, control, attributes = {}) {
  control.id ||= `field-${(field.count = (field.count ?? 0) + 1)}`;
  return h("div", { class: "field", ...attributes }, h("label", { for: control.id }, label), control);
}

/** A choice of one of some names. */
export function choice(names, chosen, onchange, label = (name) => name) {
  return h(
    "select",
    { onchange: (event) => onchange(event.target.value) },
    names.map((name) => h("option", { value: name, selected: name === chosen }, label(name))),
  );
}
