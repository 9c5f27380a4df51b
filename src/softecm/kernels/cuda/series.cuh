// What the kernels of series share: numbers, a pair's table in global memory, steps of series, the band.
//
// Compile-time: REAL64 (0, 1), H (rows of a table in one thread: 1, 2 or a multiple of 4).

#if REAL64
typedef double real;
struct __align__(16) Cell { double up, left; };
#else
typedef float real;
typedef unsigned int Cell;
#endif

typedef long long i64;

#define FULL 0xffffffffu
#define CELL_BYTES (REAL64 ? 16 : 4)
#define PER_VEC (REAL64 ? 1 : H < 4 ? H : 4)  // cells in one access of a lane, 16 bytes where it can be
#define VECS (H / PER_VEC)
#define VEC_BYTES (PER_VEC * CELL_BYTES)
#define STEP_BYTES (32 * H * CELL_BYTES)  // of a warp's table

#if REAL64
__device__ __forceinline__ Cell from_real(real v) {
    Cell c;
    c.up = v;
    c.left = 0;
    return c;
}
__device__ __forceinline__ real to_real(const Cell &c) { return c.up; }
#else
__device__ __forceinline__ Cell from_real(real v) { return __float_as_uint(v); }
__device__ __forceinline__ real to_real(const Cell &c) { return __uint_as_float(c); }
#endif

// ------------------------------------------------------------------------------------------------------- memory

// The table of 32 * H rows (a warp's) is [step][vector][lane]: rows H * lane and on, column step - lane. `at` points to
// the lane's first vector of a step. Inline assembly, since the compiler otherwise splits wide accesses (25 % more time)
// and works out shared addresses anew at every access.
#if REAL64
#define ACCESS ".v2.f64"
#elif H == 1
#define ACCESS ".u32"
#elif H == 2
#define ACCESS ".v2.u32"
#else
#define ACCESS ".v4.u32"
#endif

#if REAL64
#define STORE(space, address, c) \
    asm volatile("st." space ACCESS " [%0], {%1, %2};" ::address, "d"((c)[0].up), "d"((c)[0].left) : "memory")
#define LOAD(space, address, c) \
    asm volatile("ld." space ACCESS " {%0, %1}, [%2];" : "=d"((c)[0].up), "=d"((c)[0].left) : address : "memory")
#elif H == 1
#define STORE(space, address, c) asm volatile("st." space ACCESS " [%0], %1;" ::address, "r"((c)[0]) : "memory")
#define LOAD(space, address, c) asm volatile("ld." space ACCESS " %0, [%1];" : "=r"((c)[0]) : address : "memory")
#elif H == 2
#define STORE(space, address, c) \
    asm volatile("st." space ACCESS " [%0], {%1, %2};" ::address, "r"((c)[0]), "r"((c)[1]) : "memory")
#define LOAD(space, address, c) \
    asm volatile("ld." space ACCESS " {%0, %1}, [%2];" : "=r"((c)[0]), "=r"((c)[1]) : address : "memory")
#else
#define STORE(space, address, c)                                                                                    \
    asm volatile("st." space ACCESS " [%0], {%1, %2, %3, %4};" ::address, "r"((c)[0]), "r"((c)[1]), "r"((c)[2]),    \
                 "r"((c)[3])                                                                                        \
                 : "memory")
#define LOAD(space, address, c)                                                                                     \
    asm volatile("ld." space ACCESS " {%0, %1, %2, %3}, [%4];"                                                      \
                 : "=r"((c)[0]), "=r"((c)[1]), "=r"((c)[2]), "=r"((c)[3])                                           \
                 : address                                                                                          \
                 : "memory")
#endif

__device__ __forceinline__ void store_cells(unsigned char *at, const Cell (&cells)[H]) {
#pragma unroll
    for (int v = 0; v < VECS; ++v) STORE("global", "l"(at + v * 32 * VEC_BYTES), cells + v * PER_VEC);
}
__device__ __forceinline__ void load_cells(const unsigned char *at, Cell (&cells)[H]) {
#pragma unroll
    for (int v = 0; v < VECS; ++v) LOAD("global", "l"(at + v * 32 * VEC_BYTES), cells + v * PER_VEC);
}
__device__ __forceinline__ void load_held(unsigned int at, Cell (&cells)[H]) {
#pragma unroll
    for (int v = 0; v < VECS; ++v) LOAD("shared", "r"(at + v * 32 * VEC_BYTES), cells + v * PER_VEC);
}
// From global to shared memory, in the background.
__device__ __forceinline__ void fetch_cells(unsigned int into, const unsigned char *at) {
#pragma unroll
    for (int v = 0; v < VECS; ++v) {
#if __CUDA_ARCH__ < 800
        Cell cells[PER_VEC];
        LOAD("global", "l"(at + v * 32 * VEC_BYTES), cells);
        STORE("shared", "r"(into + v * 32 * VEC_BYTES), cells);
#elif REAL64 || H >= 4
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(into + v * 32 * VEC_BYTES),
                     "l"(at + v * 32 * VEC_BYTES)
                     : "memory");
#else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(into), "l"(at), "n"(VEC_BYTES) : "memory");
#endif
    }
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

// Where the H rows that begin at `row` (a multiple of H) have their cells of a column; a warp's table has `warp_bytes`.
__device__ __forceinline__ unsigned char *cells_of(unsigned char *table, i64 warp_bytes, int row, int column) {
    const int lane = row / H % 32;
    return table + row / (32 * H) * warp_bytes + (i64)(column + lane) * STEP_BYTES + lane * VEC_BYTES;
}

#ifdef D
// The D channels of one step.
__device__ __forceinline__ void load_step(const real *__restrict__ at, real (&out)[D]) {
#pragma unroll
    for (int c = 0; c < D; ++c) out[c] = __ldg(at + c);
}
__device__ __forceinline__ void load_rows(const real *__restrict__ prototype, int row0, int m, real (&out)[H][D]) {
#pragma unroll
    for (int r = 0; r < H; ++r) load_step(prototype + (i64)min(row0 + r, m - 1) * D, out[r]);
}
__device__ __forceinline__ real squared_distance(const real (&x)[D], const real (&y)[D], real sum) {
#pragma unroll
    for (int c = 0; c < D; ++c) {
        const real difference = x[c] - y[c];
        sum = fma(difference, difference, sum);
    }
    return sum;
}
#endif

template <bool B> struct Flag { static const bool value = B; };

// --------------------------------------------------------------------------------------------------------- band

// Columns [low, high] of row i in the band |i (n - 1) - j (m - 1)| <= r (max(n, m) - 1); m rows, n columns.
__device__ __forceinline__ int band_low(i64 i, i64 m, i64 n, i64 r) {
    const i64 at = i * (n - 1) - r * (max(n, m) - 1);
    return at <= 0 || m == 1 ? 0 : (int)((at + m - 2) / (m - 1));
}
__device__ __forceinline__ int band_high(i64 i, i64 m, i64 n, i64 r) {
    const i64 at = i * (n - 1) + r * (max(n, m) - 1);
    return m == 1 ? (int)n - 1 : (int)min(at / (m - 1), n - 1);
}
