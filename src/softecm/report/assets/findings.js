// ------------------------------------------------------------------ what was found, in words and counts
(() => {
  const percent = (part, whole) => { const p = 100 * part / Math.max(whole, 1); return (p === 0 || p === 100 || (p >= 1 && p <= 99) ? p.toFixed(0) : p.toFixed(1)) + "%"; };
  const many = D.noun.endsWith("s") ? D.noun : D.noun + "s", names = D.labels.slice(1, D.c + 1);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const verb = (count, one, more) => grouped(count) + " " + (count === 1 ? one : more);
  // The sentences of report/words.py, for the masses that are shown.
  const groups = ({ n, sure, wordCounts }) => {
    const clear = sum(sure), sizes = names.map((name, k) => `${grouped(sure[k + 1])} to ${name}`), c = D.c;
    const parts = c <= 6 ? sizes : [...sizes.slice(0, 5), `${grouped(sum(sure.slice(6, c + 1)))} to the other ${c - 5}`];
    const less = [wordCounts.rather && verb(wordCounts.rather, "rather belongs", "rather belong") + " to one", wordCounts.undecided && verb(wordCounts.undecided, "is", "are") + " undecided"].filter(Boolean);
    const ofAll = clear === n && n > 1 ? `All ${grouped(n)} ${many}` : `Of ${grouped(n)} ${n === 1 ? D.noun : many}, ${grouped(clear)} (${percent(clear, n)})`;
    const only = c === 1 ? "There is one group. " : "";
    return `${only}${ofAll} clearly ${clear === 1 ? "belongs" : "belong"} to ${c === 1 ? "it" : `one of ${c} groups: ${listed(parts, "and")}`}.` + (less.length ? ` ${listed(less, "and")}.` : "");
  };
  const numbered = (names) => names.every((name) => /^\d+$/.test(name)) ? (names.length === 1 ? D.noun : many) + " " : "";
  const where = (holds) => { const rows = []; for (let i = 0; i < N; i++) if (holds(i)) rows.push(i); return rows; };
  const between = () => {
    const total = sum(counts.slice(D.c + 1));
    if (D.c === 1) return "With one group, none can lie between groups.";
    if (F === D.c + 1) return "Objects between groups were not looked for: the model has no sets of several groups.";
    if (!total) {
      const near = where((i) => { for (let j = D.c + 1; j < F; j++) if (mass(i, j) >= 0.5 * top[i]) return true; return false; }).length;
      return "None lies between groups" + (near ? `; ${verb(near, "nearly does", "nearly do")}.` : ".");
    }
    const start = verb(total, "lies", "lie") + " between groups";
    const rows = total <= 4 ? where((i) => best[i] > D.c) : [];
    if (total <= 4) return `${start}: ${numbered(rows.map((i) => D.ids[i]))}${listed(rows.map((i) => `${D.ids[i]} (${D.labels[best[i]]})`), "and")}.`;
    const most = counts.indexOf(Math.max(...counts.slice(D.c + 1)), D.c + 1);
    return counts[most] === total ? `${start}: all between ${D.between[most]}.` : `${start}, most often between ${D.between[most]} (${grouped(counts[most])}).`;
  };
  const nowhere = () => {
    const rows = where((i) => best[i] === 0).sort((a, b) => mass(b, 0) - mass(a, 0));
    if (!rows.length) return "There are no outliers.";
    const start = verb(rows.length, "belongs", "belong") + " to no group", called = rows.slice(0, rows.length <= 4 ? 4 : 3).map((i) => D.ids[i]);
    return `${start}${rows.length <= 4 ? ":" : "; farthest out:"} ${numbered(called)}${listed(called, "and")}.`;
  };
  const findings = [...document.querySelectorAll("[data-finding]")], inFit = findings.map((p) => p.textContent), bar = document.querySelector(".share");
  const cells = Object.fromEntries(["count", "objects", "mean", "setRow", "decision"].map((name) => [name, [...document.querySelectorAll(`[data-${name === "setRow" ? "set-row" : name}]`)]]));
  const each = (name, f) => { for (const e of cells[name]) f(e, +e.dataset[name]); };
  follows.push(() => {
    const away = shown !== fitted, sentences = away ? [D.merged ? inFit[0] : groups(shown), between(), nowhere()] : inFit;
    findings.forEach((p, k) => { p.textContent = sentences[k]; });
    for (const cell of cells.decision) cell.textContent = grouped(shown.wordCounts[cell.dataset.decision]);
    each("count", (e, j) => { e.textContent = grouped(counts[j]); });
    each("objects", (e, j) => { e.textContent = grouped(counts[j]) + " " + (counts[j] === 1 ? D.noun : many); });
    each("mean", (e, j) => { e.textContent = (away ? shown.mean[j] : D.means[j]).toFixed(3); });
    each("setRow", (e, j) => { e.hidden = j > D.c && !counts[j]; });
    const order = [...Array(F).keys()].slice(1).concat(0).filter((j) => counts[j]);
    bar.replaceChildren(...order.map((j) => { const s = el("span"); s.style.flex = String(counts[j]); s.style.background = j ? D.colors[j] : "var(--ink)"; s.title = D.labels[j] + ": " + grouped(counts[j]); return s; }));
    bar.setAttribute("aria-label", "Objects by set: " + order.map((j) => D.labels[j] + " " + counts[j]).join(", "));
    $("clear").textContent = String(shown.clear);
  });
})();
