"use strict";
(() => {
  // A link into a fold opens it.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    let opened = false;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      opened = opened || !fold.open;
      fold.open = true;
    }
    if (opened) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
  for (const link of document.querySelectorAll("a[href^='#']"))
    link.addEventListener("click", () => { if (link.hash === location.hash) open(); });

  // The contents show where the reader is.
  const links = new Map(Array.from(document.querySelectorAll("nav a"), (link) => [link.hash.slice(1), link]));
  const places = Array.from(links.keys(), (id) => document.getElementById(id)).filter(Boolean);
  const here = () => {
    let now = places[0];
    for (const place of places)
      if (place.checkVisibility() && place.getBoundingClientRect().top <= innerHeight / 3) now = place;
    for (const [id, link] of links) {
      if (id === now.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", here, { passive: true });
  here();

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
