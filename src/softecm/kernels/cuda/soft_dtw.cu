// Soft-DTW: value and prototype gradient of many pairs (x series, y prototype).
//
// The table of a pair has the prototype's steps as rows and the series' steps as columns. A thread keeps H
// consecutive rows in registers, a block of NW warps keeps 32*NW*H of them (a strip; longer prototypes take
// several strips, one after the other). In step s, lane l of a warp is at column s - l: the wavefront is handed
// from lane to lane by shuffles, from warp to warp through a small ring in shared memory (one barrier every STEPS
// steps), from strip to strip through one row in global memory.
//
// Forward. Not R itself but its differences are kept, in units of gamma * ln 2 (so that exp and log are ex2, lg2):
//   a = R[i-1][j] - R[i-1][j-1],  b = R[i][j-1] - R[i-1][j-1]
//   m = min(0, a, b),  S = 2^(m-a) + 2^(m-b) + 2^m,  t = cost - log2 S
//   R[i][j] - R[i][j-1] = t + (m - b),  R[i][j] - R[i-1][j] = t + (m - a)
// The size of R never eats the mantissa, nothing over- or underflows, whatever gamma is. "Outside" is a wall of
// height WALL: a cell beside it takes weight exactly 0 from it.
//
// Backward. Every cell stores the probabilities of coming from above and from the left (float32: 16 bits each, the
// diagonal's is what is left of 1), as [step][row][lane], so both passes are coalesced. A thread reads only what it
// wrote itself. E of a cell is what the cells after it send back.
//
// Compile-time: REAL64 (0, 1), H, D (channels in registers), MORE (1: d > D, costs and E go through the table in
// groups of D channels), GRAD (0, 1), BAND (0, 1), DEPTH (steps fetched ahead, power of two), MAXT (threads a block).

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
#define STEPS 8   // steps between two barriers
#define LAG 40    // steps a warp is behind the one above it: 31 lanes + STEPS + 1
#define RING 32

static const int UNROLL_STEPS = UNROLL;
static const int CELL_BYTES = sizeof(Cell);
static const int PER_VEC = (H * CELL_BYTES >= 16) ? 16 / CELL_BYTES : H;  // cells in one access of a lane
static const int VECS = H / PER_VEC;
static const int VEC_BYTES = PER_VEC * CELL_BYTES;

template <int BYTES> struct VecOf;
template <> struct VecOf<4> { typedef unsigned int type; };
template <> struct VecOf<8> { typedef uint2 type; };
template <> struct VecOf<16> { typedef uint4 type; };
typedef VecOf<VEC_BYTES>::type Vec;

union Pack {
    Vec vec;
    Cell cell[PER_VEC];
    __device__ Pack() {}
};

// ---------------------------------------------------------------------------------------------------- arithmetic

#if REAL64
__device__ __forceinline__ real pow2(real v) { return exp2(v); }
__device__ __forceinline__ real log_2(real v) { return log2(v); }
__device__ __forceinline__ real minimum(real a, real b) { return fmin(a, b); }
__device__ __forceinline__ Cell encode(real up, real left, real total) {
    Cell c;
    c.up = up / total;
    c.left = left / total;
    return c;
}
__device__ __forceinline__ void decode(const Cell &c, real &up, real &left) {
    up = c.up;
    left = c.left;
}
__device__ __forceinline__ Cell from_real(real v) {
    Cell c;
    c.up = v;
    c.left = 0;
    return c;
}
__device__ __forceinline__ real to_real(const Cell &c) { return c.up; }
#else
__device__ __forceinline__ real pow2(real v) {
    real out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(v));
    return out;
}
__device__ __forceinline__ real log_2(real v) {
    real out;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(v));
    return out;
}
__device__ __forceinline__ real minimum(real a, real b) { return fminf(a, b); }
// Two probabilities in 16 bits each. Adding 2^23 leaves the rounded integer in the low bits of a float.
__device__ __forceinline__ Cell encode(real up, real left, real total) {
    real inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(total));
    inverse *= 65535.0f;
    unsigned int u = __float_as_uint(__fmaf_rn(up, inverse, 8388608.0f));
    unsigned int l = __float_as_uint(__fmaf_rn(left, inverse, 8388608.0f));
    return __byte_perm(u, l, 0x5410);
}
__device__ __forceinline__ void decode(const Cell &c, real &up, real &left) {
    up = (__uint_as_float(__byte_perm(c, 0x4b000000u, 0x7610)) - 8388608.0f) * (1.0f / 65535.0f);
    left = (__uint_as_float(__byte_perm(c, 0x4b000000u, 0x7632)) - 8388608.0f) * (1.0f / 65535.0f);
}
__device__ __forceinline__ Cell from_real(real v) { return __float_as_uint(v); }
__device__ __forceinline__ real to_real(const Cell &c) { return __uint_as_float(c); }
#endif

