/* One round of evidential c-means in a single pass over cache-sized blocks of objects: of vectors, or of tables with
 * categories and gaps.
 *
 * A round needs, of every object, its distances to all prototypes, its masses (eq. 7), and what it adds to the objective and
 * to the weighted sums of the prototype step (eq. 8). As tensor operations this is a dozen passes over an n x f matrix, and
 * memory bandwidth decides. Here a block of objects stays in cache from its distances to its sums, and that matrix never
 * exists.
 *
 * With D the distances times |A|^alpha and q the smallest of them and delta^2, put r = q / D <= 1 and u = r^(1/(beta-1)).
 * Nothing over- or underflows, whatever the unit of the data, and
 *
 *     m_A = u_A / S,    S = sum of all u (the empty set's too),    cost of the object = q S^(1-beta),
 *     |A|^alpha m_A^beta = |A|^alpha (u_A / S) r_A S^(1-beta)
 *
 * so that one power a mass is enough, and none at beta = 2 or 1.5.
 *
 * What a category adds to the distances of an object is one row of a small table (a level for row, a prototype for column):
 * with the prototypes along the contiguous axis a lookup is one vector addition, and so is the way back, where an object's
 * weights are added to the row of its category. One-hot matrices never exist. */
#include "block.h"
#include "vector_math.h"

/* Objects. Vectors have numbers alone: q is 0, codes, slots, observed and scale are null. */
typedef struct {
    const void *numbers; /* (n, p) */
    int64_t numbers_kind, n, p;
    const void *codes; /* (n, q) */
    int64_t codes_kind, q;
    const int64_t *slots;    /* (q,): first row of each column in a lookup table */
    const uint8_t *observed; /* (n, p), null without gaps */
    const void *scale;       /* (n,), null without gaps */
    int64_t scale_kind;
    int64_t rows, lanes; /* of a lookup table: levels, and prototypes up to whole vectors */
} Table;

#define TABLE_PARAMETERS                                                                                              \
    const void *numbers, int64_t numbers_kind, int64_t n, int64_t p, const void *codes, int64_t codes_kind, int64_t q, \
        const int64_t *slots, const uint8_t *observed, const void *scale, int64_t scale_kind, int64_t rows, int64_t lanes
#define TABLE_ARGUMENTS \
    { numbers, numbers_kind, n, p, codes, codes_kind, q, slots, observed, scale, scale_kind, rows, lanes }

/* A block of objects on its way from distances to masses. */
typedef struct {
    double *d;     /* (f, BLOCK): distances, then r, then weights */
    double *u;     /* (f, BLOCK) */
    double *total; /* (BLOCK,): S */
    double *least; /* (BLOCK,): q */
    double *cost;  /* (BLOCK,): an object's part of the objective */
} Shares;

/* All that one thread works in. */
typedef struct {
    double *xt, *ot;      /* (p, BLOCK): numbers, and how much each counts where there are gaps */
    double *looked;       /* (BLOCK, lanes) */
    int64_t *places;      /* (BLOCK, q): where the row of each category begins in a lookup table */
    Shares now, before;
    void *memory;
} Room;

static Shares shares_in(double **at, int64_t f) {
    Shares made = {*at, *at + f * BLOCK, *at + 2 * f * BLOCK, *at + (2 * f + 1) * BLOCK, *at + (2 * f + 2) * BLOCK};
    *at += (2 * f + 3) * BLOCK;
    return made;
}

static bool make_room(const Table *table, int64_t f, Room *room) {
    int64_t p = table->p, gaps = table->scale ? p : 0;
    double *at = new_room((p + gaps + table->lanes + table->q + 2 * (2 * f + 3)) * BLOCK);
    room->memory = at;
    if (!at) return false;
    room->xt = at, at += p * BLOCK;
    room->ot = at, at += gaps * BLOCK;
    room->looked = at, at += table->lanes * BLOCK;
    room->places = (int64_t *)at, at += table->q * BLOCK;
    room->now = shares_in(&at, f);
    room->before = shares_in(&at, f);
    return true;
}

#define PLACE_CATEGORIES(TYPE)                  \
    for (int64_t b = 0; b < size; b++)          \
        for (int64_t j = 0; j < q; j++)         \
            room->places[b * q + j] = (table->slots[j] + (int64_t)((const TYPE *)table->codes)[(start + b) * q + j]) * lanes;

