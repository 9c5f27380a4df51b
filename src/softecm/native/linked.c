/* Masses of linked objects, one object after the other (``objective/links.py`` has the problem and plain references).
 *
 * An object's masses depend on its partners' only, so that after the first pass an object is solved again only when a
 * partner's masses have moved. */
#include "common.h"

#define PART 0.3 /* of the way to their best masses that objects take when all move at once */

/* Minimise sum a m^2 + b m on the simplex: sets in order of b receive mass until the level is below the next b. */
static void solve_quadratic(const double *a, const double *b, int64_t f, int64_t *order, double *out) {
    for (int64_t k = 0; k < f; k++) { /* by insertion: there are few sets */
        int64_t at = k;
        for (; at > 0 && b[order[at - 1]] > b[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
    double least = b[order[0]], weight = 0.0, moment = 0.0, tau = 0.0, total = 0.0;
    for (int64_t i = 0; i < f; i++) {
        double level = b[order[i]] - least, half = 0.5 / a[order[i]];
        if (weight > 0.0 && tau <= level) break;
        weight += half;
        moment += half * level;
        tau = (1.0 + moment) / weight; /* inf as long as only a switched-off empty set has been met */
    }
    for (int64_t k = 0; k < f; k++) {
        out[k] = a[k] < INFINITY ? largest_of(tau - (b[k] - least), 0.0) * 0.5 / a[k] : 0.0;
        total += out[k];
    }
    for (int64_t k = 0; k < f; k++) out[k] /= total;
}

/* Minimise sum a m^beta + b m on the simplex: Newton on the norm of the masses, the level kept in its bracket. */
static void solve_power(const double *a, const double *b, int64_t f, double beta, double *out) {
    double power = 1.0 / (beta - 1.0), least = INFINITY, low = INFINITY, high = INFINITY;
    double shrink = pow((double)f, 1.0 - beta), off = INFINITY /* how far the norm was from 1 */, sum = 0.0;
    for (int64_t k = 0; k < f; k++)
        if (a[k] < INFINITY) least = least_of(b[k], least);
    for (int64_t k = 0; k < f; k++) {
        low = least_of(b[k] - least + beta * a[k] * shrink, low);
        high = least_of(b[k] - least + beta * a[k], high);
    }
    double tau = high;
    for (int turn = 0; turn < 200; turn++) {
        double total = 0.0, steep = 0.0;
        for (int64_t k = 0; k < f; k++) {
            double t = (tau - (b[k] - least)) / (beta * a[k]);
            if (t > 0.0) {
                double raised = pow(t, power);
                total += raised;
                steep += raised / t / (beta * a[k]);
            }
        }
        double norm = pow(total, beta - 1.0), now = fabs(norm - 1.0);
        bool slow = now > 0.5 * off;
        if (norm > 1.0) high = tau;
        else low = tau;
        off = now;
        if (off <= 4e-16 || high - low <= 2e-16 * high) break;
        double new = tau - (norm - 1.0) * total / (norm * steep);
        /* Above beta = 2 the norm is not convex: halve the bracket where Newton leaves it or does not converge. */
        tau = low <= new && new <= high && !slow ? new : 0.5 * (low + high);
    }
    for (int64_t k = 0; k < f; k++) {
        double t = (tau - (b[k] - least)) / (beta * a[k]);
        out[k] = t > 0.0 ? pow(t, power) : 0.0;
        sum += out[k];
    }
    for (int64_t k = 0; k < f; k++) out[k] /= sum;
}

/* Masses (f,) of one object for prices a m^beta and slopes b; `order` is room for f numbers. */
EXPORT void linked_masses(const double *a, const double *b, int64_t f, double beta, int64_t *order, double *out) {
    if (beta == 2.0)
        solve_quadratic(a, b, f, order, out);
    else
        solve_power(a, b, f, beta, out);
}

/* Links, as ``kernels.linked.descend`` has them. */
typedef struct {
    double must, cannot, empty;
    const int64_t *starts, *partners;
    const uint8_t *together, *meets;
    int64_t c, f;
} Links;

/* What each mass of object i adds to the price of its links. */
static void slopes(const double *masses, int64_t i, const Links *links, double *restrict b) {
    int64_t f = links->f;
    memset(b, 0, (size_t)f * sizeof *b);
    for (int64_t e = links->starts[i]; e < links->starts[i + 1]; e++) {
        const double *other = masses + links->partners[e] * f;
        if (links->together[e]) {
            for (int64_t k = 1; k <= links->c; k++) b[k] -= links->must * other[k];
            b[0] += isnan(links->empty) ? -links->must * (1.0 - other[0]) : links->empty;
        } else
            for (int64_t s = 1; s < f; s++)
                for (int64_t t = 1; t < f; t++)
                    if (links->meets[s * f + t]) b[s] += links->cannot * other[t];
    }
}

/* Masses of object i, its partners fixed; `b` and `order` are room for f numbers. */
static void solve_object(const double *a, double beta, const double *masses, int64_t i, const Links *links, double *b,
                         int64_t *order, double *out) {
    slopes(masses, i, links, b);
    linked_masses(a + i * links->f, b, links->f, beta, order, out);
}

/* First some steps in which all objects move part of the way at once; `aims` is room for (m, f). */
static void move_together(const double *a, double beta, double *masses, int64_t m, const Links *links, double tol,
                          int64_t joint, double *b, int64_t *order, double *aims) {
    int64_t f = links->f;
    for (int64_t step = 0; step < joint; step++) {
        double largest = 0.0;
        for (int64_t i = 0; i < m; i++) solve_object(a, beta, masses, i, links, b, order, aims + i * f);
        for (int64_t i = 0; i < m * f; i++) {
            double part = PART * (aims[i] - masses[i]);
            masses[i] += part;
            largest = largest_of(fabs(part), largest);
        }
        if (largest <= tol) break;
    }
}

/* Then one object after the other, until none that is due moves by more than the tolerance. */
static void move_in_turn(const double *a, double beta, double *masses, int64_t m, const Links *links, double tol,
                         int64_t sweeps, double *b, int64_t *order, double *new, uint8_t *due) {
    int64_t f = links->f;
    bool moved = true;
    memset(due, 1, (size_t)m);
    for (int64_t sweep = 0; sweep < sweeps && moved; sweep++) {
        moved = false;
        for (int64_t i = 0; i < m; i++) {
            double change = 0.0;
            if (!due[i]) continue;
            due[i] = 0;
            solve_object(a, beta, masses, i, links, b, order, new);
            for (int64_t s = 0; s < f; s++) {
                change = largest_of(fabs(new[s] - masses[i * f + s]), change);
                masses[i * f + s] = new[s];
            }
            if (!(change > tol)) continue;
            moved = true;
            for (int64_t e = links->starts[i]; e < links->starts[i + 1]; e++) due[links->partners[e]] = 1;
        }
    }
}

/* Lower the objective of linked objects in place (``kernels.linked.descend``), a run a task. */
EXPORT int linked_descend(int64_t *next, const double *a, const double *beta, double *masses, int64_t runs, int64_t m,
                          int64_t f, double must, double cannot, double empty, const int64_t *starts,
                          const int64_t *partners, const uint8_t *together, int64_t c, const uint8_t *meets, double tol,
                          int64_t sweeps, int64_t joint) {
    const Links links = {must, cannot, empty, starts, partners, together, meets, c, f};
    double *room = new_room(3 * f + (joint ? m * f : 0) + (m + 7) / 8);
    if (!room) return 1;
    double *b = room, *new = room + f, *aims = room + 3 * f;
    int64_t *order = (int64_t *)(room + 2 * f);
    uint8_t *due = (uint8_t *)(aims + (joint ? m * f : 0));
    FOR_EACH_TASK(run, next, runs) {
        const double *own = a + run * m * f;
        double *moving = masses + run * m * f;
        move_together(own, beta[run], moving, m, &links, tol, joint, b, order, aims);
        move_in_turn(own, beta[run], moving, m, &links, tol, sweeps, b, order, new, due);
    }
    free_room(room);
    return 0;
}
