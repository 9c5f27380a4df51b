(() => {
"use strict";
// Everything the user named goes into the page as text (textContent), never as markup.
const started = performance.now();
const D = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const el = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const svg = (tag, at) => { const e = document.createElementNS("http://www.w3.org/2000/svg", tag); for (const k in at) e.setAttribute(k, at[k]); return e; };
const bytes = (s) => Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
const unpack = (s, Kind) => s === null ? null : new Kind(bytes(s).buffer);
const N = D.ids.length, F = D.labels.length;
const xy = unpack(D.xy, Uint16Array), raw = unpack(D.masses, Uint16Array), mix = unpack(D.mix, Uint8Array);
const doubt = unpack(D.doubt, Float32Array), distance = unpack(D.distance, Float32Array), numbers = unpack(D.numbers, Uint32Array);
const WORDS = Object.keys(D.decisions), said = unpack(D.said, Uint8Array), confidence = unpack(D.confidence, Float32Array);
const columns = D.columns.map((c) => c.levels ? { name: c.name, levels: c.levels, codes: unpack(c.codes, Uint16Array) } : { name: c.name, decimals: c.decimals, unit: c.unit ? " " + c.unit : "", numbers: c.wide ? unpack(c.wide, Float64Array) : unpack(c.numbers, Float32Array) });
const mass = (i, j) => raw[i * F + j] / 65535;
const best = new Uint16Array(N), top = new Float32Array(N), single = new Float32Array(N);
for (let i = 0; i < N; i++) {
  let b = 0;
  for (let j = 1; j < F; j++) { if (raw[i * F + j] > raw[i * F + b]) b = j; if (j <= D.c && mass(i, j) > single[i]) single[i] = mass(i, j); }
  best[i] = b; top[i] = mass(i, b);
}
const number = (v) => v === null || !isFinite(v) ? "–" : Number.isInteger(v) && Math.abs(v) < 1e6 ? String(v) : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 ? String(+v.toPrecision(4)) : v.toExponential(2);
const share = (v) => v > 0 && v < 0.001 ? "<0.001" : v < 1 && v > 0.999 ? ">0.999" : v.toFixed(3);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let paper = false;
const ink = () => paper ? "#111" : css("--ink"), soft = () => paper ? "#444" : css("--soft"), line = () => paper ? "#ccc" : css("--line"), card = () => paper ? "#fff" : css("--card");
const colorOf = (j) => j === 0 ? ink() : D.colors[j];
const hex = (h) => { const s = h.replace("#", ""); const w = s.length === 3 ? s.replace(/./g, "$&$&") : s; return [0, 2, 4].map((k) => parseInt(w.slice(k, k + 2), 16)); };
const shape = (j) => j === 0 ? "cross" : D.sets[j].length === 1 ? "dot" : "gem";
const mark = (j) => { const m = el("span", shape(j)); m.setAttribute("aria-hidden", "true"); if (j) m.style.background = D.colors[j]; return m; };
const badge = (j) => { const b = el("span"); b.style.cssText = "display:inline-flex;align-items:center;gap:.45em"; b.append(mark(j), el("span", "", D.labels[j])); if (D.words[j] !== D.labels[j]) b.title = D.words[j]; return b; };
// Numbers of a column with as many decimals as its own cells have.
const inColumn = (v, decimals) => Math.abs(v) >= 1e15 || decimals > 9 ? String(+v.toPrecision(7)) : v.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1");
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
  const name = el("b", "", D.ids[i]); name.dir = "auto"; box.append(name, badge(best[i]), el("span", "", WORDS[said[i]] + " (" + share(confidence[i]) + ")"));
  const rows = el("table"), order = [...Array(F).keys()].filter((j) => mass(i, j) >= 0.005).sort((a, b) => mass(i, b) - mass(i, a)).slice(0, 4);
  for (const j of order) { const r = rows.insertRow(); r.append(el("td", "", "m(" + D.labels[j] + ")"), el("td", "", share(mass(i, j)))); }
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
const prepare = (canvas) => {
  const r = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = Math.round(w * r); canvas.height = Math.round(h * r);
  const g = canvas.getContext("2d"); g.setTransform(r, 0, 0, r, 0, 0); g.clearRect(0, 0, w, h);
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  return [g, w, h];
};

// ------------------------------------------------------------------ map
const hidden = new Set();
(() => {
  const canvas = $("map-canvas"), pad = 18, base = N > 5000 ? 2.2 : N > 800 ? 3 : N > 100 ? 4.2 : 6;
  let px = new Float32Array(0), py, grid, cell = 12, gw, focus = -1;
  const drawOrder = [...Array(N).keys()].sort((a, b) => (best[a] === 0) - (best[b] === 0));
  const basePicture = document.createElement("canvas");
  const ring = () => {  // hovering repaints the picture, not every object
    const g = canvas.getContext("2d"), r = devicePixelRatio || 1;
    g.setTransform(1, 0, 0, 1, 0, 0); g.clearRect(0, 0, canvas.width, canvas.height); g.drawImage(basePicture, 0, 0); g.setTransform(r, 0, 0, r, 0, 0);
    if (focus >= 0) { g.strokeStyle = ink(); g.lineWidth = 2; g.beginPath(); g.arc(px[focus], py[focus], base + 5, 0, 6.2832); g.stroke(); }
  };
  const named = Boolean(D.axes[0]), below = named ? 30 : 0, left = named ? 46 : 0, [low, high] = D.window;
  const spans = [high[0] - low[0] || 1, high[1] - low[1] || 1];
  // One scale for both axes, in what the metric makes of them; units of 0 are free.
  const [lx, ly] = [spans[0] * D.units[0], spans[1] * D.units[1]], free = !(lx > 0 && ly > 0);
  const draw = () => {
    canvas.style.height = "";
    if (!free) canvas.style.height = Math.round(Math.min(canvas.clientHeight, Math.max(220, (canvas.clientWidth - 2 * pad - left) * ly / lx + 2 * pad + below))) + "px";
    const [g, w, h] = prepare(canvas);
    const wide = w - 2 * pad - left, tall = h - 2 * pad - below, k = Math.min(wide / lx, tall / ly);
    const sx = free ? wide : k * lx, sy = free ? tall : k * ly;
    const X = (u) => pad + left + (wide - sx) / 2 + u / 65535 * sx, Y = (u) => pad + (tall - sy) / 2 + (1 - u / 65535) * sy;
    if (named) {
      g.fillStyle = soft(); g.strokeStyle = line(); g.lineWidth = 1; g.textBaseline = "middle";
      for (const [axis, span] of spans.entries()) {
        const rough = span / Math.max(1, (axis ? sy / 48 : sx / 72)), ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((f) => f * ten).find((f) => f >= rough);
        for (let v = Math.ceil(low[axis] / step) * step; v <= high[axis] + step * 1e-9; v += step) {
          const u = (v - low[axis]) / span * 65535; g.beginPath();
          if (axis === 0) { g.moveTo(X(u), Y(65535)); g.lineTo(X(u), Y(0)); g.textAlign = "center"; g.fillText(number(+v.toPrecision(6)), X(u), Y(0) + 14); }
          else { g.moveTo(X(0), Y(u)); g.lineTo(X(65535), Y(u)); g.textAlign = "right"; g.fillText(number(+v.toPrecision(6)), X(0) - 8, Y(u)); }
          g.stroke();
        }
      }
      g.textBaseline = "alphabetic";
    }
    px = new Float32Array(N); py = new Float32Array(N); gw = Math.ceil(w / cell); grid = new Map();
    const dark = hex(ink());
    for (const i of drawOrder) {
      const x = X(xy[2 * i]), y = Y(xy[2 * i + 1]);
      px[i] = x; py[i] = y;
      if (hidden.has(best[i])) continue;
      const key = Math.floor(y / cell) * gw + Math.floor(x / cell); if (grid.has(key)) grid.get(key).push(i); else grid.set(key, [i]);
      const e = mass(i, 0), r = base * (0.55 + 0.45 * top[i]);
      const col = "rgb(" + [0, 1, 2].map((k) => Math.round(mix[3 * i + k] * (1 - e) + dark[k] * e)).join(",") + ")";
      g.globalAlpha = N > 5000 ? 0.75 : 0.9;
      if (best[i] === 0) { g.strokeStyle = col; g.lineWidth = Math.max(1.3, base / 3); g.beginPath(); g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x + r, y - r); g.lineTo(x - r, y + r); g.stroke(); continue; }
      g.fillStyle = col; g.beginPath();
      if (D.sets[best[i]].length === 1) g.arc(x, y, r, 0, 6.2832);
      else { const q = r * 1.45; g.moveTo(x, y - q); g.lineTo(x + q, y); g.lineTo(x, y + q); g.lineTo(x - q, y); g.closePath(); }
      g.fill();
      if (N <= 800) { g.strokeStyle = card(); g.lineWidth = 0.8; g.stroke(); }
    }
    g.globalAlpha = 1;
    for (const i of D.beyond) {  // what lies beyond the edge: an arrow points there
      if (hidden.has(best[i])) continue;
      const side = (v) => v === 0 ? -1 : v === 65535 ? 1 : 0, dx = side(xy[2 * i]), dy = -side(xy[2 * i + 1]), q = Math.hypot(dx, dy) || 1;
      const ax = dx / q, ay = dy / q, x = px[i] + ax * 17, y = py[i] + ay * 17;
      g.fillStyle = ink(); g.beginPath(); g.moveTo(x, y); g.lineTo(x - ax * 8 - ay * 4.5, y - ay * 8 + ax * 4.5); g.lineTo(x - ax * 8 + ay * 4.5, y - ay * 8 - ax * 4.5); g.closePath(); g.fill();
    }
    if (D.stars) D.stars.forEach((at, k) => {
      if (k >= D.c && !(D.counts[k + 1] > 0)) return;
      const x = X(at[0]), y = Y(at[1]);
      g.beginPath(); for (let s = 0; s < 10; s++) { const a = Math.PI * s / 5 - Math.PI / 2, q = s % 2 ? 4 : 9; g.lineTo(x + q * Math.cos(a), y + q * Math.sin(a)); } g.closePath();
      g.fillStyle = D.colors[k + 1]; g.fill(); g.lineWidth = 1.5; g.strokeStyle = ink(); g.stroke();
    });
    g.fillStyle = soft(); g.textAlign = "center";
    if (D.axes[0]) g.fillText(D.axes[0], (X(0) + X(65535)) / 2, Y(0) + 32);
    if (D.axes[1]) { g.save(); g.translate(X(0) - left + 8, (Y(0) + Y(65535)) / 2); g.rotate(-Math.PI / 2); g.fillText(D.axes[1], 0, 0); g.restore(); }
    basePicture.width = canvas.width; basePicture.height = canvas.height; basePicture.getContext("2d").drawImage(canvas, 0, 0);
    ring();
  };
  const nearest = (x, y) => {
    let found = -1, least = 196;
    const cx = Math.floor(x / cell), cy = Math.floor(y / cell);
    for (let a = -1; a <= 1; a++) for (let b = -1; b <= 1; b++) for (const i of grid.get((cy + b) * gw + cx + a) || []) {
      const d = (px[i] - x) ** 2 + (py[i] - y) ** 2; if (d < least) { least = d; found = i; }
    }
    return found;
  };
  const at = (i) => { const r = canvas.getBoundingClientRect(); focus = i; ring(); showTip(i, r.left + px[i], r.top + py[i]); };
  const hover = (e) => {
    const r = canvas.getBoundingClientRect(), i = nearest(e.clientX - r.left, e.clientY - r.top);
    if (i === focus) { if (i >= 0 && tip.hidden) showTip(i, e.clientX, e.clientY); return; }
    if (i < 0) { focus = -1; hideTip(); } else { focus = i; showTip(i, e.clientX, e.clientY); }
    ring();
  };
  canvas.addEventListener("pointermove", hover); canvas.addEventListener("pointerdown", hover);
  canvas.addEventListener("pointerleave", () => { focus = -1; hideTip(); ring(); });
  canvas.addEventListener("blur", () => { focus = -1; hideTip(); ring(); });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!step || !N) return;
    e.preventDefault();
    let i = focus; do { i = (i + step + N) % N; } while (hidden.has(best[i]) && i !== focus);
    at(i);
  });
  const legend = $("map-legend");
  const present = [...Array(F).keys()].filter((j) => D.counts[j]).sort((a, b) => (a === 0) - (b === 0) || a - b);
  for (const j of present) {
    const b = el("button"); b.type = "button"; b.setAttribute("aria-pressed", "true"); b.dataset.set = j;
    b.append(mark(j), el("span", "", j ? D.labels[j] : "∅ none"), el("small", "", D.counts[j]));
    b.addEventListener("click", () => { const off = hidden.has(j); if (off) hidden.delete(j); else hidden.add(j); b.setAttribute("aria-pressed", String(off)); draw(); });
    legend.append(b);
  }
  if (D.stars) { const s = meant(el("span"), D.terms.prototype); s.tabIndex = 0; s.append(el("span", "", "★"), el("span", "", "prototype")); legend.append(s); }
  redraws.push(draw); draw();
})();

