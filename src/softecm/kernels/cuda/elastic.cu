// Elastic distances: value and prototype gradient of many pairs (x series, y prototype), for any rule of
// kernels/elastic/rules.py.
//
// The table of a pair has the prototype's steps as rows and the series' steps as columns. A warp holds a pair: each lane H
// consecutive rows in registers (a strip of 32 * H rows; longer prototypes take several, one after the other, that hand a row
// on through global memory). In step s lane l is at column s - l; what moves between lanes goes by shuffles.
//
// Forward. As in soft_dtw.cu not R itself is kept but its differences, in the unit of the recursion (gamma * ln 2, if soft):
//   a = R[i-1][j] - R[i-1][j-1],  b = R[i][j-1] - R[i-1][j-1]
// A step down (the prototype's alone) costs `down[i]`, one to the right (the series' alone) `right`, one across `across`.
// "Outside" is a wall of height WALL: a cell beside it takes weight exactly 0 from it. The value is added up along the
// cells that enter a row first, then go right to the next row's entry.
//
// Backward. Every cell stores the probabilities of having come down and from the left, as [step][row][lane]; lengths are
// worked out again. A pair leaves for each row: curvature, what came down into it, gradient in each channel.
//
// Compile-time: REAL64 (0, 1), H, D (channels), GRAD (0, 1), SOFT (0, 1), SQUARED (0, 1), WEIGHTED (0, 1).

#include "series.cuh"

#include "shares.cuh"

#define WALL (REAL64 ? (real)1e200 : (real)1e30)

// The rule's numbers in the unit of the recursion; lengths are in the data's.
struct Numbers {
    real gamma, inverse, scale, step, across, before, last, change, size, apart, steepness, bend;
};

__device__ __forceinline__ real squared_size(const real (&v)[D]) {
    real sum = 0;
#pragma unroll
    for (int c = 0; c < D; ++c) sum = fma(v[c], v[c], sum);
    return sum;
}
__device__ __forceinline__ real length_of(const real (&v)[D]) { return D == 1 ? magnitude(v[0]) : root(squared_size(v)); }
__device__ __forceinline__ real plain_length(const real (&x)[D], const real (&y)[D]) {
    return D == 1 ? magnitude(x[0] - y[0]) : root(squared_distance(x, y, 0));
}
// A length rounded off at gamma, if soft: its square over 2 gamma below.
__device__ __forceinline__ real rounded(real n, const Numbers &rule) {
    const real t = minimum(n, rule.gamma);
    return SOFT ? t * rule.inverse * (n - t / 2) : n;
}
__device__ __forceinline__ real length_between(const real (&x)[D], const real (&y)[D], const Numbers &rule) {
    return rounded(plain_length(x, y), rule);
}
// What a step in one series alone costs.
__device__ __forceinline__ real alone(const real (&here)[D], const real (&before)[D], const Numbers &rule) {
    if (SQUARED) return rule.step;
    const real moved = rule.change > 0 ? rule.change * length_between(here, before, rule) : (real)0;
    return rule.step + moved + (rule.size > 0 ? rule.size * rounded(length_of(here), rule) : (real)0);
}
__device__ __forceinline__ real weight_at(int i, int j, int longer, real steepness) {
    return WEIGHTED ? reciprocal(1 + pow2(-steepness * ((real)abs(i - j) - (real)longer / 2))) : (real)1;
}

