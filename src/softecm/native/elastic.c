/* Elastic distances between series: Soft-DTW, DTW and their relatives, values and the sums that give gradients.
 *
 * The recursion. A cell (i, j) is reached across, up or left at costs that a `Rule` gives (``kernels/elastic/rules.py``).
 * With Z = exp(-R / gamma) a soft minimum becomes a plain sum: for Soft-DTW
 *
 *     Z[i, j] = exp(-c[i, j] / gamma) * (Z[i-1, j] + Z[i, j-1] + Z[i-1, j-1]),
 *
 * with one exponential and no logarithm a cell. Z leaves the range of any float, so it is kept as mantissa * 2^power, in two
 * numbers of the working type. The power is a float with a whole value: it cannot overflow (float32 merely rounds it beyond
 * 2^24, which costs a relative 6e-8 of the value, as rounding the costs does). Mantissas drift and are brought back to [1, 2)
 * every eighth diagonal. The size of R no longer eats the digits of its differences, as it does in the log domain.
 *
 * The gradient. Each of the three terms over their sum is the probability of having come from that neighbour; the backward
 * pass pushes a unit of mass from the last cell to the first along them: two are stored, the third is what remains. Mass
 * below TINY is dropped: nothing depends on it, and denormal numbers would cost a hundred cycles each.
 *
 * Lanes. Cells of an anti-diagonal do not depend on each other. Series are copied so that the same step of several pairs
 * lies side by side, the second series of each pair reversed; a diagonal of a group of pairs is then one run of memory in
 * all operands, and the neighbours of a cell are the same run shifted by one group: loops that compilers turn into vectors.
 * Groups are sized so that a diagonal's state stays in the first-level cache. Pairs in a group may differ in length: a cell
 * beyond a pair's own end is computed and never looked at, for dependencies only point back.
 *
 * Memory. The table of probabilities is cut into parts where it would outgrow the limit; with more than one part a first
 * pass saves the state at the cuts and a second recomputes part after part from the end.
 *
 * Threads take blocks of pairs. Blocks, and the order in which their sums are added, do not depend on the number of threads,
 * so neither do results. */
#include "rules.h"

#include <tgmath.h>

#define VECTORS(q, size) _Pragma("omp simd") for (int64_t q = 0; q < (size); q++)
enum { MOST_LANES = 64, TABLE_BYTES = 1 << 24 /* a table this large stays whole */ };
enum { FREE, AMERCED, LENGTHS }; /* what steps up and left cost beside the cell: nothing, a constant, lengths */

/* A call: what all its blocks share. The Python side is ``kernels.elastic.engine``. */
typedef struct {
    const void *x, *y;                    /* (n, x_steps, d), (f, y_steps, d) */
    const int64_t *x_lengths, *y_lengths; /* null: all steps */
    const int64_t *ix, *iy, *at;          /* pairs, and where each belongs in values and weights (null: where it stands); null: all */
    const double *weights;                /* as values; null: ones */
    void *values;                         /* (n, f), or one a pair */
    void *sums;                           /* doubles (f, y_steps, d + 1); if `each`, numbers (pairs, y_steps, d + 1); null: none */
    const Rule *rule;
    void **partials;                      /* one a block: sums that wait for their turn */
    double floor;                         /* lengths below it bend the curve as if they were that long */
    int64_t n, f, x_steps, y_steps, d, band, moments, each, pairs, block, max_bytes;
    int64_t turn, collecting;             /* the block whose sums are next; whether a thread is adding */
} Job;

typedef struct {
    int64_t ix, iy, at, n, m; /* which series, where its value belongs, steps of both */
} Pair;
typedef struct {
    int64_t lx, ly, d, group, reach; /* the common rectangle of a group */
} Shape;
typedef struct {
    int64_t lo, hi;
} Span;
typedef struct {
    int64_t lanes, table, workspace, total; /* pairs to a group, numbers in the table, bytes */
} Room;
typedef struct {
    int64_t count, row;      /* prototypes touched by a block, numbers of each */
    int64_t *touched, *slot; /* which those are; of a prototype, its place among them or -1 */
    double *rows;
} Partial;

static Pair pair_at(const Job *job, int64_t p) {
    Pair pair;
    if (job->ix) {
        pair.ix = job->ix[p], pair.iy = job->iy[p], pair.at = job->at ? job->at[p] : p;
    } else { /* prototype by prototype */
        pair.iy = p / job->n, pair.ix = p - pair.iy * job->n, pair.at = pair.ix * job->f + pair.iy;
    }
    pair.n = job->x_lengths ? job->x_lengths[pair.ix] : job->x_steps;
    pair.m = job->y_lengths ? job->y_lengths[pair.iy] : job->y_steps;
    return pair;
}

