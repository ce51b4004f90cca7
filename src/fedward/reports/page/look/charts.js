"use strict";
(() => {
  // Charts: the legend has the values where the reader points, with the mouse, a finger or the arrow keys.
  const SVG = "http://www.w3.org/2000/svg";
  const number = (cell) => (cell.dataset.key === "" ? NaN : Number(cell.dataset.key));
  const scale = (svg, axis, from, to) => {
    const low = Number(svg.dataset[`${axis}Low`]), high = Number(svg.dataset[`${axis}High`]);
    const log = `${axis}Log` in svg.dataset;
    return (value) =>
      from + (to - from) * (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  };
  for (const figure of document.querySelectorAll("figure.picture")) {
    const svg = figure.querySelector("svg.chart"), table = figure.querySelector("table");
    if (!table || !svg.dataset.left) continue;
    const [left, right, top, bottom] = ["left", "right", "top", "bottom"].map((each) => Number(svg.dataset[each]));
    const [x, y] = [scale(svg, "x", left, right), scale(svg, "y", bottom, top)];
    const about = table.tHead.rows[0].cells[0].textContent;
    // As they are now: a reader may sort them later.
    const rows = Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells, (cell) => ({
      text: cell.textContent, value: number(cell),
    })));
    const [items, place] = [Array.from(figure.querySelectorAll(".legend .value")), figure.querySelector(".place")];
    const names = items.map((item) => item.parentElement.textContent.replace(item.textContent, "").trim());
    const said = items.map((item) => item.textContent), where = place.textContent;
    const line = svg.querySelector(".here");
    const dots = items.map(() => {
      const dot = document.createElementNS(SVG, "circle");
      dot.setAttribute("r", 4.5);
      dot.setAttribute("class", "dot");
      svg.append(dot);
      return dot;
    });
    const reader = document.createElement("input");
    Object.assign(reader, { type: "range", className: "reader", min: 0, max: rows.length - 1, step: 1 });
    reader.value = rows.length - 1;
    reader.setAttribute("aria-label", `Values of ${figure.querySelector("figcaption").textContent}`);
    figure.querySelector(".plot").append(reader);

    const clear = () => {
      line.classList.remove("placed");
      dots.forEach((dot) => dot.classList.remove("placed"));
    };
    const at = (index) => {
      const [first, ...values] = rows[index];
      clear();
      line.classList.add("placed");
      line.setAttribute("d", `M${x(first.value).toFixed(1)} ${top}V${bottom}`);
      values.forEach((each, i) => {
        items[i].textContent = each.text || "-";
        if (Number.isNaN(each.value) || each.text === "") return;
        dots[i].classList.add("placed");
        dots[i].setAttribute("cx", x(first.value));
        dots[i].setAttribute("cy", y(each.value));
      });
      place.textContent = `${about}: ${first.text}`;
      const told = values.map((each, i) => (each.text ? `${names[i]} ${each.text}` : "")).filter(Boolean);
      reader.setAttribute("aria-valuetext", `${about}: ${first.text}; ${told.join(", ")}`);
    };
    const nearest = (value) => rows.reduce(
      (best, row, i) => (Math.abs(row[0].value - value) < Math.abs(rows[best][0].value - value) ? i : best), 0);
    let resting = null;
    const rest = () => {
      if (resting !== null) return at(resting);
      clear();
      items.forEach((item, i) => { item.textContent = said[i]; });
      place.textContent = where;
      return undefined;
    };
    figure.addEventListener("rest", (event) => {
      resting = nearest(event.detail);
      reader.value = resting;
      at(resting);
    });
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const wanted = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const far = (i) => Math.abs(x(rows[i][0].value) - wanted);
      const index = rows.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
      reader.value = index;
      at(index);
    });
    svg.addEventListener("pointerleave", rest);
    reader.addEventListener("input", () => at(Number(reader.value)));
    reader.addEventListener("focus", () => at(Number(reader.value)));
    reader.addEventListener("blur", rest);
    reader.setAttribute("aria-valuetext", "move to read values");
  }
})();
