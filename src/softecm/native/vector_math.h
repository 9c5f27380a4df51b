/* Powers that a compiler can vectorise: 2^x and log2(x) from arithmetic and bit patterns alone.
 *
 * The C library's exp and log are calls that don't go into vector lanes, and would cost most of a mass update. These are
 * straight-line code: a split into exponent and mantissa by bit pattern, and a polynomial (Chebyshev's, error below 1e-17).
 * Conversions between doubles and integers go through bits too: AVX2 has no instruction for 64 bits. */
#ifndef SOFTECM_VECTOR_MATH_H
#define SOFTECM_VECTOR_MATH_H

#include "common.h"

INLINE uint64_t to_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
INLINE double from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^x for x <= 0; 0 below -1020: what is that small is nothing beside the largest term. */
INLINE double power_of_two(double x) {
    double clipped = x > -1020.0 ? x : -1020.0;
    double whole = rint(clipped), t = clipped - whole; /* |t| <= 1/2 */
    double p = 4.454960598186518394e-10;
    p = p * t + 7.0725859492692237e-9;
    p = p * t + 1.017806244584577352e-7;
    p = p * t + 1.321544258792168965e-6;
    p = p * t + 0.00001525273382983611839;
    p = p * t + 0.0001540353044173605015;
    p = p * t + 0.001333355814641693531;
    p = p * t + 0.009618129107606888527;
    p = p * t + 0.05550410866482159434;
    p = p * t + 0.2402265069591009822;
    p = p * t + 0.6931471805599453094;
    p = p * t + 1.0;
    double scale = from_bits((to_bits(whole + (0x1.8p52 + 1023)) << 52)); /* the sum has the exponent in its lowest bits */
    return x > -1020.0 ? p * scale : 0.0;
}

/* Binary logarithm of a positive normal number. */
INLINE double binary_log(double x) {
    const uint64_t one = 0x3FF0000000000000, sqrt_half = 0x3FE6A09E667F3BCD, high = 0xFFF0000000000000;
    uint64_t bits = to_bits(x), shifted = bits + (one - sqrt_half); /* the mantissa is to lie in [sqrt(1/2), sqrt(2)) */
    double mantissa = from_bits(bits - (shifted & high) + one);
    double exponent = from_bits((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    double s = (mantissa - 1.0) / (mantissa + 1.0), z = s * s; /* |s| <= 0.1716 */
    double p = 0.07308439459514910377;                         /* atanh(s) / s = 1 + z p(z) */
    p = p * z + 0.07665843434319214126;
    p = p * z + 0.09091445085156985107;
    p = p * z + 0.1111110556022464924;
    p = p * z + 0.1428571431303169018;
    p = p * z + 0.1999999999994965534;
    p = p * z + 0.3333333333333334846;
    return exponent + 2.885390081777926815 * (s + s * (z * p)); /* 2 / ln(2) */
}
#endif
