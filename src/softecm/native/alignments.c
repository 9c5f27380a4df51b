/* Whole tables of alignments, of few pairs: what each step of a prototype costs, and a series aligned with itself. */
#include "rules.h"
#include "vector_math.h"

/* ---------------------------------------------------------------- what steps cost, for explanations */

typedef struct {
    const double *steps;
    int64_t count, d;
} Series;

/* Squared length of a difference, or of the first alone. */
static double square(Series x, int64_t i, const Series *y, int64_t j) {
    double total = 0.0;
    for (int64_t c = 0; c < x.d; c++) {
        double u = x.steps[i * x.d + c] - (y ? y->steps[j * x.d + c] : 0.0);
        total += u * u;
    }
    return total;
}

/* Cost of the step across into a cell; if squared, of the cell. */
static double cost_across(Series x, Series y, int64_t i, int64_t j, const Rule *rule) {
    double here = square(x, i, &y, j), away = fabs((double)(i - j));
    if (rule->squared > 0) {
        double middle = (double)most_int(x.count, y.count) / 2.0;
        return rule->weighted > 0 ? here / (1.0 + exp(-rule->steepness * (away - middle))) : here;
    }
    double before = i > 0 && j > 0 ? rounded_length(square(x, i - 1, &y, j - 1), rule->gamma) : 0.0;
    return rule->across * rounded_length(here, rule->gamma) + rule->apart * away + rule->before * before;
}

/* Cost of the step in x alone into a cell. */
static double cost_aside(Series x, int64_t i, const Rule *rule) {
    double moved = rounded_length(square(x, i, rule->size > 0 ? NULL : &x, i - 1), rule->gamma);
    return rule->step + (rule->change + rule->size) * moved;
}

enum { ACROSS, UP, LEFT };

/* Probabilities of the three steps into a cell at these totals, and their (soft) minimum; if hard, one of them is 1. */
static double choose(const double totals[3], double gamma, double shares[3]) {
    double low = least_of(totals[ACROSS], least_of(totals[UP], totals[LEFT])), all = 0.0;
    if (low == INFINITY) return low;
    if (gamma == 0) {
        shares[totals[ACROSS] == low ? ACROSS : totals[UP] == low ? UP : LEFT] = 1.0;
        return low;
    }
    for (int s = 0; s < 3; s++) all += shares[s] = exp((low - totals[s]) / gamma);
    for (int s = 0; s < 3; s++) shares[s] /= all;
    return low - gamma * log(all);
}

/* Add the expected cost (of a best alignment, if hard) of the steps into each column. `room` holds 8 (n + 1) (m + 1). */
static void add_step_costs(Series x, Series y, const Rule *rule, int64_t band, double *room, double *out) {
    int64_t n = x.count, m = y.count, wide = m + 1, cells = (n + 1) * wide, reach = band * (most_int(n, m) - 1);
    if (n == 0 || m == 0) return;
    double *total = room, *mass = room + cells, *costs = room + 2 * cells, *shares = costs + 3 * cells;
    memset(room, 0, (size_t)(8 * cells) * sizeof *room);
    for (int64_t q = 0; q < cells; q++) total[q] = INFINITY; /* cell (i, j) at (i + 1, j + 1) */
    total[0] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            if (band >= 0 && llabs(i * (m - 1) - j * (n - 1)) > reach) continue;
            int64_t q = (i + 1) * wide + j + 1;
            double *cost = costs + 3 * q;
            cost[ACROSS] = cost_across(x, y, i, j, rule);
            cost[UP] = rule->squared > 0 ? rule->step + cost[ACROSS] : i > 0 ? cost_aside(x, i, rule) : 0.0;
            cost[LEFT] = rule->squared > 0 ? rule->step + cost[ACROSS] : j > 0 ? cost_aside(y, j, rule) : 0.0;
            double totals[3] = {total[q - wide - 1] + cost[ACROSS], total[q - wide] + cost[UP], total[q - 1] + cost[LEFT]};
            total[q] = choose(totals, rule->gamma, shares + 3 * q);
        }
    if (rule->last > 0) out[m - 1] += rule->last * rounded_length(square(x, n - 1, &y, m - 1), rule->gamma);
    mass[cells - 1] = 1.0;
    for (int64_t i = n; i > 0; i--)
        for (int64_t j = m; j > 0; j--) {
            int64_t q = i * wide + j, before[3] = {q - wide - 1, q - wide, q - 1};
            for (int s = 0; s < 3 && mass[q] > 0; s++) {
                double flow = mass[q] * shares[3 * q + s];
                out[j - 1] += flow * costs[3 * q + s];
                mass[before[s]] += flow;
            }
        }
}

