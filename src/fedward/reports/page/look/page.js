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

  // Certificates: which examples are still certified against k attackers.
  const total = (counts, k) => counts.reduce((sum, [largest, n]) => sum + (largest >= k ? n : 0), 0);
  for (const explorer of document.querySelectorAll(".explorer")) {
    const data = JSON.parse(explorer.querySelector(".data").textContent);
    const find = (name) => explorer.querySelector(name);
    const [variant, threat, range] = [find(".variant"), find(".threat"), find(".range")];
    const items = Array.from(explorer.querySelectorAll(".gallery > li"));
    const lines = document.querySelectorAll(`[data-follows="${explorer.id}"]`);
    const chosen = () => data.variants[variant.value].threats[threat.value];

    const show = () => {
      const k = Number(range.value), now = chosen(), top = data.variants[variant.value].top;
      const [right, wrong] = [total(now.right, k), total(now.wrong, k)];
      find(".k").textContent = k;
      range.setAttribute("aria-valuetext", `${k} attackers: ${right} of ${data.total} right and certified`);
      find(".said").textContent =
        `${right} of ${data.total.toLocaleString("en")} test example${data.total === 1 ? "" : "s"} ` +
        `(${(Math.floor((1000 * right) / data.total) / 10).toFixed(1)}\u00a0%) are right and certified against ${k}; ` +
        `${wrong} more are certified, but not right.`;
      items.forEach((item, i) => {
        const largest = now.shown[i], part = (name) => item.querySelector(name);
        const wrongly = part(".is").textContent !== `is ${top[i]}`;
        item.classList.toggle("lost", largest < k);
        part(".says").textContent = `says ${top[i]}${wrongly ? " ✗" : ""}`;
        part(".reach").textContent = largest < 0 ? "never certified"
          : `up to ${largest}${largest === now.last ? " or more" : ""}`;
        part(".standing").textContent = largest < k ? "not certified" : "certified";
      });
      for (const line of lines) {
        const { low, high, from, to } = line.dataset;
        const x = Number(from) + ((k - low) / (high - low)) * (to - from);
        line.classList.add("placed");
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
      }
    };
    const other = () => {
      const now = chosen();
      const largest = [...now.right, ...now.wrong].reduce((most, [k]) => Math.max(most, k), 0);
      // One more than the last that is certified, so that its end can be seen.
      range.max = Math.max(1, largest + 1);
      range.value = now.start;
      show();
    };
    find(".controls").hidden = false;
    variant.parentElement.hidden = data.variants.length < 2;
    variant.addEventListener("change", other);
    threat.addEventListener("change", other);
    range.addEventListener("input", show);
    other();
  }

  // Paper has no folds.
  const closed = [];
  addEventListener("beforeprint", () => {
    closed.push(...document.querySelectorAll("details:not([open])"));
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed.splice(0)) each.open = false;
  });
})();
