/* What all kernels share: exported names, numbers of several sizes, tasks, and memory to work in. */
#ifndef SOFTECM_COMMON_H
#define SOFTECM_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))

/* The number of a task that no other thread has: threads that share one call take turns at one counter. */
INLINE int64_t take(int64_t *next) { return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED); }
#define FOR_EACH_TASK(task, next, tasks) for (int64_t task; (task = take(next)) < (tasks);)

INLINE int64_t least_int(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE double least_of(double a, double b) { return a < b ? a : b; }
INLINE double largest_of(double a, double b) { return a > b ? a : b; }

/* Kinds of numbers in an array, as ``kernels.entry.kind`` names them: the size in bytes, negative for whole numbers. */
enum { F64 = 8, F32 = 4, U8 = -1, I32 = -4, I64 = -8 };

INLINE double real_at(const void *array, int64_t kind, int64_t i) {
    return kind == F64 ? ((const double *)array)[i] : ((const float *)array)[i];
}
INLINE int64_t whole_at(const void *array, int64_t kind, int64_t i) {
    return kind == U8 ? ((const uint8_t *)array)[i] : kind == I32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

/* Libraries that check accesses fill new memory with NaN, so that what reads it unwritten shows, and put fences around buffers
 * that are cut from one piece of memory. */
#ifdef CHECKED
#include <sanitizer/asan_interface.h>
enum { FENCE = 64 /* bytes behind a buffer */ };
#define FENCE_OFF(buffer, bytes)                               \
    do {                                                       \
        __asan_unpoison_memory_region(buffer, bytes);          \
        __asan_poison_memory_region((char *)(buffer) + (bytes), FENCE); \
    } while (0)
#define SPOIL(memory, bytes) memset(memory, 0xff, bytes)
#else
enum { FENCE = 0 };
#define FENCE_OFF(buffer, bytes) (void)(buffer)
#define SPOIL(memory, bytes) (void)(memory)
#endif

/* Memory for so many doubles, at the beginning of a cache line; given back with `free_room`. */
INLINE double *new_room(int64_t doubles) {
    void *memory = NULL;
    size_t bytes = (size_t)(doubles > 0 ? doubles : 1) * sizeof(double);
#if defined(_WIN32)
    memory = _aligned_malloc(bytes, 64);
#else
    if (posix_memalign(&memory, 64, bytes)) return NULL;
#endif
    SPOIL(memory, bytes);
    return memory;
}
INLINE void free_room(void *memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}
#endif