/* Expected cost of the steps into each step of each prototype: x (n, steps, d), y (k, length, d) -> (n, k, length), zeros;
 * and, unless null, how likely each two steps go together (n, k, steps, length), zeros. */
EXPORT int step_costs(int64_t *next, const double *x, const int64_t *lengths, int64_t n, int64_t steps, const double *y, int64_t k,
                      int64_t length, int64_t d, const Rule *rule, int64_t band, double *out, double *masses) {
    double *room = new_room(8 * (steps + 1) * (length + 1));
    if (!room) return 1;
    FOR_EACH_TASK(pair, next, n * k) {
        int64_t i = pair / k, a = pair % k;
        Series one = {x + i * steps * d, lengths[i], d}, other = {y + a * length * d, length, d};
        add_step_costs(one, other, rule, band, room, out + pair * length);
        for (int64_t r = 0; masses && r < one.count; r++) {
            const double *mass = room + (one.count + 1) * (length + 1) + (r + 1) * (length + 1) + 1;
            memcpy(masses + (pair * steps + r) * length, mass, (size_t)length * sizeof *mass);
        }
    }
    free_room(room);
    return 0;
}

/* ---------------------------------------------------------------- a series aligned with itself */

#define FAINT 1e-150 /* of a row's largest path sum: what is fainter says nothing, and denormal numbers are slow */

/* exp(-cost / gamma) of all pairs of steps (steps, steps), 0 outside the band. */
static void fill_similarities(Series v, double gamma, int64_t band, double *near) {
    double unit = -1.0 / (gamma * LN2);
    for (int64_t i = 0; i < v.count; i++) {
        double *row = near + i * v.count;
        for (int64_t j = 0; j <= i; j++) row[j] = square(v, i, &v, j) * unit;
        for (int64_t j = 0; j <= i; j++) row[j] = power_of_two(row[j]);
        for (int64_t j = 0; band >= 0 && j < i - band; j++) row[j] = 0.0;
        for (int64_t j = 0; j < i; j++) near[j * v.count + i] = row[j];
    }
}

/* Sums over all paths from the first cell to each, every row in a unit of its own, exp(scales). The table is read forwards
 * or, with `way` -1, from its last cell backwards. */
static void sum_paths(const double *near, int64_t steps, int64_t way, double *out, double *scales) {
    double scale = 0.0;
    for (int64_t i = 0; i < steps; i++) {
        const double *here = near + way * i * steps;
        double *row = out + i * steps, *above = i > 0 ? row - steps : row, left = 0.0, top = 0.0;
        row[0] = (i > 0 ? above[0] : 1.0) * here[0]; /* 1: where the first path comes from */
        for (int64_t j = 1; j < steps; j++) row[j] = i > 0 ? (above[j] + above[j - 1]) * here[way * j] : 0.0;
        for (int64_t j = 0; j < steps; j++) {
            row[j] = left = left * here[way * j] + row[j];
            top = largest_of(top, left);
        }
        double unit = 1.0 / top;
        for (int64_t j = 0; j < steps; j++) row[j] = row[j] > FAINT * top ? row[j] * unit : 0.0;
        scales[i] = scale += log(top);
    }
}

/* How likely each two steps of a series go together when it is aligned with itself: v (k, steps, d) -> (k, steps, steps). */
EXPORT int self_alignments(int64_t *next, const double *v, int64_t k, int64_t steps, int64_t d, double gamma, int64_t band, double *out) {
    int64_t cells = steps * steps;
    double *near = new_room(3 * cells + 2 * steps);
    if (!near) return 1;
    double *to = near + cells, *back = to + cells, *at = back + cells, *behind = at + steps;
    FOR_EACH_TASK(a, next, k) {
        Series series = {v + a * steps * d, steps, d};
        fill_similarities(series, gamma, band, near);
        sum_paths(near, steps, 1, to, at);
        sum_paths(near + cells - 1, steps, -1, back, behind);
        double whole = log(to[cells - 1]) + at[steps - 1];
        for (int64_t i = 0; i < steps; i++) {
            double unit = exp(at[i] + behind[steps - 1 - i] - whole);
            for (int64_t q = i * steps; q < (i + 1) * steps; q++)
                out[a * cells + q] = near[q] > 0.0 ? to[q] * back[cells - 1 - q] * unit / near[q] : 0.0;
        }
    }
    free_room(near);
    return 0;
}
