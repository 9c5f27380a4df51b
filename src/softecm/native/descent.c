/* The quasi-Newton direction of a batch of runs (limited memory), and the pairs it is made of.
 *
 * Sums are in double, whatever the numbers are. A run's numbers lie side by side; runs don't touch each other. */
#include "common.h"

typedef struct {
    const void *gradient;         /* (runs, size) */
    const void *scale;            /* (runs, size): a first estimate of the inverse curvature; null: 1 */
    const void *factor;           /* (runs, blocks, length, length), Cholesky's, column by column; null: `scale` says all */
    const void *const *steps, *const *changes; /* `memory` of (runs, size) each, newest last */
    void *direction;              /* (runs, size) */
    double *slopes;               /* (runs,): direction times gradient */
    int64_t runs, size, memory, kind, blocks, length, width; /* size = blocks * length * width */
} Descent;

static double dot(const void *a, const double *b, int64_t kind, int64_t first, int64_t size) {
    double total = 0.0;
    if (kind == F32) {
        const float *x = (const float *)a + first;
        _Pragma("omp simd reduction(+ : total)") for (int64_t i = 0; i < size; i++) total += (double)x[i] * b[i];
    } else {
        const double *x = (const double *)a + first;
        _Pragma("omp simd reduction(+ : total)") for (int64_t i = 0; i < size; i++) total += x[i] * b[i];
    }
    return total;
}

static void add_times(double *into, double factor, const void *a, int64_t kind, int64_t first, int64_t size) {
    if (kind == F32) {
        const float *x = (const float *)a + first;
        for (int64_t i = 0; i < size; i++) into[i] += factor * (double)x[i];
    } else {
        const double *x = (const double *)a + first;
        for (int64_t i = 0; i < size; i++) into[i] += factor * x[i];
    }
}

/* Solve 2 L L' u = u in place for the columns of u (length, width), one after the other in `column`; L by columns. */
static void solve_factor(const Descent *job, int64_t block, double *u, double *column) {
    int64_t n = job->length, d = job->width, first = block * n * n;
    for (int64_t c = 0; c < d; c++) {
        for (int64_t i = 0; i < n; i++) column[i] = u[i * d + c];
        for (int64_t j = 0; j < n; j++) {
            int64_t at = first + j * n;
            double value = column[j] /= real_at(job->factor, job->kind, at + j);
            if (job->kind == F32) {
                const float *l = (const float *)job->factor + at;
                for (int64_t i = j + 1; i < n; i++) column[i] -= (double)l[i] * value;
            } else {
                const double *l = (const double *)job->factor + at;
                for (int64_t i = j + 1; i < n; i++) column[i] -= l[i] * value;
            }
        }
        for (int64_t j = n - 1; j >= 0; j--) {
            double rest = dot(job->factor, column + j + 1, job->kind, first + j * n + j + 1, n - j - 1);
            column[j] = (column[j] - rest) / real_at(job->factor, job->kind, first + j * n + j);
        }
        for (int64_t i = 0; i < n; i++) u[i * d + c] = 0.5 * column[i];
    }
}

/* u over what is known of the curvature, in place. */
static void scale_by(const Descent *job, int64_t run, double *u, double *column) {
    int64_t each = job->length * job->width;
    for (int64_t b = 0; job->factor && b < job->blocks; b++) solve_factor(job, run * job->blocks + b, u + b * each, column);
    for (int64_t i = 0; !job->factor && job->scale && i < job->size; i++) u[i] *= real_at(job->scale, job->kind, run * job->size + i);
}

/* Cholesky's factors of matrices (count, n, n) plus a ridge each, in place and column by column (the rows of U, U' U = M); of
 * the diagonal `bound` (n,) plus the ridge where a matrix is not positive. */
