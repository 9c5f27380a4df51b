/* Short dilated convolutions of series, pooled over their steps. */
#include "common.h"

enum { TAPS = 9, THRESHOLDS = 4 };

/* A series with its ends held, so that every tap of every step exists, and the sums of all taps at each step. */
static void spread_out(const double *x, int64_t steps, int64_t dilation, double *padded, double *sums) {
    int64_t margin = dilation * (TAPS / 2);
    for (int64_t s = 0; s < margin; s++) padded[s] = x[0];
    memcpy(padded + margin, x, (size_t)steps * sizeof *x);
    for (int64_t s = 0; s < margin; s++) padded[margin + steps + s] = x[steps - 1];
    for (int64_t s = 0; s < steps; s++) sums[s] = 0.0;
    for (int64_t tap = 0; tap < TAPS; tap++)
        for (int64_t s = 0; s < steps; s++) sums[s] += padded[s + tap * dilation];
}

/* One convolution, of weight 2 at three taps and -1 at the others: shares of steps above each threshold, and the maximum. */
static void pool(const double *a, const double *b, const double *c, const double *sums, int64_t steps,
                 const double *thresholds, double *out) {
    double t0 = thresholds[0], t1 = thresholds[1], t2 = thresholds[2], t3 = thresholds[3];
    double n0 = 0.0, n1 = 0.0, n2 = 0.0, n3 = 0.0, top = -INFINITY;
#pragma omp simd reduction(+ : n0, n1, n2, n3) reduction(max : top)
    for (int64_t s = 0; s < steps; s++) {
        double value = 3.0 * (a[s] + b[s] + c[s]) - sums[s];
        n0 += value > t0 ? 1.0 : 0.0;
        n1 += value > t1 ? 1.0 : 0.0;
        n2 += value > t2 ? 1.0 : 0.0;
        n3 += value > t3 ? 1.0 : 0.0;
        top = value > top ? value : top;
    }
    double shares[THRESHOLDS] = {n0, n1, n2, n3};
    for (int64_t j = 0; j < THRESHOLDS; j++) out[j] = shares[j] / (double)steps;
    out[THRESHOLDS] = top;
}

/* Features (rows, dilations, kernels, 5) of series (rows, longest) of these lengths, whose channels take turns; thresholds are
 * (dilations, channels, kernels, 4), `heavy` (kernels, 3) the taps of weight 2. Returns 0, or 1 without memory. */
EXPORT int64_t pool_convolutions(int64_t *next, const double *x, const int64_t *lengths, int64_t rows, int64_t longest,
                                 int64_t channels, const int64_t *dilations, int64_t n_dilations, const int64_t *heavy,
                                 int64_t kernels, const double *thresholds, double *out) {
    int64_t widest = 0;
    for (int64_t i = 0; i < n_dilations; i++) widest = dilations[i] > widest ? dilations[i] : widest;
    double *sums = new_room(longest), *padded = new_room(longest + (TAPS - 1) * widest);
    if (sums && padded)
        FOR_EACH_TASK(row, next, rows) {
            for (int64_t i = 0; i < n_dilations; i++) {
                int64_t dilation = dilations[i];
                const double *limits = thresholds + (i * channels + row % channels) * kernels * THRESHOLDS;
                double *features = out + (row * n_dilations + i) * kernels * (THRESHOLDS + 1);
                spread_out(x + row * longest, lengths[row], dilation, padded, sums);
                for (int64_t k = 0; k < kernels; k++) {
                    const int64_t *tap = heavy + 3 * k;
                    pool(padded + tap[0] * dilation, padded + tap[1] * dilation, padded + tap[2] * dilation, sums,
                         lengths[row], limits + k * THRESHOLDS, features + k * (THRESHOLDS + 1));
                }
            }
        }
    int64_t failed = !(sums && padded);
    free_room(sums);
    free_room(padded);
    return failed;
}
