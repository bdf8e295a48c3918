// Says what a cell is when pointed at, and dims rows that are not asked for. The page is whole
// without it: shapes have titles of their own.
for (const figure of document.querySelectorAll("figure.picture")) {
  const rows = [...figure.querySelectorAll("g.row, .covers use")];
  const columns = figure.querySelector("g.columns");
  if (rows.length === 0 || !columns) continue;
  const svg = figure.querySelector("svg");
  const edges = columns.dataset.edges.split(" ").map(Number);
  const { times, columns: labels } = columns.dataset;
  const words = (times || labels).split("\n");
  const between = (from, to) => `${from.slice(0, 16)} to ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`;
  const wordsOf = (column) => (times ? between(words[column], words[column + 1]) : words[column]);
  const categories = columns.dataset.categories.split("\n");
  for (const row of rows) {
    const title = row.querySelector("title") || row.parentNode.querySelector("title");
    row.dataset.about ||= [row.dataset.name, title.textContent].filter(Boolean).join("\n");
  }
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
  // Where cells are pixels, their colours say what they are.
  const cells = figure.querySelector("image.cells");
  let pixels;
  if (cells) {
    const image = new Image();
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      pixels = context.getImageData(0, 0, image.width, image.height);
    };
    image.src = cells.href.baseVal;
  }
  const categoryOfPixel = (row, column) => {
    const place = 4 * (row * pixels.width + column);
    const color = pixels.data.slice(place, place + 3);
    const written = `#${[...color].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    return categories[cells.dataset.colors.split(" ").indexOf(written)] || "";
  };
  const categoryAt = (row, column) => {
    if (pixels) return categoryOfPixel(rows.indexOf(row), column);
    let end = 0;
    for (const run of (row.dataset.runs || "").split(" ")) {
      const [category, length] = run.split("*").map(Number);
      end += length;
      if (column < end) return categories[category];
    }
    return "";
  };
  svg.addEventListener("pointermove", (event) => {
    const row = event.target.closest("g.row, .covers use");
    tip.hidden = !row;
    if (!row) return;
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    let column = edges.findIndex((edge) => edge > x) - 1;
    if (column < 0) column = edges.length - 2;
    tip.textContent = [row.dataset.about, wordsOf(column), categoryAt(row, column)].join("\n").trim();
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4);
    const top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4);
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
