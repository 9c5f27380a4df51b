/* Products of sparse rows with dense points, without a dense copy of the rows.
 *
 * Rows are compressed (CSR): `starts` (n + 1,) says where each begins among `columns` and `values`, of any kind. Points are
 * turned a few at a time, so that all that is asked of one column lies together; a few points are also what one thread sums
 * up, so that sums don't depend on the number of threads. */
#include "common.h"

/* Points turned at once, sums that one thread writes (64 bytes a column), rows measured at once. */
enum { TOGETHER = 24, SUMMED = 8, ROWS = 64 };

#define SPARSE_PARAMETERS \
    const int64_t *starts, const void *columns, int64_t columns_kind, const void *values, int64_t values_kind
#define SPARSE_ARGUMENTS starts, columns, columns_kind, values, values_kind

/* total += row i times the turned points, k of them. */
INLINE void add_row(SPARSE_PARAMETERS, int64_t i, const double *restrict turned, int64_t k, double *restrict total) {
    for (int64_t entry = starts[i]; entry < starts[i + 1]; entry++) {
        const double *restrict point = turned + whole_at(columns, columns_kind, entry) * k;
        double value = real_at(values, values_kind, entry);
        for (int64_t a = 0; a < k; a++) total[a] += value * point[a];
    }
}

/* Inner products of n rows with k <= TOGETHER points, turned (p, k), into columns `first` on of out (n, all). */
EXPORT void sparse_products(int64_t *next, SPARSE_PARAMETERS, int64_t n, const double *turned, int64_t k, int64_t first,
                            int64_t all, double *out) {
    FOR_EACH_TASK(block, next, (n + ROWS - 1) / ROWS) {
        for (int64_t i = block * ROWS; i < least_int((block + 1) * ROWS, n); i++) {
            double total[TOGETHER] = {0};
            if (k == TOGETHER)
                add_row(SPARSE_ARGUMENTS, i, turned, TOGETHER, total);
            else
                add_row(SPARSE_ARGUMENTS, i, turned, k, total);
            memcpy(out + i * all + first, total, (size_t)k * sizeof *total);
        }
    }
}

/* turned += rows times their weights, for the k weights of each row from `first` on. */
INLINE void add_weighted(SPARSE_PARAMETERS, int64_t n, const double *restrict weights, int64_t all, int64_t k,
                         double *restrict turned) {
    for (int64_t i = 0; i < n; i++) {
        const double *restrict weight = weights + i * all;
        for (int64_t entry = starts[i]; entry < starts[i + 1]; entry++) {
            double *restrict point = turned + whole_at(columns, columns_kind, entry) * k;
            double value = real_at(values, values_kind, entry);
            for (int64_t a = 0; a < k; a++) point[a] += value * weight[a];
        }
    }
}

/* Sums out (all, width) of n rows, weighted by the columns of weights (n, all). */
EXPORT int sparse_sums(int64_t *next, SPARSE_PARAMETERS, int64_t n, const double *weights, int64_t all, int64_t width,
                       double *out) {
    double *turned = new_room(width * SUMMED);
    if (!turned) return 1;
    FOR_EACH_TASK(group, next, (all + SUMMED - 1) / SUMMED) {
        int64_t first = group * SUMMED, k = least_int(SUMMED, all - first);
        memset(turned, 0, (size_t)(width * k) * sizeof *turned);
        if (k == SUMMED)
            add_weighted(SPARSE_ARGUMENTS, n, weights + first, all, SUMMED, turned);
        else
            add_weighted(SPARSE_ARGUMENTS, n, weights + first, all, k, turned);
        for (int64_t a = 0; a < k; a++)
            for (int64_t j = 0; j < width; j++) out[(first + a) * width + j] = turned[j * k + a];
    }
    free_room(turned);
    return 0;
}

INLINE uint64_t mix(uint64_t key, uint64_t bits) {
    key = (key ^ bits) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 29)) * 0x94D049BB133111EBu;
    return key ^ (key >> 32);
}

/* One number a row that depends on what the dense row of this width holds; `bits` are those of the values. */
EXPORT void sparse_keys(int64_t *next, const int64_t *starts, const void *columns, int64_t columns_kind,
                        const uint64_t *bits, int64_t n, int64_t width, uint64_t *keys) {
    FOR_EACH_TASK(block, next, (n + ROWS - 1) / ROWS) {
        for (int64_t i = block * ROWS; i < least_int((block + 1) * ROWS, n); i++) {
            uint64_t key = 0x9E3779B97F4A7C15u;
            int64_t at = 0;
            for (int64_t entry = starts[i]; entry < starts[i + 1]; entry++) {
                int64_t column = whole_at(columns, columns_kind, entry);
                for (; at < column; at++) key = mix(key, 0);
                key = mix(key, bits[entry]);
                at = column + 1;
            }
            for (; at < width; at++) key = mix(key, 0);
            keys[i] = key;
        }
    }
}
