// ------------------------------------------------------------------ map
const hidden = new Set();
// One colour for each object: its groups' colours mixed by probability in OKLab, as figures/colours.py mixes them.
const mixed = (() => {
  const times = (m, v, out = [0, 0, 0]) => { for (let r = 0; r < 3; r++) out[r] = m[r][0] * v[0] + m[r][1] * v[1] + m[r][2] * v[2]; return out; };
  const lms = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]];
  const lab = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]];
  const back = [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]];
  const rgb = [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965], [-0.0041960863, -0.7034186147, 1.707614701]];
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4, light = (v) => v <= 0.0031308 ? v * 12.92 : 1.055 * v ** (1 / 2.4) - 0.055;
  const parts = [...Array(D.c).keys()].map((k) => times(lab, times(lms, hex(D.colors[k + 1]).map((v) => linear(v / 255))).map(Math.cbrt))), vividness = parts.map((p) => Math.hypot(p[1], p[2]));
  return () => {
    const colors = new Uint8ClampedArray(3 * N), bet = new Float64Array(D.c), at = [0, 0, 0], cones = [0, 0, 0], made = [0, 0, 0];
    for (let i = 0; i < N; i++) {
      bet.fill(0); at.fill(0); let rest = 0, wanted = 0;
      for (let j = 1; j < F; j++) { const m = mass(i, j); if (m) { rest += m; for (const k of D.sets[j]) bet[k] += m / D.sets[j].length; } }
      for (let k = 0; k < D.c; k++) { const p = rest > 0 ? bet[k] / rest : 1 / D.c; for (let a = 0; a < 3; a++) at[a] += p * parts[k][a]; wanted += p * vividness[k]; }
      const vivid = Math.hypot(at[1], at[2]), more = vivid > 0.01 ? Math.min(3, Math.max(1, 0.8 * wanted / vivid)) : 1;
      at[1] *= more; at[2] *= more; times(back, at, cones);
      for (let a = 0; a < 3; a++) cones[a] = cones[a] ** 3;
      times(rgb, cones, made);
      for (let a = 0; a < 3; a++) colors[3 * i + a] = 255 * light(Math.min(1, Math.max(0, made[a])));
    }
    return colors;
  };
})();
(() => {
  const canvas = $("map-canvas"), pad = 18, base = N > 5000 ? 2.2 : N > 800 ? 3 : N > 100 ? 4.2 : 6;
  let px = new Float32Array(0), py, grid, cell = 12, gw, focus = -1;
  let drawOrder, mix;
  const arrange = () => { const [far, near] = [[], []]; for (let i = 0; i < N; i++) (best[i] ? near : far).push(i); drawOrder = near.concat(far); mix = mixed(); };
  const basePicture = document.createElement("canvas");
  let copied = false;
  const ring = () => {  // hovering repaints the picture, not every object
    if (!copied) { basePicture.width = canvas.width; basePicture.height = canvas.height; basePicture.getContext("2d").drawImage(canvas, 0, 0); copied = true; }
    const g = canvas.getContext("2d"), r = devicePixelRatio || 1;
    g.setTransform(1, 0, 0, 1, 0, 0); g.clearRect(0, 0, canvas.width, canvas.height); g.drawImage(basePicture, 0, 0); g.setTransform(r, 0, 0, r, 0, 0);
    if (focus >= 0) { g.strokeStyle = ink(); g.lineWidth = 2; g.beginPath(); g.arc(px[focus], py[focus], base + 5, 0, 6.2832); g.stroke(); }
  };
  const named = Boolean(D.axes[0]), below = named ? 30 : 0, [low, high] = D.window;
  const spans = [high[0] - low[0] || 1, high[1] - low[1] || 1], tick = (v) => Math.abs(v) >= 1e4 && Math.abs(v) < 1e15 ? inColumn(+v.toPrecision(6), 0) : number(+v.toPrecision(6));
  const ticks = (axis, room) => {  // round numbers within an axis, at least so many pixels apart
    const rough = spans[axis] / Math.max(1, room), ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((f) => f * ten).find((f) => f >= rough), all = [];
    for (let v = Math.ceil(low[axis] / step) * step; v <= high[axis] + step * 1e-9; v += step) all.push(v);
    return all;
  };
  // One scale for both axes, in what the metric makes of them; units of 0 are free.
  const [lx, ly] = [spans[0] * D.units[0], spans[1] * D.units[1]], free = !(lx > 0 && ly > 0);
  const draw = (same) => {
    if (!same) canvas.style.height = "";
    if (!same && !free) canvas.style.height = Math.round(Math.min(canvas.clientHeight, Math.max(220, (canvas.clientWidth - 2 * pad - (named ? 60 : 0)) * ly / lx + 2 * pad + below))) + "px";
    const [g, w, h] = prepare(canvas, same);
    const left = named ? 28 + Math.max(...ticks(1, h / 48).map((v) => g.measureText(tick(v)).width)) : 0;
    const wide = w - 2 * pad - left, tall = h - 2 * pad - below, k = Math.min(wide / lx, tall / ly);
    const sx = free ? wide : k * lx, sy = free ? tall : k * ly;
    const X = (u) => pad + left + (wide - sx) / 2 + u / 65535 * sx, Y = (u) => pad + (tall - sy) / 2 + (1 - u / 65535) * sy;
    if (named) {
      g.fillStyle = soft(); g.strokeStyle = line(); g.lineWidth = 1; g.textBaseline = "middle";
      for (const [axis, span] of spans.entries()) {
        for (const v of ticks(axis, axis ? sy / 48 : sx / 72)) {
          const u = (v - low[axis]) / span * 65535; g.beginPath();
          if (axis === 0) { g.moveTo(X(u), Y(65535)); g.lineTo(X(u), Y(0)); g.textAlign = "center"; g.fillText(tick(v), X(u), Y(0) + 14); }
          else { g.moveTo(X(0), Y(u)); g.lineTo(X(65535), Y(u)); g.textAlign = "right"; g.fillText(tick(v), X(0) - 8, Y(u)); }
          g.stroke();
        }
      }
      g.textBaseline = "alphabetic";
    }
    if (!same) { px = Float32Array.from({ length: N }, (_, i) => X(xy[2 * i])); py = Float32Array.from({ length: N }, (_, i) => Y(xy[2 * i + 1])); gw = Math.ceil(w / cell); }
    grid = null;
    const dark = hex(ink()), rim = card();
    g.globalAlpha = N > 5000 ? 0.75 : 0.9;
    for (const i of drawOrder) {
      if (hidden.has(best[i])) continue;
      const x = px[i], y = py[i], e = mass(i, 0), r = base * (0.55 + 0.45 * top[i]);
      const part = (k) => Math.round(mix[3 * i + k] * (1 - e) + dark[k] * e), col = `rgb(${part(0)},${part(1)},${part(2)})`;
      if (best[i] === 0) { g.strokeStyle = col; g.lineWidth = Math.max(1.3, base / 3); g.beginPath(); g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x + r, y - r); g.lineTo(x - r, y + r); g.stroke(); continue; }
      g.fillStyle = col; g.beginPath();
      if (D.sets[best[i]].length === 1) g.arc(x, y, r, 0, 6.2832);
      else { const q = r * 1.45; g.moveTo(x, y - q); g.lineTo(x + q, y); g.lineTo(x, y + q); g.lineTo(x - q, y); g.closePath(); }
      g.fill();
      if (N <= 800) { g.strokeStyle = rim; g.lineWidth = 0.8; g.stroke(); }
    }
    g.globalAlpha = 1;
    for (const i of D.beyond) {  // what lies beyond the edge: an arrow points there
      if (hidden.has(best[i])) continue;
      const side = (v) => v === 0 ? -1 : v === 65535 ? 1 : 0, dx = side(xy[2 * i]), dy = -side(xy[2 * i + 1]), q = Math.hypot(dx, dy) || 1;
      const ax = dx / q, ay = dy / q, x = px[i] + ax * 17, y = py[i] + ay * 17;
      g.fillStyle = ink(); g.beginPath(); g.moveTo(x, y); g.lineTo(x - ax * 8 - ay * 4.5, y - ay * 8 + ax * 4.5); g.lineTo(x - ax * 8 + ay * 4.5, y - ay * 8 - ax * 4.5); g.closePath(); g.fill();
    }
    if (D.stars) D.stars.forEach((at, k) => {
      if (k >= D.c && !(counts[k + 1] > 0)) return;
      const x = X(at[0]), y = Y(at[1]);
      g.beginPath(); for (let s = 0; s < 10; s++) { const a = Math.PI * s / 5 - Math.PI / 2, q = s % 2 ? 4 : 9; g.lineTo(x + q * Math.cos(a), y + q * Math.sin(a)); } g.closePath();
      g.fillStyle = D.colors[k + 1]; g.fill(); g.lineWidth = 1.5; g.strokeStyle = ink(); g.stroke();
    });
    g.fillStyle = soft(); g.textAlign = "center";
    if (D.axes[0]) g.fillText(D.axes[0], (X(0) + X(65535)) / 2, Y(0) + 32);
    if (D.axes[1]) { g.save(); g.translate(X(0) - left + 8, (Y(0) + Y(65535)) / 2); g.rotate(-Math.PI / 2); g.fillText(D.axes[1], 0, 0); g.restore(); }
    copied = false; if (focus >= 0) ring();
  };
  const cells = () => {  // the objects that are drawn, by squares of the map
    const all = new Map();
    for (const i of drawOrder) if (!hidden.has(best[i])) { const key = Math.floor(py[i] / cell) * gw + Math.floor(px[i] / cell); if (all.has(key)) all.get(key).push(i); else all.set(key, [i]); }
    return all;
  };
  const nearest = (x, y) => {
    let at = -1, least = 196; grid ||= cells();
    const cx = Math.floor(x / cell), cy = Math.floor(y / cell);
    for (let a = -1; a <= 1; a++) for (let b = -1; b <= 1; b++) for (const i of grid.get((cy + b) * gw + cx + a) || []) {
      const d = (px[i] - x) ** 2 + (py[i] - y) ** 2; if (d < least) { least = d; at = i; }
    }
    return at;
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
    let i = focus; for (let k = 0; k < N; k++) { i = (i + step + N) % N; if (!hidden.has(best[i])) return at(i); }
  });
  const legend = $("map-legend");
  const label = () => {  // of the sets that hold objects, what belongs nowhere last
    const had = document.activeElement?.closest?.("#map-legend [data-set]")?.dataset.set;
    legend.replaceChildren();
    for (const j of [...Array(F).keys()].slice(1).concat(0).filter((j) => counts[j])) {
      const b = el("button"); b.type = "button"; b.setAttribute("aria-pressed", String(!hidden.has(j))); b.dataset.set = j; b.setAttribute("aria-label", D.labels[j] + ": " + grouped(counts[j]));
      b.append(mark(j), el("span", "", D.labels[j]), el("small", "", grouped(counts[j])));
      b.addEventListener("click", () => { const off = hidden.has(j); if (off) hidden.delete(j); else hidden.add(j); b.setAttribute("aria-pressed", String(off)); draw(); });
      legend.append(b); if (had === String(j)) b.focus({ preventScroll: true });
    }
    if (D.stars) { const s = meant(el("span"), D.terms.prototype); s.tabIndex = 0; s.append(el("span", "", "★"), el("span", "", "prototype")); legend.append(s); }
  };
  follows.push(() => { arrange(); label(); draw(true); });
  arrange(); label();
  redraws.push(() => draw()); draw();
})();