// ------------------------------------------------------------------------------------------------------- memory

__device__ __forceinline__ void copy_async(unsigned int shared, const void *global) {
#if __CUDA_ARCH__ >= 800
#if REAL64 || H >= 4
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(VEC_BYTES) : "memory");
#endif
#else
    *reinterpret_cast<Vec *>(__cvta_shared_to_generic(shared)) = *reinterpret_cast<const Vec *>(global);
#endif
}
__device__ __forceinline__ void copy_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int PENDING> __device__ __forceinline__ void copy_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// A lane's H cells of one step.
__device__ __forceinline__ void store_cells(Cell *table, int step, int lane, const Cell (&cells)[H]) {
#pragma unroll
    for (int v = 0; v < VECS; ++v) {
        Pack pack;
#pragma unroll
        for (int k = 0; k < PER_VEC; ++k) pack.cell[k] = cells[v * PER_VEC + k];
        *reinterpret_cast<Vec *>(table + ((step * VECS + v) * 32 + lane) * PER_VEC) = pack.vec;
    }
}
__device__ __forceinline__ void load_cells(const Cell *table, int step, int lane, Cell (&cells)[H]) {
#pragma unroll
    for (int v = 0; v < VECS; ++v) {
        Pack pack;
        pack.vec = *reinterpret_cast<const Vec *>(table + ((step * VECS + v) * 32 + lane) * PER_VEC);
#pragma unroll
        for (int k = 0; k < PER_VEC; ++k) cells[v * PER_VEC + k] = pack.cell[k];
    }
}
__device__ __forceinline__ void fetch_cells(Cell *buffer, const Cell *table, int step, int lane) {
#pragma unroll
    for (int v = 0; v < VECS; ++v)
        copy_async((unsigned int)__cvta_generic_to_shared(
                       buffer + (((step & (DEPTH - 1)) * VECS + v) * 32 + lane) * PER_VEC),
                   table + ((step * VECS + v) * 32 + lane) * PER_VEC);
}

// D channels of one step, from channel `first` on; a step outside the series reads the nearest one inside.
__device__ __forceinline__ void load_step(const real *__restrict__ series, int step, int length, int d, int first,
                                          real (&out)[D]) {
    int inside = step < 0 ? 0 : (step >= length ? length - 1 : step);
    const real *at = series + (i64)inside * d + first;
#pragma unroll
    for (int c = 0; c < D; ++c) {
#if MORE
        out[c] = first + c < d ? __ldg(at + c) : (real)0;
#else
        out[c] = __ldg(at + c);
#endif
    }
}

// --------------------------------------------------------------------------------------------------------- band

#if BAND
// Columns [low, high] of row i in the band |i (n - 1) - j (m - 1)| <= r (max(n, m) - 1); m rows, n columns.
__device__ __forceinline__ int band_low(i64 i, i64 m, i64 n, i64 r) {
    const i64 at = i * (n - 1) - r * (max(n, m) - 1);
    return at <= 0 || m == 1 ? 0 : (int)((at + m - 2) / (m - 1));
}
__device__ __forceinline__ int band_high(i64 i, i64 m, i64 n, i64 r) {
    const i64 at = i * (n - 1) + r * (max(n, m) - 1);
    return m == 1 ? (int)n - 1 : (int)min(at / (m - 1), n - 1);
}
#endif

// ------------------------------------------------------------------------------------------------------- kernel

