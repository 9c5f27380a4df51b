/* Choose a cluster's medoid where every candidate costs a pass over the objects.
 *
 * Candidates come with a lower bound of their cost, best first; the search ends at the first bound that can't win. */
#include "common.h"

#define SAME 1e-12 /* sums that differ by less than this part of themselves are equal but for rounding */

#define REAL double
#define NAME(x) x##_f64
#include "medoids.h"
#undef REAL
#undef NAME

#define REAL float
#define NAME(x) x##_f32
#include "medoids.h"
