/* Least squares on the simplex, exactly: small quadratic programmes by an active-set method.
 *
 * Minimise m'Qm / 2 - b'm over m >= 0, sum(m) = 1, for a positive definite Q of a few dozen rows. The set of positive entries
 * starts from a given m, so that in an alternating scheme most programmes take one or two small Cholesky solves. */
#include "common.h"

#define GAIN 1e-12 /* an entry is let in only if the slope towards it falls by more than this part of the largest coefficient */

/* A programme of f entries and the room to solve it in. */
typedef struct {
    int64_t f;
    double *q, *b;                   /* (f, f), (f,) */
    double *factor, *first, *second; /* (f, f), (f,), (f,) */
    int64_t *free;                   /* (f,): the positive entries */
    uint8_t *inside;                 /* (f,): which those are */
    void *memory;
} Programme;

static bool make_programme(int64_t f, Programme *made) {
    double *at = new_room(2 * f * f + 4 * f + (f + 7) / 8);
    *made = (Programme){.f = f, .memory = at};
    if (!at) return false;
    made->q = at, at += f * f;
    made->factor = at, at += f * f;
    made->b = at, at += f;
    made->first = at, at += f;
    made->second = at, at += f;
    made->free = (int64_t *)at, at += f;
    made->inside = (uint8_t *)at;
    return true;
}

/* The minimiser on the first `size` free entries with sum 1 and no sign, into `first`.
 *
 * Found as a step from m: where Q hardly holds an entry, the minimiser from nothing is the difference of huge numbers. */
static void solve_free(const Programme *p, const double *q, const double *b, const double *m, int64_t size) {
    int64_t f = p->f;
    const int64_t *free = p->free;
    double *factor = p->factor, *first = p->first, *second = p->second, total = 0.0, unit = 0.0;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = q[free[i] * f + free[j]];
            for (int64_t k = 0; k < j; k++) s -= factor[i * f + k] * factor[j * f + k];
            factor[i * f + j] = i == j ? sqrt(largest_of(s, 1e-300)) : s / factor[j * f + j];
        }
    for (int64_t i = 0; i < size; i++) { /* L y = b - Q m and L y = 1 */
        double s = b[free[i]], t = 1.0;
        for (int64_t k = 0; k < size; k++) s -= q[free[i] * f + free[k]] * m[free[k]];
        for (int64_t k = 0; k < i; k++) {
            s -= factor[i * f + k] * first[k];
            t -= factor[i * f + k] * second[k];
        }
        first[i] = s / factor[i * f + i];
        second[i] = t / factor[i * f + i];
    }
    for (int64_t i = size - 1; i >= 0; i--) {
        double s = first[i], t = second[i];
        for (int64_t k = i + 1; k < size; k++) {
            s -= factor[k * f + i] * first[k];
            t -= factor[k * f + i] * second[k];
        }
        first[i] = s / factor[i * f + i];
        second[i] = t / factor[i * f + i];
    }
    for (int64_t i = 0; i < size; i++) {
        total += first[i];
        unit += second[i];
    }
    for (int64_t i = 0; i < size; i++) first[i] += m[free[i]] - total / unit * second[i];
}

/* Go from m towards `first` as far as no entry gets negative; the entry that reached 0 leaves. False if none did. */
static bool step(const Programme *p, double *m, int64_t size) {
    double part = 1.0, total = 0.0;
    int64_t blocking = -1;
    for (int64_t i = 0; i < size; i++)
        if (p->first[i] < 0.0) {
            double now = m[p->free[i]], reach = now / (now - p->first[i]);
            if (reach < part) part = reach, blocking = i;
        }
    for (int64_t i = 0; i < size; i++) m[p->free[i]] += part * (p->first[i] - m[p->free[i]]);
    if (blocking >= 0) m[p->free[blocking]] = 0.0, p->inside[p->free[blocking]] = 0;
    for (int64_t i = 0; i < size; i++) total += m[p->free[i]];
    for (int64_t i = 0; i < size; i++) m[p->free[i]] /= total; /* long steps leave the sum by their rounding */
    return blocking >= 0;
}

/* The slope towards entry i. */
INLINE double slope(const Programme *p, const double *q, const double *b, const double *m, int64_t i, int64_t size) {
    double s = -b[i];
    for (int64_t j = 0; j < size; j++) s += q[i * p->f + p->free[j]] * m[p->free[j]];
    return s;
}

/* Move m, a point of the simplex, to the minimiser for Q and b; in place. Part of the way only once `stop` is set. */
static void solve(const Programme *p, const double *q, const double *b, double *m, const volatile uint8_t *stop) {
    int64_t f = p->f;
    double scale = 0.0;
    for (int64_t i = 0; i < f; i++) {
        p->inside[i] = m[i] > 0.0;
        scale = largest_of(largest_of(q[i * f + i], fabs(b[i])), scale);
    }
    for (int64_t turn = 0; turn < 50 * f && !*stop; turn++) {
        int64_t size = 0, entering = -1;
        double level = 0.0, steepest = -GAIN * scale;
        for (int64_t i = 0; i < f; i++)
            if (p->inside[i]) p->free[size++] = i;
        solve_free(p, q, b, m, size);
        if (step(p, m, size)) continue; /* without the entry that left */
        for (int64_t i = 0; i < size; i++) level += slope(p, q, b, m, p->free[i], size) / (double)size; /* equal for all */
        for (int64_t i = 0; i < f; i++)
            if (!p->inside[i]) {
                double s = slope(p, q, b, m, i, size) - level;
                if (s < steepest) entering = i, steepest = s;
            }
        if (entering < 0) return;
        p->inside[entering] = 1;
    }
}

