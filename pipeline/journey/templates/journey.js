// The page works without this. It keeps what was typed where a line is lost before it was saved,
// and leads to the first fault.
(() => {
  const form = document.querySelector("form[data-offline]");
  if (!form) return;
  const key = "typed " + location.pathname;
  const inputs = () => [...form.elements].filter((it) => it.name && it.type !== "hidden");
  const say = form.querySelector(".offline");
  try {
    const typed = JSON.parse(sessionStorage.getItem(key) || "null");
    if (typed && !document.querySelector(".faults")) {
      for (const it of inputs()) {
        if (it.type === "radio" || it.type === "checkbox") it.checked = typed[it.name] === it.value;
        else if (it.name in typed) it.value = typed[it.name];
      }
    }
  } catch { /* without storage nothing is kept */ }
  const keep = () => {
    const typed = {};
    for (const it of inputs()) {
      if ((it.type !== "radio" && it.type !== "checkbox") || it.checked) typed[it.name] = it.value;
    }
    try { sessionStorage.setItem(key, JSON.stringify(typed)); } catch { /* as above */ }
  };
  form.addEventListener("input", keep);
  form.addEventListener("submit", (event) => {
    if (!navigator.onLine) {
      event.preventDefault();
      keep();
      say.textContent = form.dataset.offline;
      say.hidden = false;
      return;
    }
    say.hidden = true;
  });
  addEventListener("online", () => { say.hidden = true; });
  document.querySelector(".faults")?.setAttribute("tabindex", "-1");
  document.querySelector(".faults")?.focus();
})();
