/*
 * cfx/context.h -- registries, threads, memory, limits and callbacks.
 *
 * A context owns the registries of operators and module types, the thread
 * pool, the memory that tensors live in, the random generator, the limits and
 * the callbacks. Every object belongs to one and must be freed before it. Two
 * contexts share nothing; one may be used by several threads at once, unless
 * the library was built without threads.
 *
 *     cfx_context *ctx;
 *     if (cfx_context_new(&ctx, NULL, &err))
 *         return 1;
 *     ...
 *     cfx_context_free(ctx);
 */
#ifndef CFX_CONTEXT_H
#define CFX_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cfx/status.h>

typedef struct cfx_context cfx_context;

/*
 * The allocator of all memory of the library. `alloc` returns `size` bytes
 * (more than 0) aligned to `align` (a power of two, at most 64), or NULL.
 * `free` receives the same size. Both are called from several threads.
 * OpenBLAS allocates its own buffers itself.
 */
typedef struct cfx_allocator {
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *p, size_t size);
    void *user;
} cfx_allocator;

/*
 * The instructions that kernels may use, from the plain reference upwards. $CFX_CPU is
 * a level, the default, followed by "-FEATURE" for each feature that no context uses,
 * as if the processor had none: fma, avxvnni, vnni (of AVX-512), vbmi, bf16, dotprod.
 * "avx512-vnni-vbmi-bf16" is AVX-512 alone, "-fma" the best level without FMA.
 */
typedef enum cfx_cpu {
    CFX_CPU_BEST = 0, /* $CFX_CPU, or the best that the processor has */
    CFX_CPU_PLAIN,
    CFX_CPU_NEON,
    CFX_CPU_AVX2,
    CFX_CPU_AVX512
} cfx_cpu;

typedef enum cfx_level { CFX_NOTE, CFX_WARNING } cfx_level;

/* Zeroed members take the defaults. `size` lets the struct grow. */
typedef struct cfx_options {
    size_t size;             /* sizeof(cfx_options) */
    cfx_allocator allocator; /* default: huge-page blocks over malloc */
    int threads;             /* default: the processors it may run on; a
                                 library without threads has one, and
                                 refuses more (CFX_EUNSUPPORTED) */
    cfx_cpu cpu;
    size_t max_memory;      /* bytes, 0: no limit */
    double timeout;         /* seconds from now, 0: none */
    uint64_t seed;          /* of the random operators */
    bool keep_blas_threads; /* do not set OpenBLAS to one thread, which
                                 changes it for the whole process; cfx then
                                 computes products of matrices by its own
                                 kernels. Results may depend on the number of
                                 threads if a program raises it later. */
    /* Receives notes and warnings for the user, each a line without
     * newline. */
    void (*message)(void *user, cfx_level level, const char *text);
    void *message_user;
} cfx_options;

CFX_BEGIN_DECLS

/* Create a context; `opts` may be NULL. Fails with CFX_ENOMEM, CFX_EINVAL,
 * CFX_EUNSUPPORTED. */
CFX_API cfx_status cfx_context_new(cfx_context **out, const cfx_options *opts,
                                   cfx_error *err);

/* Free a context, after every object made from it. NULL is allowed. */
CFX_API void cfx_context_free(cfx_context *ctx);

CFX_API int cfx_context_threads(const cfx_context *ctx);
CFX_API cfx_cpu cfx_context_cpu(const cfx_context *ctx);
CFX_API const char *cfx_cpu_name(cfx_cpu cpu);

/* Make running work stop within some hundredths of a second with CFX_ECANCEL;
 * safe in a signal handler. */
CFX_API void cfx_context_cancel(cfx_context *ctx);

/* Let a context that was cancelled be used again. Never fails. */
CFX_API void cfx_context_resume(cfx_context *ctx);

/* CFX_OK, or CFX_ECANCEL or CFX_ELIMIT when work must stop. */
CFX_API cfx_status cfx_context_check(cfx_context *ctx, cfx_error *err);

