/* What a step of an alignment costs: the numbers in which elastic distances differ (``kernels/elastic/rules.py``). */
#ifndef SOFTECM_RULES_H
#define SOFTECM_RULES_H

#include "common.h"

#define LN2 0.69314718055994530942

/* The fields of ``kernels.elastic.rules.Rule``, in that order. */
typedef struct {
    double gamma, squared, step, across, before, last, change, size, apart, weighted, steepness;
} Rule;

INLINE int64_t most_int(int64_t a, int64_t b) { return a > b ? a : b; }

/* Length whose square is given, rounded off below gamma. */
INLINE double rounded_length(double square, double gamma) {
    double n = sqrt(square);
    return n >= gamma ? n - gamma / 2.0 : square / (2.0 * gamma);
}
#endif