/* Copy a block: its numbers, how much each counts, and where its categories stand in lookup tables. */
static void load_block(const Table *table, int64_t start, int64_t size, Room *room) {
    int64_t p = table->p, q = table->q, lanes = table->lanes;
    load(table->numbers, table->numbers_kind, p, start, size, room->xt);
    if (table->scale) {
        memset(room->ot, 0, (size_t)(p * BLOCK) * sizeof(double));
        for (int64_t b = 0; b < size; b++) {
            double s = real_at(table->scale, table->scale_kind, start + b);
            for (int64_t l = 0; l < p; l++) room->ot[l * BLOCK + b] = table->observed[(start + b) * p + l] ? s : 0.0;
        }
    }
    if (table->codes_kind == U8) {
        PLACE_CATEGORIES(uint8_t)
    } else if (table->codes_kind == I32) {
        PLACE_CATEGORIES(int32_t)
    } else {
        PLACE_CATEGORIES(int64_t)
    }
}

/* Squared distances of a block to one prototype, each number counted as `ot` says. */
static void distances_with_gaps(const double *restrict xt, const double *restrict ot, int64_t p, int64_t size,
                                const double *restrict v, double *restrict d) {
    WHOLE_LINES(size);
    memset(d, 0, (size_t)size * sizeof *d);
    for (int64_t l = 0; l < p; l++)
        for (int64_t b = 0; b < size; b++) {
            double t = xt[l * BLOCK + b] - v[l];
            d[b] += ot[l * BLOCK + b] * (t * t);
        }
}

/* Sum of the lookup table's rows for each object's categories, `lanes` a constant where it is small. */
INLINE void look_up(const int64_t *restrict places, int64_t q, int64_t size, int64_t lanes, const double *restrict table,
                    double *restrict out) {
    for (int64_t b = 0; b < size; b++, places += q, out += lanes) {
        int64_t j = 0;
        for (int64_t a = 0; a < lanes; a++) out[a] = 0.0;
        for (; j + 4 <= q; j += 4) {
            const double *r0 = table + places[j], *r1 = table + places[j + 1], *r2 = table + places[j + 2],
                         *r3 = table + places[j + 3];
            for (int64_t a = 0; a < lanes; a++) out[a] += (r0[a] + r1[a]) + (r2[a] + r3[a]);
        }
        for (; j < q; j++)
            for (int64_t a = 0; a < lanes; a++) out[a] += table[places[j] + a];
    }
}

/* Add the objects' weights, rows of `wt` (BLOCK, lanes), to the rows of their categories. */
INLINE void count(const int64_t *restrict places, int64_t q, int64_t size, int64_t lanes, const double *restrict wt,
                  double *restrict counts) {
    for (int64_t b = 0; b < size; b++, places += q, wt += lanes)
        for (int64_t j = 0; j < q; j++)
            for (int64_t a = 0; a < lanes; a++) counts[places[j] + a] += wt[a];
}

/* The same loop for common numbers of lanes, which are then constants. */
#define WITH_LANES(call, lanes) \
    do {                        \
        switch (lanes) {        \
        case 4: call(4); break; \
        case 8: call(8); break; \
        case 12: call(12); break; \
        case 16: call(16); break; \
        default: call(lanes);   \
        }                       \
    } while (0)

/* Distances d (f, BLOCK) of a block to prototypes v (f, p) with their lookup table (rows, lanes). */
static void block_distances(const Table *data, int64_t start, int64_t size, Room *room, int64_t f, const double *v,
                            const double *table, double *d) {
    int64_t p = data->p, lanes = data->lanes, whole = padded(size);
    for (int64_t a = 0; a < f; a++) {
        if (data->scale)
            distances_with_gaps(room->xt, room->ot, p, whole, v + a * p, d + a * BLOCK);
        else
            distances_to(room->xt, p, whole, v + a * p, d + a * BLOCK);
    }
    if (!data->q) return;
#define CALL(k) look_up(room->places, data->q, size, k, table, room->looked)
    WITH_LANES(CALL, lanes);
#undef CALL
    for (int64_t b = 0; b < size; b++) {
        double s = data->scale ? real_at(data->scale, data->scale_kind, start + b) : 1.0;
        for (int64_t a = 0; a < f; a++) d[a * BLOCK + b] += s * room->looked[b * lanes + a];
    }
}

/* All mass to the prototypes at distance 0, in proportion to |A|^(-alpha/(beta-1)). */
static void share_among_coinciding(double *d, double *u, int64_t f, const double *factors, double beta) {
    double e = 1.0 / (beta - 1.0), smallest = INFINITY, s = 0.0;
    for (int64_t a = 0; a < f; a++)
        if (isnan(d[a * BLOCK])) smallest = least_of(smallest, factors[a]); /* 0 / 0 marks a prototype at distance 0 */
    for (int64_t a = 0; a < f; a++) {
        u[a * BLOCK] = isnan(d[a * BLOCK]) ? pow(smallest / factors[a], e) : 0.0;
        s += u[a * BLOCK];
    }
    for (int64_t a = 0; a < f; a++) {
        u[a * BLOCK] /= s;
        d[a * BLOCK] = pow(u[a * BLOCK], beta - 1.0);
    }
}

