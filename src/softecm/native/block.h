/* A block of objects that stays in cache: copied with objects along the contiguous axis, then measured.
 *
 * Blocks are filled up to whole vectors (`padded`) with zeros, so that loops over objects have no remainders. */
#ifndef SOFTECM_BLOCK_H
#define SOFTECM_BLOCK_H

#include "common.h"

enum { BLOCK = 128 /* objects */, LINE = 8 /* numbers that lie together in cache */, NARROW = 32 /* columns written side by side */ };

INLINE int64_t padded(int64_t size) { return (size + LINE - 1) / LINE * LINE; }

#define LOAD_COLUMNS(TYPE)                                                                                       \
    for (int64_t first = 0; first < p; first += step) { /* what is written at once must not drive itself out of cache */ \
        int64_t end = least_int(first + step, p);                                                                \
        for (int64_t b = 0; b < size; b++)                                                                       \
            for (int64_t l = first; l < end; l++) xt[l * BLOCK + b] = ((const TYPE *)x)[(start + b) * p + l];    \
    }

/* Copy rows `start` to `start + size` of x (n, p) into xt (p, BLOCK). */
static inline void load(const void *x, int64_t kind, int64_t p, int64_t start, int64_t size, double *restrict xt) {
    int64_t step = p <= NARROW ? NARROW : LINE;
    if (kind == F64) {
        LOAD_COLUMNS(double)
    } else {
        LOAD_COLUMNS(float)
    }
    for (int64_t l = 0; l < p; l++)
        for (int64_t b = size; b < padded(size); b++) xt[l * BLOCK + b] = 0.0;
}

/* Squared distances of a block to one prototype, from differences: no cancellation far from the origin. */
static inline void distances_to(const double *restrict xt, int64_t p, int64_t size, const double *restrict v, double *restrict d) {
    int64_t l = 0;
    memset(d, 0, (size_t)size * sizeof *d);
    for (; l + 4 <= p; l += 4) {
        const double *x0 = xt + l * BLOCK, *x1 = x0 + BLOCK, *x2 = x1 + BLOCK, *x3 = x2 + BLOCK;
        double v0 = v[l], v1 = v[l + 1], v2 = v[l + 2], v3 = v[l + 3];
        for (int64_t b = 0; b < size; b++) {
            double t0 = x0[b] - v0, t1 = x1[b] - v1, t2 = x2[b] - v2, t3 = x3[b] - v3;
            d[b] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3);
        }
    }
    for (; l < p; l++) {
        const double *x0 = xt + l * BLOCK;
        for (int64_t b = 0; b < size; b++) {
            double t0 = x0[b] - v[l];
            d[b] += t0 * t0;
        }
    }
}
#endif
