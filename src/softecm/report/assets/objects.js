// ------------------------------------------------------------------ objects
(() => {
  const table = $("object-table"), head = table.tHead, body = table.tBodies[0], search = $("search"), SIZE = 12, SMALL = 0.01;  // of a distance: weaker pulls are not drawn as strong ones
  const heads = [[D.noun[0].toUpperCase() + D.noun.slice(1), "id"], ["Group", "set", "", "set"], ["Decision", "decision", "", "decision"], ["Masses", null, "", "mass"], ["Doubt", "doubt", "", "doubt"], ["Typical", "single", "opt", "typical"], ["No group", "empty", "opt", "no group"]];
  if (distance) heads.push(["Distance", "distance", "opt", "distance"]);
  const middle = distance ? [...distance].sort((a, b) => a - b)[N >> 1] : 1;
  const decimals = middle > 0 ? Math.max(0, 2 - Math.floor(Math.log10(middle))) : 3;  // three digits of a usual distance, for all alike
  const key = { id: (i) => D.ids[i], set: (i) => best[i], decision: (i) => decision[i], doubt: (i) => doubt[i], single: (i) => single[i], empty: (i) => mass(i, 0), distance: (i) => distance[i] };
  const natural = new Intl.Collator(undefined, { numeric: true });
  let list = +document.querySelector("[data-list]").dataset.list, page = 0, sort = null, down = true, rows = [], text = null;
  const open = new Set();
  const gradient = (i) => { let at = 0; const stops = []; for (const j of [...Array(F).keys()].slice(1).concat(0)) { const m = mass(i, j); if (m < 0.003) continue; const c = j ? D.colors[j] : "var(--ink)"; stops.push(`${c} ${(100 * at).toFixed(1)}% ${(100 * (at + m)).toFixed(1)}%`); at += m; } return stops.length ? "linear-gradient(90deg," + stops.join(",") + ")" : "none"; };
  const haystack = () => text || (text = D.ids.map((id, i) => (id + " " + D.labels[best[i]] + " " + WORDS[decision[i]] + " " + columns.filter((c) => c.levels).map((c) => value(c, i)).join(" ")).toLowerCase()));
  const choose = () => {
    const q = search.value.trim().toLowerCase();
    rows = q ? haystack().reduce((a, t, i) => { if (t.includes(q)) a.push(i); return a; }, []) : list < 3 ? chosen(list).slice() : [...Array(N).keys()];
    if (sort) { const f = key[sort], s = down ? -1 : 1; rows.sort((a, b) => s * (sort === "id" ? natural.compare(f(a), f(b)) : f(a) - f(b))); }
    page = 0; draw();
  };
  // The objects most in doubt, most typical (the best of each group in turn), farthest out, as report/inputs.py chooses them.
  const far = distance || new Float32Array(N), MOST = 30, FEW = 12;
  const first = (order) => {  // of all objects, as sorting would put them
    const few = [];
    for (let i = 0; i < N; i++) {
      if (few.length === MOST && order(i, few[MOST - 1]) >= 0) continue;
      let at = few.length; while (at && order(i, few[at - 1]) < 0) at--;
      few.splice(at, 0, i); if (few.length > MOST) few.pop();
    }
    return few;
  };
  const ways = [
    () => first((a, b) => (best[a] === 0) - (best[b] === 0) || doubt[b] - doubt[a]),
    () => { const each = [...Array(D.c).keys()].map((k) => first((a, b) => mass(b, k + 1) - mass(a, k + 1) || far[a] - far[b])); return [...new Set(each[0].flatMap((_, t) => each.map((rows) => rows[t])))].slice(0, MOST); },
    () => first((a, b) => mass(b, 0) - mass(a, 0) || far[b] - far[a]),
  ];
  const chosen = (k) => { shown.lists ||= []; return shown.lists[k] ||= ways[k](); };  // what nobody looks at is not computed
  // Where an object is, in the words of report/words.py.
  const placed = (i) => {
    const who = /^\d+$/.test(D.ids[i]) ? D.noun[0].toUpperCase() + D.noun.slice(1) + " " + D.ids[i] : D.ids[i], sure = confidence[i].toFixed(2), a = D.labels[best[i]];
    if (decision[i] === NOWHERE) return `${who} belongs to no group (mass ${sure} on none).`;
    if (decision[i] === BETWEEN) return `${who} lies between ${D.between[best[i]]} (belief ${sure} in these together).`;
    return decision[i] === UNDECIDED ? `${who} is undecided: ${a} is the most likely (belief ${sure}).` : `${who} ${WORDS[decision[i]]} belongs to ${a} (belief ${sure}).`;
  };
  const largest = (i) => [...Array(F).keys()].filter((j) => mass(i, j) >= 0.001).sort((p, q) => mass(i, q) - mass(i, p)).slice(0, 8).map((j) => D.labels[j] + " " + share(mass(i, j))).join(", ");
  const detail = (i) => {
    const tr = el("tr", "detail"), cell = tr.insertCell(), td = el("div", "inner"); cell.colSpan = heads.length; cell.append(td);
    const e = D.explained[i], explained = new Set(e ? e.parts.map((p) => p[0]) : []);
    if (shown !== fitted) { const now = el("p", "now", placed(i) + " Masses: " + largest(i) + "."); now.dir = "auto"; td.append(now, el("h4", "", "In the fit")); }
    if (e) {
      const a = D.labels[e.a], b = D.labels[e.b];
      const why = el("p", "", e.say); why.dir = "auto"; td.append(why);
      if (e.parts.length) td.append(el("h4", "", `What pulls it to ${a}, what to ${b}`));
      const to = (e.da === null ? [] : e.a === e.b ? [[e.da, a]] : [[e.da, a], [e.db, b]]).concat(e.ds === null ? [] : [[e.ds, "the prototype of " + D.labels[fitted.best[i]]]]);
      let say = to.length ? `Its distance is ${listed(to.map(([d, name]) => inColumn(d, decimals) + " to " + name), "and")}.` : "";
      if (e.parts.length) say += " Each bar points to the closer group.";
      td.append(el("p", "", say));
      if (e.parts.length) {
        const g = el("div", "pulls"), most = Math.max(...e.parts.map((p) => Math.abs(p[4])), SMALL * Math.max(e.da, e.db), 1e-300), ends = el("div", "hd ends");
        ends.append(el("span", "", "← " + a), el("span", "", b + " →"));
        const bare = !e.parts.some((p) => p[2] || p[3]);
        g.append(el("div", "hd", e.kind ? e.kind : D.noun === "series" ? "view" : bare ? "attribute" : "attribute: its value"), ends, el("div", "hd third", bare ? "" : "value at " + a + " | " + b));
        for (const [name, own, va, vb, pull] of e.parts) {
          const n = el("div"), bar = el("div", "pull"), f = el("i"), v = el("div", "third", va || vb ? va + " | " + vb : ""); v.dir = "auto"; v.style.color = "var(--soft)";
          const b1 = el("span", "", name); b1.dir = "auto"; n.append(b1); if (own) { const s = el("strong", "", own); s.dir = "auto"; n.append(": ", s); }
          const w = 50 * Math.abs(pull) / most; f.style.width = w + "%"; f.style.background = D.colors[pull >= 0 ? e.a : e.b]; if (pull >= 0) f.style.right = "50%"; else f.style.left = "50%";
          bar.setAttribute("role", "img"); bar.setAttribute("aria-label", w < 0.5 ? "no pull" : "pulls to " + (pull >= 0 ? a : b)); bar.append(f); g.append(n, bar, v);
        }
        td.append(g);
      }
      if (e.to.length) { const p = el("p", "", `It is closer to the prototype of ${D.labels[fitted.best[i]]} mostly because of `), w = el("strong", "", e.to.join(", ")); w.dir = "auto"; p.append(w, "."); td.append(p); }
      if (D.series && D.series.own[i]) {
        const lines = [[D.series.prototypes[e.a - 1], D.colors[e.a], 2.4, 0.9, "", a], [D.series.prototypes[e.b - 1], D.colors[e.b], 2.4, 0.9, "6 4", b], [D.series.own[i], "currentColor", 1.8, 1, "", D.ids[i]]].filter((line, k) => k !== 1 || e.a !== e.b);
        const drawn = lines.map(([one, color, width, opacity, dash]) => curve(one, channel, color, width, opacity, dash)), ends = extent(drawn), keys = el("p", "keys"), s = curves(drawn, Math.min(640, Math.max(280, table.parentElement.clientWidth - 32)), 190, [Math.min(ends[0], scale[0]), Math.max(ends[1], scale[1]), ends[2]], ofStates);
        for (const [, color, , , dash, name] of lines) { const key = el("span", "", name), mark = el("i"); key.dir = "auto"; mark.style.cssText = `border-top:3px ${dash ? "dashed" : "solid"} ${color}`; key.prepend(mark); keys.append(key); }
        if (D.series.channels.length > 1) td.append(el("h4", "", D.series.channels[channel]));
        s.style.maxWidth = "640px"; s.setAttribute("aria-label", "The series with the prototypes of " + a + " and " + b); td.append(keys, s);
      }
    } else td.append(el("p", "", Object.keys(D.explained).length ? "Explanations are available for the objects of the first three lists." : "Only its masses are known: " + largest(i) + "."));
    const others = columns.filter((c) => !explained.has(c.name));
    if (others.length) { const box = el("div", "values"); for (const c of others.slice(0, MOST)) { const p = el("div"), n = el("span", "", c.name + " "), v = el("b", "", value(c, i)); n.dir = v.dir = "auto"; p.append(n, v); box.append(p); } if (others.length > MOST) box.append(el("div", "", `and ${others.length - MOST} more columns`)); if (others.length > FEW) { const more = el("details"); more.append(el("summary", "", "Other columns"), box); td.append(more); } else td.append(box); }
    return tr;
  };
  const draw = () => {
    body.replaceChildren();
    for (const i of rows.slice(page * SIZE, (page + 1) * SIZE)) {
      const tr = body.insertRow(), who = el("th", "who"); who.scope = "row"; tr.append(who);
      const w = el("button"), label = el("span", "", D.ids[i]); w.type = "button"; w.dataset.row = i; label.dir = "auto"; w.append(label); w.title = D.ids[i] + (numbers ? " (row " + numbers[i] + ")" : "") + ": why?"; w.setAttribute("aria-expanded", String(open.has(i))); who.append(w);
      const set = tr.insertCell(); set.append(badge(best[i]));
      const word = tr.insertCell(); word.textContent = WORDS[decision[i]]; word.title = "confidence " + share(confidence[i]);
      const bar = tr.insertCell(); bar.className = "bar"; const b = el("i"); b.style.background = gradient(i); b.setAttribute("role", "img");
      b.setAttribute("aria-label", [...Array(F).keys()].filter((j) => mass(i, j) >= 0.01).map((j) => D.labels[j] + " " + share(mass(i, j))).join(", ")); bar.append(b);
      tr.append(el("td", "", share(doubt[i])), el("td", "opt", share(single[i])), el("td", "opt", share(mass(i, 0))));
      if (distance) tr.append(el("td", "opt", inColumn(distance[i], decimals)));
      if (open.has(i)) { tr.className = "open"; body.append(detail(i)); }
      w.addEventListener("click", () => { if (open.has(i)) open.delete(i); else open.add(i); draw(); body.querySelector(`button[data-row="${i}"]`)?.focus({ preventScroll: true }); });
    }
    if (!rows.length) { const c = body.insertRow().insertCell(); c.colSpan = heads.length; c.textContent = "Nothing matches."; }
    const pages = Math.max(1, Math.ceil(rows.length / SIZE));
    $("page").textContent = `${rows.length ? page * SIZE + 1 : 0}–${Math.min(rows.length, (page + 1) * SIZE)} of ${grouped(rows.length)}`;
    $("previous").disabled = page === 0; $("next").disabled = page >= pages - 1;
    [...head.rows[0].cells].forEach((c, k) => { if (heads[k][1]) c.setAttribute("aria-sort", heads[k][1] === sort ? (down ? "descending" : "ascending") : "none"); const m = c.querySelector("i"); if (m) m.textContent = heads[k][1] === sort ? (down ? " ↓" : " ↑") : ""; });
  };
  const tr = head.insertRow();
  for (const [name, by, cls, word] of heads) {
    const th = el("th", cls || ""); th.scope = "col";
    if (by) { const b = el("button"); b.type = "button"; b.append(name); const m = el("i"); m.setAttribute("aria-hidden", "true"); b.append(m); b.addEventListener("click", () => { down = sort === by ? !down : by !== "id" && by !== "set" && by !== "decision"; sort = by; choose(); }); th.append(b); if (word) meant(b, D.terms[word]); } else { const s = el("span", "", name); s.tabIndex = 0; th.append(meant(s, D.terms[word])); }
    tr.append(th);
  }
  const buttons = [...document.querySelectorAll("[data-list]")];
  for (const b of buttons) b.addEventListener("click", () => { list = +b.dataset.list; sort = null; search.value = ""; open.clear(); buttons.forEach((x) => x.setAttribute("aria-pressed", String(x === b))); choose(); });
  let wait = 0; search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(choose, 60); });
  $("previous").addEventListener("click", () => { page--; draw(); }); $("next").addEventListener("click", () => { page++; draw(); });
  follows.push(() => { const at = page; text = null; choose(); page = Math.min(at, Math.max(0, Math.ceil(rows.length / SIZE) - 1)); if (page) draw(); });
  if (D.lists[list].length && D.explained[D.lists[list][0]]) open.add(D.lists[list][0]);
  choose();
})();