/* r^e for numbers from 0 to 1. */
static void powers(const double *restrict r, double e, int64_t size, double *restrict out) {
    WHOLE_LINES(size);
    if (e == 1.0)
        for (int64_t b = 0; b < size; b++) out[b] = r[b];
    else if (e == 2.0)
        for (int64_t b = 0; b < size; b++) out[b] = r[b] * r[b];
    else
        for (int64_t b = 0; b < size; b++) out[b] = r[b] > 0.0 ? power_of_two(e * binary_log(r[b])) : 0.0;
}

/* Part of the way to masses for one set: distances in `row` become r, `out` is u. The power is a constant 1, 2 or neither. */
INLINE void ratios(int known, double e, int64_t size, const double *restrict least, double *restrict row,
                   double *restrict out, double *restrict total) {
    WHOLE_LINES(size);
    for (int64_t b = 0; b < size; b++) {
        double r = least[b] / row[b];
        double u = known == 1 ? r : known == 2 ? r * r : power_of_two(e * binary_log(r));
        row[b] = r;
        out[b] = u;
        total[b] += u;
    }
}

/* From distances to unnormalised masses, in place.
 *
 * Where prototypes sit on the object, they share its mass and u, r hold m and m^(beta-1). */
static void share(Shares block, int64_t f, int64_t size, const double *factors, double beta, double delta2) {
    double *restrict total = block.total, *restrict least = block.least, *restrict cost = block.cost;
    double e = 1.0 / (beta - 1.0);
    int64_t whole = padded(size);
    for (int64_t b = 0; b < whole; b++) least[b] = delta2;
    for (int64_t a = 0; a < f; a++) {
        double *restrict row = block.d + a * BLOCK;
        double c = factors[a];
        for (int64_t b = 0; b < whole; b++) {
            row[b] *= c;
            least[b] = least_of(row[b], least[b]);
        }
    }
    for (int64_t b = 0; b < whole; b++) cost[b] = least[b] / delta2; /* 0 where there is no empty set (delta2 = inf) */
    powers(cost, e, whole, total);
    for (int64_t a = 0; a < f; a++) {
        double *row = block.d + a * BLOCK, *out = block.u + a * BLOCK;
        if (e == 1.0)
            ratios(1, e, whole, least, row, out, total);
        else if (e == 2.0)
            ratios(2, e, whole, least, row, out, total);
        else
            ratios(0, e, whole, least, row, out, total);
    }
    if (e == 1.0)
        for (int64_t b = 0; b < whole; b++) cost[b] = 1.0 / total[b];
    else
        for (int64_t b = 0; b < whole; b++) cost[b] = power_of_two((1.0 - beta) * binary_log(total[b]));
    for (int64_t b = 0; b < size; b++)
        if (least[b] == 0.0) {
            share_among_coinciding(block.d + b, block.u + b, f, factors, beta);
            total[b] = cost[b] = 1.0;
        }
}

/* From `share`'s answer to w |A|^alpha m^beta, in place of d; returns the block's part of the objective. */
static double weigh(Shares block, int64_t f, const double *factors, const double *weights, int64_t size) {
    double *restrict total = block.total;
    double objective = 0.0;
#pragma omp simd reduction(+ : objective)
    for (int64_t b = 0; b < size; b++) {
        double w = weights ? weights[b] : 1.0;
        objective += w * block.least[b] * block.cost[b];
        total[b] = w * block.cost[b] / total[b];
    }
    for (int64_t a = 0; a < f; a++) {
        double *restrict row = block.d + a * BLOCK;
        const double *restrict u = block.u + a * BLOCK;
        double c = factors[a];
        for (int64_t b = 0; b < size; b++) row[b] *= c * u[b] * total[b];
        for (int64_t b = size; b < padded(size); b++) row[b] = 0.0; /* what only fills the block counts for nothing */
    }
    return objective;
}

