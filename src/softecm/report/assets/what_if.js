// ------------------------------------------------------------------ sliders: other values of alpha, beta, delta and "clearly"
if (D.live) (() => {
  const L = D.live, sizes = D.sets.slice(1).map((a) => a.length), own = unpack(L.distances, Float32Array), inputs = [...document.querySelectorAll("[data-price]")];
  const atFit = { alpha: L.alpha ?? 1, beta: L.beta, delta: L.delta, clear: D.clear };
  // Eq. 7, as objective/equations.py has it: every power is of a ratio to the object's smallest cost.
  const shares = ({ alpha, beta, delta }) => {
    const f = F - 1, factors = sizes.map((s) => s ** alpha), exponent = 1 / (beta - 1), limit = delta === null ? Infinity : delta * delta / L.unit, made = new Float64Array(N * F), priced = new Float64Array(f);
    for (let i = 0; i < N; i++) {
      let least = limit, lightest = Infinity, total = 0;
      for (let j = 0; j < f; j++) { const p = priced[j] = own[i * f + j] * factors[j]; if (p < least) least = p; if (p === 0 && factors[j] < lightest) lightest = factors[j]; }
      for (let j = 0; j < f; j++) { const ratio = least ? least / priced[j] : priced[j] ? 0 : lightest / factors[j]; total += made[i * F + j + 1] = ratio ? ratio ** exponent : 0; }
      total += made[i * F] = delta === null ? 0 : (least / limit) ** exponent;
      for (let j = 0; j < F; j++) made[i * F + j] /= total;
    }
    return made;
  };
  // A slider's middle is the fit; its ends are far enough away to see what the value does.
  const toward = (from, to, part) => from * (to / from) ** part, digits = (v) => +v.toPrecision(3);
  const at = {
    alpha: (p) => digits(p > 0 ? atFit.alpha * (1 - p) : atFit.alpha - p * (Math.max(3, 2 * atFit.alpha) - atFit.alpha)),
    beta: (p) => { const b = atFit.beta - 1; return +(1 + digits(p > 0 ? toward(b, Math.max(3, 3 * b), p) : toward(b, Math.min(0.05, b / 4), -p))).toFixed(6); },
    delta: (p) => digits(toward(atFit.delta, 4 * atFit.delta, p)),
    clear: (p) => +(p > 0 ? D.clear + p * (1 - D.clear) : D.clear + p * (D.clear - 0.51)).toFixed(2),
  };
  const values = () => { const v = { ...atFit }; for (const one of inputs) if (+one.value) v[one.dataset.price] = at[one.dataset.price](+one.value / 100); return v; };
  const write = (v, away) => {
    for (const one of inputs) { const text = one.dataset.price === "clear" ? v.clear.toFixed(2) : String(digits(v[one.dataset.price])); one.setAttribute("aria-valuetext", text + (+one.value ? "" : ", as in the fit")); $("at-" + one.dataset.price).textContent = text; }
    const prices = ["alpha", "beta", "delta"].filter((name) => L[name] !== null).map((name) => [name, +v[name].toPrecision(7)]), python = prices.map(([name, value]) => `${name}=${value}`).join(", ");
    $("tally").textContent = WORDS.map((w) => `${w} ${grouped(shown.wordCounts[w])}`).join(" · ");
    $("line-same").textContent = `model.repartition(X, ${python}).decisions(clear=${v.clear})`;
    $("line-refit").textContent = `model = ${L.estimator}(${L.arguments ? L.arguments + ", " : ""}${python}).fit(X)`;
    if (L.command) $("line-command").textContent = `${L.command} ${prices.map(([name, value]) => `--${name} ${value}`).join(" ")} --clear ${v.clear}`;
    for (const b of document.querySelectorAll(".back")) b.disabled = !away;
    document.body.classList.toggle("moved", away);
    $("away").hidden = !away; $("away-values").textContent = prices.concat([["clearly from", v.clear]]).map(([name, value]) => `${name} ${typeof value === "number" ? digits(value) : value}`).join(", ");
  };
  let due = 0;
  const move = () => {
    due = 0;
    const began = performance.now(), v = values(), away = inputs.some((one) => +one.value);
    show(away ? decided(shares(v), v.clear) : fitted); write(v, away);
    document.documentElement.dataset.move = (performance.now() - began).toFixed(1);
    document.dispatchEvent(new CustomEvent("softecm:masses", { detail: { ...v, masses } }));
  };
  for (const one of inputs) one.addEventListener("input", () => { due ||= requestAnimationFrame(move); });
  for (const b of document.querySelectorAll(".back")) b.addEventListener("click", () => { for (const one of inputs) one.value = 0; move(); inputs[0].focus({ preventScroll: true }); });
  write(atFit, false);
  setTimeout(() => decided(shares(atFit), D.clear), 300);  // compiled by then: the first move is as fast as the others
})();
