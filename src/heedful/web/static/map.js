// A map of all tries on a text: the change in attention against the change in the prediction.

const [WIDTH, HEIGHT, LEFT, BOTTOM, EDGE] = [210, 130, 26, 22, 6];

export function triesMap(visited, { largest_jsd: widest, same_within: same }) {
  const x = (jsd) => LEFT + (jsd / widest) * (WIDTH - LEFT - EDGE);
  // Small moves are what matters: the root spreads them.
  const y = (tvd) => EDGE + (1 - Math.sqrt(Math.min(1, tvd))) * (HEIGHT - BOTTOM - EDGE);
  const middle = (HEIGHT - BOTTOM) / 2;
  const last = visited.length - 1;
  const name = `${visited.length} tries: change in attention against change in prediction`;
  return shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "map", role: "img", "aria-label": name }, [
    shape("rect", { x: LEFT, y: y(same), width: WIDTH - LEFT - EDGE, height: HEIGHT - BOTTOM - y(same), class: "same" }),
    shape("path", { d: `M${LEFT} ${EDGE}V${HEIGHT - BOTTOM}H${WIDTH - EDGE}`, class: "axes" }),
    shape("text", { x: (WIDTH + LEFT) / 2, y: HEIGHT - EDGE, "text-anchor": "middle" }, ["change in attention"]),
    shape("text", { x: 10, y: middle, "text-anchor": "middle", transform: `rotate(-90 10 ${middle})` }, ["change in prediction"]),
    ...visited.map(({ jsd, tvd }, place) =>
      shape("circle", { cx: x(jsd), cy: y(tvd), r: place === last ? 4.5 : 2.5, class: place === last ? "now" : "then" }),
    ),
  ]);
}

function shape(tag, attributes, children = []) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  one.append(...children);
  return one;
}
