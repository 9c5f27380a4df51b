/* Masses (eq. 7) from distances, with what an iteration sums up of them: one pass in place of a dozen over n x f numbers.
 *
 * The formulas are those of ``objective.equations.share``, in double: every power is of a ratio to the smallest cost. */
#include "common.h"

enum { CHUNK = 256 /* objects of a task */ };

typedef struct {
    const void *distances;                 /* (n, runs, f) */
    const double *factors, *beta, *delta2; /* (runs, f), (runs,), (runs,) */
    const void *counts, *before;           /* (n,), (runs, n, f + 1): the masses of the last iteration; null: none */
    void *masses, *weights;                /* (runs, n, f + 1), (n, runs, f): |A|^alpha m^beta times counts */
    double *costs, *changes;               /* (chunks, runs) */
    int64_t n, runs, f, kind;
} Job;

INLINE void put(void *array, int64_t kind, int64_t i, double value) {
    if (kind == F64) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}

/* The masses of an object and the empty set's before them, unscaled, in `u` (f + 1,), ratios in `r` (f,); the smallest cost. */
static double ratios(const double *restrict d, const double *factors, double exponent, double delta2, int64_t f,
                     double *restrict r, double *restrict u) {
    double least = delta2, lightest = INFINITY;
    for (int64_t a = 0; a < f; a++) {
        r[a] = d[a] * factors[a];
        least = least_of(r[a], least);
        if (r[a] == 0.0) lightest = least_of(factors[a], lightest);
    }
    u[0] = least / delta2;
    for (int64_t a = 0; a < f; a++) {
        if (least > 0.0) r[a] = u[a + 1] = least / r[a];
        else u[a + 1] = r[a] == 0.0 ? lightest / factors[a] : 0.0; /* on prototypes: these alone count */
    }
    for (int64_t a = 0; exponent != 1.0 && a <= f; a++) u[a] = pow(u[a], exponent);
    return least;
}

EXPORT int share_masses(int64_t *next, const Job *job) {
    int64_t n = job->n, runs = job->runs, f = job->f, kind = job->kind;
    double *d = new_room(3 * f + 1), *r = d + f, *u = r + f;
    if (!d) return 1;
    FOR_EACH_TASK(chunk, next, (n + CHUNK - 1) / CHUNK) {
        for (int64_t run = 0; run < runs; run++) {
            const double *factors = job->factors + run * f, beta = job->beta[run];
            double cost = 0.0, change = 0.0;
            for (int64_t i = chunk * CHUNK; i < least_int((chunk + 1) * CHUNK, n); i++) {
                int64_t first = (i * runs + run) * f, at = (run * n + i) * (f + 1);
                double count = job->counts ? real_at(job->counts, kind, i) : 1.0, total = 0.0;
                for (int64_t a = 0; a < f; a++) d[a] = largest_of(real_at(job->distances, kind, first + a), 0.0);
                double least = ratios(d, factors, 1.0 / (beta - 1.0), job->delta2[run], f, r, u);
                for (int64_t a = 0; a <= f; a++) total += u[a];
                double scale = pow(total, 1.0 - beta);
                for (int64_t a = 0; a <= f; a++) {
                    double mass = u[a] / total;
                    put(job->masses, kind, at + a, mass);
                    if (job->before) change = largest_of(change, fabs(mass - real_at(job->before, kind, at + a)));
                    if (a == 0) continue;
                    double raised = least > 0.0 ? r[a - 1] * scale : pow(mass, beta - 1.0);
                    put(job->weights, kind, first + a - 1, factors[a - 1] * mass * raised * count);
                }
                cost += least * scale * count;
            }
            job->costs[chunk * runs + run] = cost, job->changes[chunk * runs + run] = change;
        }
    }
    free_room(d);
    return 0;
}