/* Largest difference of two sets of masses over a block; the empty set's is what the others leave. */
static double largest_change(Shares now, Shares before, int64_t f, int64_t size) {
    double empty[BLOCK] = {0}, own[BLOCK] = {0}, inverse[BLOCK], inverse_before[BLOCK], largest = 0.0;
    for (int64_t b = 0; b < size; b++) {
        inverse[b] = 1.0 / now.total[b];
        inverse_before[b] = 1.0 / before.total[b];
    }
    for (int64_t a = 0; a < f; a++) {
        const double *restrict u = now.u + a * BLOCK, *restrict u_before = before.u + a * BLOCK;
        for (int64_t b = 0; b < size; b++) {
            double change = u[b] * inverse[b] - u_before[b] * inverse_before[b];
            empty[b] += change;
            own[b] = largest_of(fabs(change), own[b]);
        }
    }
    for (int64_t b = 0; b < size; b++) largest = largest_of(largest_of(fabs(empty[b]), own[b]), largest);
    return largest;
}

/* Weighted sums of `columns` columns, a constant. */
INLINE void add_moments(int columns, const double *restrict xt, int64_t size, const double *restrict row,
                        double *restrict moment) {
    WHOLE_LINES(size);
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (int64_t b = 0; b < size; b++) {
        s0 += row[b] * xt[b];
        if (columns > 1) s1 += row[b] * xt[BLOCK + b];
        if (columns > 2) s2 += row[b] * xt[2 * BLOCK + b];
        if (columns > 3) s3 += row[b] * xt[3 * BLOCK + b];
    }
    moment[0] += s0;
    if (columns > 1) moment[1] += s1;
    if (columns > 2) moment[2] += s2;
    if (columns > 3) moment[3] += s3;
}

/* Add a block with weights w (f, BLOCK) to the sums of weights (f,) and of weighted numbers (f, p). */
static void add_sums(const double *xt, int64_t p, int64_t size, int64_t f, const double *w, double *mass, double *moment) {
    WHOLE_LINES(size);
    for (int64_t a = 0; a < f; a++) {
        const double *restrict row = w + a * BLOCK;
        double s = 0.0;
        int64_t l = 0;
#pragma omp simd reduction(+ : s)
        for (int64_t b = 0; b < size; b++) s += row[b];
        mass[a] += s;
        for (; l + 4 <= p; l += 4) add_moments(4, xt + l * BLOCK, size, row, moment + a * p + l);
        if (p - l == 1) add_moments(1, xt + l * BLOCK, size, row, moment + a * p + l);
        if (p - l == 2) add_moments(2, xt + l * BLOCK, size, row, moment + a * p + l);
        if (p - l == 3) add_moments(3, xt + l * BLOCK, size, row, moment + a * p + l);
    }
}

/* The same where numbers are missing: sums of weights (f, p) too. */
static void add_sums_with_gaps(const double *xt, const double *ot, int64_t p, int64_t size, int64_t f, const double *w,
                               double *mass, double *moment) {
    WHOLE_LINES(size);
    for (int64_t a = 0; a < f; a++)
        for (int64_t l = 0; l < p; l++) {
            const double *restrict row = w + a * BLOCK, *restrict x = xt + l * BLOCK, *restrict o = ot + l * BLOCK;
            double s0 = 0.0, s1 = 0.0;
#pragma omp simd reduction(+ : s0, s1)
            for (int64_t b = 0; b < size; b++) {
                double t = row[b] * o[b];
                s0 += t;
                s1 += t * x[b];
            }
            mass[a * p + l] += s0;
            moment[a * p + l] += s1;
        }
}

/* Add the block's weights to the counts (rows, lanes) of its categories. */
static void add_counts(const Table *data, int64_t start, int64_t size, Room *room, int64_t f, double *counts) {
    int64_t lanes = data->lanes;
    for (int64_t b = 0; b < size; b++) {
        double s = data->scale ? real_at(data->scale, data->scale_kind, start + b) : 1.0;
        for (int64_t a = 0; a < f; a++) room->looked[b * lanes + a] = s * room->now.d[a * BLOCK + b];
        for (int64_t a = f; a < lanes; a++) room->looked[b * lanes + a] = 0.0;
    }
#define CALL(k) count(room->places, data->q, size, k, room->looked, counts)
    WITH_LANES(CALL, lanes);
#undef CALL
}

/* Masses, objective and sums of a batch of runs over all objects.
 *
 * weights (n,) or null; v, previous (runs, f, p), tables, previous_tables (runs, rows, lanes), those before null on the first
 * round; factors (runs, f); beta, delta2 (runs,). Objects are cut into parts of `chunk`, whose sums are apart: costs and
 * changes (runs, parts), mass (runs, parts, f) or with gaps (runs, parts, f, p), moment (runs, parts, f, p), counts (runs,
 * parts, rows, lanes), all zero before. */