extern "C" __global__ void __launch_bounds__(MAXT)
soft_dtw(const real *__restrict__ x, const i64 *__restrict__ x_lengths, const real *__restrict__ y,
         const i64 *__restrict__ y_lengths, const i64 *__restrict__ pair_x, const i64 *__restrict__ pair_y,
         const real *__restrict__ weights, real *__restrict__ values, real *__restrict__ partial, Cell *table_all,
         real *edge_all, i64 f, i64 x_steps, i64 y_steps, i64 channels, i64 first_pair, i64 pairs, i64 table_cells,
         i64 radius, double scale_, double unit) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int warps = blockDim.x >> 5, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int strip_rows = (int)blockDim.x * H;
    const int d = MORE ? (int)channels : D;
    const int last_group = MORE ? (d - 1) / D * D : 0;  // the channels the main passes handle start here
    const real scale = (real)scale_;
    Cell *buffer = reinterpret_cast<Cell *>(shared) + warp * (DEPTH * H * 32);
    real *ring = reinterpret_cast<real *>(shared + (GRAD ? (size_t)warps * DEPTH * H * 32 * CELL_BYTES : 0));
    double *sums = reinterpret_cast<double *>(ring + warps * RING);
    real *edge = edge_all + (i64)blockIdx.x * x_steps;

    for (i64 p = blockIdx.x; p < pairs; p += gridDim.x) {
        const i64 pair = first_pair + p;
        const i64 which_x = pair_x ? pair_x[pair] : pair / f;
        const i64 which_y = pair_x ? pair_y[pair] : pair % f;
        const int n = (int)(x_lengths ? x_lengths[which_x] : x_steps);
        const int m = (int)(y_lengths ? y_lengths[which_y] : y_steps);
        const real *series = x + which_x * x_steps * d;
        const real *prototype = y + which_y * y_steps * d;
        const int strips = (m + strip_rows - 1) / strip_rows;
        Cell *table_pair = table_all + (i64)blockIdx.x * table_cells;
        const i64 warp_cells = (x_steps + 31) * (H * 32);
        double sum = 0;

#if MORE
        // Costs of all channels but the last group, into the table; every thread its own cells.
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            Cell *table = table_pair + ((i64)strip * warps + warp) * warp_cells;
            if (row0 - lane * H >= m) break;
            for (int first = 0; first < last_group; first += D) {
                real yr[H][D];
#pragma unroll
                for (int r = 0; r < H; ++r) load_step(prototype, row0 + r, m, d, first, yr[r]);
                for (int col = 0; col < n; ++col) {
                    real xs[D];
                    Cell cells[H];
                    load_step(series, col, n, d, first, xs);
                    if (first) load_cells(table, col + lane, lane, cells);
#pragma unroll
                    for (int r = 0; r < H; ++r) {
                        real cost = first ? to_real(cells[r]) : (real)0;
#pragma unroll
                        for (int c = 0; c < D; ++c) cost = fma(xs[c] - yr[r][c], xs[c] - yr[r][c], cost);
                        cells[r] = from_real(cost);
                    }
                    store_cells(table, col + lane, lane, cells);
                }
            }
        }
#endif

        // ------------------------------------------------------------------------------------------- forward
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            const int rows_left = m - strip * strip_rows;
            const int active_warps = min(warps, (rows_left + 32 * H - 1) / (32 * H));
            const bool is_last = strip == strips - 1;
            Cell *table = table_pair + ((i64)strip * warps + warp) * warp_cells;
            real yr[H][D], b[H];
