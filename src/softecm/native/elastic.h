/* The elastic kernel in one precision: `elastic.c` includes this file for float and for double, and explains it. */

/* ---------------------------------------------------------------- numbers: a mantissa and a power of two */

enum { F(SINGLE) = sizeof(REAL) == 4, F(MANTISSA) = F(SINGLE) ? 23 : 52 /* bits */, F(BIAS) = F(SINGLE) ? 127 : 1023 };
static const REAL F(LEAST) = F(SINGLE) ? -60 : -500, F(TINY) = F(SINGLE) ? (REAL)1e-12 : (REAL)1e-140, F(FAR) = (REAL)-1e38;

/* 2^a for a in [-1/2, 1/2]: Chebyshev's fit, errors 8e-8 and 2e-16. */
INLINE REAL F(exp2_fraction)(REAL a) {
    static const REAL factors[] = {EXP2_FACTORS};
    REAL value = factors[0];
    for (size_t i = 1; i < sizeof factors / sizeof *factors; i++) value = value * a + factors[i];
    return value;
}

INLINE REAL F(from_bits)(BITS bits) {
    REAL value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
INLINE BITS F(to_bits)(REAL value) {
    BITS bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
INLINE REAL F(larger)(REAL a, REAL b) { return a > b ? a : b; }
INLINE REAL F(smaller)(REAL a, REAL b) { return a < b ? a : b; }

/* 2^a for whole a <= 0; everything below F(LEAST) counts as F(LEAST), whose weight is nothing beside 1.
 * Adding 1.5 * 2^F(MANTISSA) leaves the whole number in the lowest bits; the exponent's bias rides along. */
INLINE REAL F(exp2_whole)(REAL a) {
    REAL shifted = F(larger)(a, F(LEAST)) + ((REAL)1.5 * (REAL)((BITS)1 << F(MANTISSA)) + (REAL)F(BIAS));
    return F(from_bits)(F(to_bits)(shifted) << F(MANTISSA));
}
/* A number's part in [1, 2), and its power of two. */
INLINE REAL F(mantissa)(REAL a) {
    return F(from_bits)((F(to_bits)(a) & (((BITS)1 << F(MANTISSA)) - 1)) | (BITS)F(BIAS) << F(MANTISSA));
}
INLINE REAL F(exponent)(REAL a) {
    BITS bits = F(to_bits)(a) >> F(MANTISSA) | (BITS)(F(BIAS) + F(MANTISSA)) << F(MANTISSA); /* 2^F(MANTISSA) + the biased exponent */
    return F(from_bits)(bits) - (REAL)(((BITS)1 << F(MANTISSA)) + F(BIAS));
}
/* Gamma times Huber's rounded length of a difference whose plain length is n; the length itself where eps is infinite. */
INLINE REAL F(rounded)(REAL n, REAL eps) {
    REAL t = F(smaller)(n, eps);
    return t * (n - (REAL)0.5 * t);
}

/* ---------------------------------------------------------------- where things lie */

enum { F(WIDTH) = 64 / sizeof(REAL) }; /* numbers of the widest vectors: buffers may be read and written so far beyond */

typedef struct {
    Shape shape;
    int64_t xs, ys, zs, ps;     /* strides: of channels of x and y, of diagonals, of buffers by place */
    REAL *x, *y;                /* the same step of all pairs side by side; y from its end */
    REAL *up, *left;            /* cost of a step in x or y alone: a factor and a power of two; if hard, the cost itself */
    REAL *place;                /* by i - j: what a step across costs more, or a square's weight; even and odd diagonals */
    REAL *state, *lengths;      /* mantissa and power of two, and lengths of differences, of three diagonals */
    REAL *costs;                /* of steps across (or of cells) on this diagonal; backwards, the weights of lengths */
    REAL *up_flow, *left_flow, *across_flow; /* by column, by row, by place */
    REAL *sums;                 /* curvature, gradient in each channel, flow to the left; by column */
    REAL *table;                /* probabilities of coming from above and from the left, diagonal by diagonal */
    REAL unit, length_unit, eps, across, before; /* the rule's numbers in the unit of the recursion: powers of two, if soft */
} F(Layout);

INLINE int64_t F(stride)(int64_t count) { return (count + 2 * F(WIDTH) - 1) / F(WIDTH) * F(WIDTH); }

INLINE REAL *F(place_in)(REAL *room, int64_t *used, int64_t size) {
    REAL *begin = room ? room + *used : NULL;
    if (room) FENCE_OFF(begin, (size_t)size * sizeof(REAL));
    *used += size + FENCE / (int64_t)sizeof(REAL);
    return begin;
}

/* Lay out the buffers of a group in `room`, which may be null, a table of `capacity` last; returns how many numbers they take. */
static int64_t F(lay_out)(F(Layout) * at, Shape shape, const Rule *rule, bool backward, int64_t capacity, REAL *room) {
    int64_t d = shape.d, group = shape.group, used = 0;
    bool lengths = !rule->squared, places = rule->weighted > 0 || rule->apart > 0;
    at->shape = shape;
    at->xs = F(stride)(shape.lx * group), at->ys = F(stride)(shape.ly * group), at->zs = F(stride)((shape.lx + 2) * group);
    at->ps = F(stride)((shape.lx / 2 + shape.ly / 2 + 2) * group);
    at->x = F(place_in)(room, &used, d * at->xs);
    at->y = F(place_in)(room, &used, d * at->ys);
    at->up = F(place_in)(room, &used, lengths ? 2 * at->xs : 0);
    at->left = F(place_in)(room, &used, lengths ? 2 * at->ys : 0);
    at->place = F(place_in)(room, &used, places ? 2 * at->ps : 0);
    at->state = F(place_in)(room, &used, (lengths ? 9 : 6) * at->zs);
    at->lengths = room ? at->state + 6 * at->zs : NULL;
    at->costs = F(place_in)(room, &used, at->zs);
    at->up_flow = F(place_in)(room, &used, backward ? at->ys : 0);
    at->left_flow = F(place_in)(room, &used, backward ? at->zs : 0);
    at->across_flow = F(place_in)(room, &used, backward ? 2 * at->ps : 0);
    at->sums = F(place_in)(room, &used, backward ? (d + 2) * at->ys : 0);
    at->table = F(place_in)(room, &used, capacity);
    bool hard = rule->gamma == 0;
    double unit = hard ? 1.0 : 1.0 / (rule->gamma * LN2), length = hard ? 1.0 : unit / rule->gamma;
    at->unit = (REAL)unit, at->length_unit = (REAL)length, at->eps = (REAL)rule->gamma;
    at->across = (REAL)(rule->across * length), at->before = (REAL)(rule->before * length);
    return used;
}

INLINE int64_t F(table_size)(int64_t count) { return (count + F(WIDTH) - 1) / F(WIDTH) * F(WIDTH); }
INLINE REAL *F(state_of)(const F(Layout) * at, int64_t k) { return at->state + k % 3 * 2 * at->zs; }
/* Where the entries by place of row lo on diagonal k begin; where its columns do. */
INLINE int64_t F(place_at)(const F(Layout) * at, int64_t k, int64_t lo) {
    return k % 2 * at->ps + (lo - k / 2 + at->shape.ly / 2 + 1) * at->shape.group;
}
INLINE int64_t F(column_at)(const F(Layout) * at, int64_t k, int64_t lo) {
    return (at->shape.ly - 1 - k + lo) * at->shape.group;
}
INLINE void F(fill)(REAL *begin, int64_t size, REAL value) {
    for (int64_t q = 0; q < size; q++) begin[q] = value;
}

/* ---------------------------------------------------------------- before the recursion */

/* A group's series, the same step of all pairs in a row. */
static void F(lay_series)(const F(Layout) * at, const Job *job, const Pair *pairs) {
    int64_t group = at->shape.group, d = at->shape.d;
    F(fill)(at->x, d * at->xs, 0);
    F(fill)(at->y, d * at->ys, 0);
    for (int64_t lane = 0; lane < group; lane++) {
        const REAL *x = (const REAL *)job->x + pairs[lane].ix * job->x_steps * d;
        const REAL *y = (const REAL *)job->y + pairs[lane].iy * job->y_steps * d;
        for (int64_t c = 0; c < d; c++) {
            for (int64_t i = 0; i < pairs[lane].n; i++) at->x[c * at->xs + i * group + lane] = x[i * d + c];
            REAL *last = at->y + c * at->ys + (at->shape.ly - 1) * group + lane;
            for (int64_t j = 0; j < pairs[lane].m; j++) last[-j * group] = y[j * d + c];
        }
    }
}

/* Costs of a step in one series alone; the step before lies `back` groups away, -1 or 1. */
static void F(lay_steps)(const F(Layout) * at, const Rule *rule, const REAL *series, int64_t stride, int64_t steps, int64_t back, REAL *out) {
    int64_t group = at->shape.group, used = steps * group;
    bool moves = rule->change > 0, costs = moves || rule->size > 0;
    REAL factor = (REAL)(moves ? rule->change : rule->size) * at->length_unit, base = (REAL)rule->step * at->unit, eps = at->eps;
    F(fill)(out, 2 * stride, 0);
    int64_t first = moves && back < 0 ? group : 0, last = moves && back > 0 ? used - group : used;
    for (int64_t c = 0; costs && c < at->shape.d; c++) {
        const REAL *here = series + c * stride, *there = here + (moves ? back * group : 0);
        for (int64_t q = first; q < last; q++) {
            REAL u = moves ? here[q] - there[q] : here[q];
            out[q] += u * u;
        }
    }
    for (int64_t q = first; q < last; q++) {
        REAL n = sqrt(out[q]);
        out[q] = factor * (eps > 0 ? F(rounded)(n, eps) : n) + base;
    }
    for (int64_t q = 0; rule->gamma > 0 && q < used; q++) {
        REAL whole = rint(out[q]);
        out[stride + q] = whole;
        out[q] = F(exp2_fraction)(whole - out[q]);
    }
}

/* What depends on how far a cell is from the diagonal. */
static void F(lay_places)(const F(Layout) * at, const Rule *rule, const Pair *pairs) {
    int64_t group = at->shape.group, half = at->shape.ly / 2 + 1;
    F(fill)(at->place, 2 * at->ps, 0);
    for (int64_t lane = 0; lane < group; lane++) {
        double middle = (double)most_int(pairs[lane].n, pairs[lane].m) / 2.0;
        for (int64_t odd = 0; odd < 2; odd++)
            for (int64_t t = -half; t <= at->shape.lx / 2; t++) {
                double away = fabs((double)(2 * t - odd));
                double value = rule->weighted > 0 ? 1.0 / (1.0 + exp(-rule->steepness * (away - middle))) : rule->apart * away;
                at->place[odd * at->ps + (t + half) * group + lane] = (REAL)value * at->unit;
            }
    }
}

static void F(lay_start)(const F(Layout) * at, bool hard) {
    for (int64_t k = 0; k < 3; k++) {
        F(fill)(F(state_of)(at, k), at->zs, hard ? (REAL)INFINITY : 0);
        F(fill)(F(state_of)(at, k) + at->zs, at->zs, F(FAR));
    }
    F(fill)(F(state_of)(at, 1), at->shape.group, hard ? 0 : 1); /* row -1 of diagonal -2, in buffer 1 */
    F(fill)(F(state_of)(at, 1) + at->zs, at->shape.group, 0);
}

/* ---------------------------------------------------------------- forward */

/* Squared differences of a diagonal's cells. */
INLINE void F(add_squares)(const F(Layout) * at, int64_t size, int64_t row, int64_t column, REAL *squares) {
    for (int64_t c = 0; c < at->shape.d; c++) {
        const REAL *x = at->x + c * at->xs + row, *y = at->y + c * at->ys + column;
        if (c == 0) {
            VECTORS(q, size) squares[q] = (x[q] - y[q]) * (x[q] - y[q]);
        } else {
            VECTORS(q, size) squares[q] += (x[q] - y[q]) * (x[q] - y[q]);
        }
    }
}

/* Where one diagonal reads and writes. */
typedef struct {
    REAL *new, *table;
    const REAL *one, *two, *x, *y, *up, *left, *two_lengths;
    REAL *lengths;
    int64_t size;
} F(Diagonal);

/* The cost of a cell of one channel, or of the step across into it, without a pass of its own. */
INLINE REAL F(cost_at)(const F(Diagonal) * on, int64_t q, int kind, REAL across, REAL before, REAL eps) {
    REAL gap = on->x[q] - on->y[q];
    if (kind != LENGTHS) return gap * gap;
    REAL length = eps > 0 ? F(rounded)(fabs(gap), eps) : fabs(gap);
    on->lengths[q] = length;
    return across * length + before * on->two_lengths[q];
}

/* Costs of the steps across into a diagonal's cells; if squared, of all steps into them. */
static void F(measure)(const F(Layout) * at, const Rule *rule, F(Diagonal) on, int64_t k, int64_t lo) {
    int64_t size = on.size;
    REAL *costs = at->costs, *lengths = on.lengths, across = at->across, before = at->before, eps = at->eps;
    const REAL *place = at->place + F(place_at)(at, k, lo), *two_lengths = on.two_lengths;
    F(add_squares)(at, size, lo * at->shape.group, F(column_at)(at, k, lo), costs);
    if (rule->squared) {
        if (rule->weighted > 0) VECTORS(q, size) costs[q] *= place[q];
        return;
    }
    if (at->shape.d == 1) {
        VECTORS(q, size) lengths[q] = fabs(on.x[q] - on.y[q]);
    } else {
        VECTORS(q, size) lengths[q] = sqrt(costs[q]);
    }
    if (eps > 0) VECTORS(q, size) lengths[q] = F(rounded)(lengths[q], eps);
    VECTORS(q, size) costs[q] = across * lengths[q] + before * two_lengths[q];
    if (rule->apart > 0) VECTORS(q, size) costs[q] += place[q];
}

/* Cells of one diagonal: sums of three terms, each a mantissa and a power of two. */
INLINE void F(soft_cells)(const F(Layout) * at, const Rule *rule, F(Diagonal) on, int kind, bool single, bool stored) {
    int64_t group = at->shape.group, zs = at->zs, size = on.size, xs = at->xs, ys = at->ys;
    REAL scale = kind == LENGTHS || rule->weighted > 0 ? 1 : at->unit;
    REAL step_cost = (REAL)rule->step * at->unit, step_whole = rint(step_cost), step = F(exp2_fraction)(step_whole - step_cost);
    REAL *restrict new = on.new, *restrict new_power = on.new + zs, *restrict table = on.table, *restrict other = on.table + size;
    const REAL *one = on.one, *one_power = on.one + zs, *two = on.two, *two_power = on.two + zs, *costs = at->costs;
    const REAL *up = on.up, *left = on.left;
    REAL across = at->across, before = at->before, eps = at->eps;
    VECTORS(q, size) {
        REAL cost = (single ? F(cost_at)(&on, q, kind, across, before, eps) : costs[q]) * scale;
        REAL whole = rint(cost), decay = F(exp2_fraction)(whole - cost);
        REAL a = one[q - group], b = one[q], c = two[q];
        REAL above = one_power[q - group], aside = one_power[q], corner = two_power[q];
        if (kind == AMERCED) a *= step, b *= step, above -= step_whole, aside -= step_whole;
        if (kind == LENGTHS) a *= up[q], b *= left[q], c *= decay, above -= up[xs + q], aside -= left[ys + q], corner -= whole;
        REAL top = F(larger)(F(larger)(above, aside), corner);
        a *= F(exp2_whole)(above - top);
        b *= F(exp2_whole)(aside - top);
        REAL total = c * F(exp2_whole)(corner - top) + (a + b);
        new[q] = kind == LENGTHS ? total : total * decay;
        new_power[q] = kind == LENGTHS ? top : top - whole;
        if (stored) {
            REAL share = 1 / F(larger)(total, (REAL)1e-30); /* beyond the diagonal's end all three may be nothing */
            table[q] = a * share;
            other[q] = b * share;
        }
    }
}

/* Cells of one diagonal: the least of three. Ties: across, then up. */
INLINE void F(hard_cells)(const F(Layout) * at, const Rule *rule, F(Diagonal) on, int kind, bool single, bool stored) {
    int64_t group = at->shape.group, size = on.size;
    REAL step = (REAL)rule->step;
    REAL *restrict new = on.new, *restrict table = on.table, *restrict other = on.table + size;
    const REAL *one = on.one, *two = on.two, *costs = at->costs, *up = on.up, *left = on.left;
    REAL across = at->across, before = at->before;
    VECTORS(q, size) {
        REAL cost = single ? F(cost_at)(&on, q, kind, across, before, 0) : costs[q];
        REAL corner = kind == LENGTHS ? two[q] + cost : two[q];
        REAL above = one[q - group] + (kind == LENGTHS ? up[q] : step), aside = one[q] + (kind == LENGTHS ? left[q] : step);
        REAL best = F(smaller)(above, corner), least = F(smaller)(aside, best);
        new[q] = kind == LENGTHS ? least : least + cost;
        if (stored) {
            table[q] = above < corner && !(aside < best) ? 1 : 0;
            other[q] = aside < best ? 1 : 0;
        }
    }
}

/* Mantissas back to [1, 2). */
INLINE void F(normalize)(REAL *restrict mantissas, REAL *restrict powers, int64_t size) {
    VECTORS(q, size) {
        powers[q] += F(exponent)(mantissas[q]);
        mantissas[q] = F(mantissa)(mantissas[q]);
    }
}

/* Diagonals begin to end; returns where the table of probabilities (if hard, of choices) now ends.
 *
 * After each diagonal the slots next to its two ends are emptied: a neighbour outside the rectangle or the band is no
 * neighbour, and what the last vector wrote beyond never counts. */
INLINE REAL *F(advance_as)(const F(Layout) * at, const Rule *rule, int64_t begin, int64_t end, REAL *table, bool hard, int kind,
                           bool single, bool stored) {
    int64_t group = at->shape.group, zs = at->zs;
    for (int64_t k = begin; k < end; k++) {
        Span rows = span(&at->shape, k);
        int64_t lo = rows.lo, slot = (lo + 1) * group, count = (rows.hi - lo + 1) * group, column = F(column_at)(at, k, lo);
        F(Diagonal) on = {
            .new = F(state_of)(at, k) + slot, .one = F(state_of)(at, k + 2) + slot, .two = F(state_of)(at, k + 1) + slot - group,
            .x = at->x + lo * group, .y = at->y + column, .up = at->up + lo * group, .left = at->left + column,
            .lengths = at->lengths + k % 3 * zs + slot, .two_lengths = at->lengths + (k + 1) % 3 * zs + slot - group,
            .table = table, .size = F(table_size)(count),
        };
        if (!single) F(measure)(at, rule, on, k, lo);
        if (hard) {
            F(hard_cells)(at, rule, on, kind, single, stored);
        } else {
            F(soft_cells)(at, rule, on, kind, single, stored);
            if (k % 8 == 7) {
                F(normalize)(on.new, on.new + zs, on.size);
                F(normalize)((REAL *)on.one, (REAL *)on.one + zs, on.size);
            }
        }
        if (stored) table += 2 * on.size;
        for (int64_t q = 0; q < group; q++) {
            on.new[q - group] = on.new[count + q] = hard ? (REAL)INFINITY : 0;
            on.new[zs + q - group] = on.new[zs + count + q] = F(FAR);
        }
    }
    return table;
}

static REAL *F(advance)(const F(Layout) * at, const Rule *rule, int64_t begin, int64_t end, REAL *table, bool stored) {
    bool single = at->shape.d == 1 && rule->weighted == 0 && rule->apart == 0;
#define ADVANCE(hard, kind, single) \
    return stored ? F(advance_as)(at, rule, begin, end, table, hard, kind, single, true) \
                  : F(advance_as)(at, rule, begin, end, table, hard, kind, single, false)
    if (rule->gamma == 0) {
        if (!rule->squared && single) ADVANCE(true, LENGTHS, true);
        if (!rule->squared) ADVANCE(true, LENGTHS, false);
        if (single) ADVANCE(true, AMERCED, true);
        ADVANCE(true, AMERCED, false);
    }
    if (!rule->squared && single) ADVANCE(false, LENGTHS, true);
    if (!rule->squared) ADVANCE(false, LENGTHS, false);
    if (rule->step > 0) ADVANCE(false, AMERCED, false);
    if (single) ADVANCE(false, FREE, true);
    ADVANCE(false, FREE, false);
#undef ADVANCE
}

/* ---------------------------------------------------------------- backward */

/* Add what lengths with the weights in `costs` have of curvature; what is left there are the weights of differences. */
static void F(add_lengths)(const F(Layout) * at, REAL most, REAL tiny, int64_t row, int64_t column, int64_t size) {
    REAL *restrict bend = at->sums + column, *restrict weights = at->costs;
    REAL *restrict squares = at->lengths; /* which are no longer needed */
    F(add_squares)(at, size, row, column, squares);
    VECTORS(q, size) {
        REAL inverse = 1 / F(larger)(sqrt(squares[q]), tiny);
        bend[q] += weights[q] * F(smaller)(inverse, most);
        weights[q] *= inverse;
    }
}

/* Add the differences y - x (or x alone, for moments) with the weights in `costs`. */
INLINE void F(add_gaps)(const F(Layout) * at, int64_t row, int64_t column, int64_t size, bool moments) {
    const REAL *restrict weights = at->costs;
    for (int64_t c = 0; c < at->shape.d; c++) {
        const REAL *x = at->x + c * at->xs + row, *y = at->y + c * at->ys + column;
        REAL *restrict sums = at->sums + (c + 1) * at->ys + column;
        VECTORS(q, size) sums[q] += weights[q] * (moments ? x[q] : y[q] - x[q]);
    }
}

/* Diagonals end - 1 down to begin: the mass of each cell, pushed on, and what its steps add to the sums.
 *
 * The flow to the row above stays in its column, that to the column before in its row, that across at its place: each is
 * read and written in the same slot. */
INLINE void F(retreat_as)(const F(Layout) * at, const Job *job, int64_t begin, int64_t end, const REAL *table, const Pair *pairs,
                          bool squared, bool single, bool moments) {
    const Rule *rule = job->rule;
    int64_t group = at->shape.group;
    REAL tiny = rule->gamma > 0 ? (REAL)rule->gamma : (REAL)1e-30, most = 1 / (REAL)job->floor;
    REAL inward = (REAL)rule->across, outward = (REAL)rule->before;
    for (int64_t k = end - 1; k >= begin; k--) {
        Span rows = span(&at->shape, k);
        int64_t lo = rows.lo, row = lo * group, column = F(column_at)(at, k, lo), place = F(place_at)(at, k, lo);
        int64_t size = F(table_size)((rows.hi - lo + 1) * group);
        REAL *restrict up = at->up_flow + column, *restrict left = at->left_flow + row, *restrict across = at->across_flow + place;
        REAL *restrict weights = at->costs, *restrict sums = at->sums + column;
        REAL *restrict gaps = sums + at->ys, *restrict lefts = sums + (at->shape.d + 1) * at->ys;
        const REAL *x = at->x + row, *y = at->y + column, *far = at->place + place;
        for (int64_t lane = 0; lane < group; lane++) {
            if (pairs[lane].n + pairs[lane].m - 2 != k) continue;
            int64_t behind = (pairs[lane].n - 1 - lo) * group + lane;
            if (rule->last > 0) across[behind] = 1;
            else up[behind] = 1;
        }
        table -= 2 * size;
        VECTORS(q, size) {
            REAL leaving = across[q], e = up[q] + left[q] + leaving;
            e = e > F(TINY) ? e : 0;
            REAL a = e * table[q], b = e * table[size + q], c = e - a - b;
            up[q] = a;
            left[q] = b;
            across[q] = c;
            REAL weight = squared ? e : inward * c + outward * (leaving > F(TINY) ? leaving : 0);
            if (!squared) lefts[q] += b;
            if (!single) {
                weights[q] = weight;
            } else if (squared) {
                sums[q] += weight;
                gaps[q] += weight * (moments ? x[q] : y[q] - x[q]);
            } else {
                REAL gap = y[q] - x[q], inverse = 1 / F(larger)(fabs(gap), tiny);
                sums[q] += weight * F(smaller)(inverse, most);
                gaps[q] += weight * gap * inverse;
            }
        }
        if (single) continue;
        if (squared) {
            if (rule->weighted > 0) VECTORS(q, size) weights[q] *= far[q];
            VECTORS(q, size) sums[q] += weights[q];
        } else {
            F(add_lengths)(at, most, tiny, row, column, size);
        }
        F(add_gaps)(at, row, column, size, moments);
    }
}

static void F(retreat)(const F(Layout) * at, const Job *job, int64_t begin, int64_t end, const REAL *table, const Pair *pairs) {
    bool single = at->shape.d == 1 && job->rule->weighted == 0;
    if (!job->rule->squared && single) F(retreat_as)(at, job, begin, end, table, pairs, false, true, false);
    else if (!job->rule->squared) F(retreat_as)(at, job, begin, end, table, pairs, false, false, false);
    else if (job->moments && single) F(retreat_as)(at, job, begin, end, table, pairs, true, true, true);
    else if (job->moments) F(retreat_as)(at, job, begin, end, table, pairs, true, false, true);
    else if (single) F(retreat_as)(at, job, begin, end, table, pairs, true, true, false);
    else F(retreat_as)(at, job, begin, end, table, pairs, true, false, false);
}

/* Add the curvature and gradient of the steps left, whose costs are those of y alone. */
static void F(add_steps)(const F(Layout) * at, const Job *job, int64_t lane, int64_t m) {
    const Rule *rule = job->rule;
    int64_t group = at->shape.group, ys = at->ys, d = at->shape.d;
    double tiny = rule->gamma > 0 ? rule->gamma : 1e-30;
    bool moves = rule->change > 0;
    for (int64_t j = moves; j < m; j++) {
        int64_t here = (at->shape.ly - 1 - j) * group + lane, there = here + group;
        double factor = (double)at->sums[(d + 1) * ys + here] * (moves ? rule->change : rule->size), n = 0.0;
        if (factor == 0.0) continue;
        for (int64_t c = 0; c < d; c++) {
            double u = (double)at->y[c * ys + here] - (moves ? (double)at->y[c * ys + there] : 0.0);
            n += u * u;
        }
        n = sqrt(n);
        for (int64_t c = 0; c < d; c++) {
            double u = (double)at->y[c * ys + here] - (moves ? (double)at->y[c * ys + there] : 0.0);
            REAL slope = (REAL)(factor * u / largest_of(n, tiny));
            at->sums[(c + 1) * ys + here] += slope;
            if (moves) at->sums[(c + 1) * ys + there] -= slope;
        }
        REAL bound = (REAL)(factor / largest_of(n, job->floor));
        at->sums[here] += moves ? bound + bound : bound; /* both ends may move: twice the curvature, each about their middle */
        if (moves) at->sums[there] += bound + bound;
    }
}

/* ---------------------------------------------------------------- a group of pairs */

/* The value of a pair, once its last diagonal k is known. */
static double F(value_of)(const F(Layout) * at, const Rule *rule, const Pair *pair, int64_t lane) {
    int64_t group = at->shape.group, k = pair->n + pair->m - 2;
    const REAL *cell = F(state_of)(at, k) + pair->n * group + lane;
    double value = rule->gamma == 0 ? (double)*cell : -rule->gamma * LN2 * (log((double)*cell) / LN2 + (double)cell[at->zs]);
    if (rule->last == 0) return value;
    double square = 0.0;
    for (int64_t c = 0; c < at->shape.d; c++) {
        double u = (double)at->x[c * at->xs + (pair->n - 1) * group + lane] - (double)at->y[c * at->ys + (at->shape.ly - pair->m) * group + lane];
        square += u * u;
    }
    return value + rule->last * rounded_length(square, rule->gamma);
}

/* Fill the values that diagonals begin to end have completed. */
static void F(take_values)(const F(Layout) * at, const Job *job, const Pair *pairs, int64_t k) {
    for (int64_t lane = 0; lane < at->shape.group; lane++)
        if (pairs[lane].n + pairs[lane].m - 2 == k) ((REAL *)job->values)[pairs[lane].at] = (REAL)F(value_of)(at, job->rule, pairs + lane, lane);
}

/* Add a group's sums, times its weights, to those of the prototypes; write them where each pair has its own. */
static void F(give_sums)(const F(Layout) * at, const Job *job, const Pair *pairs, Partial *partial) {
    /* The weights of squares carry the unit of the recursion; a square's curvature is twice its weight, a length's once. */
    double unit = (job->rule->weighted > 0 ? 1.0 / (double)at->unit : 1.0) * (job->rule->squared ? 1.0 : 0.5);
    int64_t group = at->shape.group, channels = at->shape.d + 1;
    for (int64_t lane = 0; lane < group; lane++) {
        const Pair *pair = pairs + lane;
        if (!job->rule->squared) F(add_steps)(at, job, lane, pair->m);
        double weight = (job->weights ? job->weights[pair->at] : 1.0) * unit;
        double *row = job->each ? NULL : row_of(partial, pair->iy);
        REAL *own = job->each ? (REAL *)job->sums + pair->at * job->y_steps * channels : NULL;
        for (int64_t c = 0; c < channels; c++) {
            const REAL *last = at->sums + c * at->ys + (at->shape.ly - 1) * group + lane;
            for (int64_t j = 0; j < pair->m; j++) {
                double added = weight * (double)last[-j * group];
                if (own) own[j * channels + c] = (REAL)added;
                else row[j * channels + c] += added;
            }
        }
    }
}

/* Diagonals at which the table would overflow, up to `cuts[parts]`, the end of all; returns the number of parts. */
static int64_t F(cut)(const Shape *shape, int64_t last, int64_t capacity, int64_t *cuts) {
    int64_t parts = 1, used = 0;
    cuts[0] = 0;
    for (int64_t k = 0; k < last; k++) {
        Span rows = span(shape, k);
        int64_t size = 2 * F(table_size)((rows.hi - rows.lo + 1) * shape->group);
        if (used > 0 && used + size > capacity) cuts[parts++] = k, used = 0;
        used += size;
    }
    cuts[parts] = last;
    return parts;
}

/* Values and sums of a group; 1 where there is no memory for it. */
static int F(solve_group)(const Job *job, const Pair *pairs, Shape shape, int64_t capacity, REAL *room, int64_t *cuts, Partial *partial) {
    const Rule *rule = job->rule;
    bool backward = job->sums != NULL, hard = rule->gamma == 0;
    F(Layout) layout, *at = &layout;
    F(lay_out)(at, shape, rule, backward, backward ? capacity : 0, room);
    F(lay_series)(at, job, pairs);
    if (!rule->squared) {
        F(lay_steps)(at, rule, at->x, at->xs, shape.lx, -1, at->up);
        F(lay_steps)(at, rule, at->y, at->ys, shape.ly, 1, at->left);
        F(fill)(at->lengths, 3 * at->zs, 0);
    }
    if (rule->weighted > 0 || rule->apart > 0) F(lay_places)(at, rule, pairs);
    F(lay_start)(at, hard);

    int64_t last = 0;
    for (int64_t lane = 0; lane < shape.group; lane++) last = most_int(last, pairs[lane].n + pairs[lane].m - 1);
    int64_t parts = F(cut)(&shape, last, backward ? capacity : INT64_MAX, cuts), state = (rule->squared > 0 ? 6 : 9) * at->zs;
    REAL *saved = parts > 1 ? malloc((size_t)(parts * state) * sizeof(REAL)) : NULL, *table = at->table;
    if (parts > 1 && !saved) return 1;
    for (int64_t part = 0; part < parts; part++) {
        if (parts > 1) memcpy(saved + part * state, at->state, (size_t)state * sizeof(REAL));
        for (int64_t k = cuts[part]; k < cuts[part + 1];) {
            int64_t end = cuts[part + 1];
            for (int64_t lane = 0; lane < shape.group; lane++) {
                int64_t own = pairs[lane].n + pairs[lane].m - 1;
                if (own > k) end = least_int(end, own);
            }
            table = F(advance)(at, rule, k, end, table, backward && parts == 1);
            F(take_values)(at, job, pairs, end - 1);
            k = end;
        }
    }
    if (backward) {
        F(fill)(at->up_flow, at->ys, 0);
        F(fill)(at->left_flow, at->zs, 0);
        F(fill)(at->across_flow, 2 * at->ps, 0);
        F(fill)(at->sums, (shape.d + 2) * at->ys, 0);
        for (int64_t part = parts - 1; part >= 0; part--) {
            if (parts > 1) {
                memcpy(at->state, saved + part * state, (size_t)state * sizeof(REAL));
                table = F(advance)(at, rule, cuts[part], cuts[part + 1], at->table, true);
            }
            F(retreat)(at, job, cuts[part], cuts[part + 1], table, pairs);
        }
        F(give_sums)(at, job, pairs, partial);
    }
    free(saved);
    return 0;
}
