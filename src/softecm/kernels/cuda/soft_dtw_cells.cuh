// ---------------------------------------------------------------------------------------------------- arithmetic

#if REAL64
__device__ __forceinline__ real pow2(real v) { return exp2(v); }
__device__ __forceinline__ real log_2(real v) { return log2(v); }
__device__ __forceinline__ real minimum(real a, real b) { return fmin(a, b); }
__device__ __forceinline__ Cell encode(real up, real left, real total, real) {
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
// Two probabilities in 16 bits each. Adding 1.5 * 2^23 leaves the rounded integer in the low bits of a float, also
// where the dither makes the sum slightly negative; the dither stays under 1/2, so that 1 is never rounded up.
__device__ __forceinline__ Cell encode(real up, real left, real total, real dither) {
    real inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(total));
    inverse *= 65535.0f;
    unsigned int u = __float_as_uint(__fmaf_rn(up, inverse, dither) + 12582912.0f);
    unsigned int l = __float_as_uint(__fmaf_rn(left, inverse, -dither) + 12582912.0f);
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

// A warp's table is [step][vector][lane]; `at` points to the lane's first vector of a step. Inline assembly, since
// the compiler otherwise splits wide accesses (25 % more time) and works out shared addresses anew at every access.
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

// A ring hands one value a column from warp to warp. Column c lies at (c + 31) mod RING: lane 31 in step s is at
// column s - 31, so its entries of a block of steps are consecutive. The other side's (lane 0) start one entry lower;
// entry -1 mirrors the last one.
#define RING_BYTES ((RING + 1) * REAL_BYTES)

__device__ __forceinline__ real ring_get(unsigned int at) {
    real v;
#if REAL64
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v) : "r"(at) : "memory");
#else
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
#endif
    return v;
}
__device__ __forceinline__ void ring_put(unsigned int at, real v) {
#if REAL64
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(v) : "memory");
#else
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory");
#endif
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