/* First and last row on anti-diagonal k; |i (m-1) - j (n-1)| <= reach solved for i. Empty: hi = lo - 1. */
INLINE Span span(const Shape *shape, int64_t k) {
    int64_t lx = shape->lx, ly = shape->ly, reach = shape->reach, lo = most_int(0, k - ly + 1), hi = least_int(lx - 1, k);
    if (reach >= 0 && lx + ly > 2) {
        int64_t middle = k * (lx - 1), width = lx + ly - 2;
        if (middle > reach) lo = most_int(lo, (middle - reach + width - 1) / width);
        hi = least_int(hi, (middle + reach) / width);
    }
    return (Span){lo, hi};
}

/* The sums of a prototype in a block's own. */
static double *row_of(Partial *partial, int64_t iy) {
    if (partial->slot[iy] < 0) {
        partial->slot[iy] = partial->count;
        partial->touched[partial->count++] = iy;
    }
    return partial->rows + partial->slot[iy] * partial->row;
}

#define CONCATENATE(a, b) a##_##b
#define SUFFIXED(a, b) CONCATENATE(a, b)
#define F(name) SUFFIXED(name, SUFFIX)

#define SUFFIX f32
#define REAL float
#define BITS uint32_t
#define EXP2_FACTORS \
    0.0013390863364671234f, 0.0096760319183220541f, 0.055503571142190778f, 0.24022107485308338f, 0.69314718802622878f, 1.0000000754548972f
#include "elastic.h"
#undef SUFFIX
#undef REAL
#undef BITS
#undef EXP2_FACTORS

#define SUFFIX f64
#define REAL double
#define BITS uint64_t
#define EXP2_FACTORS                                                                                                \
    7.0725859492692237e-9, 1.0208690299958306e-7, 1.321544258792169e-6, 1.5252657260200837e-5, 1.5403530441736050e-4,  \
        0.0013333558230164974, 0.0096181291076068885, 0.055504108664447719, 0.2402265069591009822, 0.69314718055994998, 1.0
#include "elastic.h"

/* ---------------------------------------------------------------- blocks of pairs */

/* Pairs to a group, so that a diagonal of `cells` fills vectors while its state stays in the first-level cache. */
static int64_t lane_count(int64_t cells, int64_t itemsize) {
    int64_t most = (cells > 32 ? 64 : 256) / itemsize; /* very short ones: several vectors, to pay for the loop around them */
    int64_t fit = most_int(1, 8000 / itemsize / cells), lanes = 1;
    while (2 * lanes <= fit && 2 * lanes <= most) lanes *= 2;
    return lanes;
}

/* Fit a group into `limit` bytes, or else one pair into as little as it needs. Where the table must be cut, it and the
 * states kept at its cuts are balanced: they grow as the length to the power 1.5, not 2. */
static Room room_for(const Job *job, int64_t itemsize, int64_t lx, int64_t ly, int64_t limit) {
    bool backward = job->sums != NULL;
    int64_t width = 64 / itemsize, buffers = job->rule->squared ? 6 : 9;
    for (int64_t lanes = lane_count(least_int(lx, ly), itemsize);; lanes /= 2) {
        Shape shape = {lx, ly, job->d, lanes, -1};
        int64_t linear, states = 0, slots = (lx + 2) * lanes + 2 * width;
        if (itemsize == 4) {
            Layout_f32 layout;
            linear = lay_out_f32(&layout, shape, job->rule, backward, 0, NULL);
        } else {
            Layout_f64 layout;
            linear = lay_out_f64(&layout, shape, job->rule, backward, 0, NULL);
        }
        int64_t table = backward ? 2 * (lx * ly * lanes + width * (lx + ly)) : 0;
        if (table * itemsize > least_int(TABLE_BYTES, limit / 2)) {
            int64_t row = 8 * (least_int(lx, ly) * lanes + width), even = (int64_t)sqrt((double)(buffers * slots) * (double)table);
            int64_t whole = table;
            table = most_int(most_int((1 << 20) / itemsize, even), row);
            states = buffers * slots * (2 * whole / table + 2);
        }
        int64_t total = (linear + table + states) * itemsize;
        if (lanes == 1 || total <= limit) return (Room){lanes, table, (linear + table) * itemsize, total};
    }
}

/* How many of the pairs from p on make a group: up to `lanes` whose common rectangle is at most half empty. */
static Shape take_group(const Job *job, int64_t p, int64_t end, int64_t lanes, Pair *pairs) {
    Pair first = pairs[0] = pair_at(job, p);
    Shape shape = {first.n, first.m, job->d, 1, -1};
    for (; shape.group < lanes && p + shape.group < end; shape.group++) {
        Pair next = pair_at(job, p + shape.group);
        int64_t lx = most_int(shape.lx, next.n), ly = most_int(shape.ly, next.m);
        bool fits = job->band >= 0 ? next.n == first.n && next.m == first.m
                                   : lx * ly <= 2 * least_int(first.n * first.m, next.n * next.m);
        if (!fits) break;
        pairs[shape.group] = next, shape.lx = lx, shape.ly = ly;
    }
    if (job->band >= 0) shape.reach = job->band * (most_int(shape.lx, shape.ly) - 1);
    return shape;
}

