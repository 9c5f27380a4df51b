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
// Few long pairs (SPREAD): each strip of a pair is a block of its own, all strips at once, each a little behind the one
// it depends on. A row between strips starts as all ones in bits, which no result is, and the block that needs a number
// waits until it is another. Blocks take their strips in the order in which they start, so that no block waits for one
// that has not begun; the two passes are two launches.
//
// Compile-time: REAL64 (0, 1), H, D (channels in registers), TABLE (1: many channels; D = 1, costs are in the table, E
// is left there), GRAD (0, 1), BAND (0, 1), SPREAD (0, 1), PASS (0: all; 1: forward only; 2: backward only), STAGES
// (groups of GROUP steps held in shared memory while the backward pass runs, power of two; 0: none), MAXT (threads a
// block at most).

#include "series.cuh"

#if REAL64
#define WALL 1e200
#else
#define WALL 1e30f
#endif

#define STEPS 8  // steps between two barriers
#define GROUP 4  // steps unrolled, and fetched together by the backward pass
#define LAG 40   // steps a warp is behind the one above it: 31 lanes + STEPS, up to a multiple of STEPS
#define RING 32  // columns a ring holds
#define REAL_BYTES (REAL64 ? 8u : 4u)
#if MAXT == 128 && H == 4 && D <= 2 && !REAL64 && !BAND
#define BOUNDS __launch_bounds__(MAXT, 8)  // else the compiler takes a few registers too many
#else
#define BOUNDS __launch_bounds__(MAXT)
#endif
#define FORWARD (PASS != 2)
#define BACKWARD (GRAD && PASS != 1)

#include "shares.cuh"
#include "soft_dtw_cells.cuh"

// ------------------------------------------------------------------------------------------------------- kernel

extern "C" __global__ void BOUNDS
soft_dtw(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const real *__restrict__ y,
         const i64 *__restrict__ y_lengths, const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y,
         const real *__restrict__ weights, real *__restrict__ values, real *__restrict__ partial,
         unsigned char *table_all, real *edge_all, double *sums_all, int *ticket, i64 f, i64 x_steps, i64 y_steps,
         i64 channels, i64 first_pair, i64 pairs, i64 table_bytes, i64 radius, double scale_, double unit) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int warps = blockDim.x >> 5, lane = threadIdx.x & 31;
    const int warp = __shfl_sync(FULL, threadIdx.x >> 5, 0);  // the same for all lanes, and the compiler knows
    const int strip_rows = (int)blockDim.x * H;
    const int d = TABLE ? (int)channels : D;
    const int all_strips = (int)((y_steps + strip_rows - 1) / strip_rows);
    const real scale = (real)scale_;
    const unsigned int held_bytes = GRAD || TABLE ? STAGES * GROUP * STEP_BYTES : 0;
    const unsigned int shared_base = (unsigned int)__cvta_generic_to_shared(shared);
    const unsigned int held = shared_base + warp * held_bytes + lane * VEC_BYTES;
    const unsigned int above_ring = shared_base + warps * held_bytes + warp * RING_BYTES + REAL_BYTES;
    const unsigned int below_ring = above_ring + RING_BYTES;
    const int rings = (warps + 2) / 2 * 2;  // warps + 1, made even: what follows them are doubles
    double *sums = reinterpret_cast<double *>(shared + warps * held_bytes + rings * RING_BYTES);
    const i64 warp_bytes = (x_steps + 31) * STEP_BYTES;

