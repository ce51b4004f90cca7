"use strict";
(() => {
  // Tables: a heading becomes a button that sorts by its column.
  const key = (row, column) => row.children[column].dataset.key;
  const order = (a, b, number) => {
    // What has no number stands last, whichever way is sorted.
    if (!number) return a.localeCompare(b, "en", { numeric: true });
    const x = a === "" ? NaN : Number(a), y = b === "" ? NaN : Number(b);
    return x - y;
  };
  const sort = (table, heading, column) => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    const number = heading.classList.contains("number");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const missing = (row) => number && (key(row, column) === "" || Number.isNaN(Number(key(row, column))));
    rows.sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      return order(key(a, column), key(b, column), number) * (down ? -1 : 1);
    });
    body.append(...rows);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading, column));
      heading.append(button);
    });
  }

  // What is wider than the screen says so.
  const wide = (box) => {
    const hint = box.previousElementSibling;
    if (hint && hint.classList.contains("hint")) hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  };
  const watch = new ResizeObserver((entries) => entries.forEach((entry) => wide(entry.target)));
  for (const box of document.querySelectorAll(".scroll")) watch.observe(box);
})();
