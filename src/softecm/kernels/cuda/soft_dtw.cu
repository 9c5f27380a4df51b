// Soft-DTW: value and prototype gradient of many pairs (x series, y prototype).
//
// The table of a pair has the prototype's steps as rows and the series' steps as columns. A thread keeps H
// consecutive rows in registers, a block of warps keeps 32 * H rows a warp (a strip; longer prototypes take several
// strips, one after the other). In step s, lane l of a warp is at column s - l: the wavefront is handed from lane to
// lane by shuffles, from warp to warp through small rings in shared memory (one barrier every STEPS steps), from
// strip to strip through one row in global memory.
//
// Forward. Not R itself but its differences are kept, in units of gamma * ln 2 (so that exp and log are ex2, lg2):
//   a = R[i-1][j] - R[i-1][j-1],  b = R[i][j-1] - R[i-1][j-1]
//   m = min(0, a, b),  S = 2^(m-a) + 2^(m-b) + 2^m,  t = cost - log2 S
//   R[i][j] - R[i][j-1] = t + (m - b),  R[i][j] - R[i-1][j] = t + (m - a)
// The size of R never eats the mantissa and nothing over- or underflows, whatever gamma is. "Outside" is a wall of
// height WALL: a cell beside it takes weight exactly 0 from it.
//
// Backward. Every cell stores the probabilities of coming from above and from the left (float32: 16 bits each; the
// diagonal's is what is left of 1), as [step][row][lane], so both passes are coalesced. A thread reads only what it
// wrote itself. E of a cell is what the cells after it send back. Before rounding to 16 bits a fixed sequence of
// fractions is added (dither): a small probability met in many cells is then right on average, not lost in each.
//
// Compile-time: REAL64 (0, 1), H, D (channels in registers), MORE (1: d > D, costs and E go through the table in
// groups of D channels), GRAD (0, 1), BAND (0, 1), STAGES (groups of GROUP steps held in shared memory while the
// backward pass runs, power of two; 0: none), MAXT (threads a block at most).

#if REAL64
typedef double real;
struct __align__(16) Cell { double up, left; };
#define WALL 1e200
#else
typedef float real;
typedef unsigned int Cell;
#define WALL 1e30f
#endif

typedef long long i64;

#define FULL 0xffffffffu
#define STEPS 8  // steps between two barriers
#define GROUP 4  // steps unrolled, and fetched together by the backward pass
#define LAG 40   // steps a warp is behind the one above it: 31 lanes + STEPS, up to a multiple of STEPS
#define RING 32  // columns a ring holds
#define REAL_BYTES (REAL64 ? 8u : 4u)

#define CELL_BYTES (REAL64 ? 16 : 4)
#define PER_VEC (REAL64 ? 1 : H < 4 ? H : 4)  // cells in one access of a lane, 16 bytes where it can be
#define VECS (H / PER_VEC)
#define VEC_BYTES (PER_VEC * CELL_BYTES)
#define STEP_BYTES (32 * H * CELL_BYTES)  // of a warp's table

#include "soft_dtw_cells.cuh"

// ------------------------------------------------------------------------------------------------------- kernel

