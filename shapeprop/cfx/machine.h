/*
 * cfx/machine.h -- the peak performance of a machine.
 *
 * A machine has a name, a number of cores, and for some thread counts the peak
 * arithmetic and memory bandwidth: measured on this machine, or read from a
 * file that describes another one.
 *
 *     cfx_machine *m;
 *     if (cfx_machine_cached(&m, ctx, 0, 0, &err))
 *         return 1;
 *     const cfx_machine_rates *r = cfx_machine_for(m, 2);
 *     double floor = flops / cfx_machine_peak(r, CFX_F32);
 *     ...
 *     cfx_machine_free(m);
 *
 * Rates are measured by short loops, with the instructions of the context's
 * level (cfx_context_cpu); the best of many repeats counts:
 *
 *   float64, float32   fused multiply-adds of the widest vectors between
 *                      registers, two operations each; at the plain level what
 *                      the compiler makes of x * y + z
 *   bfloat16           products of pairs summed up in float32 where the
 *                      processor has them (vdpbf16ps, bfdot), but no less than
 *                      float32, to which kernels convert elements, in products
 *                      of matrices once for any number of uses
 *   int8               products of four summed up in int32 where the processor
 *                      has them (vpdpbusd, sdot); otherwise products of pairs
 *                      of 16 bits. A multiply-add is two operations here too
 *   read, write        every line of a set that fits the level, in order; of
 *                      the last cache and the memory the better of plain stores
 *                      and those past the caches. Of memory a sample passes
 *                      eight times what all caches hold
 *   triad              x = y + c * z, of float64, and what those words say:
 *                      24 bytes an element, as STREAM counts. What the
 *                      hardware reads in order to write is not counted
 *   update             x = c * x, of float64: 16 bytes an element. What is
 *                      written was read just before, so that the hardware has
 *                      nothing more to read, as it has for the others
 *
 * Matrix units (AMX, SME) are not used, here as in the kernels.
 *
 * Descriptions are JSON files of schema "cfx.machine/1":
 *
 *     {"schema": "cfx.machine/1", "name": "Some processor", "cores": 2,
 *      "threads": [
 *        {"threads": 1,
 *         "peak_flops_per_second": {"float64": 6e10, "float32": 1.2e11},
 *         "levels": [
 *           {"level": "L1", "bytes": 32768,
 *            "read_bytes_per_second": 3e11, "write_bytes_per_second": 1.5e11,
 *            "triad_bytes_per_second": 3e11,
 *            "update_bytes_per_second": 3e11, "spread": 0.02},
 *           {"level": "memory", "bytes": 8589934592,
 *            "read_bytes_per_second": 1.2e10}]}]}
 *
 * Optional keys are "comment" (the source of the numbers), "instructions" (what
 * they were measured with) and "doubt" (why they are doubtful) beside "name",
 * "peak_spread" in the same form as the peaks, and "threads_sharing" beside "bytes", where it is not 1. A rate
 * that is null or absent is not known; float32 and one rate of each level are
 * required. Levels are listed from the fastest, each larger than the one
 * before; the last may have no size.
 */
#ifndef CFX_MACHINE_H
#define CFX_MACHINE_H

#include <cfx/context.h>
#include <cfx/dtype.h>
#include <cfx/text.h>

/* Data types with a peak of their own. */
typedef enum cfx_machine_type {
    CFX_MACHINE_FLOAT64,
    CFX_MACHINE_FLOAT32,
    CFX_MACHINE_FLOAT16,
    CFX_MACHINE_BFLOAT16,
    CFX_MACHINE_INT8,
    CFX_MACHINE_TYPES
} cfx_machine_type;

/* Loops that measure bandwidth. */
typedef enum cfx_machine_kernel {
    CFX_MACHINE_READ,
    CFX_MACHINE_WRITE,
    CFX_MACHINE_TRIAD,
    CFX_MACHINE_UPDATE,
    CFX_MACHINE_KERNELS
} cfx_machine_kernel;

enum { CFX_MACHINE_LEVELS = 8, CFX_MACHINE_LEVEL_NAME = 16 };

/* A cache, or the memory. Rates are for all threads together; 0: not known. */
typedef struct cfx_machine_level {
    char name[CFX_MACHINE_LEVEL_NAME]; /* "L1", "L2", "L3", "memory", ... */
    int64_t bytes;                     /* capacity of one; 0: not known */
    int threads_sharing;               /* threads that share one, at least 1 */
    double rate[CFX_MACHINE_KERNELS];  /* bytes per second */
    /* (best - median) / best of the repeats, the maximum of all kernels; 0 if
     * not measured. */
    double spread;
} cfx_machine_level;

/* The rates of a number of threads together. */
typedef struct cfx_machine_rates {
    int threads;
    double peak[CFX_MACHINE_TYPES]; /* operations per second; 0: not known */
    double peak_spread[CFX_MACHINE_TYPES];
    int nlevels;
    cfx_machine_level level[CFX_MACHINE_LEVELS]; /* from the fastest */
} cfx_machine_rates;

