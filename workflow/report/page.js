"use strict";
// Sort tables by a click on a column's name, filter them by text and download them; the rest works without JavaScript.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const value = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  table.querySelectorAll("tr:last-child > th[scope=col]").forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const sign = descending ? -1 : 1;
      const number = (text) => parseFloat(text.replaceAll(",", ""));
      [...body.rows].sort((a, b) => {
        const [left, right] = [value(a, at), value(b, at)];
        const [x, y] = [number(left), number(right)];
        if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
        return sign * (Number.isNaN(x) ? left.localeCompare(right, undefined, { numeric: true }) : x - y);
      }).forEach((row) => body.append(row));
    });
  });
}
for (const tools of document.querySelectorAll(".tools")) {
  const body = document.getElementById(tools.dataset.table).tBodies[0];
  const [words, marked] = tools.querySelectorAll("input");
  const show = () => {
    for (const row of body.rows) {
      const named = row.textContent.toLowerCase().includes(words.value.trim().toLowerCase());
      row.hidden = !named || (marked.checked && row.dataset.marked === undefined);
    }
  };
  words.addEventListener("input", show);
  marked.addEventListener("change", show);
  tools.hidden = false;
}
// Every table downloads as TSV, with the rows that are shown.
const plain = (cell) => cell.textContent.replace(/\s+/g, " ").trim().replace(/^-?\d{1,3}(,\d{3})+(?=\.|$)/, (number) => number.replaceAll(",", ""));
for (const table of document.querySelectorAll("main table")) {
  const button = document.createElement("button");
  const name = table.parentElement.getAttribute("aria-label");
  Object.assign(button, { type: "button", className: "tsv", textContent: "TSV", ariaLabel: `Download as TSV: ${name}` });
  button.addEventListener("click", () => {
    const rows = [...table.rows].filter((row) => !row.hidden && !row.classList.contains("group"));
    const text = rows.map((row) => `${[...row.cells].map(plain).join("\t")}\n`).join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
    link.download = `${name.replace(/[^A-Za-z0-9.-]+/g, "_")}.tsv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href));
  });
  table.parentElement.before(button);
}
