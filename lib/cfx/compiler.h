/*
 * cfx/compiler.h -- the only header that knows which compiler reads it.
 */
#ifndef CFX_COMPILER_H
#define CFX_COMPILER_H

/*
 * The headers are C11 and also compile as C++17. In C++ the values that
 * CFX_ARGS and its like hold live until the end of the statement, and the
 * functions of cfx/ops.h take optional arguments by position, or in a struct.
 * g++ -Wpedantic warns of structs that end in flexible arrays.
 *
 * CFX_LITERAL(type){...} is a value of a struct, CFX_ZERO(type) the zeroed
 * one. CFX_C declares one name as C's.
 */
#ifdef __cplusplus
#define CFX_C extern "C"
#define CFX_BEGIN_DECLS extern "C" {
#define CFX_END_DECLS }
#define CFX_LITERAL(type) type
#define CFX_ZERO(type) (type{})
#else
#define CFX_C
#define CFX_BEGIN_DECLS
#define CFX_END_DECLS
#define CFX_LITERAL(type) (type)
#define CFX_ZERO(type) ((type){0})
#endif

/*
 * The tables that a program hands to the library (cfx_op, cfx_module_type,
 * cfx_pass) begin with the ABI that they were compiled for:
 *
 *     const cfx_op twice = {
 *         .abi = CFX_ABI(cfx_op),
 *         .schema = "twice(Tensor self) -> Tensor",
 *     };
 *
 * Registering a table of another ABI fails. Every incompatible change
 * increments the version.
 */
#define CFX_ABI_VERSION 4
#define CFX_ABI(type)                                                         \
    {                                                                         \
        sizeof(type), CFX_ABI_VERSION                                         \
    }
typedef struct cfx_abi {
    unsigned size, version;
} cfx_abi;

#if defined(__GNUC__) || defined(__clang__)
#define CFX_API __attribute__((visibility("default")))
#define CFX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CFX_LIKELY(x) __builtin_expect(!!(x), 1)
#define CFX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CFX_UNUSED __attribute__((unused))
/* For the rare way of a hot function: inlined, it would cost every call the
 * saving of its registers. */
#define CFX_NOINLINE __attribute__((noinline))
#define CFX_INLINE static inline __attribute__((unused))
#else
#define CFX_API
#define CFX_PRINTF(fmt, args)
#define CFX_LIKELY(x) (x)
#define CFX_UNLIKELY(x) (x)
#define CFX_UNUSED
#define CFX_NOINLINE
#define CFX_INLINE static inline
#endif

#endif
