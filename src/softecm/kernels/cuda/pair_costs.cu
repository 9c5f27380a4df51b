// Costs of pairs (x series, y prototype) of many channels, into the tables that the recursions read: the squared distance
// of every two steps, from differences, so that nothing cancels. One block a tile of a pair's table.
//
// Compile-time: REAL64 (0, 1), H (rows a thread of the recursion has: 1, 2; float32: 4).

#include "series.cuh"
#include "tiles.cuh"

#define ROW (DEPTH + EACH)  // numbers from one step to the next in shared memory: neighbours meet no bank twice

extern "C" __global__ void __launch_bounds__(THREADS, REAL64 ? 2 : 8)
pair_costs(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const real *__restrict__ y,
           const i64 *__restrict__ y_lengths, const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y,
           unsigned char *table_all, i64 f, i64 x_steps, i64 y_steps, i64 channels, i64 first_pair, i64 table_bytes,
           i64 radius) {
    __shared__ __align__(16) real xs[2][TILE][ROW], ys[2][TILE][ROW];
    const i64 pair = first_pair + blockIdx.x;
    const i64 which_x = pair_x ? pair_x[pair] : pair / f;
    const i64 which_y = pair_x ? pair_y[pair] : pair % f;
    const int n = (int)(x_lengths ? x_lengths[which_x] : x_steps);
    const int m = (int)(y_lengths ? y_lengths[which_y] : y_steps);
    const int row0 = (int)blockIdx.y * TILE, col0 = (int)blockIdx.z * TILE, d = (int)channels;
    if (row0 >= m || col0 >= n) return;
    if (radius >= 0 && (col0 > band_high(min(row0 + TILE, m) - 1, m, n, radius) ||
                        min(col0 + TILE, n) <= band_low(row0, m, n, radius)))
        return;
    const real *series = x + which_x * x_steps * d;
    const real *prototype = y + which_y * y_steps * d;
    const int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
    real cost[SIDE][SIDE];
#pragma unroll
    for (int r = 0; r < SIDE; ++r)
#pragma unroll
        for (int c = 0; c < SIDE; ++c) cost[r][c] = 0;

    const bool by_vectors = d % EACH == 0;
    auto fetch = [&](int first) {
        const int buffer = first / DEPTH & 1, many = by_vectors ? EACH : 1;
        const int channel = threadIdx.x * many % DEPTH, at = min(first + channel, d - many);
        const bool there = first + channel < d;
        for (int step = threadIdx.x * many / DEPTH; step < TILE; step += THREADS * many / DEPTH) {
            const real *from_x = series + (i64)min(col0 + step, n - 1) * d + at;
            const real *from_y = prototype + (i64)min(row0 + step, m - 1) * d + at;
            if (by_vectors) {
                copy_in<16>(&xs[buffer][step][channel], from_x, there);
                copy_in<16>(&ys[buffer][step][channel], from_y, there);
            } else {
                copy_in<REAL_BYTES>(&xs[buffer][step][channel], from_x, there);
                copy_in<REAL_BYTES>(&ys[buffer][step][channel], from_y, there);
            }
        }
        copy_commit();
    };
    fetch(0);
    for (int first = 0; first < d; first += DEPTH) {
        const int buffer = first / DEPTH & 1;
        __syncthreads();
        if (first + DEPTH < d) fetch(first + DEPTH);
        else copy_commit();
        copy_wait<1>();
        __syncthreads();
#pragma unroll 1
        for (int channel = 0; channel < DEPTH; channel += EACH) {
            Quarter a[SIDE];
#pragma unroll
            for (int r = 0; r < SIDE; ++r)
                a[r] = *reinterpret_cast<const Quarter *>(&ys[buffer][in_tile(down, r)][channel]);
#pragma unroll
            for (int c = 0; c < SIDE; ++c) {
                const Quarter b = *reinterpret_cast<const Quarter *>(&xs[buffer][across + c * ACROSS][channel]);
#pragma unroll
                for (int k = 0; k < EACH; ++k)
#pragma unroll
                    for (int r = 0; r < SIDE; ++r) {
                        const real difference = a[r].v[k] - b.v[k];
                        cost[r][c] = fma(difference, difference, cost[r][c]);
                    }
            }
        }
    }

    unsigned char *table = table_all + (i64)blockIdx.x * table_bytes;
    const i64 warp_bytes = (x_steps + 31) * STEP_BYTES;
#pragma unroll
    for (int c = 0; c < SIDE; ++c) {
        const int col = col0 + across + c * ACROSS;
        if (col >= n) continue;
#pragma unroll
        for (int r = 0; r < SIDE; r += H) {
            const int row = row0 + in_tile(down, r);
            if (row >= m) continue;
            Cell cells[H];
#pragma unroll
            for (int k = 0; k < H; ++k) cells[k] = from_real(cost[r + k][c]);
            store_cells(cells_of(table, warp_bytes, row, col), cells);
        }
    }
}