#define FACTORS(NAME, REAL)                                                                         \
    static void NAME(int64_t *next, REAL *matrices, const REAL *bound, const REAL *ridge, int64_t count, int64_t n) { \
        FOR_EACH_TASK(a, next, count) {                                                             \
            REAL *u = matrices + a * n * n;                                                         \
            bool positive = true;                                                                   \
            for (int64_t j = 0; j < n && positive; j++) {                                           \
                REAL *row = u + j * n;                                                              \
                row[j] += ridge[a];                                                                 \
                for (int64_t p = 0; p < j; p++) {                                                   \
                    const REAL *above = u + p * n, part = above[j];                                 \
                    _Pragma("omp simd") for (int64_t i = j; i < n; i++) row[i] -= part * above[i];  \
                }                                                                                   \
                positive = row[j] > 0;                                                              \
                REAL scale = (REAL)(1.0 / sqrt((double)row[j]));                                    \
                for (int64_t i = j; i < n; i++) row[i] *= scale;                                    \
            }                                                                                       \
            for (int64_t j = 0; j < n && !positive; j++) {                                          \
                for (int64_t i = j; i < n; i++) u[j * n + i] = 0;                                   \
                u[j * n + j] = (REAL)sqrt((double)(bound[a * n + j] + ridge[a]));                   \
            }                                                                                       \
        }                                                                                           \
    }
FACTORS(factors_f32, float)
FACTORS(factors_f64, double)

EXPORT void descent_factors(int64_t *next, void *matrices, const void *bound, const void *ridge, int64_t count, int64_t n,
                            int64_t kind) {
    if (kind == F32) factors_f32(next, matrices, bound, ridge, count, n);
    else factors_f64(next, matrices, bound, ridge, count, n);
}

static void load(const void *a, int64_t kind, int64_t first, int64_t size, double *out) {
    for (int64_t i = 0; i < size; i++) out[i] = real_at(a, kind, first + i);
}

/* Minus the inverse Hessian's estimate times the gradient; minus the scaled gradient where that does not descend. */
EXPORT int descent_directions(const Descent *job) {
    int64_t size = job->size, m = job->memory;
    double *u = new_room(2 * size + 2 * m + job->length), *y = u + size, *rho = y + size, *part = rho + m, *column = part + m;
    if (!u) return 1;
    for (int64_t run = 0; run < job->runs; run++) {
        int64_t first = run * size;
        load(job->gradient, job->kind, first, size, u);
        double fitted = 1.0;
        for (int64_t i = m - 1; i >= 0; i--) {
            load(job->changes[i], job->kind, first, size, y);
            double product = dot(job->steps[i], y, job->kind, first, size);
            rho[i] = product > 0 ? 1.0 / product : 0.0;
            part[i] = rho[i] * dot(job->steps[i], u, job->kind, first, size);
            for (int64_t q = 0; q < size; q++) u[q] -= part[i] * y[q];
            if (i == m - 1) { /* the first estimate, fitted to the last step */
                scale_by(job, run, y, column);
                double ratio = product / dot(job->changes[i], y, job->kind, first, size);
                fitted = isfinite(ratio) && ratio > 0 ? ratio : 1.0;
            }
        }
        scale_by(job, run, u, column);
        for (int64_t q = 0; q < size; q++) u[q] *= fitted;
        for (int64_t i = 0; i < m; i++)
            add_times(u, part[i] - rho[i] * dot(job->changes[i], u, job->kind, first, size), job->steps[i], job->kind, first, size);
        double slope = -dot(job->gradient, u, job->kind, first, size);
        if (!(slope < 0)) {
            load(job->gradient, job->kind, first, size, u);
            scale_by(job, run, u, column);
            slope = -dot(job->gradient, u, job->kind, first, size);
        }
        job->slopes[run] = slope;
        for (int64_t q = 0; q < size; q++) {
            if (job->kind == F32) ((float *)job->direction)[first + q] = (float)-u[q];
            else ((double *)job->direction)[first + q] = -u[q];
        }
    }
    free_room(u);
    return 0;
}
