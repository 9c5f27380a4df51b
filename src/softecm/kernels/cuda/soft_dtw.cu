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
// wrote itself. E of a cell is what the cells after it send back.
//
// Compile-time: REAL64 (0, 1), H, D (channels in registers), MORE (1: d > D, costs and E go through the table in
// groups of D channels), GRAD (0, 1), BAND (0, 1), STAGES (blocks of STEPS steps held in shared memory while the
// backward pass runs, power of two; 0: none), UNROLL (steps), MAXT (threads a block at most).

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
#define LAG 40   // steps a warp is behind the one above it: 31 lanes + STEPS, up to a multiple of STEPS
#define RING 32  // columns a ring holds

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
// The shares of e that go up and left.
__device__ __forceinline__ void send(const Cell &c, real e, real &up, real &left) {
    up = c.up * e;
    left = c.left * e;
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
// (2^23 + n) * unit - 2^23 * unit is n * unit, rounded once.
__device__ __forceinline__ void send(const Cell &c, real e, real &up, real &left) {
    const real unit = e * (1.0f / 65535.0f), offset = e * (-8388608.0f / 65535.0f);
    up = __fmaf_rn(__uint_as_float(__byte_perm(c, 0x4b000000u, 0x7610)), unit, offset);
    left = __fmaf_rn(__uint_as_float(__byte_perm(c, 0x4b000000u, 0x7632)), unit, offset);
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
// The same from global to shared memory, in the background.
__device__ __forceinline__ void fetch_cells(Cell *buffer, int slot, const Cell *table, int step, int lane) {
#pragma unroll
    for (int v = 0; v < VECS; ++v)
        copy_async((unsigned int)__cvta_generic_to_shared(buffer + ((slot * VECS + v) * 32 + lane) * PER_VEC),
                   table + ((step * VECS + v) * 32 + lane) * PER_VEC);
}

// D channels of one step, from channel `first` on.
__device__ __forceinline__ void load_step(const real *__restrict__ at, int d, int first, real (&out)[D]) {
#pragma unroll
    for (int c = 0; c < D; ++c) out[c] = !MORE || first + c < d ? __ldg(at + c) : (real)0;
}
__device__ __forceinline__ void load_rows(const real *__restrict__ prototype, int row0, int m, int d, int first,
                                          real (&out)[H][D]) {
#pragma unroll
    for (int r = 0; r < H; ++r) load_step(prototype + (i64)min(row0 + r, m - 1) * d + first, d, first, out[r]);
}
__device__ __forceinline__ real squared_distance(const real (&x)[D], const real (&y)[D], real sum) {
#pragma unroll
    for (int c = 0; c < D; ++c) {
        const real difference = x[c] - y[c];
        sum = fma(difference, difference, sum);
    }
    return sum;
}

template <bool B> struct Flag { static const bool value = B; };

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
    const int buffer_cells = GRAD ? STAGES * STEPS * H * 32 : 0;
    Cell *buffer = reinterpret_cast<Cell *>(shared) + warp * buffer_cells;
    real *above_ring = reinterpret_cast<real *>(reinterpret_cast<Cell *>(shared) + warps * buffer_cells) + warp * RING;
    real *below_ring = above_ring + RING;
    double *sums = reinterpret_cast<double *>(above_ring - warp * RING + (warps + 1) * RING);
    real *edge = edge_all + (i64)blockIdx.x * x_steps;
    const i64 warp_cells = (x_steps + 31) * (H * 32);

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
        double sum = 0;

#if MORE
        // Costs of all channels but the last group, into the table; every thread its own cells.
        for (int strip = 0; strip < strips; ++strip) {
            const int row0 = strip * strip_rows + (int)threadIdx.x * H;
            Cell *table = table_pair + ((i64)strip * warps + warp) * warp_cells;
            if (row0 - lane * H >= m) break;
            for (int first = 0; first < last_group; first += D) {
                real yr[H][D];
                load_rows(prototype, row0, m, d, first, yr);
                for (int col = 0; col < n; ++col) {
                    real xs[D];
                    Cell cells[H];
                    load_step(series + (i64)col * d + first, d, first, xs);
                    if (first) load_cells(table, col + lane, lane, cells);
#pragma unroll
                    for (int r = 0; r < H; ++r)
                        cells[r] = from_real(squared_distance(xs, yr[r], first ? to_real(cells[r]) : (real)0));
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
            const bool hands_down = warp == warps - 1 && strip < strips - 1;
            Cell *table = table_pair + ((i64)strip * warps + warp) * warp_cells;
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

            auto advance = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;
                constexpr int unroll = all ? UNROLL : 1;
                const real *xp = series + (i64)(s0 - lane) * d + last_group;
                const real *in = above_ring + (s0 & (RING - 1));
                real next[D];
                if (all || (s0 - lane >= enter && s0 - lane <= leave)) load_step(xp, d, last_group, next);
#pragma unroll unroll
                for (int k = 0; k < STEPS; ++k) {
                    const int col = s0 + k - lane;
                    real xs[D];
#pragma unroll
                    for (int c = 0; c < D; ++c) xs[c] = next[c];
                    if (k < STEPS - 1 && (all || (col + 1 >= enter && col + 1 <= leave)))
                        load_step(xp + (k + 1) * d, d, last_group, next);
                    real a = __shfl_up_sync(FULL, below, 1);
                    const real border = in[k];
                    a = lane == 0 ? border : a;
                    if (all || (col >= enter && col <= leave)) {
                        Cell cells[H];
#if MORE
                        load_cells(table, s0 + k, lane, cells);
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
                            cells[r] = encode(ea, eb, total);
#endif
                            a = t + to_b;
                            b[r] = t + to_a;
                        }
                        below = a;
#if GRAD
                        store_cells(table, s0 + k, lane, cells);
#endif
                    } else if (BAND && col > leave) {
                        below = WALL;
                    }
                    if (lane == 31) below_ring[(s0 + k + 1) & (RING - 1)] = below;  // column s0 + k - 31
                }
            };

            const int length = n + 31 + (active_warps - 1) * LAG;
            for (int s_block = 0; s_block < length; s_block += STEPS) {
                __syncthreads();
                const int s0 = s_block - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
                if (warp == 0) {
                    const int col = s0 + lane;
                    if (lane < STEPS)
                        above_ring[col & (RING - 1)] =
                            strip == 0 ? (col == 0 ? WALL : (real)0) : (col < n ? edge[col] : (real)0);
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
                    if (lane < STEPS && col >= 0 && col < n) edge[col] = below_ring[col & (RING - 1)];
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

            auto inside = [&](int s0) {  // every lane has work in every step of the block
                return BAND ? __all_sync(FULL, s0 - lane >= enter && s0 + STEPS - 1 - lane <= leave)
                            : s0 >= 31 && s0 + STEPS <= n;
            };
            auto fetch = [&](int s0) {
#if STAGES
                Cell *into = buffer + (s0 / STEPS & (STAGES - 1)) * (STEPS * H * 32);
                if (s0 >= 0) {
                    if (inside(s0)) {
#pragma unroll
                        for (int k = 0; k < STEPS; ++k) fetch_cells(into, k, table, s0 + k, lane);
                    } else {
#pragma unroll 1
                        for (int k = 0; k < STEPS; ++k)
                            if (s0 + k - lane >= enter && s0 + k - lane <= leave)
                                fetch_cells(into, k, table, s0 + k, lane);
                    }
                }
                copy_commit();
#endif
            };
            auto retreat = [&](auto whole, int s0) {
                constexpr bool all = decltype(whole)::value;
                constexpr int unroll = all ? UNROLL : 1;
                const Cell *held = buffer + (s0 / STEPS & (STAGES - 1)) * (STEPS * H * 32);
                const real *xp = series + (i64)(s0 - lane) * d + last_group;
                real *out = above_ring + (s0 & (RING - 1));
                real next[D];
                if (all || (s0 + STEPS - 1 - lane >= enter && s0 + STEPS - 1 - lane <= leave))
                    load_step(xp + (STEPS - 1) * d, d, last_group, next);
#pragma unroll unroll
                for (int k = STEPS - 1; k >= 0; --k) {
                    const int col = s0 + k - lane;
                    real xs[D];
#pragma unroll
                    for (int c = 0; c < D; ++c) xs[c] = next[c];
                    if (k > 0 && (all || (col - 1 >= enter && col - 1 <= leave)))
                        load_step(xp + (k - 1) * d, d, last_group, next);
                    real u = __shfl_down_sync(FULL, above, 1);
                    const real border = below_ring[(s0 + k + 1) & (RING - 1)];  // column s0 + k - 31
                    u = lane == 31 ? border : u;
                    if (all || (col >= enter && col <= leave)) {
                        Cell cells[H];
                        if (STAGES) load_cells(held, k, lane, cells);
                        else load_cells(table, s0 + k, lane, cells);
#pragma unroll
                        for (int r = H - 1; r >= 0; --r) {
                            real up, left;
                            const real e = u + from_right[r];
                            send(cells[r], e, up, left);
                            u = up + from_diagonal[r];
                            from_right[r] = left;
                            from_diagonal[r] = (e - up) - left;
                            mass[r] += e;
#pragma unroll
                            for (int c = 0; c < D; ++c) moment[r][c] = fma(e, xs[c], moment[r][c]);
#if MORE
                            cells[r] = from_real(e);
#endif
                        }
                        above = u;
#if MORE
                        store_cells(table, s0 + k, lane, cells);
#endif
                    } else if (BAND) {
                        above = from_diagonal[0];
                        from_diagonal[0] = 0;
                    }
                    if (lane == 0) out[k] = above;
                }
            };

            const int top = (n + 31 + STEPS - 1) / STEPS * STEPS - STEPS;  // this warp's first block of steps
            if (warp < active_warps) {
#pragma unroll
                for (int k = 0; k < STAGES - 1; ++k) fetch(top - k * STEPS);
            }
            const int length = active_warps > 0 ? n + 31 + (active_warps - 1) * LAG : 0;
            for (int s_block = (length + STEPS - 1) / STEPS * STEPS - STEPS; s_block >= 0; s_block -= STEPS) {
                __syncthreads();
                const int s0 = s_block - warp * LAG;
                if (warp >= active_warps || s0 < 0 || s0 >= n + 31) continue;
                if (warp == active_warps - 1) {
                    const int col = s0 - 31 + lane;
                    if (lane < STEPS)
                        below_ring[col & (RING - 1)] = strip < strips - 1 && col >= 0 && col < n ? edge[col] : (real)0;
                    __syncwarp();
                }
                fetch(s0 - (STAGES - 1) * STEPS);
                copy_wait<(STAGES > 0 ? STAGES - 1 : 0)>();
                if (inside(s0)) retreat(Flag<true>(), s0);
                else retreat(Flag<false>(), s0);
                if (warp == 0 && strip > 0) {
                    __syncwarp();
                    const int col = s0 + lane;
                    if (lane < STEPS && col < n) edge[col] = above_ring[col & (RING - 1)];
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
                        load_cells(table, col + lane, lane, cells);
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
