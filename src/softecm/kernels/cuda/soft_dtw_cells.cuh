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

// ------------------------------------------------------------------------------------------ fetched in the background

// A lane's cells of the steps `first` to `first + GROUP - 1`, those in the columns enter to leave.
__device__ __forceinline__ void fetch_group(unsigned int held, const unsigned char *table, int first, bool whole, int lane,
                                            int enter, int leave) {
#if STAGES
    const unsigned int into = held + (first / GROUP & (STAGES - 1)) * (GROUP * STEP_BYTES);
    const unsigned char *at = table + (i64)first * STEP_BYTES;
    if (whole) {
#pragma unroll
        for (int k = 0; k < GROUP; ++k) fetch_cells(into + k * STEP_BYTES, at + k * STEP_BYTES);
    } else {
#pragma unroll 1
        for (int k = 0; k < GROUP; ++k)
            if (first + k - lane >= enter && first + k - lane <= leave)
                fetch_cells(into + k * STEP_BYTES, at + k * STEP_BYTES);
    }
    copy_commit();
#endif
}
// Where a step lies once it has been fetched.
__device__ __forceinline__ unsigned int held_step(unsigned int held, int step) {
    return held + step % GROUP * STEP_BYTES + (step / GROUP & (STAGES - 1)) * (GROUP * STEP_BYTES);
}

// ------------------------------------------------------------------------------------------------ from block to block

// What lies where another block has put nothing yet: a NaN that no arithmetic gives.
__device__ __forceinline__ bool is_nothing(float v) { return __float_as_uint(v) == 0xffffffffu; }
__device__ __forceinline__ bool is_nothing(double v) { return __double_as_longlong(v) == -1ll; }
__device__ __forceinline__ double nothing64() { return __longlong_as_double(-1ll); }
__device__ __forceinline__ real nothing() { return REAL64 ? (real)nothing64() : (real)__uint_as_float(0xffffffffu); }

template <class T> __device__ __forceinline__ T glanced(const T *at) { return *(const volatile T *)at; }
// The number at `at`, which another block may still owe; `seen` is what lay there before.
template <class T> __device__ __forceinline__ T handed(const T *at, T seen) {
#if SPREAD
    while (is_nothing(seen)) seen = glanced(at);
    return seen;
#else
    return *at;
#endif
}