INLINE void add_outer(double *restrict total, const double *restrict row, int64_t f, double sign) {
    for (int64_t i = 0; i < f; i++)
        for (int64_t j = 0; j < f; j++) total[i * f + j] += sign * row[i] * row[j];
}

/* out (f,) = row (f,) times matrix (f, f). */
INLINE void times(const double *restrict row, const double *restrict matrix, int64_t f, double *restrict out) {
    memset(out, 0, (size_t)f * sizeof *out);
    for (int64_t k = 0; k < f; k++)
        for (int64_t a = 0; a < f; a++) out[a] += row[k] * matrix[k * f + a];
}

/* The squared misfit but for a constant, m'Qm - 2 b'm. */
static double misfit(const double *q, const double *b, const double *m, int64_t f) {
    double value = 0.0;
    for (int64_t i = 0; i < f; i++) {
        double s = -2.0 * b[i];
        for (int64_t j = 0; j < f; j++) s += q[i * f + j] * m[j];
        value += m[i] * s;
    }
    return value;
}

/* Fit every object's masses in turn to its conflicts with others, in place (``kernels.simplex_qp``): with all others where
 * `others` is null (phi (n, n), zero on its diagonal), else with others[starts[i]] to others[starts[i + 1] - 1].
 * `plain` (n, f) holds rows m_j'C and is kept up to date; `gram` (f, f) is their product with themselves, for all others.
 * What pulls: see ``kernels.simplex_qp.Pull``; null for nothing. The sum by which the misfits fell into `gained`. */
EXPORT int simplex_sweep(const double *phi, const int64_t *others, const int64_t *starts, const double *conflict,
                         double *masses, int64_t n, int64_t f, double *plain, double *gram, const int64_t *pull_starts,
                         const int64_t *pull_others, const double *pull_weights, const double *pull_matrix, double ridge,
                         const volatile uint8_t *stop, double *gained) {
    Programme p;
    if (!make_programme(f, &p)) return 1;
    for (int64_t i = 0; i < n && !*stop; i++) {
        double *m = masses + i * f, *own = plain + i * f, *restrict b = p.b;
        int64_t first = others ? starts[i] : 0, last = others ? starts[i + 1] : n;
        memset(b, 0, (size_t)f * sizeof *b);
        if (others)
            memset(p.q, 0, (size_t)(f * f) * sizeof *p.q);
        else
            add_outer(gram, own, f, -1.0), memcpy(p.q, gram, (size_t)(f * f) * sizeof *p.q);
        for (int64_t e = first; e < last; e++) {
            const double *restrict row = plain + (others ? others[e] : e) * f;
            double target = others ? phi[e] : phi[i * n + e];
            if (others) add_outer(p.q, row, f, 1.0);
            for (int64_t a = 0; a < f; a++) b[a] += target * row[a];
        }
        for (int64_t t = pull_starts ? pull_starts[i] : 0; pull_starts && t < pull_starts[i + 1]; t++)
            for (int64_t k = 0; k < f; k++) {
                double part = pull_weights[t] * masses[pull_others[t] * f + k];
                for (int64_t a = 0; a < f; a++) b[a] -= part * pull_matrix[k * f + a];
            }
        for (int64_t a = 0; a < f; a++) p.q[a * f + a] += ridge;
        double before = misfit(p.q, b, m, f);
        solve(&p, p.q, b, m, stop);
        times(m, conflict, f, own);
        *gained += before - misfit(p.q, b, m, f);
        if (!others) add_outer(gram, own, f, 1.0);
    }
    free_room(p.memory);
    return 0;
}

/* Fit every object's masses in turn to intervals of belief and plausibility (``kernels.pair_masses``), in place.
 * `together` and `separate` (n, f) hold rows m_j S and m_j C and are kept up to date; `moved` the largest step of a mass. */
EXPORT int pair_sweep(const double *low, const double *high, const int64_t *others, const int64_t *starts,
                      const double *same, const double *apart, double *masses, int64_t n, int64_t f, double *together,
                      double *separate, double ridge, const volatile uint8_t *stop, double *moved) {
    Programme p;
    if (!make_programme(f, &p)) return 1;
    for (int64_t i = 0; i < n && !*stop; i++) {
        double *m = masses + i * f, *restrict b = p.b;
        memset(b, 0, (size_t)f * sizeof *b);
        memset(p.q, 0, (size_t)(f * f) * sizeof *p.q);
        for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
            const double *restrict s = together + others[e] * f, *restrict c = separate + others[e] * f;
            add_outer(p.q, s, f, 1.0);
            add_outer(p.q, c, f, 1.0);
            for (int64_t a = 0; a < f; a++) b[a] += low[e] * s[a] + (1.0 - high[e]) * c[a];
        }
        for (int64_t a = 0; a < f; a++) p.q[a * f + a] += ridge;
        memcpy(together + i * f, m, (size_t)f * sizeof *m); /* the masses before, until they are no longer needed */
        solve(&p, p.q, b, m, stop);
        for (int64_t a = 0; a < f; a++) *moved = largest_of(fabs(m[a] - together[i * f + a]), *moved);
        times(m, same, f, together + i * f);
        times(m, apart, f, separate + i * f);
    }
    free_room(p.memory);
    return 0;
}

/* Minimisers, rows of masses (n, f), for one Q and many b (n, f). */
EXPORT int simplex_rows(const double *q, const double *b, double *masses, int64_t n, int64_t f,
                        const volatile uint8_t *stop) {
    Programme p;
    if (!make_programme(f, &p)) return 1;
    for (int64_t i = 0; i < n; i++) solve(&p, q, b + i * f, masses + i * f, stop);
    free_room(p.memory);
    return 0;
}
