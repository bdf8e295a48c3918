// Says what a cell is when pointed at, and dims rows that are not asked for. The page is whole
// without it: shapes have titles of their own.
for (const figure of document.querySelectorAll("figure.picture")) {
  const rows = [...figure.querySelectorAll("g.row")];
  const columns = figure.querySelector("g.columns");
  if (rows.length === 0 || !columns) continue;
  const svg = figure.querySelector("svg");
  const edges = columns.dataset.edges.split(" ").map(Number);
  const words = JSON.parse(columns.dataset.columns);
  const categories = JSON.parse(columns.dataset.categories);
  for (const row of rows) row.dataset.about ||= row.querySelector("title").textContent;
  for (const title of figure.querySelectorAll("svg * > title")) title.remove();

  const filter = document.createElement("input");
  filter.type = "search";
  filter.className = "filter";
  filter.placeholder = "Show only rows with …";
  filter.setAttribute("aria-label", "Show only rows with these words");
  figure.before(filter);
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const about = row.dataset.about.toLowerCase();
      row.classList.toggle("dim", !wanted.every((word) => about.includes(word)));
    }
  });

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const categoryAt = (row, column) => {
    let end = 0;
    for (const run of (row.dataset.runs || "").split(" ")) {
      const [category, length] = run.split("*").map(Number);
      end += length;
      if (column < end) return categories[category];
    }
    return "";
  };
  svg.addEventListener("pointermove", (event) => {
    const row = event.target.closest("g.row");
    tip.hidden = !row;
    if (!row) return;
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    let column = edges.findIndex((edge) => edge > x) - 1;
    if (column < 0) column = edges.length - 2;
    tip.textContent = [row.dataset.about, words[column], categoryAt(row, column)].join("\n").trim();
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4);
    const top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4);
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
