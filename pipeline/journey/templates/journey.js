// The page works without this. It asks the server what is wrong with an input that was left, keeps
// what was typed for when a line is lost, and leads to the first fault. The receipt forgets it.
(() => {
  // A screen with faults answers a POST. A browser that is led back to it, or loads it again, shows an
  // error or sends the form once more: it is to ask for the screen.
  history.replaceState(null, "", location.href);
  // A page that the browser kept whole, and shows again on the way back, has answers that the server
  // would no longer show, to whoever sits there now.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  const form = document.querySelector("form[data-offline]");
  if (!form) {
    if (!location.pathname.endsWith("/receipt")) return; // a code is asked for: the journey goes on
    try {
      for (const it of Object.keys(sessionStorage)) if (it.startsWith("typed ")) sessionStorage.removeItem(it);
    } catch { /* without storage nothing was kept */ }
    return;
  }
  const key = "typed " + location.pathname;
  // A declaration is never kept: it is for what stands there when it is ticked.
  const inputs = () => [...form.elements].filter((it) => it.name && it.type !== "hidden" && it.type !== "checkbox");
  const box = document.querySelector(".faults");
  form.noValidate = true; // the server says it better than a browser does
  const say = form.querySelector(".offline");
  try {
    // For the question as it was then: another may have its place, or another answer was saved.
    const { asked, typed } = JSON.parse(sessionStorage.getItem(key) || "{}");
    if (typed && asked === form.dataset.asked && !box) {
      for (const it of inputs()) {
        if (it.type === "radio") it.checked = typed[it.name] === it.value;
        else if (it.name in typed) it.value = typed[it.name];
      }
    }
  } catch { /* without storage nothing is kept */ }
  const keep = () => {
    const typed = {};
    for (const it of inputs()) {
      if (it.type !== "radio" || it.checked) typed[it.name] = it.value;
    }
    try { sessionStorage.setItem(key, JSON.stringify({ asked: form.dataset.asked, typed })); } catch { /* as above */ }
  };
  // One live region a field, of which the name is the first part of the names of its inputs.
  const fieldOf = (it) => it.name.split("_")[0];
  const faultOf = (name) => document.getElementById(`${name}-fault`); // as the server said it before
  const regionOf = (name) => document.getElementById(`${name}-live`);
  // What is said moves what stands below it, and with it the button under a finger that is down: the
  // click would be lost. So it waits for the finger.
  let released = Promise.resolve();
  addEventListener("pointerdown", () => {
    released = new Promise((resolve) => {
      for (const it of ["pointerup", "pointercancel"]) addEventListener(it, () => setTimeout(resolve), { once: true });
    });
  });
  const left = new Set();
  let asked = 0;
  let waiting;
  for (const it of form.dataset.asked ? inputs() : []) {
    const name = fieldOf(it);
    if (regionOf(name)) continue;
    const region = document.createElement("span");
    region.id = `${name}-live`;
    region.className = "fault";
    region.setAttribute("aria-live", "polite");
    const said = faultOf(name);
    if (said) for (const other of inputs()) if (fieldOf(other) === name) left.add(other);
    (said ?? document.getElementById(`${name}-hint`) ?? it.closest("fieldset")?.querySelector("legend")
      ?? form.querySelector(`label[for="${name}"]`)).after(region);
  }
  const show = (name, words) => {
    faultOf(name)?.remove();
    const region = regionOf(name);
    if (region.textContent !== words) region.textContent = words;
    const own = inputs().filter((it) => fieldOf(it) === name);
    const marked = own[0].closest("fieldset") ?? own[0];
    const others = (marked.getAttribute("aria-describedby") ?? "").split(" ")
      .filter((it) => it && it !== region.id && it !== `${name}-fault`);
    if (words) marked.setAttribute("aria-invalid", "true");
    else marked.removeAttribute("aria-invalid");
    if (words) others.push(region.id);
    if (others.length) marked.setAttribute("aria-describedby", others.join(" "));
    else marked.removeAttribute("aria-describedby");
  };
  const check = async () => {
    const mine = ++asked;
    let faults;
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(`${form.action}/check`, { method: "POST", body });
      if (!answer.ok || answer.redirected) return;
      faults = await answer.json();
    } catch { return; } // it is checked when it is sent
    await released;
    if (mine !== asked) return;
    for (const name of new Set([...left].map(fieldOf))) {
      const own = inputs().filter((it) => fieldOf(it) === name);
      if (own.every((it) => left.has(it))) show(name, faults[name] ?? "");
    }
    if (!Object.keys(faults).length) box?.remove();
  };
  form.addEventListener("change", (event) => {
    if (!form.dataset.asked || !event.target.name) return;
    for (const it of inputs()) if (it.type === "radio" && it.name === event.target.name) left.add(it);
    left.add(event.target);
    check();
  });
  form.addEventListener("input", (event) => {
    keep();
    // While a fault stands there, it goes as soon as it is mended.
    const name = event.target.name && fieldOf(event.target);
    if (!name || !(faultOf(name) || regionOf(name)?.textContent)) return;
    clearTimeout(waiting);
    waiting = setTimeout(check, 300);
  });
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
  box?.setAttribute("tabindex", "-1");
  box?.focus();
})();
