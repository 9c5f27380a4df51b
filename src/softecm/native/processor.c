/* Which of the libraries is for this processor. */
#include "common.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* The registers that the system saves for a thread: wide ones may only be used if it does. */
static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

/* The level of x86-64 whose instructions the processor and the system have: 2, 3 or 4; 0 on other processors. */
EXPORT int processor_level(void) {
#if defined(__x86_64__)
    const uint32_t fma = 1u << 12, movbe = 1u << 22, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29, lzcnt = 1u << 5;
    const uint32_t bmi1 = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8; /* and AVX-512 F, DQ, CD, BW, VL */
    const uint32_t third = bmi1 | avx2 | bmi2, fourth = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    const uint32_t early = fma | movbe | osxsave | avx | f16c;
    uint32_t a, b, c, d, more;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & early) != early) return 2;
    if (!__get_cpuid(0x80000001, &a, &b, &more, &d) || !(more & lzcnt)) return 2;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & third) != third) return 2;
    uint32_t saved = saved_registers();
    if ((saved & 0x6) != 0x6) return 2;
    return (b & fourth) == fourth && (saved & 0xE0) == 0xE0 ? 4 : 3;
#else
    return 0;
#endif
}
