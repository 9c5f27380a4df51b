// ------------------------------------------------------------------ mass plot
(() => {
  const canvas = $("mass-canvas"), few = N <= 60, left = 34, upper = 8;
  let present, bySet;
  const arrange = () => {
    present = [...Array(F).keys()].slice(1).concat(0).filter((j) => shown.mean[j] > 0.0005 || (j && j <= D.c));
    const held = [...Array(F + 1).keys()].map(() => []); for (let i = 0; i < N; i++) held[best[i] || F].push(i);
    bySet = held.flatMap((rows) => rows.sort((a, b) => top[b] - top[a]));
  };
  const byFile = [...Array(N).keys()];
  arrange();
  let order = bySet, focus = -1, span = 1;
  const setOrder = (file, same) => { order = file ? byFile : bySet; $("order-file").setAttribute("aria-pressed", String(file)); $("order-set").setAttribute("aria-pressed", String(!file)); focus = -1; draw(same); };
  const clipped = (g, text, most) => { if (g.measureText(text).width <= most) return text; let s = text; while (s.length > 1 && g.measureText("…" + s).width > most) s = s.slice(1); return "…" + s; };
  const draw = (same) => {
    const [g, w, h] = prepare(canvas, same), colors = present.map(colorOf), wide = w - left - 8, scale = devicePixelRatio || 1;
    span = wide / Math.max(N, 1);
    const named = few && span >= 13, names = named ? 12 + Math.min(78, Math.max(...D.ids.map((id) => g.measureText(id).width))) : 0, bottom = names + (order === bySet ? 42 : 24), high = h - upper - bottom;
    const Y = (v) => upper + (1 - v) * high;
    g.strokeStyle = line(); g.fillStyle = soft(); g.textAlign = "right"; g.textBaseline = "middle"; g.lineWidth = 1;
    for (const t of [0, 0.5, 1]) { g.fillText(t, left - 8, Y(t)); g.beginPath(); g.moveTo(left, Y(t)); g.lineTo(left + wide, Y(t)); g.stroke(); }
    const bins = Math.min(N, Math.max(1, Math.floor(wide * scale))), gap = few ? Math.min(3, span / 6) : 0;
    const edge = (b) => Math.round((left + b * wide / bins) * scale) / scale;
    for (let b = 0; b < bins; b++) {
      const from = Math.floor(b * N / bins), to = Math.max(from + 1, Math.floor((b + 1) * N / bins));
      let base = 0;
      for (const [p, j] of present.entries()) {
        let s = 0; for (let k = from; k < to; k++) s += mass(order[k], j);
        s /= to - from; if (s < 1e-4) continue;
        g.fillStyle = colors[p]; const y = Y(base + s); g.fillRect(edge(b), y, edge(b + 1) - edge(b) - gap, Y(base) - y); base += s;
      }
    }
    g.fillStyle = soft();
    if (named) for (let k = 0; k < N; k++) { g.save(); g.translate(left + (k + 0.5) * span, Y(0) + 8); g.rotate(-Math.PI / 2); g.fillText(clipped(g, D.ids[order[k]], 78), 0, 0); g.restore(); }
    g.textBaseline = "alphabetic"; g.textAlign = "center";
    if (order === bySet) {  // which block is which set, where there is room for its name
      for (let from = 0, to = 0; from < N; from = to) {
        const j = best[order[from]]; while (to < N && best[order[to]] === j) to++;
        const a = left + from * span, b = left + to * span, y = h - 30, name = D.labels[j];
        g.fillStyle = colorOf(j); g.fillRect(a + 0.5, y, Math.max(b - a - 1, 1), 3);
        if (b - a > 16 && (g.measureText(name).width <= b - a || b - a > 48)) { g.fillStyle = soft(); g.fillText(clipped(g, name, b - a), (a + b) / 2, y + 15); }
      }
    } else { g.fillStyle = soft(); g.fillText((D.noun === "series" ? "series" : D.noun + "s") + " in original order, 1 to " + grouped(N), left + wide / 2, h - 6); }
    if (focus >= 0) { g.strokeStyle = ink(); g.lineWidth = 1.5; g.globalAlpha = 0.7; g.beginPath(); const x = left + (focus + 0.5) * span; g.moveTo(x, upper); g.lineTo(x, upper + high); g.stroke(); g.globalAlpha = 1; }
  };
  const point = (k, y) => { const r = canvas.getBoundingClientRect(); focus = k; draw(); showTip(order[k], r.left + left + (k + 0.5) * span, y ?? r.top + 40); };
  const hover = (e) => { const k = Math.floor((e.clientX - canvas.getBoundingClientRect().left - left) / span); if (k >= 0 && k < N) point(k, e.clientY); else { focus = -1; hideTip(); draw(); } };
  canvas.addEventListener("pointermove", hover); canvas.addEventListener("pointerdown", hover);
  const leave = () => { focus = -1; hideTip(); draw(); };
  canvas.addEventListener("pointerleave", leave); canvas.addEventListener("blur", leave);
  canvas.addEventListener("keydown", (e) => { const s = { ArrowRight: 1, ArrowLeft: -1 }[e.key]; if (s && N) { e.preventDefault(); point((focus + s + N) % N); } });
  $("order-file").addEventListener("click", () => setOrder(true)); $("order-set").addEventListener("click", () => setOrder(false));
  const label = () => { $("mass-legend").replaceChildren(); for (const j of present.filter((j) => shown.mean[j] > 0.002 || (j && j <= D.c))) { const s = el("span"); s.append(mark(j), el("span", "", D.labels[j])); $("mass-legend").append(s); } };
  follows.push(() => { const file = order === byFile; arrange(); label(); setOrder(file, true); });
  label();
  redraws.push(() => draw()); setOrder(false);
})();
