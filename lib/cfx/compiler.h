/*
 * cfx/compiler.h -- the only header that knows which compiler reads it.
 */
#ifndef CFX_COMPILER_H
#define CFX_COMPILER_H

#ifdef __cplusplus
#define CFX_BEGIN_DECLS extern "C" {
#define CFX_END_DECLS }
#else
#define CFX_BEGIN_DECLS
#define CFX_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define CFX_API __attribute__((visibility("default")))
#define CFX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CFX_LIKELY(x) __builtin_expect(!!(x), 1)
#define CFX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CFX_UNUSED __attribute__((unused))
#define CFX_INLINE static inline __attribute__((unused))
#else
#define CFX_API
#define CFX_PRINTF(fmt, args)
#define CFX_LIKELY(x) (x)
#define CFX_UNLIKELY(x) (x)
#define CFX_UNUSED
#define CFX_INLINE static inline
#endif

#endif
