// Everything the user named goes into the page as text (textContent), never as markup.
const started = performance.now();
const D = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const el = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const svg = (tag, at) => { const e = document.createElementNS("http://www.w3.org/2000/svg", tag); for (const k in at) e.setAttribute(k, at[k]); return e; };
const bytes = (s) => Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
const unpack = (s, Kind) => s === null ? null : new Kind(bytes(s).buffer);
const N = D.ids.length, F = D.labels.length;
const xy = unpack(D.xy, Uint16Array), distance = unpack(D.distance, Float32Array), numbers = unpack(D.numbers, Uint32Array);
const WORDS = Object.keys(D.decisions), [CLEARLY, RATHER, BETWEEN, UNDECIDED, NOWHERE] = WORDS.keys();
const columns = D.columns.map((c) => c.levels ? { name: c.name, levels: c.levels, codes: unpack(c.codes, Uint16Array) } : { name: c.name, decimals: c.decimals, unit: c.unit && c.unit !== "%" ? " " + c.unit : c.unit, numbers: c.wide ? unpack(c.wide, Float64Array) : unpack(c.numbers, Float32Array) });

// ------------------------------------------------------------------ what is shown: masses, and what follows from them
const within = new Map();
const inside = (a) => { if (!within.has(a)) within.set(a, D.sets.flatMap((b, j) => j && b.every((k) => D.sets[a].includes(k)) ? [j] : [])); return within.get(a); };  // the sets in a set
const ends = (masses) => {
  const best = new Uint16Array(N), top = new Float64Array(N), single = new Float64Array(N), mean = new Float64Array(F);
  for (let i = 0; i < N; i++) {
    const at = i * F; let b = 0, most = 0;
    for (let j = 0; j < F; j++) mean[j] += masses[at + j] / N;
    for (let j = 1; j < F; j++) { if (masses[at + j] > masses[at + b]) b = j; if (j <= D.c && masses[at + j] > most) most = masses[at + j]; }
    best[i] = b; top[i] = masses[at + b]; single[i] = most;
  }
  return { masses, best, top, single, mean };
};
// What is said of each object in one word, as CredalPartition.decisions says it in Python.
const decided = (masses, clear) => {
  const state = ends(masses), doubt = new Float64Array(N), decision = new Uint8Array(N), confidence = new Float64Array(N);
  const counts = new Array(F).fill(0), wordCounts = Object.fromEntries(WORDS.map((w) => [w, 0])), sure = new Array(F).fill(0), bet = new Float64Array(D.c), EPS = 1e-9;
  for (let i = 0; i < N; i++) {
    const at = i * F, b = state.best[i]; let rest = 0, first = 0, second = 0, likely = 0;
    bet.fill(0);
    for (let j = 1; j < F; j++) { const m = masses[at + j], members = D.sets[j]; rest += m; for (const k of members) bet[k] += m / members.length; }
    for (let k = 0; k < D.c; k++) { const m = masses[at + 1 + k]; if (m > first) { second = first; first = m; } else if (m > second) second = m; if (bet[k] > likely) likely = bet[k]; }
    const scale = rest > 1e-300 ? 1 / rest : 0;
    first *= scale; second *= scale;
    doubt[i] = Math.max(0, 1 - (scale ? likely * scale : 1 / D.c));
    decision[i] = b === 0 ? NOWHERE : b > D.c ? BETWEEN : first >= clear - EPS ? CLEARLY : first - second >= 0.1 - EPS ? RATHER : UNDECIDED;
    confidence[i] = b === 0 ? masses[at] : b > D.c ? inside(b).reduce((s, j) => s + masses[at + j], 0) * scale : first;
    counts[b]++; wordCounts[WORDS[decision[i]]]++; if (decision[i] === CLEARLY) sure[b]++;
  }
  return { ...state, doubt, decision, confidence, counts, wordCounts, sure, clear, n: N };
};
const fitted = {
  ...ends(Float64Array.from(unpack(D.masses, Uint16Array), (m) => m / 65535)), doubt: unpack(D.doubt, Float32Array), decision: unpack(D.decision, Uint8Array),
  confidence: unpack(D.confidence, Float32Array), counts: D.counts, wordCounts: D.decisions, clear: D.clear, n: D.n, lists: D.lists,
};
let { masses, best, top, single, doubt, decision, confidence, counts } = fitted, shown = fitted;
const mass = (i, j) => masses[i * F + j];
const follows = [];  // what is drawn anew, section by section, where other masses are shown
const show = (state) => { shown = state; ({ masses, best, top, single, doubt, decision, confidence, counts } = state); for (const follow of follows) follow(); };