// ------------------------------------------------------------------ mass plot
(() => {
  const canvas = $("mass-canvas"), few = N <= 60, left = 34, upper = 8;
  const mean = new Float64Array(F); for (let i = 0; i < N; i++) for (let j = 0; j < F; j++) mean[j] += mass(i, j) / N;
  const shown = [...Array(F).keys()].filter((j) => mean[j] > 0.0005 || j <= D.c).sort((a, b) => (a === 0) - (b === 0) || a - b);
  const bySet = [...Array(N).keys()].sort((a, b) => ((best[a] || F) - (best[b] || F)) || top[b] - top[a]);
  const byFile = [...Array(N).keys()];
  let order = bySet, focus = -1, span = 1;
  const setOrder = (file) => { order = file ? byFile : bySet; $("order-file").setAttribute("aria-pressed", String(file)); $("order-set").setAttribute("aria-pressed", String(!file)); focus = -1; draw(); };
  const clipped = (g, text, most) => { if (g.measureText(text).width <= most) return text; let s = text; while (s.length > 1 && g.measureText("…" + s).width > most) s = s.slice(1); return "…" + s; };
  const draw = () => {
    const [g, w, h] = prepare(canvas), wide = w - left - 8, scale = devicePixelRatio || 1;
    span = wide / Math.max(N, 1);
    const named = few && span >= 13, bottom = order === bySet ? (named ? 104 : 42) : (named ? 90 : 24), high = h - upper - bottom;
    const Y = (v) => upper + (1 - v) * high;
    g.strokeStyle = line(); g.fillStyle = soft(); g.textAlign = "right"; g.textBaseline = "middle"; g.lineWidth = 1;
    for (const t of [0, 0.5, 1]) { g.fillText(t, left - 8, Y(t)); g.beginPath(); g.moveTo(left, Y(t)); g.lineTo(left + wide, Y(t)); g.stroke(); }
    const bins = Math.min(N, Math.max(1, Math.floor(wide * scale))), gap = few ? Math.min(3, span / 6) : 0;
    const edge = (b) => Math.round((left + b * wide / bins) * scale) / scale;
    for (let b = 0; b < bins; b++) {
      const from = Math.floor(b * N / bins), to = Math.max(from + 1, Math.floor((b + 1) * N / bins));
      let base = 0;
      for (const j of shown) {
        let s = 0; for (let k = from; k < to; k++) s += mass(order[k], j);
        s /= to - from; if (s < 1e-4) continue;
        g.fillStyle = colorOf(j); const y = Y(base + s); g.fillRect(edge(b), y, edge(b + 1) - edge(b) - gap, Y(base) - y); base += s;
      }
    }
    g.fillStyle = soft();
    if (named) for (let k = 0; k < N; k++) { g.save(); g.translate(left + (k + 0.5) * span, Y(0) + 8); g.rotate(-Math.PI / 2); g.fillText(clipped(g, D.ids[order[k]], 58), 0, 0); g.restore(); }
    g.textBaseline = "alphabetic"; g.textAlign = "center";
    if (order === bySet) {  // which block is which set, where there is room for its name
      for (let from = 0, to = 0; from < N; from = to) {
        const j = best[order[from]]; while (to < N && best[order[to]] === j) to++;
        const a = left + from * span, b = left + to * span, y = h - 30, name = j ? D.labels[j] : "∅";
        g.fillStyle = colorOf(j); g.fillRect(a + 0.5, y, Math.max(b - a - 1, 1), 3);
        if (b - a > 16 && (g.measureText(name).width <= b - a || b - a > 48)) { g.fillStyle = soft(); g.fillText(clipped(g, name, b - a), (a + b) / 2, y + 15); }
      }
    } else { g.fillStyle = soft(); g.fillText(D.noun === "series" ? "series" : D.noun + "s as given, 1 to " + N, left + wide / 2, h - 6); }
    if (focus >= 0) { g.strokeStyle = ink(); g.lineWidth = 1.5; g.globalAlpha = 0.7; g.beginPath(); const x = left + (focus + 0.5) * span; g.moveTo(x, upper); g.lineTo(x, upper + high); g.stroke(); g.globalAlpha = 1; }
  };
  const point = (k, y) => { const r = canvas.getBoundingClientRect(); focus = k; draw(); showTip(order[k], r.left + left + (k + 0.5) * span, y ?? r.top + 40); };
  const hover = (e) => { const k = Math.floor((e.clientX - canvas.getBoundingClientRect().left - left) / span); if (k >= 0 && k < N) point(k, e.clientY); else { focus = -1; hideTip(); draw(); } };
  canvas.addEventListener("pointermove", hover); canvas.addEventListener("pointerdown", hover);
  const leave = () => { focus = -1; hideTip(); draw(); };
  canvas.addEventListener("pointerleave", leave); canvas.addEventListener("blur", leave);
  canvas.addEventListener("keydown", (e) => { const s = { ArrowRight: 1, ArrowLeft: -1 }[e.key]; if (s && N) { e.preventDefault(); point((focus + s + N) % N); } });
  $("order-file").addEventListener("click", () => setOrder(true)); $("order-set").addEventListener("click", () => setOrder(false));
  for (const j of shown.filter((j) => mean[j] > 0.002 || j <= D.c)) { const s = el("span"); s.append(mark(j), el("span", "", j ? D.labels[j] : "∅ none")); $("mass-legend").append(s); }
  redraws.push(draw); setOrder(false);
})();

