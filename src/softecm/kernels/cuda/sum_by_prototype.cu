#if REAL64
typedef double real;
#else
typedef float real;
#endif
typedef long long i64;

// Compile-time: REAL64 (0, 1).
//
// Sum of the pairs' rows by prototype: out[part][g] = sum of partial[member] over the part's share of the members of
// g. Members of g: g, g + f, g + 2f, ... without `order`, else order[start[g]] .. order[start[g + 1] - 1].
extern "C" __global__ void __launch_bounds__(512)
sum_by_prototype(const real *__restrict__ partial, const i64 *__restrict__ order, const i64 *__restrict__ start,
                 real *__restrict__ out, i64 f, i64 members, i64 width, i64 accumulate) {
    __shared__ real sums[16][33];
    const i64 g = blockIdx.x;
    const i64 begin = order ? start[g] : 0, count = order ? start[g + 1] - begin : members;
    const i64 from = count * blockIdx.z / gridDim.z, to = count * (blockIdx.z + 1) / gridDim.z;
    for (i64 first = (i64)blockIdx.y * 32; first < width; first += (i64)gridDim.y * 32) {
        const i64 column = first + threadIdx.x;
        real sum = 0;
        if (column < width)
#pragma unroll 4
            for (i64 k = from + threadIdx.y; k < to; k += 16)
                sum += partial[(order ? order[begin + k] : k * f + g) * width + column];
        sums[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && column < width) {
            for (int k = 1; k < 16; ++k) sum += sums[k][threadIdx.x];
            real *at = out + ((i64)blockIdx.z * f + g) * width + column;
            *at = accumulate ? *at + sum : sum;
        }
        __syncthreads();
    }
}
