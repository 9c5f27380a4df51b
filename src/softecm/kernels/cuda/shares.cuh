// Arithmetic of soft minima, and the shares of a cell that came from above and from the left.

#if REAL64
__device__ __forceinline__ real pow2(real v) { return exp2(v); }
__device__ __forceinline__ real log_2(real v) { return log2(v); }
__device__ __forceinline__ real minimum(real a, real b) { return fmin(a, b); }
__device__ __forceinline__ real maximum(real a, real b) { return fmax(a, b); }
__device__ __forceinline__ real magnitude(real v) { return fabs(v); }
__device__ __forceinline__ real reciprocal(real v) { return 1 / v; }
__device__ __forceinline__ real root(real v) { return sqrt(v); }
__device__ __forceinline__ Cell encode(real up, real left, real total, real) {
    Cell c;
    c.up = up / total;
    c.left = left / total;
    return c;
}
__device__ __forceinline__ real next_dither(unsigned int &) { return 0; }
// The shares of e that go up and left.
__device__ __forceinline__ void send(const Cell &c, real e, real &up, real &left) {
    up = c.up * e;
    left = c.left * e;
}
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
__device__ __forceinline__ real maximum(real a, real b) { return fmaxf(a, b); }
__device__ __forceinline__ real magnitude(real v) { return fabsf(v); }
__device__ __forceinline__ real reciprocal(real v) {
    real out;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(v));
    return out;
}
__device__ __forceinline__ real root(real v) {
    real out;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(v));
    return out;
}
// Two probabilities in 16 bits each. Adding 1.5 * 2^23 leaves the rounded integer in the low bits of a float, also
// where the dither makes the sum slightly negative; the dither stays under 1/2, so that 1 is never rounded up.
__device__ __forceinline__ Cell encode(real up, real left, real total, real dither) {
    const real unit = reciprocal(total) * 65535.0f;
    unsigned int u = __float_as_uint(__fmaf_rn(up, unit, dither) + 12582912.0f);
    unsigned int l = __float_as_uint(__fmaf_rn(left, unit, -dither) + 12582912.0f);
    return __byte_perm(u, l, 0x5410);
}
// The fraction to add in the next step: the golden ratio of 2^23 spreads them evenly.
__device__ __forceinline__ real next_dither(unsigned int &noise) {
    noise += 0x4f1bcd;
    return __fmaf_rn(__uint_as_float((noise & 0x7fffff) | 0x3f800000), 0.96f, -1.44f);
}
// (2^23 + n) * unit - 2^23 * unit is n * unit, rounded once.
__device__ __forceinline__ void send(const Cell &c, real e, real &up, real &left) {
    const real unit = e * (1.0f / 65535.0f), offset = e * (-8388608.0f / 65535.0f);
    up = __fmaf_rn(__uint_as_float(__byte_perm(c, 0x4b000000u, 0x7610)), unit, offset);
    left = __fmaf_rn(__uint_as_float(__byte_perm(c, 0x4b000000u, 0x7632)), unit, offset);
}
#endif
