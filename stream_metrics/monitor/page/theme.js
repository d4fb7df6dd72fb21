// The colours that were chosen, set before anything is painted: a classic script, because a module would come too late
// and the page would flash. Without a choice the browser's own preference holds (style.css).
"use strict";

try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is refused, as in some private windows: the browser's preference holds.
}