const number = (v) => v === null || !isFinite(v) ? "–" : Number.isInteger(v) && Math.abs(v) < 1e6 ? String(v) : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 ? String(+v.toPrecision(4)) : v.toExponential(2);
// Digits in groups of three, with a narrow blank between: counts from 1 000 on, values of columns from 10 000 on (2024 is a year).
const spaced = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
const grouped = (count) => spaced(String(count));
const listed = (items, word) => items.length < 2 ? items.join("") : items.slice(0, -1).join(", ") + " " + word + " " + items[items.length - 1];
const share = (v) => v > 0 && v < 0.001 ? "<0.001" : v < 1 && v > 0.999 ? ">0.999" : v.toFixed(3);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let paper = false;
const ink = () => paper ? "#111" : css("--ink"), soft = () => paper ? "#444" : css("--soft"), line = () => paper ? "#ccc" : css("--line"), card = () => paper ? "#fff" : css("--card");
const colorOf = (j) => j === 0 ? ink() : D.colors[j];
const hex = (h) => { const s = h.replace("#", ""); const w = s.length === 3 ? s.replace(/./g, "$&$&") : s; return [0, 2, 4].map((k) => parseInt(w.slice(k, k + 2), 16)); };
const shape = (j) => j === 0 ? "cross" : D.sets[j].length === 1 ? "dot" : "gem";
const mark = (j) => { const m = el("span", shape(j)); m.setAttribute("aria-hidden", "true"); if (j) m.style.background = D.colors[j]; return m; };
const badge = (j) => { const b = el("span"); b.style.cssText = "display:inline-flex;align-items:center;gap:.45em"; b.append(mark(j), el("span", "", D.labels[j])); return b; };
// Numbers of a column with as many decimals as its own cells have.
const inColumn = (v, decimals) => Math.abs(v) >= 1e15 || decimals > 9 ? String(+v.toPrecision(7)) : v.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1").replace(/^-?\d{5,}/, spaced);
const value = (c, i) => c.levels ? (c.codes[i] === 65535 ? "missing" : c.levels[c.codes[i]]) : isNaN(c.numbers[i]) ? "missing" : inColumn(c.numbers[i], c.decimals) + c.unit;

// ------------------------------------------------------------------ theme
const redraws = [];
const redraw = () => redraws.forEach((f) => f());
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const stored = (() => { try { return localStorage.getItem("softecm-theme"); } catch { return null; } })();
if (stored) document.documentElement.dataset.theme = stored;
$("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("softecm-theme", next); } catch { /* a file opened from disk may have no storage */ }
  redraw();
});
systemDark.addEventListener("change", redraw);
addEventListener("beforeprint", () => { paper = true; redraw(); });
addEventListener("afterprint", () => { paper = false; redraw(); });

// ------------------------------------------------------------------ tip
const tip = $("tip");
const facts = (i) => {
  const box = document.createDocumentFragment();
  const name = el("b", "", D.ids[i]); name.dir = "auto"; box.append(name, badge(best[i]), el("span", "", WORDS[decision[i]] + " (" + share(confidence[i]) + ")"));
  const rows = el("table"), order = [...Array(F).keys()].filter((j) => mass(i, j) >= 0.005).sort((a, b) => mass(i, b) - mass(i, a)).slice(0, 4);
  for (const j of order) { const r = rows.insertRow(); r.append(el("td", "", D.labels[j]), el("td", "", share(mass(i, j)))); }
  for (const c of columns.slice(0, 6)) { const r = rows.insertRow(), k = el("td", "", c.name), v = el("td", "", value(c, i)); k.dir = v.dir = "auto"; k.style.color = "var(--soft)"; r.append(k, v); }
  box.append(rows);
  return box;
};
const showAt = (content, x, y) => {
  tip.replaceChildren(content); tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(6, Math.min(innerWidth - w - 6, x + 14 + w > innerWidth ? x - w - 14 : x + 14)) + "px";
  tip.style.top = Math.max(6, Math.min(innerHeight - h - 6, y + 14)) + "px";
};
const showTip = (i, x, y) => showAt(facts(i), x, y);
const hideTip = () => { tip.hidden = true; };
// Words with a meaning: it shows on hovering, on focus and on a tap.
const meant = (e, meaning) => { e.classList.add("term"); e.dataset.tip = meaning; return e; };
const showMeaning = (e) => { const at = e.target.closest?.("[data-tip]"); if (!at) return; const r = at.getBoundingClientRect(); showAt(el("span", "", at.dataset.tip), r.left - 14, r.bottom - 6); };
for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, showMeaning);
for (const kind of ["pointerout", "focusout"]) document.addEventListener(kind, (e) => { if (e.target.closest?.("[data-tip]")) hideTip(); });
for (const e of document.querySelectorAll("[data-tip]")) e.setAttribute("aria-description", e.dataset.tip);
addEventListener("scroll", hideTip, { passive: true });
addEventListener("keydown", (e) => { if (e.key === "Escape") hideTip(); });
// A canvas to draw on; one that is as large as before is not measured, which would have the page laid out first.
const prepare = (canvas, same) => {
  const r = devicePixelRatio || 1, [w, h] = same ? [canvas.width / r, canvas.height / r] : [canvas.clientWidth, canvas.clientHeight];
  if (!same) { canvas.width = Math.round(w * r); canvas.height = Math.round(h * r); }
  const g = canvas.getContext("2d"); g.setTransform(r, 0, 0, r, 0, 0); g.clearRect(0, 0, w, h);
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  return [g, w, h];
};
