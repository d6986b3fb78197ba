/*
 * cfx/machine.h -- what a machine can do at most.
 *
 * A machine has a name, a number of cores, and for some numbers of threads the
 * most arithmetic it does and the most bytes it moves in a second: measured
 * here, or read from a file that describes any other.
 *
 *     cfx_machine *m;
 *     if (cfx_machine_cached(&m, ctx, 0, 0, &err))
 *         return 1;
 *     const cfx_machine_rates *r = cfx_machine_for(m, 2);
 *     double floor = flops / cfx_machine_peak(r, CFX_F32);
 *     ...
 *     cfx_machine_free(m);
 *
 * What is measured, by short loops of our own, is the best of many repeats,
 * with the instructions of the context's level (cfx_context_cpu):
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
 * Units of matrices (AMX, SME) are not used, here as in the kernels.
 *
 * The same as a file, JSON of schema "cfx.machine/1":
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
 * Beside "name" there may be "comment" (where the numbers are from) and
 * "instructions" (what they were measured with); beside a peak
 * "peak_spread", of the same form; beside "bytes" "threads_sharing", where it
 * is not 1. A rate that is null or absent is not known; float32 and one rate of
 * each level are required. Levels are listed from the fastest, each larger
 * than the one before; the last may have no size.
 */
#ifndef CFX_MACHINE_H
#define CFX_MACHINE_H

#include <cfx/context.h>
#include <cfx/dtype.h>
#include <cfx/text.h>

/* The types whose arithmetic has a peak of its own. */
typedef enum cfx_machine_type {
    CFX_MACHINE_FLOAT64,
    CFX_MACHINE_FLOAT32,
    CFX_MACHINE_FLOAT16,
    CFX_MACHINE_BFLOAT16,
    CFX_MACHINE_INT8,
    CFX_MACHINE_TYPES
} cfx_machine_type;

/* The loops that bandwidths are told of. */
typedef enum cfx_machine_kernel {
    CFX_MACHINE_READ,
    CFX_MACHINE_WRITE,
    CFX_MACHINE_TRIAD,
    CFX_MACHINE_UPDATE,
    CFX_MACHINE_KERNELS
} cfx_machine_kernel;

enum { CFX_MACHINE_LEVELS = 8, CFX_MACHINE_LEVEL_NAME = 16 };

/* A cache or the memory. Rates are those of all threads together; 0 is: not
 * known. */
typedef struct cfx_machine_level {
    char name[CFX_MACHINE_LEVEL_NAME]; /* "L1", "L2", "L3", "memory", ... */
    int64_t bytes;       /* that one of them holds; 0: not known */
    int threads_sharing; /* so many threads share one, at least 1 */
    double rate[CFX_MACHINE_KERNELS]; /* bytes per second */
    /* (best - median) / best of the repeats, the largest of all kernels; 0 for
     * what was not measured here. */
    double spread;
} cfx_machine_level;

/* What a number of threads can do together. */
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
    const char *comment;      /* where the numbers are from; may be NULL */
    const char *instructions; /* what they were measured with; may be NULL */
    int cores;
    int nrates;
    cfx_machine_rates *rates; /* by rising number of threads; never none */
} cfx_machine;

CFX_BEGIN_DECLS

/* ---- From files, and to them ---- */

/* Read a description from a file, or from its text. Error texts of the first
 * begin with the path, those of both tell the place. Free it with
 * cfx_machine_free. Fails with CFX_EIO, CFX_EPARSE, CFX_ENOMEM. */
CFX_API cfx_status cfx_machine_read(cfx_machine **out, cfx_context *ctx,
                                    const char *path, cfx_error *err);
CFX_API cfx_status cfx_machine_parse(cfx_machine **out, cfx_context *ctx,
                                     const char *text, size_t len,
                                     cfx_error *err);