extern "C" __global__ void __launch_bounds__(MAXT)
soft_dtw(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const real *__restrict__ y,
         const i64 *__restrict__ y_lengths, const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y,
         const real *__restrict__ weights, real *__restrict__ values, real *__restrict__ partial,
         unsigned char *table_all, real *edge_all, i64 f, i64 x_steps, i64 y_steps, i64 channels, i64 first_pair,
         i64 pairs, i64 table_bytes, i64 radius, double scale_, double unit) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int warps = blockDim.x >> 5, lane = threadIdx.x & 31;
    const int warp = __shfl_sync(FULL, threadIdx.x >> 5, 0);  // the same for all lanes, and the compiler knows
    const int strip_rows = (int)blockDim.x * H;
    const int d = MORE ? (int)channels : D;
    const int last_group = MORE ? (d - 1) / D * D : 0;  // the channels the main passes handle start here
    const real scale = (real)scale_;
    const unsigned int held_bytes = GRAD ? STAGES * GROUP * STEP_BYTES : 0;
    const unsigned int shared_base = (unsigned int)__cvta_generic_to_shared(shared);
    const unsigned int held = shared_base + warp * held_bytes + lane * VEC_BYTES;
    const unsigned int above_ring = shared_base + warps * held_bytes + warp * RING_BYTES + REAL_BYTES;
    const unsigned int below_ring = above_ring + RING_BYTES;
    const int rings = (warps + 2) / 2 * 2;  // warps + 1, made even: what follows them are doubles
    double *sums = reinterpret_cast<double *>(shared + warps * held_bytes + rings * RING_BYTES);
    real *edge = edge_all + (i64)blockIdx.x * x_steps;
    const i64 warp_bytes = (x_steps + 31) * STEP_BYTES;

    for (i64 p = blockIdx.x; p < pairs; p += gridDim.x) {
        const i64 pair = first_pair + p;
        const i64 which_x = pair_x ? pair_x[pair] : pair / f;
        const i64 which_y = pair_x ? pair_y[pair] : pair % f;
        const int n = __shfl_sync(FULL, (int)(x_lengths ? x_lengths[which_x] : x_steps), 0);
        const int m = __shfl_sync(FULL, (int)(y_lengths ? y_lengths[which_y] : y_steps), 0);
        const real *series = x + which_x * x_steps * d;
        const real *prototype = y + which_y * y_steps * d;
        const int strips = (m + strip_rows - 1) / strip_rows;
        unsigned char *table_pair = table_all + (i64)blockIdx.x * table_bytes + lane * VEC_BYTES;
        double sum = 0;

#if MORE
        // Costs of all channels but the last group, into the table; every thread its own cells.
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            unsigned char *table = table_pair + ((i64)strip * warps + warp) * warp_bytes;
            if (row0 - lane * H >= m) break;
            for (int first = 0; first < last_group; first += D) {
                real yr[H][D];
                load_rows(prototype, row0, m, d, first, yr);
                for (int col = 0; col < n; ++col) {
                    real xs[D];
                    Cell cells[H];
                    load_step(series + (i64)col * d + first, d, first, xs);
                    if (first) load_cells(table + (i64)(col + lane) * STEP_BYTES, cells);
#pragma unroll
                    for (int r = 0; r < H; ++r)
                        cells[r] = from_real(squared_distance(xs, yr[r], first ? to_real(cells[r]) : (real)0));
                    store_cells(table + (i64)(col + lane) * STEP_BYTES, cells);
                }
            }
        }
#endif

        // ------------------------------------------------------------------------------------------- forward
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            const int rows_left = m - strip * strip_rows;
            const int active_warps = min(warps, (rows_left + 32 * H - 1) / (32 * H));
            const bool hands_down = warp == warps - 1 && strip < strips - 1;
            unsigned char *table = table_pair + ((i64)strip * warps + warp) * warp_bytes;
            real yr[H][D], b[H];
            load_rows(prototype, row0, m, d, last_group, yr);
#pragma unroll
            for (int r = 0; r < H; ++r) b[r] = BAND || row0 + r == 0 ? WALL : (real)0;
#if BAND
            // The value is added up along the cells that enter a row first, then go right to the next row's entry.
            int low[H + 1], high[H];
            bool straight[H];  // the row is entered from above (else from the diagonal)
            {
                int above = row0 == 0 ? 0 : band_high(min(row0, m) - 1, m, n, radius);
#pragma unroll
                for (int r = 0; r < H; ++r) {
                    int row = min(row0 + r, m - 1);
                    low[r] = band_low(row, m, n, radius);
                    high[r] = band_high(row, m, n, radius);
                    straight[r] = row0 + r > 0 && low[r] <= above;
                    if (row0 + r < m && (low[r] > high[r] || low[r] > above + (row0 + r > 0))) sum += 1.0 / 0.0;
                    above = high[r];
                }
                low[H] = row0 + H < m ? band_low(row0 + H, m, n, radius) : n - 1;
            }
            const int enter = row0 < m ? low[0] : n, leave = high[H - 1];
#else
            const int enter = 0, leave = n - 1;
#endif
            real below = 0;  // a of the row under this thread's last one
            real part = 0;
            unsigned int noise = threadIdx.x * 0x2c6fe9;

            auto advance = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;
                constexpr int unroll = all ? GROUP : 1;
                const real *xp = series + (i64)(s0 - lane) * d + last_group;
                unsigned char *at = table + (i64)s0 * STEP_BYTES;
                unsigned int in = above_ring + ((s0 & (RING - 1)) - 1) * REAL_BYTES;
                unsigned int out = below_ring + (s0 & (RING - 1)) * REAL_BYTES;
                int col = s0 - lane;
                real next[D];
                if (all || (col >= enter && col <= leave)) load_step(xp, d, last_group, next);
