// A view as a file: PNG, SVG, HTML or JSON. Controls are left out; what was found is kept.

import { drawAll } from "./chart.js";
import { toSvg } from "./picture.js";

const LEFT_OUT = ".controls, .filters, .field, .toolbar, .behind, .onward, .empty, .card";
const LARGEST = 16000; // px of a side of a picture that browsers still make

export const exporters = {
  PNG: async ({ name, element }) => {
    await drawAll(element);
    save(await asPng(toSvg(element, LEFT_OUT)), `${name}.png`);
  },
  SVG: async ({ name, element }) => {
    await drawAll(element);
    save(new Blob([toSvg(element, LEFT_OUT).text], { type: "image/svg+xml" }), `${name}.svg`);
  },
  HTML: async ({ name, element }) => {
    await drawAll(element);
    save(new Blob([asHtml(element)], { type: "text/html" }), `${name}.html`);
  },
  JSON: async ({ name, data, state }) => {
    const whole = { heedful: data, state, link: location.hash };
    save(new Blob([JSON.stringify(whole, null, 2)], { type: "application/json" }), `${name}.json`);
  },
};

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The view as a page of its own: the same look, no scripts, nothing asked of anybody. */
function asHtml(element) {
  const copy = element.cloneNode(true);
  copy.querySelectorAll(`${LEFT_OUT}, script`).forEach((one) => one.remove());
  copy.querySelectorAll("button").forEach((one) => one.setAttribute("disabled", ""));
  const style = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText);
  const theme = document.documentElement.dataset.theme;
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  return [
    `<!doctype html><html lang="en"${theme ? ` data-theme="${theme}"` : ""}><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>heedful</title>`,
    `<style>${style.join("\n").replaceAll("</", "<\\/")}</style></head><body>${copy.outerHTML}</body></html>`,
  ].join("\n");
}

async function asPng({ text, width, height }) {
  const scale = Math.min(2, LARGEST / Math.max(width, height));
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
