"use strict";
(() => {
  // Certificates: which examples are still certified against k attackers.
  const total = (counts, k) => counts.reduce((sum, [largest, n]) => sum + (largest >= k ? n : 0), 0);
  for (const explorer of document.querySelectorAll(".explorer")) {
    const data = JSON.parse(explorer.querySelector(".data").textContent);
    const find = (name) => explorer.querySelector(name);
    const [variant, threat, range] = [find(".variant"), find(".threat"), find(".range")];
    const items = Array.from(explorer.querySelectorAll(".gallery > li"));
    const charts = document.querySelectorAll(`[data-follows="${explorer.id}"]`);
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
      for (const chart of charts) chart.dispatchEvent(new CustomEvent("rest", { detail: k }));
    };
    const other = () => {
      const now = chosen();
      const largest = [...now.right, ...now.wrong].reduce((most, [k]) => Math.max(most, k), 0);
      // One more than the last that is certified, so that its end can be seen.
      range.max = Math.max(1, largest + 1);
      range.value = now.start;
      show();
    };
    for (const each of explorer.querySelectorAll(".controls")) each.hidden = false;
    variant.parentElement.hidden = data.variants.length < 2;
    variant.addEventListener("change", other);
    threat.addEventListener("change", other);
    range.addEventListener("input", show);
    other();
  }
})();