#pragma unroll 1
                for (int left = STEPS - unroll; left >= 0; left -= unroll) {
#pragma unroll
                    for (int k = 0; k < unroll; ++k, ++col) {
                        real xs[D];
#pragma unroll
                        for (int c = 0; c < D; ++c) xs[c] = next[c];
                        if ((k < unroll - 1 || left > 0) && (all || (col + 1 >= enter && col + 1 <= leave)))
                            load_step(xp + (k + 1) * d, d, last_group, next);
                        real a = __shfl_up_sync(FULL, below, 1);
                        const real border = ring_get(in + k * REAL_BYTES);
                        a = lane == 0 ? border : a;
#if GRAD && !REAL64
                        noise += 0x4f1bcd;  // the golden ratio of 2^23: fractions spread evenly
                        const real dither = __fmaf_rn(__uint_as_float((noise & 0x7fffff) | 0x3f800000), 0.96f, -1.44f);
#else
                        const real dither = 0;
#endif
                        if (all || (col >= enter && col <= leave)) {
                            Cell cells[H];
#if MORE
                            load_cells(at + k * STEP_BYTES, cells);
#endif
#pragma unroll
                            for (int r = 0; r < H; ++r) {
                                const real cost = squared_distance(xs, yr[r], MORE ? to_real(cells[r]) : (real)0);
                                const real m0 = minimum(minimum(b[r], (real)0), a);
                                const real to_a = m0 - a, to_b = m0 - b[r];
                                const real ea = pow2(to_a), eb = pow2(to_b), ed = pow2(m0);
                                const real total = ea + (eb + ed);
                                real t = fma(cost, scale, -log_2(total));
#if BAND
                                if (col < low[r] || col > high[r]) t = WALL;
                                const int until = row0 + r == m - 1 ? n - 1 : min(low[r + 1], high[r]);
                                if (row0 + r < m) {
                                    if (col == low[r]) part += straight[r] ? t + to_a : t + m0;
                                    else if (col > low[r] && col <= until) part += t + to_b;
                                }
#else
                                if (r == 0) part += t;  // counts in row 0 only, where t is the cost
#endif
#if GRAD
                                cells[r] = encode(ea, eb, total, dither);
#endif
                                a = t + to_b;
                                b[r] = t + to_a;
                            }
                            below = a;
#if GRAD
                            store_cells(at + k * STEP_BYTES, cells);
#endif
                        } else if (BAND && col > leave) {
                            below = WALL;
                        }
                        if (lane == 31) ring_put(out + k * REAL_BYTES, below);
                    }
                    xp += unroll * d;
                    at += unroll * STEP_BYTES;
                    in += unroll * REAL_BYTES;
                    out += unroll * REAL_BYTES;
                }
                if (lane == 31 && (s0 & (RING - 1)) == RING - STEPS)
                    ring_put(below_ring - REAL_BYTES, below);
            };

            const int length = n + 31 + (active_warps - 1) * LAG;
            for (int s_block = 0; s_block < length; s_block += STEPS) {
                __syncthreads();
                const int s0 = s_block - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
                if (warp == 0) {
                    const int col = s0 + lane;
                    if (lane < STEPS)
                        ring_put(above_ring + ((s0 & (RING - 1)) + lane - 1) * REAL_BYTES,
                                 strip == 0 ? (col == 0 ? WALL : (real)0) : (col < n ? edge[col] : (real)0));
                    __syncwarp();
                }
                part = 0;
                if (BAND ? __all_sync(FULL, s0 - lane >= enter && s0 + STEPS - 1 - lane <= leave)
                         : s0 >= 31 && s0 + STEPS <= n)
                    advance(Flag<true>(), s0);
                else
                    advance(Flag<false>(), s0);
                if (BAND || row0 == 0) sum += (double)part;
                if (hands_down) {
                    __syncwarp();
                    const int col = s0 - 31 + lane;
                    if (lane < STEPS && col >= 0 && col < n) 
                        edge[col] = ring_get(below_ring + ((s0 & (RING - 1)) + lane) * REAL_BYTES);
                }
            }