/* Memory of a thread. */
typedef struct {
    double *room;
    int64_t bytes;
    int64_t *cuts, *slot;
} Memory;

static Partial *new_partial(const Job *job, int64_t pairs, int64_t *slot) {
    int64_t most = least_int(pairs, job->f), row = job->y_steps * (job->d + 1);
    Partial *partial = calloc(1, sizeof *partial + (size_t)(most * (row + 1)) * sizeof(double));
    if (!partial) return NULL;
    partial->rows = (double *)(partial + 1), partial->touched = (int64_t *)(partial->rows + most * row);
    partial->row = row, partial->slot = slot;
    return partial;
}

/* Values of one block of pairs, and its own sums; 1 where there is no memory for it. */
static int solve_block(const Job *job, int64_t itemsize, int64_t first, int64_t end, Memory *memory, Partial *partial) {
    int64_t lx = 1, ly = 1;
    if (!job->x_lengths && !job->y_lengths) lx = job->x_steps, ly = job->y_steps;
    else
        for (int64_t p = first; p < end; p++) {
            Pair pair = pair_at(job, p);
            lx = most_int(lx, pair.n), ly = most_int(ly, pair.m);
        }
    Room room = room_for(job, itemsize, lx, ly, job->max_bytes);
    if (room.workspace > memory->bytes) {
        free_room(memory->room);
        memory->room = new_room(room.workspace / (int64_t)sizeof(double) + 1);
        memory->bytes = memory->room ? room.workspace : 0;
        if (!memory->room) return 1;
    }
    Pair pairs[MOST_LANES];
    for (int64_t p = first; p < end;) {
        Shape shape = take_group(job, p, end, room.lanes, pairs);
        int failed = itemsize == 4 ? solve_group_f32(job, pairs, shape, room.table, (float *)memory->room, memory->cuts, partial)
                                   : solve_group_f64(job, pairs, shape, room.table, memory->room, memory->cuts, partial);
        if (failed) return 1;
        p += shape.group;
    }
    return 0;
}

static void add(const Job *job, const Partial *partial) {
    for (int64_t r = 0; r < partial->count; r++) {
        double *into = (double *)job->sums + partial->touched[r] * partial->row;
        for (int64_t q = 0; q < partial->row; q++) into[q] += partial->rows[r * partial->row + q];
    }
}

/* Add the sums of all blocks whose turn has come. One thread does so at a time; none waits. */
static void collect(Job *job, int64_t blocks) {
    void **partials = job->partials;
    int64_t turn;
    do {
        if (__atomic_exchange_n(&job->collecting, 1, __ATOMIC_SEQ_CST)) return; /* who is adding looks again before leaving */
        for (turn = job->turn; turn < blocks && __atomic_load_n(&partials[turn], __ATOMIC_SEQ_CST); turn++) {
            add(job, partials[turn]);
            free(partials[turn]);
        }
        job->turn = turn;
        __atomic_store_n(&job->collecting, 0, __ATOMIC_SEQ_CST);
    } while (turn < blocks && __atomic_load_n(&partials[turn], __ATOMIC_SEQ_CST));
}

/* Blocks `begin` to `end` of a call; 1 where there was no memory. */
EXPORT int elastic(int64_t *next, Job *job, int64_t itemsize, int64_t begin, int64_t end) {
    int failed = 0;
    bool partial_sums = job->sums && !job->each;
    Memory memory = {.cuts = malloc((size_t)(job->x_steps + job->y_steps + 1) * sizeof(int64_t))};
    memory.slot = partial_sums ? malloc((size_t)job->f * sizeof(int64_t)) : NULL;
    failed = !memory.cuts || (partial_sums && !memory.slot);
    if (!failed && partial_sums) memset(memory.slot, -1, (size_t)job->f * sizeof(int64_t));
    FOR_EACH_TASK(task, next, end - begin) {
        int64_t block = begin + task, first = block * job->block, last = least_int(first + job->block, job->pairs);
        Partial *partial = NULL;
        if (failed || (partial_sums && !(partial = new_partial(job, last - first, memory.slot)))) {
            failed = 1;
            break;
        }
        failed = solve_block(job, itemsize, first, last, &memory, partial);
        if (!partial) continue;
        for (int64_t r = 0; r < partial->count; r++) memory.slot[partial->touched[r]] = -1;
        __atomic_store_n(&job->partials[block], partial, __ATOMIC_SEQ_CST);
        collect(job, end);
    }
    free_room(memory.room);
    free(memory.cuts);
    free(memory.slot);
    return failed;
}

/* Bytes that one thread needs for pairs as long as the longest series. */
EXPORT int64_t elastic_bytes(const Job *job, int64_t itemsize, int64_t limit) {
    return room_for(job, itemsize, job->x_steps, job->y_steps, limit).total;
}
