// Products over tiles of TILE by TILE numbers in shared memory, DEPTH at a time, the next DEPTH on their way meanwhile. A
// thread holds SIDE by SIDE results, in quarters of EACH by EACH that lie TILE / 2 apart, so that wide reads of
// neighbouring threads meet no bank twice.

#define TILE 64
#define DEPTH 16
#define PARTS 2
#define EACH (REAL64 ? 2 : 4)
#define SIDE (PARTS * EACH)
#define ACROSS (TILE / SIDE)  // threads along one side
#define THREADS (ACROSS * ACROSS)
#define REAL_BYTES (REAL64 ? 8 : 4)

struct __align__(16) Quarter { real v[EACH]; };

// Where number k of a thread's SIDE lies in the tile.
__device__ __forceinline__ int in_tile(int thread, int k) { return k / EACH * (TILE / PARTS) + thread * EACH + k % EACH; }

__device__ __forceinline__ void load_side(const real *shared_row, int thread, real (&out)[SIDE]) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
        const Quarter quarter = *reinterpret_cast<const Quarter *>(shared_row + part * (TILE / PARTS) + thread * EACH);
#pragma unroll
        for (int k = 0; k < EACH; ++k) out[part * EACH + k] = quarter.v[k];
    }
}

// BYTES from global to shared memory in the background; zeros where there is nothing to read.
template <int BYTES> __device__ __forceinline__ void copy_in(void *into, const void *at, bool there) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"((unsigned int)__cvta_generic_to_shared(into)),
                 "l"(at), "n"(BYTES), "r"(there ? BYTES : 0)
                 : "memory");
#else
#pragma unroll
    for (int k = 0; k < BYTES / 4; ++k) ((int *)into)[k] = there ? ((const int *)at)[k] : 0;
#endif
}