#if SPREAD
    {
        __shared__ int taken;
        if (threadIdx.x == 0) taken = atomicAdd(ticket, 1);
        __syncthreads();
        const i64 p = taken % pairs;
        const int mine = BACKWARD ? all_strips - 1 - (int)(taken / pairs) : (int)(taken / pairs);
        const i64 slot = p;
        real *edge = edge_all + ((BACKWARD ? pairs : 0) + p) * all_strips * x_steps + mine * x_steps;
        const real *edge_in = BACKWARD ? edge + x_steps : edge - x_steps;
#else
    for (i64 p = blockIdx.x; p < pairs; p += gridDim.x) {
        const int mine = 0;
        const i64 slot = TABLE ? p : blockIdx.x;
        real *edge = edge_all + (i64)blockIdx.x * x_steps;
        const real *edge_in = edge;
#endif
        const i64 pair = first_pair + p;
        const i64 which_x = pair_x ? pair_x[pair] : pair / f;
        const i64 which_y = pair_x ? pair_y[pair] : pair % f;
        const int n = __shfl_sync(FULL, (int)(x_lengths ? x_lengths[which_x] : x_steps), 0);
        const int m = __shfl_sync(FULL, (int)(y_lengths ? y_lengths[which_y] : y_steps), 0);
        const real *series = x + which_x * x_steps * d;
        const real *prototype = y + which_y * y_steps * d;
        const int strips = (m + strip_rows - 1) / strip_rows;
        unsigned char *table_pair = table_all + slot * table_bytes + lane * VEC_BYTES;

#if FORWARD
        // ------------------------------------------------------------------------------------------- forward
        double sum = 0;
        for (int strip = mine; strip < (SPREAD ? min(mine + 1, strips) : strips); ++strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            const int rows_left = m - strip * strip_rows;
            const int active_warps = min(warps, (rows_left + 32 * H - 1) / (32 * H));
            const bool hands_down = warp == warps - 1 && strip < strips - 1;
            unsigned char *table = table_pair + ((i64)strip * warps + warp) * warp_bytes;
            real yr[H][D], b[H];
            if (!TABLE) load_rows(prototype, row0, m, yr);
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
            real part = 0, coming = nothing();
            unsigned int noise = threadIdx.x * 0x2c6fe9;

            auto inside = [&](int first, int count) {  // every lane has work in each of these steps
                return BAND ? __all_sync(FULL, first - lane >= enter && first + count - 1 - lane <= leave)
                            : first >= 31 && first + count <= n;
            };
            auto advance = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;
                constexpr int unroll = all ? GROUP : 1;
                const real *xp = series + (i64)(s0 - lane) * D;
                unsigned char *at = table + (i64)s0 * STEP_BYTES;
                unsigned int in = above_ring + ((s0 & (RING - 1)) - 1) * REAL_BYTES;
                unsigned int out = below_ring + (s0 & (RING - 1)) * REAL_BYTES;
                int col = s0 - lane;
                real next[D];
                if (!TABLE && (all || (col >= enter && col <= leave))) load_step(xp, next);
#pragma unroll 1
                for (int left = STEPS - unroll; left >= 0; left -= unroll) {
                    const int s = s0 + STEPS - unroll - left;  // of this turn's first step
                    if (TABLE && STAGES && (all || s % GROUP == 0)) {
                        const int ahead = s + (STAGES - 1) * GROUP;
                        fetch_group(held, table, ahead, inside(ahead, GROUP), lane, enter, leave);
                        copy_wait<(STAGES > 0 ? STAGES - 1 : 0)>();
                    }
                    const unsigned int from = held_step(held, s);
#pragma unroll
                    for (int k = 0; k < unroll; ++k, ++col) {
                        real xs[D];
#pragma unroll
                        for (int c = 0; c < D; ++c) xs[c] = next[c];
                        if (!TABLE && (k < unroll - 1 || left > 0) && (all || (col + 1 >= enter && col + 1 <= leave)))
                            load_step(xp + (k + 1) * D, next);
                        real a = __shfl_up_sync(FULL, below, 1);
                        const real border = ring_get(in + k * REAL_BYTES);
                        a = lane == 0 ? border : a;
                        const real dither = GRAD ? next_dither(noise) : (real)0;
                        if (all || (col >= enter && col <= leave)) {
                            Cell cells[H];
#if TABLE
                            if (STAGES) load_held(from + k * STEP_BYTES, cells);
                            else load_cells(at + k * STEP_BYTES, cells);
#pragma unroll
                            for (int r = 0; r < H; ++r)  // beyond the prototype's end nothing was written
                                if (row0 >= m) cells[r] = from_real(0);
#endif
#pragma unroll
                            for (int r = 0; r < H; ++r) {
                                const real cost = TABLE ? to_real(cells[r]) : squared_distance(xs, yr[r], 0);
                                const real side = minimum(a, b[r]), m0 = minimum(side, (real)0);
                                const real to_a = m0 - a, to_b = m0 - b[r];
#if !GRAD  // two exponentials instead of three; with the shares to be stored as well it would not pay
                                const real other = pow2(-magnitude(a - b[r])), rest = pow2(-magnitude(side));
                                const real es = side <= 0 ? (real)1 : rest, ed = side <= 0 ? rest : (real)1;
                                const real total = fma(es, 1 + other, ed);
#else
                                const real ea = pow2(to_a), eb = pow2(to_b), ed = pow2(m0);
                                const real total = ea + (eb + ed);
#endif
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
                    xp += unroll * D;
                    at += unroll * STEP_BYTES;
                    in += unroll * REAL_BYTES;
                    out += unroll * REAL_BYTES;
                }
                if (lane == 31 && (s0 & (RING - 1)) == RING - STEPS)
                    ring_put(below_ring - REAL_BYTES, below);
            };

            if (TABLE && warp < active_warps) {
#pragma unroll
                for (int k = 0; k < STAGES - 1; ++k)
                    fetch_group(held, table, k * GROUP, inside(k * GROUP, GROUP), lane, enter, leave);
            }
            const int length = n + 31 + (active_warps - 1) * LAG;
            for (int s_block = 0; s_block < length; s_block += STEPS) {
                __syncthreads();
                const int s0 = s_block - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
                if (warp == 0) {
                    const int col = s0 + lane;
                    if (lane < STEPS) {
                        ring_put(above_ring + ((s0 & (RING - 1)) + lane - 1) * REAL_BYTES,
                                 strip == 0 ? (col == 0 ? WALL : (real)0) : (col < n ? handed(edge_in + col, coming) : 0));
                        if (SPREAD && strip > 0 && col + STEPS < n) coming = glanced(edge_in + col + STEPS);
                    }
                    __syncwarp();
                }
                part = 0;
                if (inside(s0, STEPS)) advance(Flag<true>(), s0);
                else advance(Flag<false>(), s0);
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
#if SPREAD
        double *handed_sums = sums_all + p * all_strips + mine;
        if (threadIdx.x == 0 && mine > 0 && mine < strips) value += handed(handed_sums - 1, nothing64());
        if (threadIdx.x == 0 && mine < strips - 1) *(volatile double *)handed_sums = value;
#endif
        if (threadIdx.x == 0 && (!SPREAD || mine == strips - 1)) values[pair] = (real)(value * unit);
#endif

#if BACKWARD
        // ------------------------------------------------------------------------------------------ backward
#if !FORWARD
        const double value = values[pair];
#endif
        const real weight = value == 1.0 / 0.0 ? (real)0 : weights[pair];  // no alignment in the band, no gradient
        for (int strip = SPREAD ? mine : all_strips - 1; strip >= mine; --strip) {
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
            real above = 0, coming = nothing();  // above: what this thread's first row sends to the row above it

            auto inside = [&](int first, int count) {  // every lane has work in each of these steps
                return BAND ? __all_sync(FULL, first - lane >= enter && first + count - 1 - lane <= leave)
                            : first >= 31 && first + count <= n;
            };
            auto fetch = [&](int first) {
                fetch_group(held, table, first, inside(first, GROUP), lane, enter, leave);
            };
            auto retreat = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;
                constexpr int unroll = all ? GROUP : 1;
                const int last = s0 + STEPS - 1;
                const real *xp = series + (i64)(last - lane) * D;
                unsigned char *at = table + (i64)last * STEP_BYTES;
                unsigned int in = below_ring + (last & (RING - 1)) * REAL_BYTES;
                unsigned int out = above_ring + ((last & (RING - 1)) - 1) * REAL_BYTES;
                int col = last - lane;
                real next[D];
                if (!TABLE && (all || (col >= enter && col <= leave))) load_step(xp, next);
#pragma unroll 1
                for (int left = STEPS - unroll; left >= 0; left -= unroll) {
                    if (all || (left + 1) % GROUP == 0) {
                        fetch(s0 + left / GROUP * GROUP - (STAGES - 1) * GROUP);
                        copy_wait<(STAGES > 0 ? STAGES - 1 : 0)>();
                    }
                    const unsigned int from = held_step(held, s0 + left);
#pragma unroll
                    for (int k = 0; k < unroll; ++k, --col) {
                        real xs[D];
#pragma unroll
                        for (int c = 0; c < D; ++c) xs[c] = next[c];
                        if (!TABLE && (k < unroll - 1 || left > 0) && (all || (col - 1 >= enter && col - 1 <= leave)))
                            load_step(xp - (k + 1) * D, next);
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
                                for (int c = 0; !TABLE && c < D; ++c) moment[r][c] = fma(e, xs[c], moment[r][c]);
#if TABLE
                                cells[r] = from_real(e);
#endif
                            }
                            above = u;
#if TABLE
                            store_cells(at - k * STEP_BYTES, cells);
#endif
                        } else if (BAND) {
                            above = from_diagonal[0];
                            from_diagonal[0] = 0;
                        }
                        if (lane == 0) ring_put(out - k * REAL_BYTES, above);
                    }
                    xp -= unroll * D;
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
                    const bool there = strip < strips - 1 && col >= 0;
                    if (lane < STEPS) {
                        ring_put(below_ring + ((s0 & (RING - 1)) + lane) * REAL_BYTES,
                                 there && col < n ? handed(edge_in + col, coming) : (real)0);
                        if (SPREAD && there && col >= STEPS) coming = glanced(edge_in + col - STEPS);
                    }
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
                    for (int c = 0; !TABLE && c < D; ++c) out[1 + c] = moment[r][c];
                }
            }
        }
#endif
        __syncthreads();
    }
}