#pragma unroll
            for (int r = 0; r < H; ++r) {
                load_step(prototype, row0 + r, m, d, last_group, yr[r]);
                b[r] = BAND || row0 + r == 0 ? WALL : (real)0;
            }
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
            real xs[D], next[D];
            load_step(series, -lane, n, d, last_group, next);
            const int total = n + 31 + (active_warps - 1) * LAG;
            for (int s_block = 0; s_block < total; s_block += STEPS) {
                __syncthreads();
                const int s0 = s_block - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
                real part = 0;
#pragma unroll UNROLL_STEPS
                for (int k = 0; k < STEPS; ++k) {
                    const int s = s0 + k, col = s - lane;
#pragma unroll
                    for (int c = 0; c < D; ++c) xs[c] = next[c];
                    load_step(series, col + 1, n, d, last_group, next);
                    real a = __shfl_up_sync(FULL, below, 1);
                    if (lane == 0) {
                        if (warp > 0) a = ring[(warp - 1) * RING + (s & (RING - 1))];
                        else if (strip > 0) a = s < n ? edge[s] : (real)0;
                        else a = s == 0 ? WALL : (real)0;
                    }
                    if (col >= enter && col <= leave) {
                        Cell cells[H];
#if MORE
                        load_cells(table, s, lane, cells);
#endif
#pragma unroll
                        for (int r = 0; r < H; ++r) {
                            real cost = MORE ? to_real(cells[r]) : (real)0;
#pragma unroll
                            for (int c = 0; c < D; ++c) cost = fma(xs[c] - yr[r][c], xs[c] - yr[r][c], cost);
                            const real m0 = minimum(minimum(b[r], (real)0), a);
                            const real to_a = m0 - a, to_b = m0 - b[r];
                            const real ea = pow2(to_a), eb = pow2(to_b), ed = pow2(m0);
                            const real total_weight = ea + (eb + ed);
                            real t = fma(cost, scale, -log_2(total_weight));
#if BAND
                            const int j = col;
                            if (j < low[r] || j > high[r]) t = WALL;
                            const int until = row0 + r == m - 1 ? n - 1 : min(low[r + 1], high[r]);
                            if (row0 + r < m) {
                                if (j == low[r]) part += straight[r] ? t + to_a : t + m0;
                                else if (j > low[r] && j <= until) part += t + to_b;
                            }
#else
                            if (r == 0) part += t;  // counts in row 0 only, where t is the cost
#endif
#if GRAD
                            cells[r] = encode(ea, eb, total_weight);
#endif
                            a = t + to_b;
                            b[r] = t + to_a;
                        }
                        below = a;
#if GRAD
                        store_cells(table, s, lane, cells);
#endif
                    } else if (BAND && col > leave) {
                        below = WALL;
                    }
                    if (lane == 31 && col >= 0 && col < n) {
                        if (warp < active_warps - 1) ring[warp * RING + (col & (RING - 1))] = below;
                        else if (!is_last) edge[col] = below;
                    }
                }
                if (BAND || row0 == 0) sum += (double)part;
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
            const bool is_last = strip == strips - 1;
            Cell *table = table_pair + ((i64)strip * warps + warp) * warp_cells;
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
            const int blocks = active_warps > 0 ? (n + 31 + (active_warps - 1) * LAG + STEPS - 1) / STEPS : 0;
            const int top = (n + 31 + STEPS - 1) / STEPS * STEPS - 1;  // the first step of this warp
            real xs[D], next[D];
            if (warp < active_warps) {
                load_step(series, top - lane, n, d, last_group, next);
#pragma unroll
                for (int k = 0; k < DEPTH - 1; ++k) {
                    const int s = top - k, col = s - lane;
                    if (col >= enter && col <= leave) fetch_cells(buffer, table, s, lane);
                    copy_commit();
                }
            }
            for (int block = blocks - 1; block >= 0; --block) {
                __syncthreads();
                const int s0 = block * STEPS - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
#pragma unroll UNROLL_STEPS
                for (int k = STEPS - 1; k >= 0; --k) {
                    const int s = s0 + k, col = s - lane;
                    {
                        const int ahead = s - (DEPTH - 1), at = ahead - lane;
                        if (at >= enter && at <= leave) fetch_cells(buffer, table, ahead, lane);
                        copy_commit();
                    }
#pragma unroll
                    for (int c = 0; c < D; ++c) xs[c] = next[c];
                    load_step(series, col - 1, n, d, last_group, next);
                    real u = __shfl_down_sync(FULL, above, 1);
                    if (lane == 31) {
                        if (warp < active_warps - 1) u = ring[warp * RING + (col & (RING - 1))];
                        else if (!is_last) u = col >= 0 && col < n ? edge[col] : (real)0;
                        else u = 0;
                    }
                    copy_wait<DEPTH - 1>();
                    if (col >= enter && col <= leave) {
                        Cell cells[H];
                        load_cells(buffer, s & (DEPTH - 1), lane, cells);
#pragma unroll
                        for (int r = H - 1; r >= 0; --r) {
                            real up, left;
                            decode(cells[r], up, left);
                            const real diagonal = ((real)1 - up) - left;
                            const real e = u + from_right[r];
                            u = fma(up, e, from_diagonal[r]);
                            from_right[r] = left * e;
                            from_diagonal[r] = diagonal * e;
                            mass[r] += e;
#pragma unroll
                            for (int c = 0; c < D; ++c) moment[r][c] = fma(e, xs[c], moment[r][c]);
#if MORE
                            cells[r] = from_real(e);
#endif
                        }
                        above = u;
#if MORE
                        store_cells(table, s, lane, cells);
#endif
                    } else if (BAND) {
                        above = from_diagonal[0];
                        from_diagonal[0] = 0;
                    }
                    if (lane == 0 && col >= 0 && col < n) {
                        if (warp > 0) ring[(warp - 1) * RING + (col & (RING - 1))] = above;
                        else if (strip > 0) edge[col] = above;
                    }
                }
            }
            copy_wait<0>();
#pragma unroll
            for (int r = 0; r < H; ++r) {
                if (row0 + r >= y_steps) break;
                real *out = partial + (p * y_steps + row0 + r) * (d + 1);
                out[0] = mass[r];
#pragma unroll
                for (int c = 0; c < D; ++c)
                    if (!MORE || last_group + c < d) out[1 + last_group + c] = moment[r][c];
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
                        load_cells(table, col + lane, lane, cells);
                        load_step(series, col, n, d, first, xs);
#pragma unroll
                        for (int r = 0; r < H; ++r)
#pragma unroll
                            for (int c = 0; c < D; ++c)
                                moment[r][c] = fma(to_real(cells[r]), xs[c], moment[r][c]);
                    }
                }
#pragma unroll
                for (int r = 0; r < H; ++r) {
                    if (row0 + r >= y_steps) break;
                    real *out = partial + (p * y_steps + row0 + r) * (d + 1);
#pragma unroll
                    for (int c = 0; c < D; ++c) out[1 + first + c] = moment[r][c];
                }
            }
#endif
        }
#endif
        __syncthreads();
    }
}
