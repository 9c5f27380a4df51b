// DTW: least cost of many pairs (x series, y prototype), values only.
//
// The table of a pair has the prototype's steps as rows and the series' steps as columns. G lanes of a warp hold a pair,
// each H consecutive rows in registers (a strip of G * H rows; longer prototypes take several, one after the other, that
// hand a row on through global memory). In step s lane l is at column s - l: all that moves between lanes is the last
// row's cell, by one shuffle a step. A cell is a difference, one minimum of three and a fused multiply and add. Columns
// outside the series cost infinity, so that ramps need no branches of their own in the cells.
//
// Compile-time: REAL64 (0, 1), G (4, 8, 16, 32), H, D (channels), TABLE (1: costs come from a table; then G = 32, D = 1),
// STRIPS (0, 1: more than one; then G = 32), BAND (0, 1), BLOCKS (that a multiprocessor shall hold).

#include "series.cuh"

#define FAR ((real)(1.0 / 0.0))
#define STEPS 4  // unrolled

// Costs and their sums are not negative: floats in the order of their bits. Hopper has one instruction for it.
__device__ __forceinline__ real least(real a, real b, real c) {
#if REAL64
    return fmin(fmin(b, c), a);
#elif __CUDA_ARCH__ >= 900
    return __int_as_float(min(min(__float_as_int(b), __float_as_int(c)), __float_as_int(a)));
#else
    return fminf(fminf(b, c), a);
#endif
}
__device__ __forceinline__ int over_warp(int v, bool largest) {
#pragma unroll
    for (int offset = 16; offset >= G && offset; offset >>= 1) {
        const int other = __shfl_xor_sync(FULL, v, offset);
        v = largest ? max(v, other) : min(v, other);
    }
    return __shfl_sync(FULL, v, 0);
}

extern "C" __global__ void __launch_bounds__(128, BLOCKS)
dtw(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const real *__restrict__ y,
    const i64 *__restrict__ y_lengths, const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y,
    real *__restrict__ values, unsigned char *table_all, real *edge_all, i64 f, i64 x_steps, i64 y_steps, i64 first_pair,
    i64 pairs, i64 table_bytes, i64 radius) {
    const int lane = threadIdx.x & (G - 1);
    const i64 slot = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;  // a warp
    const i64 slots = (i64)gridDim.x * blockDim.x >> 5;
    real *edge = edge_all + slot * x_steps;

    for (i64 begin = slot * (32 / G); begin < pairs; begin += slots * (32 / G)) {
        const i64 p = begin + (threadIdx.x & 31) / G;
        const i64 pair = first_pair + min(p, pairs - 1);
        const i64 which_x = pair_x ? pair_x[pair] : pair / f;
        const i64 which_y = pair_x ? pair_y[pair] : pair % f;
        const int n = (int)(x_lengths ? x_lengths[which_x] : x_steps);
        const int m = (int)(y_lengths ? y_lengths[which_y] : y_steps);
#if !TABLE
        const real *series = x + which_x * x_steps * D;
        const real *prototype = y + which_y * y_steps * D;
#endif
        const int strips = STRIPS ? (m + G * H - 1) / (G * H) : 1;
        real value = FAR;

#pragma unroll 1
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = (strip * G + lane) * H;
            const int last_lane = min(G - 1, (m - 1 - strip * G * H) / H);
            const bool ends = strip == strips - 1 && lane == last_lane;
            const bool hands_down = STRIPS && strip < strips - 1 && lane == G - 1;
            const bool takes = STRIPS && strip > 0 && lane == 0;
            real b[H], below = FAR, corner = row0 == 0 ? (real)0 : FAR;
#if TABLE
            const unsigned char *table = table_all + (pair - first_pair) * table_bytes +
                                         strip * (x_steps + 31) * STEP_BYTES + lane * VEC_BYTES;
#else
            real yr[H][D];
            load_rows(prototype, row0, m, yr);
#endif
#pragma unroll
            for (int r = 0; r < H; ++r) b[r] = FAR;
#if BAND
            int low[H], high[H];
#pragma unroll
            for (int r = 0; r < H; ++r) {
                const int row = min(row0 + r, m - 1);
                low[r] = band_low(row, m, n, radius);
                high[r] = band_high(row, m, n, radius);
            }
            const int from = over_warp(__shfl_sync(FULL, low[0], 0, G), false);
            const int to = over_warp(__shfl_sync(FULL, high[H - 1], last_lane, G) + 1 + last_lane, true);
            const int above_low = takes ? band_low(row0 - 1, m, n, radius) : 0;
            const int above_high = takes ? band_high(row0 - 1, m, n, radius) : -1;
            if (takes && from - 1 >= above_low && from - 1 <= above_high) corner = edge[from - 1];
#else
            const int from = 0, to = over_warp(n + last_lane, true);
            const int above_low = 0, above_high = n - 1;
#endif

            auto advance = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;  // every lane inside its series, none at its end
                constexpr int steps = all ? STEPS : 1;
#if TABLE
                Cell cells[steps][H];
#pragma unroll
                for (int k = 0; k < steps; ++k)
                    if (all || (s0 + k >= lane && s0 + k - lane < n)) load_cells(table + (i64)(s0 + k) * STEP_BYTES, cells[k]);
#else
                real xs[steps][D];
#pragma unroll
                for (int k = 0; k < steps; ++k) {
                    const int col = s0 + k - lane;
#pragma unroll
                    for (int c = 0; c < D; ++c) xs[k][c] = FAR;
                    if (all || (col >= 0 && col < n)) load_step(series + (i64)col * D, xs[k]);
                }
#endif
                real border[steps];
#pragma unroll
                for (int k = 0; k < steps; ++k) {
                    border[k] = FAR;
                    if (takes && s0 + k >= above_low && s0 + k <= above_high) border[k] = edge[s0 + k];
                }
#pragma unroll
                for (int k = 0; k < steps; ++k) {
                    const int col = s0 + k - lane;
                    const bool inside = all || (col >= 0 && col < n);
                    real above = __shfl_up_sync(FULL, below, 1, G);
                    if (lane == 0) above = border[k];
                    real diagonal = corner, a = above;
                    corner = above;
#pragma unroll
                    for (int r = 0; r < H; ++r) {
                        const real best = least(a, b[r], diagonal);
                        diagonal = b[r];
#if TABLE
                        a = best + (inside ? to_real(cells[k][r]) : FAR);
#else
                        a = D == 1 ? squared_distance(xs[k], yr[r], best) : squared_distance(xs[k], yr[r], 0) + best;
#endif
#if BAND
                        if (col < low[r] || col > high[r]) a = FAR;
#endif
                        b[r] = a;
                    }
                    below = a;
                    if (hands_down && inside) edge[col] = below;
                    if (!all && ends && col == n - 1) {
#pragma unroll
                        for (int r = 0; r < H; ++r)
                            if (row0 + r == m - 1) value = b[r];
                    }
                }
            };

            const int whole_to = over_warp(n, false) - 1;
            int s = from;
#pragma unroll 1
            for (bool begun = false; s < to; begun = true) {  // once, so that the guarded step is compiled once
#pragma unroll 1
                for (const int until = begun ? to : min(to, G - 1); s < until; ++s) advance(Flag<false>(), s);
                if (begun) break;
#pragma unroll 1
                for (; s + STEPS <= min(whole_to, to); s += STEPS) advance(Flag<true>(), s);
            }
            __syncwarp();  // the row handed down is there for the next strip
        }
        if (p < pairs && lane == min(G - 1, (m - 1) / H % G)) values[pair] = value;
    }
}
