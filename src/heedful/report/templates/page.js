(() => {
  "use strict";
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = (() => {
    try { return localStorage.getItem("heedful-theme"); } catch { return null; }
  })();
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkSystem.matches);
  const label = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.querySelector("span").textContent = isDark() ? "Light" : "Dark";
  };
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;
  button.hidden = false;
  label();
  darkSystem.addEventListener("change", label);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("heedful-theme", root.dataset.theme); } catch { /* not kept */ }
    label();
  });

  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const folded = target && target.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  unfold();

  const source = document.getElementById("charts");
  if (!source || !window.embedChart) return;
  const charts = JSON.parse(source.textContent);
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    ast: true,
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const enliven = async (place) => {
    const fresh = document.createElement("div");
    await window.embedChart(fresh, charts[place.id], options);
    place.replaceChildren(fresh);
    place.dataset.live = "true";
  };
  const watcher = new IntersectionObserver((seen) => {
    seen.filter((one) => one.isIntersecting).forEach((one) => {
      watcher.unobserve(one.target);
      enliven(one.target);
    });
  }, { rootMargin: "300px" });
  document.querySelectorAll(".chart[id]").forEach((place) => watcher.observe(place));
})();