// ------------------------------------------------------------------ series
const extent = (lines) => {
  let low = Infinity, high = -Infinity, long = 1;
  for (const l of lines) { long = Math.max(long, l.length); for (const v of l.values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } }
  return [low, high, long];
};
const curves = (lines, width, height, ends) => {
  const s = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  let [low, high, long] = ends || extent(lines);
  if (!(high > low)) { high = low + 1; }
  const digits = 2 - Math.floor(Math.log10(high - low)), tick = (v) => digits > 6 || Math.abs(v) >= 1e7 ? number(v) : v.toFixed(Math.max(0, digits)), left = Math.max(46, 12 + 7 * Math.max(tick(low).length, tick(high).length));
  const X = (k, l) => left + (l.values.length < 2 ? 0 : k * (l.length - 1) / (l.values.length - 1)) / Math.max(long - 1, 1) * (width - left - 6), Y = (v) => 8 + (high - v) / (high - low) * (height - 28);
  for (const v of [low, high]) { const t = svg("text", { x: left - 6, y: Y(v) + 4, "text-anchor": "end" }); t.textContent = tick(v); s.append(t); }
  for (const [k, anchor] of [[1, "start"], [long, "end"]]) { const t = svg("text", { x: k === 1 ? left : width - 6, y: height - 4, "text-anchor": anchor }); t.textContent = k === 1 ? "step 1" : k; s.append(t); }
  for (const l of lines) {
    let path = "", pen = false;
    l.values.forEach((v, k) => { if (v === null) { pen = false; return; } path += (pen ? "L" : "M") + X(k, l).toFixed(1) + " " + Y(v).toFixed(1); pen = true; });
    s.append(svg("path", { d: path, fill: "none", stroke: l.color, "stroke-width": l.width, "stroke-opacity": l.opacity, "stroke-dasharray": l.dash || "none", "stroke-linejoin": "round" }));
  }
  return s;
};
const curve = (one, channel, color, width, opacity, dash) => ({ values: one.v[channel], length: one.l, color, width, opacity, dash });
let channel = 0;
if (D.series) (() => {
  const box = $("series-cards"), pick = $("channel");
  let all = false;
  const draw = () => {
    box.replaceChildren();
    const between = [...Array(F).keys()].filter((j) => j > D.c && D.counts[j]).sort((a, b) => D.counts[b] - D.counts[a] || a - b);
    const some = all ? between : between.slice(0, 6), rest = between.length - some.length;
    const panels = [...Array(D.c).keys()].map((k) => k + 1).concat(some).map((j) => {
      const lines = D.series.members[j - 1].filter((i) => D.series.own[i]).map((i) => curve(D.series.own[i], channel, D.colors[j], 0.9, 0.35));
      return [j, lines.concat(curve(D.series.prototypes[j - 1], channel, D.colors[j], 3, 1))];
    });
    const ends = extent(panels.flatMap(([, lines]) => lines));  // one scale for all panels
    for (const [j, lines] of panels) {
      const c = el("div", "card"), h = el("h3"); h.append(badge(j), el("small", "", D.counts[j] + " series")); c.append(h);
      const s = curves(lines, 320, 170, ends); s.setAttribute("aria-label", "Prototype of " + D.words[j] + " over its surest members, " + D.series.channels[channel]); c.append(s); box.append(c);
    }
    if (rest) { const more = el("button", "", `Show ${rest} more sets between groups`); more.type = "button"; more.addEventListener("click", () => { all = true; draw(); }); box.append(more); }
  };
  if (D.series.channels.length > 1) {
    $("channel-row").hidden = false;
    D.series.channels.forEach((name, k) => { const o = el("option", "", name); o.value = k; pick.append(o); });
    pick.addEventListener("change", () => { channel = +pick.value; draw(); });
  }
  draw();
})();

