// ------------------------------------------------------------------ run
if ($("trace")) {
  const draw = () => {
    const s = curves([{ values: D.history, length: D.history.length, color: "var(--accent)", width: 2, opacity: 1 }], Math.max(280, $("trace").clientWidth - 32), 190);
    s.querySelectorAll("text").forEach((t) => { if (t.textContent === "step 1") t.textContent = "start"; else if (t.getAttribute("text-anchor") === "end" && t.getAttribute("y") === "186") t.textContent = "iteration " + (D.history.length - 1); });
    s.setAttribute("aria-label", `Objective from ${number(D.history[0])} to ${number(D.history[D.history.length - 1])} in ${D.history.length - 1} iterations`); $("trace").replaceChildren(s);
  };
  redraws.push(draw); draw();
}
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", async () => {
  const code = $(button.dataset.copy);
  try { await navigator.clipboard.writeText(code.textContent); } catch { const r = document.createRange(); r.selectNodeContents(code); const g = getSelection(); g.removeAllRanges(); g.addRange(r); document.execCommand("copy"); }
  button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500);
});
// A table that is wider than the screen says so below it.
const frames = [...document.querySelectorAll(".scroll")].map((frame) => { const note = el("p", "more-columns", "more columns: scroll sideways →"); note.setAttribute("aria-hidden", "true"); note.hidden = true; frame.after(note); return [frame, note]; });
const wider = new ResizeObserver(() => { for (const [frame, note] of frames) note.hidden = frame.scrollWidth <= frame.clientWidth + 2; });
for (const [frame] of frames) { wider.observe(frame); wider.observe(frame.firstElementChild); }
for (const d of document.querySelectorAll("details")) d.addEventListener("toggle", redraw);
let waiting = 0; addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 80); });
document.documentElement.dataset.drawn = String(Math.round(performance.now() - started));