/* Is a text JSON whose schema is that of a machine, sound or not? */
CFX_API bool cfx_machine_probe(cfx_context *ctx, const char *text, size_t len);

/* Read the description that a person means: a file, or the name of one that
 * comes with cfx ("raspberry-pi-5"), from the folder $CFX_MACHINES or
 * the one where they are installed. Fails with CFX_ENAME too, after which the
 * text lists those there are. */
CFX_API cfx_status cfx_machine_find(cfx_machine **out, cfx_context *ctx,
                                    const char *name, cfx_error *err);

/* Write it as JSON: to a file that appears when it is complete, or to a sink.
 * Fails with CFX_EIO, CFX_ENOMEM. */
CFX_API cfx_status cfx_machine_write(const char *path, const cfx_machine *m,
                                     cfx_error *err);
CFX_API cfx_status cfx_print_machine(cfx_sink to, const cfx_machine *m,
                                     cfx_error *err);

/* NULL is allowed. */
CFX_API void cfx_machine_free(cfx_machine *m);

/* ---- From this machine ---- */

/*
 * Measure the machine at 1, 2, ... threads, up to one for each processor that
 * this process may run on (above 8 only powers of two, and all), and with no
 * better instructions than the context's. `seconds` is about what it may take
 * altogether; 0: some 8, and as long as it takes to pass large caches. It has
 * threads of its own meanwhile. Fails
 * with CFX_ENOMEM, and when the context is cancelled or out of time.
 */
CFX_API cfx_status cfx_machine_measure(cfx_machine **out, cfx_context *ctx,
                                       double seconds, cfx_error *err);

/* How cfx_machine_cached goes about it. */
enum {
    CFX_MACHINE_AGAIN = 1,        /* measure in any case */
    CFX_MACHINE_KEEP_DOUBTFUL = 2 /* measure once, and keep the result even if
                                     it contradicts itself */
};

/*
 * What was measured before, from the user's cache folder ($XDG_CACHE_HOME/cfx,
 * else ~/.cache/cfx), where it is of this processor, its number of cores and
 * the context's level; otherwise measured, after a message (CFX_NOTE) that
 * says so, and kept there. A folder that cannot be written is a warning, no
 * failure. `how` is 0 or flags of those above; `seconds` is for measuring,
 * and where nothing is measured a message (CFX_NOTE) tells that it is of no
 * use.
 *
 * A result is doubtful where a level is faster than the one before it, memory
 * is written faster than it is read or copied, repeats are far apart, or too
 * little time or memory was there to pass all caches. It is then measured
 * again, three times in all; a result that still is doubtful is given, but not
 * kept, and a message (CFX_WARNING) tells why. Fails as cfx_machine_measure.
 */
CFX_API cfx_status cfx_machine_cached(cfx_machine **out, cfx_context *ctx,
                                      unsigned how, double seconds,
                                      cfx_error *err);

/* ---- Questions. They never fail. ---- */

/* The rates of that number of threads; where there are none, those of the
 * nearest smaller number, or else of the smallest. */
CFX_API const cfx_machine_rates *cfx_machine_for(const cfx_machine *m,
                                                 int threads);

/* Operations per second on elements of a type. A type without a peak of its
 * own takes that of the type whose arithmetic it is done in: float16
 * and bfloat16 float32's, int64 float64's, int32 float32's, smaller integers
 * int8's, or float32's where that is not known; never 0. */
CFX_API double cfx_machine_peak(const cfx_machine_rates *r, cfx_dtype t);

/* Bytes that a level holds for all threads of the rates together, INT64_MAX
 * where nothing tells. */
CFX_API int64_t cfx_machine_capacity(const cfx_machine_rates *r,
                                     const cfx_machine_level *level);

/* "float32", ...; "read", ... */
CFX_API const char *cfx_machine_type_name(cfx_machine_type t);
CFX_API const char *cfx_machine_kernel_name(cfx_machine_kernel k);

CFX_END_DECLS

#endif
