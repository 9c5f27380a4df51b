/* A block of objects that stays in cache: copied with objects along the contiguous axis, then measured.
 *
 * Blocks are filled up to whole vectors with zeros (`padded`), so that loops over objects have no remainders. */
#ifndef SOFTECM_BLOCK_H
#define SOFTECM_BLOCK_H

#include "common.h"

/* Objects of a block, numbers in a cache line, columns that may be written side by side. */
enum { BLOCK = 128, LINE = 8, NARROW = 32 };

INLINE int64_t padded(int64_t size) { return (size + LINE - 1) / LINE * LINE; }
/* A size as the compiler may rely on it. */
#define WHOLE_LINES(size) \
    if ((size) % LINE) __builtin_unreachable()

#define LOAD_COLUMNS(TYPE)                                                                                    \
    for (int64_t first = 0; first < p; first += step) {                                                       \
        int64_t end = least_int(first + step, p);                                                             \
        for (int64_t b = 0; b < size; b++)                                                                    \
            for (int64_t l = first; l < end; l++) xt[l * BLOCK + b] = ((const TYPE *)x)[(start + b) * p + l]; \
    }

/* Copy rows `start` to `start + size` of x (n, p) into xt (p, BLOCK); zeros up to whole vectors. */
static inline void load(const void *x, int64_t kind, int64_t p, int64_t start, int64_t size, double *restrict xt) {
    int64_t step = p <= NARROW ? NARROW : LINE; /* what is written at once must not drive itself out of cache */
    if (kind == F64) {
        LOAD_COLUMNS(double)
    } else {
        LOAD_COLUMNS(float)
    }
    for (int64_t l = 0; l < p; l++)
        for (int64_t b = size; b < padded(size); b++) xt[l * BLOCK + b] = 0.0;
}

/* Add the squared differences of `columns` columns, a constant, to d, or write them there if they are the first. */
INLINE void add_squares(int columns, bool first, const double *restrict xt, const double *restrict v, int64_t size,
                        double *restrict d) {
    WHOLE_LINES(size);
    for (int64_t b = 0; b < size; b++) {
        double s = first ? 0.0 : d[b];
        for (int j = 0; j < columns; j++) {
            double t = xt[j * BLOCK + b] - v[j];
            s += t * t;
        }
        d[b] = s;
    }
}

/* Squared distances of a block to one prototype, from differences: no cancellation far from the origin. */
static inline void distances_to(const double *restrict xt, int64_t p, int64_t size, const double *restrict v,
                                double *restrict d) {
    int64_t l = p % 4;
    if (l == 0) memset(d, 0, (size_t)size * sizeof *d);
    if (l == 1) add_squares(1, true, xt, v, size, d);
    if (l == 2) add_squares(2, true, xt, v, size, d);
    if (l == 3) add_squares(3, true, xt, v, size, d);
    for (; l < p; l += 4) add_squares(4, false, xt + l * BLOCK, v + l, size, d);
}
#endif
