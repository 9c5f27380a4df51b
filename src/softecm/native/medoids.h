/* The search for medoids, for dissimilarities of the type REAL; NAME(x) is the name x with the type's ending. */

/* The smallest entry of a + b. */
static REAL NAME(least_sum)(const REAL *restrict a, const REAL *restrict b, int64_t n) {
    enum { WIDE = 16 };
    REAL part[WIDE], least = a[0] + b[0];
    int64_t x = 0;
    for (int k = 0; k < WIDE; k++) part[k] = least;
    for (; x + WIDE <= n; x += WIDE)
        for (int k = 0; k < WIDE; k++) {
            REAL sum = a[x + k] + b[x + k];
            part[k] = sum < part[k] ? sum : part[k];
        }
    for (; x < n; x++) part[0] = a[x] + b[x] < part[0] ? a[x] + b[x] : part[0];
    for (int k = 0; k < WIDE; k++) least = part[k] < least ? part[k] : least;
    return least;
}

/* Position of the least of row + inertia; among equals the one with the least row^2 + squares. */
static int64_t NAME(barycenter)(const REAL *row, const REAL *inertia, const REAL *squares, int64_t n) {
    double least = NAME(least_sum)(row, inertia, n), limit = least + SAME * least, best = INFINITY;
    int64_t chosen = -1;
    for (int64_t x = 0; x < n; x++) {
        REAL sum = row[x] + inertia[x];
        if (sum <= limit) {
            REAL second = row[x] * row[x] + squares[x];
            if (second < best - SAME * best || chosen < 0) best = second, chosen = x;
        }
    }
    return chosen;
}

/* Where to put one cluster when the constraint cost is the gap (``kernels.medoids.gap_choice``); its cost into `best`, which
 * holds what is to be beaten. */
EXPORT int64_t NAME(gap_choice)(const REAL *d, int64_t n, const int64_t *candidates, const double *bounds, int64_t count,
                                const double *base, double lam, const REAL *inertia, int64_t sets, double *best) {
    int64_t chosen = -1;
    for (int64_t i = 0; i < count && bounds[i] < *best; i++) {
        int64_t z = candidates[i];
        double cost = base[z];
        for (int64_t a = 0; a < sets; a++) cost -= lam * NAME(least_sum)(d + z * n, inertia + a * n, n);
        if (cost < *best) *best = cost, chosen = z;
    }
    return chosen;
}

/* The same when its sets sit on the barycentres of their clusters (``kernels.medoids.exact_choice``). */
EXPORT int64_t NAME(exact_choice)(const REAL *d, int64_t n, const int64_t *candidates, const double *bounds, int64_t count,
                                  const double *own, double floor, const double *prices, const REAL *inertia,
                                  const REAL *squares, int64_t sets, double *best) {
    int64_t chosen = -1;
    for (int64_t i = 0; i < count && bounds[i] < *best; i++) {
        int64_t z = candidates[i];
        double cost = own[z] + floor;
        for (int64_t a = 0; a < sets && cost < *best; a++) /* prices are above their minimum */
            cost += prices[a * n + NAME(barycenter)(d + z * n, inertia + a * n, squares + a * n, n)];
        if (cost < *best) *best = cost, chosen = z;
    }
    return chosen;
}

/* For each run with medoids (runs, c) and each set, the object with the least sum of dissimilarities: out (runs, sets). The
 * clusters of set a are members[starts[a]] to members[starts[a + 1] - 1]; `room` holds 2 n numbers. */
EXPORT void NAME(medoid_barycenters)(const REAL *d, int64_t n, const int64_t *members, const int64_t *starts, int64_t sets,
                                     const int64_t *medoids, int64_t runs, int64_t c, REAL *room, int64_t *out) {
    REAL *restrict inertia = room, *restrict squares = room + n;
    for (int64_t run = 0; run < runs; run++)
        for (int64_t a = 0; a < sets; a++) {
            memset(room, 0, (size_t)(2 * n) * sizeof *room);
            for (int64_t j = starts[a] + 1; j < starts[a + 1]; j++) {
                const REAL *restrict row = d + medoids[run * c + members[j]] * n;
                for (int64_t x = 0; x < n; x++) inertia[x] += row[x], squares[x] += row[x] * row[x];
            }
            out[run * sets + a] = NAME(barycenter)(d + medoids[run * c + members[starts[a]]] * n, inertia, squares, n);
        }
}
