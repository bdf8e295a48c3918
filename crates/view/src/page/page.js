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
