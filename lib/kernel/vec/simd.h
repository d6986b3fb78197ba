/*
 * simd.h -- hints for the compiler's vectorizer.
 *
 * Loops in the files of KERNEL_LEVEL are plain C which the compiler turns into
 * the vectors of the level. CFX_SIMD before a loop asserts that iterations are
 * independent: the output equals an input, or overlaps none.
 */
#ifndef CFX_SIMD_H
#define CFX_SIMD_H

#if defined(__clang__)
#define CFX_SIMD _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CFX_SIMD _Pragma("GCC ivdep")
#if defined(__OPTIMIZE__)
/* The user's CFLAGS come last, and in them -O2, which gcc makes few vectors
 * at. This header has to come before the loops and what they call. */
#pragma GCC optimize("O3")
#endif
#else
#define CFX_SIMD
#endif

/* Elements of two short vectors (of the GNU vector types), by number, as a
 * third. Not there where the compiler has no such thing. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define CFX_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif

#endif
