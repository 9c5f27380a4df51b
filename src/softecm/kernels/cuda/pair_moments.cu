// Moments of pairs of many channels: for each step t of the prototype the sum over the series' steps s of E[t][s] x[s],
// with E read from the tables that the backward pass left. One block a tile of a pair's sums (steps by channels).
//
// Compile-time: REAL64 (0, 1), H (rows a thread of the recursion has: 1, 2; float32: 4).

#include "series.cuh"
#include "tiles.cuh"

#define ROW (TILE + 32 / REAL_BYTES)  // numbers from one step to the next in shared memory

extern "C" __global__ void __launch_bounds__(THREADS, REAL64 ? 2 : 8)
pair_moments(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const i64 *__restrict__ y_lengths,
             const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y, const real *__restrict__ weights,
             const real *__restrict__ values, real *__restrict__ partial, unsigned char *table_all, i64 f, i64 x_steps,
             i64 y_steps, i64 channels, i64 first_pair, i64 table_bytes, i64 radius) {
    __shared__ __align__(16) real es[2][DEPTH][ROW], xs[2][DEPTH][ROW];
    const i64 pair = first_pair + blockIdx.x;
    const i64 which_x = pair_x ? pair_x[pair] : pair / f;
    const i64 which_y = pair_x ? pair_y[pair] : pair % f;
    const int n = (int)(x_lengths ? x_lengths[which_x] : x_steps);
    const int m = (int)(y_lengths ? y_lengths[which_y] : y_steps);
    const int row0 = (int)blockIdx.y * TILE, channel0 = (int)blockIdx.z * TILE, d = (int)channels;
    const real *series = x + which_x * x_steps * d;
    const int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
    unsigned char *table = table_all + (i64)blockIdx.x * table_bytes;
    const i64 warp_bytes = (x_steps + 31) * STEP_BYTES;
    int from = 0, to = n;
    if (row0 >= m || weights[pair] == 0 || values[pair] == (real)(1.0 / 0.0)) to = 0;  // nothing was sent back
    else if (radius >= 0) {
        from = band_low(row0, m, n, radius);
        to = band_high(min(row0 + TILE, m) - 1, m, n, radius) + 1;
    }
    real sum[SIDE][SIDE];
#pragma unroll
    for (int r = 0; r < SIDE; ++r)
#pragma unroll
        for (int c = 0; c < SIDE; ++c) sum[r][c] = 0;

    const bool by_vectors = d % EACH == 0;
    auto fetch = [&](int first, int buffer) {
        for (int k = threadIdx.x; k < TILE / H * DEPTH; k += THREADS) {
            // Neighbouring threads take neighbouring rows of one step of the table, that is of one column less each.
            const int row = row0 + k % (TILE / H) * H, step = (k / (TILE / H) - k % (TILE / H)) & (DEPTH - 1);
            const int col = first + step;
            bool there = col < to && row < m;
            if (there && radius >= 0)
                there = col >= band_low(row, m, n, radius) && col <= band_high(min(row + H, m) - 1, m, n, radius);
            const unsigned char *at = cells_of(table, warp_bytes, there ? row : row0, there ? col : from);
#pragma unroll
            for (int r = 0; r < (REAL64 ? H : 1); ++r)  // of a wide cell the first half
                copy_in<REAL64 ? 8 : VEC_BYTES>(&es[buffer][step][row - row0 + r], at + r * 32 * VEC_BYTES, there);
        }
        const int many = by_vectors ? EACH : 1, channel = threadIdx.x * many % TILE;
        for (int step = threadIdx.x * many / TILE; step < DEPTH; step += THREADS * many / TILE) {
            const bool there = first + step < to && channel0 + channel < d;
            const real *at = there ? series + (i64)(first + step) * d + channel0 + channel : x;
            if (by_vectors) copy_in<16>(&xs[buffer][step][channel], at, there);
            else copy_in<REAL_BYTES>(&xs[buffer][step][channel], at, there);
        }
        copy_commit();
    };
    int buffer = 0;
    fetch(from, 0);
    for (int first = from; first < to; first += DEPTH, buffer ^= 1) {
        __syncthreads();
        if (first + DEPTH < to) fetch(first + DEPTH, buffer ^ 1);
        else copy_commit();
        copy_wait<1>();
        __syncthreads();
#pragma unroll 4
        for (int step = 0; step < DEPTH; ++step) {
            real a[SIDE], b[SIDE];
            load_side(es[buffer][step], down, a);
            load_side(xs[buffer][step], across, b);
#pragma unroll
            for (int r = 0; r < SIDE; ++r)
#pragma unroll
                for (int c = 0; c < SIDE; ++c) sum[r][c] = fma(a[r], b[c], sum[r][c]);
        }
    }

#pragma unroll
    for (int r = 0; r < SIDE; ++r) {
        const int row = row0 + in_tile(down, r);
        if (row >= y_steps) continue;
        real *out = partial + ((i64)blockIdx.x * y_steps + row) * (d + 1) + 1;
#pragma unroll
        for (int c = 0; c < SIDE; ++c) {
            const int channel = channel0 + in_tile(across, c);
            if (channel < d) out[channel] = sum[r][c];
        }
    }
}
