// ------------------------------------------------------------------ series
const extent = (lines) => {
  let low = Infinity, high = -Infinity, long = 1;
  for (const l of lines) { long = Math.max(long, l.length); for (const v of l.values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } }
  return [low, high, long];
};
const curves = (lines, width, height, ends, percent) => {
  const s = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  let [low, high, long] = ends || extent(lines);
  if (!(high > low)) { high = low + 1; }
  const digits = 2 - Math.floor(Math.log10(high - low)), tick = (v) => percent ? Math.round(100 * v) + "%" : digits > 9 || Math.abs(v) >= 1e7 ? number(v) : v.toFixed(Math.max(0, digits)), left = Math.max(46, 12 + 7 * Math.max(tick(low).length, tick(high).length));
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
const ofStates = D.noun === "sequence";  // shares of states
let channel = 0, scale = null;  // of the cards: charts of single series have it, too
if (D.series) (() => {
  const box = $("series-cards"), pick = $("channel");
  let all = false;
  if (ofStates) {  // of the states, first the one in which groups differ most
    const middle = (one, k) => { const v = one.v[k].filter((x) => x !== null); return v.reduce((a, b) => a + b, 0) / Math.max(v.length, 1); };
    const differ = D.series.channels.map((_, k) => { const all = D.series.prototypes.slice(0, D.c).map((one) => middle(one, k)); return Math.max(...all) - Math.min(...all); });
    channel = differ.indexOf(Math.max(...differ));
  }
  const members = (j) => shown === fitted ? D.series.members[j - 1] : Object.keys(D.series.own).map(Number).filter((i) => best[i] === j).sort((a, b) => mass(b, j) - mass(a, j)).slice(0, 24);
  const draw = () => {
    box.replaceChildren();
    const between = [...Array(F).keys()].filter((j) => j > D.c && counts[j]).sort((a, b) => counts[b] - counts[a] || a - b);
    const some = all ? between : between.slice(0, 6), rest = between.length - some.length;
    const panels = [...Array(D.c).keys()].map((k) => k + 1).concat(some).map((j) => {
      const lines = members(j).filter((i) => D.series.own[i]).map((i) => curve(D.series.own[i], channel, D.colors[j], 0.9, 0.35));
      return [j, lines.concat(curve(D.series.prototypes[j - 1], channel, D.colors[j], 3, 1))];
    });
    const ends = scale = extent(panels.flatMap(([, lines]) => lines));  // one scale for all panels
    for (const [j, lines] of panels) {
      const c = el("div", "card"), h = el("h3"); h.append(badge(j), el("small", "", grouped(counts[j]) + " " + (counts[j] === 1 || D.noun.endsWith("s") ? D.noun : D.noun + "s"))); c.append(h);
      const s = curves(lines, 320, 170, ends, ofStates); s.setAttribute("aria-label", "Prototype of " + D.labels[j] + " over its surest members, " + D.series.channels[channel]); c.append(s); box.append(c);
    }
    if (rest) { const more = el("button", "", `Show ${rest} more sets between groups`); more.type = "button"; more.addEventListener("click", () => { all = true; draw(); }); box.append(more); }
  };
  if (D.series.channels.length > 1) {
    $("channel-row").hidden = false;
    D.series.channels.forEach((name, k) => { const o = el("option", "", name); o.value = k; pick.append(o); }); pick.value = channel;
    pick.addEventListener("change", () => { channel = +pick.value; draw(); });
  }
  follows.push(draw); draw();
})();
