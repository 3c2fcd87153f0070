"use strict";
// Tables of class `sortable`: each heading becomes a button that sorts the rows by its column, upwards first.
// A cell is compared by its data-v (a number) or its text; cells without a value stay last either way.
// Columns whose heading has data-fixed mix units, so there is no order to give them.
(() => {
  const value = (cell) => {
    if (cell === undefined) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    if (text === "" || text === "\u2013") return null;
    return /^[-+]?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  };
  const compare = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  };
  const sort = (table, heads, column) => {
    const upwards = heads[column].getAttribute("aria-sort") !== "ascending";
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: value(row.cells[column]) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return upwards ? compare(a.key, b.key) : compare(b.key, a.key);
    });
    table.tBodies[0].append(...rows.map((one) => one.row));
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", upwards ? "ascending" : "descending");
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (!table.tHead || table.tBodies.length !== 1 || table.tBodies[0].rows.length < 2) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if ("fixed" in head.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort by this column";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, heads, column));
    });
  }
})();