EXPORT int rounds(int64_t *next, TABLE_PARAMETERS, const double *weights, const double *v, const double *tables,
                  const double *previous, const double *previous_tables, const double *factors, const double *beta,
                  const double *delta2, double tol, int64_t runs, int64_t f, int64_t chunk, int64_t parts, double *costs,
                  double *mass, double *moment, double *counts, double *changes) {
    const Table data = TABLE_ARGUMENTS;
    int64_t wide = scale ? p : 1;
    Room room;
    if (!make_room(&data, f, &room)) return 1;
    FOR_EACH_TASK(task, next, runs * parts) {
        int64_t run = task / parts, part = task % parts, end = least_int((part + 1) * chunk, n);
        const double *own = factors + run * f;
        double largest = 0.0, objective = 0.0;
        bool compared = previous != NULL;
        for (int64_t start = part * chunk; start < end; start += BLOCK) {
            int64_t size = least_int(BLOCK, end - start);
            load_block(&data, start, size, &room);
            block_distances(&data, start, size, &room, f, v + run * f * p, tables + run * rows * lanes, room.now.d);
            share(room.now, f, size, own, beta[run], delta2[run]);
            if (compared) { /* only until one difference above the tolerance is found: then the run goes on anyway */
                block_distances(&data, start, size, &room, f, previous + run * f * p, previous_tables + run * rows * lanes,
                                room.before.d);
                share(room.before, f, size, own, beta[run], delta2[run]);
                largest = largest_of(largest_change(room.now, room.before, f, size), largest);
                compared = largest <= tol;
            }
            objective += weigh(room.now, f, own, weights ? weights + start : NULL, size);
            if (scale)
                add_sums_with_gaps(room.xt, room.ot, p, padded(size), f, room.now.d, mass + task * f * wide,
                                   moment + task * f * p);
            else
                add_sums(room.xt, p, padded(size), f, room.now.d, mass + task * f, moment + task * f * p);
            if (q) add_counts(&data, start, size, &room, f, counts + task * rows * lanes);
        }
        costs[task] = objective;
        changes[task] = largest;
    }
    free_room(room.memory);
    return 0;
}

/* The masses (n, f + 1) of all objects for one set of prototypes, the empty set first. */
EXPORT int masses(int64_t *next, TABLE_PARAMETERS, const double *v, const double *table, int64_t f, const double *factors,
                  double beta, double delta2, double *out) {
    const Table data = TABLE_ARGUMENTS;
    Room room;
    if (!make_room(&data, f, &room)) return 1;
    FOR_EACH_TASK(block, next, (n + BLOCK - 1) / BLOCK) {
        int64_t start = block * BLOCK, size = least_int(BLOCK, n - start), whole = padded(size);
        Shares now = room.now;
        load_block(&data, start, size, &room);
        block_distances(&data, start, size, &room, f, v, table, now.d);
        share(now, f, size, factors, beta, delta2);
        for (int64_t b = 0; b < whole; b++) now.cost[b] = now.least[b] / delta2;
        powers(now.cost, 1.0 / (beta - 1.0), whole, now.least);
        for (int64_t b = 0; b < size; b++) {
            double *row = out + (start + b) * (f + 1);
            row[0] = now.least[b] / now.total[b];
            for (int64_t a = 0; a < f; a++) row[a + 1] = now.u[a * BLOCK + b] / now.total[b];
        }
    }
    free_room(room.memory);
    return 0;
}

/* Distances (n, f) of all objects to prototypes. */
EXPORT int table_distances(int64_t *next, TABLE_PARAMETERS, const double *v, const double *table, int64_t f, double *out) {
    const Table data = TABLE_ARGUMENTS;
    Room room;
    if (!make_room(&data, f, &room)) return 1;
    FOR_EACH_TASK(block, next, (n + BLOCK - 1) / BLOCK) {
        int64_t start = block * BLOCK, size = least_int(BLOCK, n - start);
        load_block(&data, start, size, &room);
        block_distances(&data, start, size, &room, f, v, table, room.now.d);
        for (int64_t b = 0; b < size; b++)
            for (int64_t a = 0; a < f; a++) out[(start + b) * f + a] = room.now.d[a * BLOCK + b];
    }
    free_room(room.memory);
    return 0;
}

/* 2^x and log2(x) of so many numbers: for the tests of ``vector_math.h``. */
EXPORT void powers_of_two(const double *x, int64_t n, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = power_of_two(x[i]);
}
EXPORT void binary_logs(const double *x, int64_t n, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = binary_log(x[i]);
}
