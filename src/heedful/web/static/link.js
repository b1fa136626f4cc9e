// The state of the page as the part of its address after the #, which no server ever sees.
//
//   #whatif?run=bilstm&text=A+very+funny+movie.&deleted=1&weights=0.2,0.8

const LISTS = new Set(["measures", "runs", "deleted", "weights"]);

export function read(hash = location.hash) {
  const [view, query = ""] = split(hash.replace(/^#/, ""));
  const state = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (LISTS.has(name)) state[name] = value ? value.split(",") : [];
    else if (name === "where" || name === "label" || name === "prediction" || name === "column")
      (state[name] ??= []).push(value);
    else state[name] = value;
  }
  for (const name of ["deleted", "weights"])
    if (state[name]) state[name] = state[name].map(Number).filter((one) => Number.isFinite(one));
  state.view = view || "explain";
  return state;
}

export function write({ view, ...rest }) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined || value === null || value === "" || value.length === 0) continue;
    if (LISTS.has(name)) query.set(name, value.join(","));
    else [value].flat().forEach((one) => query.append(name, one));
  }
  const told = query.toString();
  return `#${view}${told && `?${told}`}`;
}

function split(text) {
  const at = text.indexOf("?");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
