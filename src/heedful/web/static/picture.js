// What stands in the page -> an SVG of plain shapes and texts, which any program can open.

const PLAIN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "font-size", "font-family", "font-weight", "text-anchor"];
const MARGIN = 24; // px around it
const NONE = "rgba(0, 0, 0, 0)";

/** An element as SVG, without what `leftOut` matches: its text and its size. */
export function toSvg(element, leftOut) {
  const parts = [];
  const page = getComputedStyle(document.body);
  // What is left out leaves its room: it is taken away for the moment of the drawing.
  const gone = [...element.querySelectorAll(leftOut)].filter((one) => !one.hidden);
  gone.forEach((one) => (one.hidden = true));
  try {
    const start = element.getBoundingClientRect();
    const whole = { left: start.left, top: start.top, right: start.left + element.scrollWidth, bottom: start.top + element.scrollHeight };
    for (const child of element.children) draw(child, whole, parts);
    const width = Math.ceil(whole.right - whole.left + 2 * MARGIN);
    const height = Math.ceil(whole.bottom - whole.top + 2 * MARGIN);
    const text = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
      `<rect width="${width}" height="${height}" fill="${page.backgroundColor}"/>`,
      `<g transform="translate(${round(MARGIN - start.left)} ${round(MARGIN - start.top)})">${parts.join("\n")}</g></svg>`,
    ].join("\n");
    return { text, width, height };
  } finally {
    gone.forEach((one) => (one.hidden = false));
  }
}

const round = (value) => Math.round(value * 100) / 100;
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`).replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, " ");

function draw(node, clip, parts) {
  if (node.nodeType === Node.TEXT_NODE) return drawText(node, clip, parts);
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
  if (node.tagName.toLowerCase() === "svg") return drawPicture(node, clip, parts);
  for (const rect of node.getClientRects()) if (isSeen(rect, clip)) drawBox(rect, style, parts);
  if (node.tagName === "DETAILS" && !node.open) return [...node.children].filter((one) => one.tagName === "SUMMARY").forEach((one) => draw(one, clip, parts));
  const inner = style.overflowX === "visible" && style.overflowY === "visible" ? clip : within(node.getBoundingClientRect(), clip);
  for (const child of node.childNodes) draw(child, inner, parts);
}

const isSeen = (rect, clip) =>
  rect.width > 0 && rect.height > 0 && rect.right > clip.left && rect.left < clip.right && rect.bottom > clip.top && rect.top < clip.bottom;

const within = (rect, clip) => ({
  left: Math.max(rect.left, clip.left),
  top: Math.max(rect.top, clip.top),
  right: Math.min(rect.right, clip.right),
  bottom: Math.min(rect.bottom, clip.bottom),
});

function drawBox({ left, top, width, height }, style, parts) {
  const radius = style.borderTopLeftRadius;
  const corner = radius.endsWith("%") ? (Math.min(width, height) * parseFloat(radius)) / 100 : Math.min(parseFloat(radius) || 0, height / 2);
  const shape = `x="${round(left)}" y="${round(top)}" width="${round(width)}" height="${round(height)}" rx="${round(corner)}"`;
  if (style.backgroundColor !== NONE) parts.push(`<rect ${shape} fill="${style.backgroundColor}"/>`);
  const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
    width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
  }));
  const [up, right, down, left_] = sides;
  if (sides.every((side) => side.width > 0 && side.colour === up.colour && side.width === up.width)) {
    parts.push(`<rect ${shape} fill="none" stroke="${up.colour}" stroke-width="${up.width}"/>`);
    return;
  }
  const rule = (side, x1, y1, x2, y2) => {
    if (side.width > 0 && side.colour !== NONE) parts.push(`<path d="M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}" stroke="${side.colour}" stroke-width="${side.width}"/>`);
  };
  rule(up, left, top, left + width, top);
  rule(right, left + width, top, left + width, top + height);
  rule(down, left, top + height, left + width, top + height);
  rule(left_, left, top, left, top + height);
}

const pen = document.createElement("canvas").getContext("2d");
const metrics = new Map();

/** How far a font reaches above its line, as a share of its height. */
function ascentOf(font) {
  if (!metrics.has(font)) {
    pen.font = font;
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText("x");
    metrics.set(font, above / (above + below));
  }
  return metrics.get(font);
}

/** Word by word, since only the browser knows where lines break. */
function drawText(node, clip, parts) {
  if (!node.data.trim()) return;
  const style = getComputedStyle(node.parentElement);
  const range = document.createRange();
  const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const look = `font-family="${escaped(style.fontFamily)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" fill="${style.color}"`;
  const underline = isUnderlined(node.parentElement);
  const one = (start, end) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    const rects = range.getClientRects();
    if (rects.length > 1 && end - start > 1) {
      let place = start; // a word broken in two: sign by sign
      for (const sign of node.data.slice(start, end)) one(place, (place += sign.length));
      return;
    }
    const rect = rects[0];
    if (!rect || !isSeen(rect, clip)) return;
    const base = rect.top + rect.height * ascentOf(font);
    parts.push(`<text x="${round(rect.left)}" y="${round(base)}" textLength="${round(rect.width)}" lengthAdjust="spacingAndGlyphs" ${look}>${escaped(node.data.slice(start, end))}</text>`);
    if (underline) parts.push(`<path d="M${round(rect.left)} ${round(base + 3)}H${round(rect.right)}" stroke="${style.color}" stroke-width="1.5"/>`);
  };
  for (const found of node.data.matchAll(/\S+/g)) one(found.index, found.index + found[0].length);
}

const isUnderlined = (element) => getComputedStyle(element).textDecorationLine.includes("underline") || element.closest("a, .strong") !== null;

/** A picture inside the page, with the look that style sheets give it written out. */
function drawPicture(node, clip, parts) {
  const rect = node.getBoundingClientRect();
  if (!isSeen(rect, clip)) return;
  const copy = node.cloneNode(true);
  const [originals, copies] = [node, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  originals.forEach((original, place) => {
    const style = getComputedStyle(original);
    for (const name of PLAIN) copies[place].setAttribute(name, style.getPropertyValue(name));
    copies[place].removeAttribute("class");
    copies[place].removeAttribute("style");
  });
  for (const [name, value] of Object.entries({ x: rect.left, y: rect.top, width: rect.width, height: rect.height })) copy.setAttribute(name, round(value));
  parts.push(new XMLSerializer().serializeToString(copy));
}