#if !BAND
#pragma unroll
            for (int r = 0; r < H; ++r)
                if (row0 + r > 0 && row0 + r < m) sum += (double)b[r];
#endif
        }

        // The value: row 0 to its end, then down the last column; the same order of addition every time.
#pragma unroll
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_down_sync(FULL, sum, offset);
        if (lane == 0) sums[warp] = sum;
        __syncthreads();
        double value = 0;
        for (int w = 0; w < warps; ++w) value += sums[w];
        if (threadIdx.x == 0) values[pair] = (real)(value * unit);

#if GRAD
        // ------------------------------------------------------------------------------------------ backward
        const real weight = value == 1.0 / 0.0 ? (real)0 : weights[pair];  // no alignment in the band, no gradient
        for (int strip = (int)((y_steps + strip_rows - 1) / strip_rows) - 1; strip >= 0; --strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            const int rows_left = m - strip * strip_rows;
            const int active_warps = weight == 0 ? 0 : min(warps, (rows_left + 32 * H - 1) / (32 * H));
            unsigned char *table = table_pair + ((i64)strip * warps + warp) * warp_bytes;
            real from_right[H], from_diagonal[H], mass[H], moment[H][D];
#pragma unroll
            for (int r = 0; r < H; ++r) {
                from_right[r] = row0 + r == m - 1 ? weight : (real)0;
                from_diagonal[r] = mass[r] = 0;
#pragma unroll
                for (int c = 0; c < D; ++c) moment[r][c] = 0;
            }
#if BAND
            const int enter = row0 < m ? band_low(row0, m, n, radius) : n;
            const int leave = band_high(min(row0 + H, m) - 1, m, n, radius);
#else
            const int enter = 0, leave = n - 1;
#endif
            real above = 0;  // what this thread's first row sends to the row above it

            auto inside = [&](int first, int count) {  // every lane has work in each of these steps
                return BAND ? __all_sync(FULL, first - lane >= enter && first + count - 1 - lane <= leave)
                            : first >= 31 && first + count <= n;
            };
            auto fetch = [&](int first) {
#if STAGES
                const unsigned int into = held + (first / GROUP & (STAGES - 1)) * (GROUP * STEP_BYTES);
                const unsigned char *at = table + (i64)first * STEP_BYTES;
                if (inside(first, GROUP)) {
#pragma unroll
                    for (int k = 0; k < GROUP; ++k) fetch_cells(into + k * STEP_BYTES, at + k * STEP_BYTES);
                } else {
#pragma unroll 1
                    for (int k = 0; k < GROUP; ++k)
                        if (first + k - lane >= enter && first + k - lane <= leave)
                            fetch_cells(into + k * STEP_BYTES, at + k * STEP_BYTES);
                }
                copy_commit();
#endif
            };
            auto retreat = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;
                constexpr int unroll = all ? GROUP : 1;
                const int last = s0 + STEPS - 1;
                const real *xp = series + (i64)(last - lane) * d + last_group;
                unsigned char *at = table + (i64)last * STEP_BYTES;
                unsigned int in = below_ring + (last & (RING - 1)) * REAL_BYTES;
                unsigned int out = above_ring + ((last & (RING - 1)) - 1) * REAL_BYTES;
                int col = last - lane;
                real next[D];
                if (all || (col >= enter && col <= leave)) load_step(xp, d, last_group, next);
#pragma unroll 1
                for (int left = STEPS - unroll; left >= 0; left -= unroll) {
                    if (all || (left + 1) % GROUP == 0) {
                        fetch(s0 + left / GROUP * GROUP - (STAGES - 1) * GROUP);
                        copy_wait<(STAGES > 0 ? STAGES - 1 : 0)>();
                    }
                    const unsigned int from = held + left % GROUP * STEP_BYTES +
                                              ((s0 + left) / GROUP & (STAGES - 1)) * (GROUP * STEP_BYTES);
#pragma unroll
                    for (int k = 0; k < unroll; ++k, --col) {
                        real xs[D];
#pragma unroll
                        for (int c = 0; c < D; ++c) xs[c] = next[c];
                        if ((k < unroll - 1 || left > 0) && (all || (col - 1 >= enter && col - 1 <= leave)))
                            load_step(xp - (k + 1) * d, d, last_group, next);
                        real u = __shfl_down_sync(FULL, above, 1);
                        const real border = ring_get(in - k * REAL_BYTES);
                        u = lane == 31 ? border : u;
                        if (all || (col >= enter && col <= leave)) {
                            Cell cells[H];
                            if (STAGES) load_held(from + (unroll - 1 - k) * STEP_BYTES, cells);
                            else load_cells(at - k * STEP_BYTES, cells);
#pragma unroll
                            for (int r = H - 1; r >= 0; --r) {
                                real up, left_;
                                const real e = u + from_right[r];
                                send(cells[r], e, up, left_);
                                u = up + from_diagonal[r];
                                from_right[r] = left_;
                                from_diagonal[r] = (e - up) - left_;
                                mass[r] += e;
#pragma unroll
                                for (int c = 0; c < D; ++c) moment[r][c] = fma(e, xs[c], moment[r][c]);
#if MORE
                                cells[r] = from_real(e);
#endif
                            }
                            above = u;
#if MORE
                            store_cells(at - k * STEP_BYTES, cells);
#endif
                        } else if (BAND) {
                            above = from_diagonal[0];
                            from_diagonal[0] = 0;
                        }
                        if (lane == 0) ring_put(out - k * REAL_BYTES, above);
                    }
                    xp -= unroll * d;
                    at -= unroll * STEP_BYTES;
                    in -= unroll * REAL_BYTES;
                    out -= unroll * REAL_BYTES;
                }
                if (lane == 0 && (s0 & (RING - 1)) == 0)
                    ring_put(above_ring + (RING - 1) * REAL_BYTES, above);
            };

            const int top = (n + 31 + STEPS - 1) / STEPS * STEPS - GROUP;  // this warp's first group of steps
            if (warp < active_warps) {
#pragma unroll
                for (int k = 0; k < STAGES - 1; ++k) fetch(top - k * GROUP);
            }
            const int length = active_warps > 0 ? n + 31 + (active_warps - 1) * LAG : 0;
            for (int s_block = (length + STEPS - 1) / STEPS * STEPS - STEPS; s_block >= 0; s_block -= STEPS) {
                __syncthreads();
                const int s0 = s_block - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
                if (warp == active_warps - 1) {
                    const int col = s0 - 31 + lane;
                    if (lane < STEPS)
                        ring_put(below_ring + ((s0 & (RING - 1)) + lane) * REAL_BYTES,
                                 strip < strips - 1 && col >= 0 && col < n ? edge[col] : (real)0);
                    __syncwarp();
                }
                if (inside(s0, STEPS)) retreat(Flag<true>(), s0);
                else retreat(Flag<false>(), s0);
                if (warp == 0 && strip > 0) {
                    __syncwarp();
                    const int col = s0 + lane;
                    if (lane < STEPS && col < n)
                        edge[col] = ring_get(above_ring + ((s0 & (RING - 1)) + lane - 1) * REAL_BYTES);
                }
            }
            copy_wait<0>();
