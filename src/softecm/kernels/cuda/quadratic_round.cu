// One round of Soft-ECM on vectors with the squared Euclidean distance, for a batch of runs.
//
// A block walks through tiles of THREADS objects of one run. First every thread takes one object: its distances to the f
// prototypes, its masses (eq. 7) and the weights |A|^alpha m^beta that follow, which stay in shared memory. Then the
// threads share out the f (p + 1) sums over the tile (weights, and weighted coordinates), each kept in a register of the
// thread it belongs to until the block is done. Nothing of size n is written, no atomics are used, and the blocks'
// sums are added in a fixed order by the caller: results are equal from run to run. All arithmetic is in double.

#if X64
typedef double Real;
#else
typedef float Real;
#endif

struct Shares {
  double least;   // smallest price of the object: min(|A|^alpha d_A, delta^2)
  double total;   // sum of the powers, the empty set's too
  double empty;   // the empty set's power
};

__device__ double power(double ratio, double exponent) {
  return exponent == 1.0 ? ratio : exp(exponent * log(ratio));
}

__device__ double distance(const double* row, const double* v, int p) {
  double sum = 0.0;
  for (int q = 0; q < p; ++q) {
    const double difference = row[q] - v[q];
    sum = fma(difference, difference, sum);
  }
  return sum;
}

// Powers of the ratios to the smallest price, left in `out`; an object on a prototype belongs to those it lies on.
__device__ Shares powers(const double* row, const double* v, const double* factors, double exponent, double delta2,
                         int f, int p, double* out) {
  double least = delta2, lightest = 1e300;
  for (int a = 0; a < f; ++a) {
    const double priced = factors[a] * distance(row, v + (long long)a * p, p);
    out[a] = priced;
    least = fmin(least, priced);
    if (priced == 0.0) lightest = fmin(lightest, factors[a]);
  }
  double total = 0.0;
  if (least == 0.0) {
    for (int a = 0; a < f; ++a) {
      out[a] = out[a] == 0.0 ? power(lightest / factors[a], exponent) : 0.0;
      total += out[a];
    }
    return {0.0, total, 0.0};
  }
  for (int a = 0; a < f; ++a) {
    out[a] = power(least / out[a], exponent);
    total += out[a];
  }
  const double empty = power(least / delta2, exponent);
  return {least, total + empty, empty};
}

extern "C" __global__ void __launch_bounds__(THREADS)
quadratic_round(const Real* x, const double* object_weights, const double* prototypes, const double* previous,
                const double* all_factors, const double* betas, const double* delta2s, double* partial, long long n,
                long long f_, long long p_) {
  const int f = (int)f_, p = (int)p_;
  extern __shared__ double memory[];
  const int stride = f | 1, width = (p + 1) | 1;  // odd, so that neighbours lie in different banks
  double* weights = memory;                       // (THREADS, stride)
  double* rows = weights + THREADS * stride;      // (THREADS, width), a one after the coordinates
  double* before = rows + THREADS * width;        // (THREADS, stride), only with previous prototypes

  const int run = blockIdx.y, me = threadIdx.x, outputs = f * (p + 1);
  const double* v = prototypes + (long long)run * f * p;
  const double* old = previous ? previous + (long long)run * f * p : nullptr;
  const double* factors = all_factors + (long long)run * f;
  const double beta = betas[run], delta2 = delta2s[run], exponent = 1.0 / (beta - 1.0);

  double sums[OUT];
  for (int k = 0; k < OUT; ++k) sums[k] = 0.0;
  double cost = 0.0, change = 0.0;

  for (long long first = (long long)blockIdx.x * THREADS; first < n; first += (long long)gridDim.x * THREADS) {
    const int count = (int)(n - first < THREADS ? n - first : THREADS);
    for (int i = me; i < count * p; i += THREADS) rows[i / p * width + i % p] = (double)x[first * p + i];
    if (me < count) rows[me * width + p] = 1.0;
    __syncthreads();
    if (me < count) {
      const double* row = rows + me * width;
      double* mine = weights + me * stride;
      const Shares now = powers(row, v, factors, exponent, delta2, f, p, mine);
      if (old) {
        double* then = before + me * stride;
        const Shares was = powers(row, old, factors, exponent, delta2, f, p, then);
        change = fmax(change, fabs(now.empty / now.total - was.empty / was.total));
        for (int a = 0; a < f; ++a) change = fmax(change, fabs(mine[a] / now.total - then[a] / was.total));
      }
      const double counts = object_weights ? object_weights[first + me] : 1.0;
      const double scale = power(now.total, 1.0 - beta);
      cost += counts * now.least * scale;
      for (int a = 0; a < f; ++a) {
        const double mass = mine[a] / now.total;
        double raised;  // m^(beta - 1)
        if (now.least == 0.0) {
          raised = mass > 0.0 ? power(mass, beta - 1.0) : 0.0;
        } else {
          const double priced = factors[a] * distance(row, v + (long long)a * p, p);
          raised = now.least / priced * scale;
        }
        mine[a] = counts * factors[a] * mass * raised;
      }
    }
    __syncthreads();
    for (int k = 0; k < OUT; ++k) {
      const int output = me + k * THREADS;
      if (output < outputs) {
        const double* w = weights + output / (p + 1);
        const double* c = rows + output % (p + 1);
        double sum = sums[k];
        for (int t = 0; t < count; ++t) sum = fma(w[t * stride], c[t * width], sum);
        sums[k] = sum;
      }
    }
    __syncthreads();
  }

  // The block's line of `partial`: the sums, then cost and change.
  double* line = partial + ((long long)run * gridDim.x + blockIdx.x) * (outputs + 2);
  for (int k = 0; k < OUT; ++k) {
    const int output = me + k * THREADS;
    if (output < outputs) line[output] = sums[k];
  }
  memory[me] = cost;
  memory[THREADS + me] = change;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (me < half) {
      memory[me] += memory[me + half];
      memory[THREADS + me] = fmax(memory[THREADS + me], memory[THREADS + me + half]);
    }
    __syncthreads();
  }
  if (me == 0) {
    line[outputs] = memory[0];
    line[outputs + 1] = memory[THREADS];
  }
}