// ------------------------------------------------------------------ objects
(() => {
  const table = $("object-table"), head = table.tHead, body = table.tBodies[0], search = $("search"), SIZE = 12;
  const heads = [["Object", "id"], ["Set", "set", "", "set"], ["Said", "said", "", "said"], ["Masses", null, "", "mass"], ["Doubt", "doubt", "", "doubt"], ["Typical", "single", "opt", "typical"], ["m(∅)", "empty", "opt", "m(∅)"]];
  if (distance) heads.push(["Distance", "distance", "opt", "distance"]);
  const key = { id: (i) => D.ids[i], set: (i) => best[i], said: (i) => said[i], doubt: (i) => doubt[i], single: (i) => single[i], empty: (i) => mass(i, 0), distance: (i) => distance[i] };
  const natural = new Intl.Collator(undefined, { numeric: true });
  let list = 0, page = 0, sort = null, down = true, rows = [], text = null;
  const open = new Set();
  const gradient = (i) => { let at = 0; const stops = []; for (const j of [...Array(F).keys()].slice(1).concat(0)) { const m = mass(i, j); if (m < 0.003) continue; const c = j ? D.colors[j] : "var(--ink)"; stops.push(`${c} ${(100 * at).toFixed(1)}% ${(100 * (at + m)).toFixed(1)}%`); at += m; } return stops.length ? "linear-gradient(90deg," + stops.join(",") + ")" : "none"; };
  const haystack = () => text || (text = D.ids.map((id, i) => (id + " " + D.labels[best[i]] + " " + WORDS[said[i]] + " " + columns.filter((c) => c.levels).map((c) => value(c, i)).join(" ")).toLowerCase()));
  const choose = () => {
    const q = search.value.trim().toLowerCase();
    rows = q ? haystack().reduce((a, t, i) => { if (t.includes(q)) a.push(i); return a; }, []) : list < 3 ? D.lists[list].slice() : [...Array(N).keys()];
    if (sort) { const f = key[sort], s = down ? -1 : 1; rows.sort((a, b) => s * (sort === "id" ? natural.compare(f(a), f(b)) : f(a) - f(b))); }
    page = 0; draw();
  };
  const detail = (i) => {
    const tr = el("tr", "detail"), cell = tr.insertCell(), td = el("div", "inner"); cell.colSpan = heads.length; cell.append(td);
    const e = D.explained[i], told = new Set(e ? e.parts.map((p) => p[0]) : []);
    if (e) {
      const a = D.labels[e.a], b = D.labels[e.b];
      const why = el("p", "", e.say); why.dir = "auto"; td.append(why);
      td.append(el("h4", "", e.a === e.b ? "Its group: " + a : "What pulls it to " + a + ", what to " + b));
      let say = e.da === null ? "" : e.a === e.b ? `Its distance to ${a} is ${number(e.da)}.` : `Its distance to ${a} is ${number(e.da)}, to ${b} ${number(e.db)}. `;
      if (e.a !== e.b && e.parts.length) say += "A bar towards a group: in this the object is nearer to that group.";
      if (!e.parts.length) say += " This metric does not add up over attributes, so there is no part for each.";
      td.append(el("p", "", say));
      if (e.parts.length) {
        const g = el("div", "pulls"), most = Math.max(...e.parts.map((p) => Math.abs(p[4])), 1e-300), ends = el("div", "hd ends");
        ends.append(el("span", "", "← " + a), el("span", "", b + " →"));
        const bare = !e.parts.some((p) => p[2] || p[3]);
        g.append(el("div", "hd", D.noun === "series" ? "steps" : bare ? "attribute" : "attribute: its value"), ends, el("div", "hd third", bare ? "" : "value at " + a + " | " + b));
        for (const [name, own, va, vb, pull] of e.parts) {
          const n = el("div"), bar = el("div", "pull"), f = el("i"), v = el("div", "third", va || vb ? va + " | " + vb : ""); v.dir = "auto"; v.style.color = "var(--soft)";
          const b1 = el("span", "", name); b1.dir = "auto"; n.append(b1); if (own) { const s = el("strong", "", own); s.dir = "auto"; n.append(": ", s); }
          const w = 50 * Math.abs(pull) / most; f.style.width = w + "%"; f.style.background = D.colors[pull >= 0 ? e.a : e.b]; if (pull >= 0) f.style.right = "50%"; else f.style.left = "50%";
          bar.setAttribute("role", "img"); bar.setAttribute("aria-label", w < 0.5 ? "no pull" : "pulls to " + (pull >= 0 ? a : b)); bar.append(f); g.append(n, bar, v);
        }
        td.append(g);
      }
      if (e.ds !== null) { const p = el("p", "", `Nearest to it is the prototype of ${D.labels[best[i]]} itself (distance ${number(e.ds)})` + (e.to.length ? "; for that speak most " : ".")); if (e.to.length) { const w = el("strong", "", e.to.join(", ")); w.dir = "auto"; p.append(w, "."); } td.append(p); }
      if (e.far.length) td.append(el("p", "", "Most of its distance from " + a + " lies in " + e.far.map(([n, part]) => `${D.noun === "series" ? "steps " : ""}${n} (${Math.round(100 * part)} %)`).join(", ") + "."));
      if (D.series && D.series.own[i]) { const s = curves([curve(D.series.prototypes[e.a - 1], channel, D.colors[e.a], 2.4, 0.9), curve(D.series.prototypes[e.b - 1], channel, D.colors[e.b], 2.4, 0.9, "6 4"), curve(D.series.own[i], channel, "currentColor", 1.8, 1)], 640, 190); s.style.maxWidth = "640px"; s.setAttribute("aria-label", "The series with the prototypes of " + a + " and " + b); td.append(s); }
    } else td.append(el("p", "", Object.keys(D.explained).length ? "Explanations are computed for the objects of the first three lists." : "There is nothing to explain it by but its masses: " + [...Array(F).keys()].filter((j) => mass(i, j) >= 0.001).sort((p, q) => mass(i, q) - mass(i, p)).slice(0, 8).map((j) => D.labels[j] + " " + share(mass(i, j))).join(", ") + "."));
    const others = columns.filter((c) => !told.has(c.name));
    if (others.length) { const box = el("div", "values"); for (const c of others.slice(0, 40)) { const p = el("div"), n = el("span", "", c.name + " "), v = el("b", "", value(c, i)); n.dir = v.dir = "auto"; p.append(n, v); box.append(p); } td.append(box); }
    return tr;
  };
  const draw = () => {
    body.replaceChildren();
    for (const i of rows.slice(page * SIZE, (page + 1) * SIZE)) {
      const tr = body.insertRow(), who = el("th", "who"); who.scope = "row"; tr.append(who);
      const w = el("button"), label = el("span", "", D.ids[i]); w.type = "button"; w.dataset.row = i; label.dir = "auto"; w.append(label); w.title = D.ids[i] + (numbers ? " (row " + numbers[i] + ")" : "") + ": why?"; w.setAttribute("aria-expanded", String(open.has(i))); who.append(w);
      const set = tr.insertCell(); set.append(badge(best[i]));
      const word = tr.insertCell(); word.textContent = WORDS[said[i]]; word.title = "confidence " + share(confidence[i]);
      const bar = tr.insertCell(); bar.className = "bar"; const b = el("i"); b.style.background = gradient(i); b.setAttribute("role", "img");
      b.setAttribute("aria-label", [...Array(F).keys()].filter((j) => mass(i, j) >= 0.01).map((j) => D.labels[j] + " " + share(mass(i, j))).join(", ")); bar.append(b);
      tr.append(el("td", "", share(doubt[i])), el("td", "opt", share(single[i])), el("td", "opt", share(mass(i, 0))));
      if (distance) tr.append(el("td", "opt", number(distance[i])));
      if (open.has(i)) { tr.className = "open"; body.append(detail(i)); }
      w.addEventListener("click", () => { if (open.has(i)) open.delete(i); else open.add(i); draw(); body.querySelector(`button[data-row="${i}"]`)?.focus({ preventScroll: true }); });
    }
    if (!rows.length) { const c = body.insertRow().insertCell(); c.colSpan = heads.length; c.textContent = "Nothing matches."; }
    const pages = Math.max(1, Math.ceil(rows.length / SIZE));
    $("page").textContent = `${rows.length ? page * SIZE + 1 : 0}–${Math.min(rows.length, (page + 1) * SIZE)} of ${rows.length}`;
    $("previous").disabled = page === 0; $("next").disabled = page >= pages - 1;
    [...head.rows[0].cells].forEach((c, k) => { if (heads[k][1]) c.setAttribute("aria-sort", heads[k][1] === sort ? (down ? "descending" : "ascending") : "none"); const m = c.querySelector("i"); if (m) m.textContent = heads[k][1] === sort ? (down ? " ↓" : " ↑") : ""; });
  };
  const tr = head.insertRow();
  for (const [name, by, cls, word] of heads) {
    const th = el("th", cls || ""); th.scope = "col";
    if (by) { const b = el("button"); b.type = "button"; b.append(name); const m = el("i"); m.setAttribute("aria-hidden", "true"); b.append(m); b.addEventListener("click", () => { down = sort === by ? !down : by !== "id" && by !== "set" && by !== "said"; sort = by; choose(); }); th.append(b); if (word) meant(b, D.terms[word]); } else { const s = el("span", "", name); s.tabIndex = 0; th.append(meant(s, D.terms[word])); }
    tr.append(th);
  }
  const buttons = [...document.querySelectorAll("[data-list]")];
  for (const b of buttons) b.addEventListener("click", () => { list = +b.dataset.list; sort = null; search.value = ""; open.clear(); buttons.forEach((x) => x.setAttribute("aria-pressed", String(x === b))); choose(); });
  let wait = 0; search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(choose, 60); });
  $("previous").addEventListener("click", () => { page--; draw(); }); $("next").addEventListener("click", () => { page++; draw(); });
  if (D.lists[0].length && D.explained[D.lists[0][0]]) open.add(D.lists[0][0]);
  choose();
})();

// ------------------------------------------------------------------ run
if ($("trace")) {
  const draw = () => {
    const s = curves([{ values: D.history, length: D.history.length, color: "var(--accent)", width: 2, opacity: 1 }], Math.max(280, $("trace").clientWidth - 32), 190);
    s.querySelectorAll("text").forEach((t) => { if (t.textContent === "step 1") t.textContent = "start"; else if (t.getAttribute("text-anchor") === "end" && t.getAttribute("y") === "186") t.textContent = "round " + (D.history.length - 1); });
    s.setAttribute("aria-label", `Objective from ${number(D.history[0])} to ${number(D.history[D.history.length - 1])} in ${D.history.length - 1} rounds`); $("trace").replaceChildren(s);
  };
  redraws.push(draw); draw();
}
if ($("copy")) $("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText($("code").textContent); } catch { const r = document.createRange(); r.selectNodeContents($("code")); const g = getSelection(); g.removeAllRanges(); g.addRange(r); document.execCommand("copy"); }
  $("copy").textContent = "Copied"; setTimeout(() => { $("copy").textContent = "Copy"; }, 1500);
});
let waiting = 0; addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 80); });
document.documentElement.dataset.drawn = String(Math.round(performance.now() - started));
})();
