/* The nearest of several points to each vector, without the table of all distances. */
#include "block.h"

/* Rows x (n, p), points v (k, p) -> squared distances (n,) and which point that is (n,), the first of equals. */
EXPORT int nearest(int64_t *next, const void *x, int64_t kind, int64_t n, int64_t p, const double *v, int64_t k,
                   double *distances, int64_t *which) {
    double *room = new_room((p + 2) * BLOCK);
    if (!room) return 1;
    double *xt = room, *restrict d = room + p * BLOCK, *restrict least = d + BLOCK;
    int64_t best[BLOCK];
    FOR_EACH_TASK(block, next, (n + BLOCK - 1) / BLOCK) {
        int64_t start = block * BLOCK, size = least_int(BLOCK, n - start), whole = padded(size);
        load(x, kind, p, start, size, xt);
        distances_to(xt, p, whole, v, least);
        memset(best, 0, sizeof best);
        for (int64_t a = 1; a < k; a++) {
            distances_to(xt, p, whole, v + a * p, d);
            for (int64_t b = 0; b < whole; b++) {
                best[b] = d[b] < least[b] ? a : best[b];
                least[b] = least_of(d[b], least[b]);
            }
        }
        memcpy(distances + start, least, (size_t)size * sizeof *least);
        memcpy(which + start, best, (size_t)size * sizeof *best);
    }
    free_room(room);
    return 0;
}
