// Filters long tables as one types, and asks for the page again every so often. The page is whole
// without it.
for (const box of document.querySelectorAll(".report .wide")) {
  const rows = [...box.querySelectorAll("tbody tr")];
  if (rows.length < 10 || box.querySelector(".sideways")) continue;
  const input = document.createElement("input");
  input.type = "search";
  input.className = "filter";
  input.placeholder = "Show only rows with …";
  input.setAttribute("aria-label", `Show only rows with these words: ${box.closest("section").querySelector("h2").textContent}`);
  box.before(input);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
  });
}

// A stretch of time that is drawn over with the mouse becomes the period of the page; with shift, the
// period moves along. The links beside the presets do both without it.
for (const figure of document.querySelectorAll("figure.picture")) {
  const time = figure.querySelector("g.time");
  if (!time || !document.querySelector("form.about")) continue;
  const svg = figure.querySelector("svg");
  const { left, right, start, end } = Object.fromEntries(
    Object.entries(time.dataset).map(([name, text]) => [name, Number(text)]));
  const place = (event) => {
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    return Math.min(Math.max(x, left), right);
  };
  const second = (x) => start + (end - start) * (x - left) / (right - left);
  const go = (from, to) => {
    const address = new URL(location);
    for (const name of ["hours", "days", "page"]) address.searchParams.delete(name);
    const text = (seconds) => new Date(Math.round(seconds) * 1000).toISOString().replace(".000", "");
    address.searchParams.set("from", text(from));
    address.searchParams.set("to", text(Math.min(to, Date.now() / 1000)));
    location.assign(address);
  };
  let began;
  const chosen = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  chosen.setAttribute("class", "chosen");
  figure.classList.add("timed");
  figure.title = "Drag to zoom into a time, with shift to move along";
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || event.target.closest("a")) return;
    event.preventDefault();
    began = place(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (began === undefined) return;
    const now = place(event);
    chosen.setAttribute("x", Math.min(began, now));
    chosen.setAttribute("width", Math.abs(now - began));
    chosen.setAttribute("y", 0);
    chosen.setAttribute("height", svg.viewBox.baseVal.height);
    svg.append(chosen);
  });
  svg.addEventListener("pointerup", (event) => {
    if (began === undefined) return;
    const [from, to] = [second(began), second(place(event))];
    const distance = Math.abs(place(event) - began);
    began = undefined;
    chosen.remove();
    if (distance < 8) return;
    if (event.shiftKey) go(start + from - to, end + from - to);
    else if (Math.abs(to - from) >= 60) go(Math.min(from, to), Math.max(from, to));
  });
  svg.addEventListener("pointercancel", () => { began = undefined; chosen.remove(); });
}

// The address has the period and the filters, so asking again keeps them. Not while somebody
// reads something else, types, or has a note open.
const refresh = document.querySelector("#refresh");
if (refresh) {
  refresh.closest("label").hidden = false;
  refresh.value = sessionStorage.getItem("refresh") || "";
  let timer;
  const start = () => {
    clearInterval(timer);
    sessionStorage.setItem("refresh", refresh.value);
    if (!refresh.value) return;
    timer = setInterval(() => {
      if (document.hidden || document.querySelector("main details[open], main :focus")) return;
      location.reload();
    }, Number(refresh.value) * 1000);
  };
  refresh.addEventListener("change", start);
  start();
}