/* Send one line to the message callback, if there is one. */
CFX_API void cfx_message(cfx_context *ctx, cfx_level level, const char *fmt,
                         ...) CFX_PRINTF(3, 4);

/* With `strict`, runs refuse graphs that ask for another device than the CPU.
 * Without, which is the default, they compute on the CPU and say so once. */
CFX_API void cfx_context_set_strict_devices(cfx_context *ctx, bool strict);

/* With `any`, interpreters that are created do not compare their inputs with
 * those that the model was exported for (cfx/input_check.h). */
CFX_API void cfx_context_set_any_shape(cfx_context *ctx, bool any);
CFX_API bool cfx_context_any_shape(const cfx_context *ctx);

/* Bytes held now, and the most held since the context was made. */
CFX_API size_t cfx_context_memory(const cfx_context *ctx);
CFX_API size_t cfx_context_peak_memory(const cfx_context *ctx);

/*
 * Memory from the context's allocator. The caller passes the size again when
 * it frees; freeing NULL does nothing. cfx_alloc of 0 bytes returns a pointer
 * that may be freed. Returns NULL when out of memory.
 */
CFX_API void *cfx_alloc(cfx_context *ctx, size_t size);
CFX_API void *cfx_calloc(cfx_context *ctx, size_t count, size_t size);
CFX_API void *cfx_realloc(cfx_context *ctx, void *p, size_t old_size,
                          size_t new_size);
CFX_API void cfx_free(cfx_context *ctx, void *p, size_t size);

/*
 * Blocks for tensors: aligned to 64 bytes, reused by size class, in huge pages
 * where they are large; not cleared. In builds with sanitizers every block is
 * fresh. Returns NULL when out of memory.
 */
CFX_API void *cfx_block_alloc(cfx_context *ctx, size_t size);
CFX_API void cfx_block_free(cfx_context *ctx, void *p, size_t size);

/*
 * Call fn(arg, begin, end, worker) for pieces that cover 0..n, each of `grain`
 * (the last one smaller), on the threads of the pool and on this one. The
 * pieces are the same whatever the number of threads. `worker` is below
 * cfx_context_threads(), and no two calls that one cfx_parallel_for makes at a
 * time have the same one. Nested calls, and those from a second thread while
 * the pool is busy, run on the thread they are made on. Never fails: if
 * threads cannot be started, fewer do the work. Once the context is cancelled
 * or its time is up, no further piece is started: the result is then
 * incomplete, and cfx_context_check() fails.
 */
typedef void cfx_parallel_fn(void *arg, int64_t begin, int64_t end,
                             int worker);
CFX_API void cfx_parallel_for(cfx_context *ctx, int64_t n, int64_t grain,
                              cfx_parallel_fn *fn, void *arg);

/*
 * Define the entry point of a plugin, a shared library that `cfx --load`
 * opens. It is called for each context, to register operators and types:
 *
 *     CFX_PLUGIN_INIT(ctx, err)
 *     {
 *         return cfx_register_op(ctx, &twice, err);
 *     }
 *
 * The macro also exports the ABI that the plugin was compiled for. A plugin
 * with another ABI is refused before its entry point is called.
 */
#define CFX_PLUGIN_INIT(ctx, err)                                             \
    CFX_C CFX_API const int cfx_plugin_abi;                                   \
    const int cfx_plugin_abi = CFX_ABI_VERSION;                               \
    CFX_C CFX_API cfx_status cfx_plugin_init(cfx_context *, cfx_error *);     \
    cfx_status cfx_plugin_init(cfx_context *ctx, cfx_error *err)

/* The next 64 random bits of the context's generator, for random operators:
 * a counter is advanced by `count`, so that values do not depend on threads.
 * Value i of such a block is cfx_random_bits(key, i). */
typedef struct cfx_random {
    uint64_t key, counter;
} cfx_random;
CFX_API cfx_random cfx_context_random(cfx_context *ctx, uint64_t count);
CFX_API void cfx_context_seed(cfx_context *ctx, uint64_t seed);

CFX_END_DECLS

#endif