#pragma unroll
            for (int r = 0; r < H; ++r) {
                if (row0 + r < y_steps) {
                    real *out = partial + (p * y_steps + row0 + r) * (d + 1);
                    out[0] = mass[r];
#pragma unroll
                    for (int c = 0; c < D; ++c)
                        if (!MORE || last_group + c < d) out[1 + last_group + c] = moment[r][c];
                }
            }
#if MORE
            for (int first = 0; first < last_group; first += D) {
#pragma unroll
                for (int r = 0; r < H; ++r)
#pragma unroll
                    for (int c = 0; c < D; ++c) moment[r][c] = 0;
                if (warp < active_warps) {
                    for (int col = enter; col <= leave; ++col) {
                        Cell cells[H];
                        real xs[D];
                        load_cells(table + (i64)(col + lane) * STEP_BYTES, cells);
                        load_step(series + (i64)col * d + first, d, first, xs);
#pragma unroll
                        for (int r = 0; r < H; ++r)
#pragma unroll
                            for (int c = 0; c < D; ++c)
                                moment[r][c] = fma(to_real(cells[r]), xs[c], moment[r][c]);
                    }
                }
#pragma unroll
                for (int r = 0; r < H; ++r) {
                    if (row0 + r < y_steps) {
                        real *out = partial + (p * y_steps + row0 + r) * (d + 1);
#pragma unroll
                        for (int c = 0; c < D; ++c) out[1 + first + c] = moment[r][c];
                    }
                }
            }
#endif
        }
#endif
        __syncthreads();
    }
}