extern "C" __global__ void __launch_bounds__(128)
elastic(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const real *__restrict__ y,
        const i64 *__restrict__ y_lengths, const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y,
        const real *__restrict__ weights, real *__restrict__ values, real *__restrict__ partial, unsigned char *table_all,
        real *edge_all, i64 f, i64 x_steps, i64 y_steps, i64 first_pair, i64 pairs, i64 table_bytes, i64 radius_,
        double unit, double gamma, double scale, double step, double across, double before, double last, double change,
        double size, double apart, double steepness, double floor) {
    const Numbers rule = {(real)gamma, SOFT ? (real)(1 / gamma) : (real)0, (real)scale, (real)step,
                          (real)across, (real)before, (real)last, (real)change, (real)size, (real)apart,
                          (real)steepness, (real)(1 / floor)};
    const int lane = threadIdx.x & 31;
    const i64 slot = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, slots = (i64)gridDim.x * blockDim.x >> 5;
    Cell *table = reinterpret_cast<Cell *>(table_all + slot * table_bytes);
    real *edge = edge_all + 2 * slot * x_steps;
    const int all_strips = (int)((y_steps + 32 * H - 1) / (32 * H));
    const i64 strip_cells = (x_steps + 31) * 32 * H;

    for (i64 p = slot; p < pairs; p += slots) {
        const i64 pair = first_pair + p;
        const i64 which_x = pair_x ? pair_x[pair] : pair / f;
        const i64 which_y = pair_x ? pair_y[pair] : pair % f;
        const int n = (int)(x_lengths ? x_lengths[which_x] : x_steps);
        const int m = (int)(y_lengths ? y_lengths[which_y] : y_steps);
        const i64 radius = radius_ < 0 ? max(n, m) : radius_;  // everything is inside
        const real *series = x + which_x * x_steps * D;
        const real *prototype = y + which_y * y_steps * D;
        const int strips = (m + 32 * H - 1) / (32 * H), longer = max(n, m);
        double sum = 0;

        // ------------------------------------------------------------------------------------------- forward
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = (strip * 32 + lane) * H;
            real yr[H][D], above[D], down[H], b[H], length_before[H];
            load_rows(prototype, row0, m, yr);
            load_step(prototype + (i64)min(max(row0 - 1, 0), m - 1) * D, above);
            int low[H + 1], high[H];
            bool straight[H];  // the row is entered from above (else from the diagonal)
            int high_above = row0 == 0 ? 0 : band_high(min(row0, m) - 1, m, n, radius);
#pragma unroll
            for (int r = 0; r < H; ++r) {
                const int row = min(row0 + r, m - 1);
                low[r] = band_low(row, m, n, radius);
                high[r] = band_high(row, m, n, radius);
                straight[r] = row0 + r > 0 && low[r] <= high_above;
                if (row0 + r < m && (low[r] > high[r] || low[r] > high_above + (row0 + r > 0))) sum += 1.0 / 0.0;
                high_above = high[r];
                b[r] = WALL;
                length_before[r] = 0;
                down[r] = alone(yr[r], r ? yr[r - 1] : above, rule);
            }
            low[H] = row0 + H < m ? band_low(row0 + H, m, n, radius) : n - 1;
            const int enter = row0 < m ? low[0] : n, leave = high[H - 1];
            real below = 0, was[D];  // below: a of the row under this thread's last one; was: the series' step before
#pragma unroll
            for (int c = 0; c < D; ++c) was[c] = 0;
            Cell *at = table + strip * strip_cells + lane;
            unsigned int noise = lane * 0x2c6fe9;

            for (int s = 0; s < n + 31; ++s, at += 32 * H) {
                const int col = s - lane;
                real a = __shfl_up_sync(FULL, below, 1);
                if (lane == 0) a = strip == 0 ? (col == 0 ? WALL : (real)0) : col < n ? edge[col] : (real)0;
                if (col >= enter && col <= leave) {
                    real xs[D];
                    load_step(series + (i64)col * D, xs);
                    if (col == enter && col > 0) {
                        load_step(series + (i64)(col - 1) * D, was);
                        if (!SQUARED) {
#pragma unroll
                            for (int r = 0; r < H; ++r)
                                length_before[r] =
                                    row0 + r == 0 ? (real)0 : length_between(was, r ? yr[r - 1] : above, rule);
                        }
                    }
                    const real dither = next_dither(noise);
                    const real right = col == 0 ? rule.step : alone(xs, was, rule);
                    real length_above = SQUARED || row0 == 0 ? (real)0 : length_between(xs, above, rule);
#pragma unroll
                    for (int r = 0; r < H; ++r) {
                        real here = 0, over = 0, extra = 0;
                        if (SQUARED) {
                            extra = rule.scale * squared_distance(xs, yr[r], 0) *
                                    weight_at(row0 + r, col, longer, rule.steepness);
                        } else {
                            here = length_between(xs, yr[r], rule);
                            over = fma(rule.across, here, rule.before * length_before[r]) +
                                   rule.apart * (real)abs(row0 + r - col);
                            length_before[r] = length_above;
                            length_above = here;
                        }
                        const real by_down = a + down[r], by_right = b[r] + right;
                        const real best = minimum(over, by_right), chosen = minimum(best, by_down);
                        real rest = extra;
#if SOFT
                        const real ed = pow2(chosen - by_down), er = pow2(chosen - by_right), eo = pow2(chosen - over);
                        const real total = ed + (er + eo);
                        rest -= log_2(total);
#else
                        const real ed = by_down < best, er = by_right < over && !(by_down < best), total = 1;
#endif
#if GRAD
                        at[r * 32] = encode(ed, er, total, SOFT ? dither : (real)0);
#endif
                        real from_above = (chosen - by_down) + down[r] + rest;
                        real from_left = (chosen - by_right) + right + rest;
                        const real from_corner = (chosen - over) + over + rest;
                        if (col < low[r] || col > high[r]) {
                            from_above = WALL + (chosen - by_down);
                            from_left = WALL + (chosen - by_right);
                        }
                        if (row0 + r < m) {
                            const int until = row0 + r == m - 1 ? n - 1 : min(low[r + 1], high[r]);
                            if (col == low[r]) sum += straight[r] ? from_above : from_corner;
                            else if (col > low[r] && col <= until) sum += from_left;
                            if (!SQUARED && row0 + r == m - 1 && col == n - 1) sum += rule.last * here;
                        }
                        a = from_left;
                        b[r] = from_above;
                    }
                    below = a;
#pragma unroll
                    for (int c = 0; c < D; ++c) was[c] = xs[c];
                } else if (col > leave) {
                    below = WALL;
                }
                if (lane == 31 && strip < strips - 1 && col >= 0 && col < n) edge[col] = below;
            }
            __syncwarp();
        }
#pragma unroll
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(FULL, sum, offset);
        if (lane == 0) values[pair] = (real)(sum * unit);

#if GRAD
        // ------------------------------------------------------------------------------------------ backward
        const real weight = sum == 1.0 / 0.0 ? (real)0 : weights[pair];  // no alignment in the band, no gradient
        const real tiny = SOFT ? rule.gamma : (real)1e-30;
        for (int strip = all_strips - 1; strip >= 0; --strip) {
            const int row0 = (strip * 32 + lane) * H;
            real yr[H][D], from_right[H], across_from[H], curvature[H], came_down[H], slope[H][D];
            load_rows(prototype, row0, m, yr);
#pragma unroll
            for (int r = 0; r < H; ++r) {
                from_right[r] = row0 + r == m - 1 && !(rule.last > 0) ? weight : (real)0;
                across_from[r] = curvature[r] = came_down[r] = 0;
#pragma unroll
                for (int c = 0; c < D; ++c) slope[r][c] = 0;
            }
            const int enter = row0 < m ? band_low(row0, m, n, radius) : n;
            const int leave = band_high(min(row0 + H, m) - 1, m, n, radius);
            real up = 0, aslant = 0;  // what this thread's first row sends up, and up and left
            const Cell *at = table + strip * strip_cells + (i64)(n + 30) * 32 * H + lane;

            for (int s = n + 30; s >= 0 && strip < strips && weight != 0; --s, at -= 32 * H) {
                const int col = s - lane;
                real u = __shfl_down_sync(FULL, up, 1), leaving = __shfl_down_sync(FULL, aslant, 1);
                if (lane == 31) {
                    const bool there = strip < strips - 1 && col >= 0 && col < n;
                    u = there ? edge[col] : (real)0;
                    leaving = there ? edge[x_steps + col] : (real)0;
                }
                if (col >= enter && col <= leave) {
                    real xs[D];
                    load_step(series + (i64)col * D, xs);
#pragma unroll
                    for (int r = H - 1; r >= 0; --r) {
                        if (rule.last > 0 && row0 + r == m - 1 && col == n - 1) leaving = weight;
                        const real e = u + from_right[r] + leaving;
                        send(at[r * 32], e, u, from_right[r]);
                        const real over = (e - u) - from_right[r];
                        came_down[r] += u;
                        real flow, bend;
                        if (SQUARED) {
                            flow = bend = e * weight_at(row0 + r, col, longer, rule.steepness);
                        } else {
                            flow = (real)unit * fma(rule.across, over, rule.before * leaving);
                            const real inverse = reciprocal(maximum(plain_length(xs, yr[r]), tiny));
                            bend = flow * minimum(inverse, rule.bend);
                            flow *= inverse;
                        }
                        curvature[r] += bend;
#pragma unroll
                        for (int c = 0; c < D; ++c) slope[r][c] = fma(flow, yr[r][c] - xs[c], slope[r][c]);
                        leaving = across_from[r];
                        across_from[r] = over;
                    }
                    up = u;
                    aslant = leaving;
                } else {
                    up = 0;
                    aslant = across_from[0];
                    across_from[0] = 0;
                }
                if (lane == 0 && strip > 0 && col < n) {
                    edge[col] = up;
                    edge[x_steps + col] = aslant;
                }
            }
            __syncwarp();
#pragma unroll
            for (int r = 0; r < H; ++r) {
                if (row0 + r < y_steps) {
                    real *out = partial + (p * y_steps + row0 + r) * (D + 2);
                    out[0] = curvature[r];
                    out[1] = came_down[r];
#pragma unroll
                    for (int c = 0; c < D; ++c) out[2 + c] = slope[r][c];
                }
            }
        }
#endif
        __syncwarp();
    }
}