typedef struct cfx_machine {
    cfx_context *ctx;
    const char *name;
    const char *comment;      /* source of the numbers; may be NULL */
    const char *instructions; /* what they were measured with; may be NULL */
    int cores;
    int nrates;
    cfx_machine_rates *rates; /* by rising number of threads; at least one */
    const char *doubt;        /* why the rates are doubtful; or NULL */
} cfx_machine;

CFX_BEGIN_DECLS

/* ---- Files ---- */

/* Read a description from a file, or from text. Messages contain the place, and
 * for a file the path. Free it with cfx_machine_free. Fails with CFX_EIO,
 * CFX_EPARSE, CFX_ENOMEM. */
CFX_API cfx_status cfx_machine_read(cfx_machine **out, cfx_context *ctx,
                                    const char *path, cfx_error *err);
CFX_API cfx_status cfx_machine_parse(cfx_machine **out, cfx_context *ctx,
                                     const char *text, size_t len,
                                     cfx_error *err);
/* True if text is JSON with the schema of a machine, valid or not. */
CFX_API bool cfx_machine_probe(cfx_context *ctx, const char *text, size_t len);

/* Find a description: a file, or the name of one that comes with cfx
 * ("raspberry-pi-5"), in the folder $CFX_MACHINES or the installed one. Fails
 * also with CFX_ENAME; the message then lists the known names. */
CFX_API cfx_status cfx_machine_find(cfx_machine **out, cfx_context *ctx,
                                    const char *name, cfx_error *err);

/* Write a description as JSON: to a file, which is replaced when it is
 * complete, or to a sink. Fails with CFX_EIO, CFX_ENOMEM. */
CFX_API cfx_status cfx_machine_write(const char *path, const cfx_machine *m,
                                     cfx_error *err);
CFX_API cfx_status cfx_print_machine(cfx_sink to, const cfx_machine *m,
                                     cfx_error *err);

/* Free a machine; NULL is allowed. */
CFX_API void cfx_machine_free(cfx_machine *m);

/* ---- Measuring ---- */

/*
 * Measure this machine with 1, 2, ... threads, up to one per processor that
 * this process may run on (above 8 only powers of two, and all), with at most
 * the context's instruction level. `seconds` is the approximate total time; 0:
 * about 8, or longer if large caches need it. It uses threads of its own. Fails
 * with CFX_ENOMEM, and if the context is cancelled or out of time.
 */
CFX_API cfx_status cfx_machine_measure(cfx_machine **out, cfx_context *ctx,
                                       double seconds, cfx_error *err);

/* Flags of cfx_machine_cached. */
enum {
    CFX_MACHINE_AGAIN = 1,         /* measure even if there is a result */
    CFX_MACHINE_KEEP_DOUBTFUL = 2, /* measure once, and keep the result even if
                                      it contradicts itself */
    CFX_MACHINE_STORED = 4         /* do not measure */
};

/*
 * Return the measurement in the user's cache folder ($XDG_CACHE_HOME/cfx, else
 * ~/.cache/cfx), if it is of this processor, number of cores and level;
 * otherwise measure, after a message (CFX_NOTE), and store the result. A folder
 * that cannot be written gives a warning. `how` is 0 or flags of the above;
 * `seconds` applies to measuring, and a message (CFX_NOTE) says when it was not
 * needed.
 *
 * A result is doubtful if a level is faster than the one before it, memory is
 * written faster than it is read or copied, repeats are far apart, or there was
 * too little time or memory to exceed all caches. It is then measured again,
 * three times in all; a result that is still doubtful has a `doubt`, and is
 * stored for an hour only. Each time that it is returned, a message
 * (CFX_WARNING) says so. Fails as cfx_machine_measure; with CFX_MACHINE_STORED,
 * with CFX_ENAME if there is no measurement.
 */
CFX_API cfx_status cfx_machine_cached(cfx_machine **out, cfx_context *ctx,
                                      unsigned how, double seconds,
                                      cfx_error *err);

/* ---- Queries, which never fail ---- */

/* Return the rates for that number of threads, else for the next smaller
 * number, else for the smallest. */
CFX_API const cfx_machine_rates *cfx_machine_for(const cfx_machine *m,
                                                 int threads);

/* Return operations per second for elements of a type. Types without a peak use
 * that of the type their arithmetic is done in: float16 and bfloat16 float32's,
 * int64 float64's, int32 float32's, smaller integers int8's, or float32's if
 * that is not known; never 0. */
CFX_API double cfx_machine_peak(const cfx_machine_rates *r, cfx_dtype t);

/* Return the bytes that a level holds for all threads of the rates together,
 * INT64_MAX if not known. */
CFX_API int64_t cfx_machine_capacity(const cfx_machine_rates *r,
                                     const cfx_machine_level *level);

/* Return "float32", ...; "read", ... */
CFX_API const char *cfx_machine_type_name(cfx_machine_type t);
CFX_API const char *cfx_machine_kernel_name(cfx_machine_kernel k);

CFX_END_DECLS

#endif
