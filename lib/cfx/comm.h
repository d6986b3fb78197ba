/*
 * cfx/comm.h -- communicators: how the ranks of a job exchange bytes.
 *
 * The operators of torch.ops._c10d_functional (all_reduce, broadcast, ...) call
 * the communicator of their context. A context without one is a world of one
 * rank. A communicator is a class, a constant table of hooks with a `super`: a
 * hook that is NULL is inherited. The hooks of cfx_comm_base call all_to_all,
 * so a class needs that one only:
 *
 *     static cfx_status pipe_all_to_all(cfx_comm *c, const cfx_group *g,
 *                                       const void *in, const int64_t *give,
 *                                       void *out, const int64_t *take,
 *                                       cfx_error *err);
 *
 *     const cfx_comm_class pipe_class = {
 *         .size = sizeof(cfx_comm_class),
 *         .name = "pipe",
 *         .super = &cfx_comm_base,
 *         .all_to_all = pipe_all_to_all,
 *         .release = pipe_release,
 *     };
 *
 * Every rank of a group makes the same calls in the same order. A call returns
 * when its result is complete.
 */
#ifndef CFX_COMM_H
#define CFX_COMM_H

#include <cfx/context.h>
#include <cfx/dtype.h>

typedef struct cfx_comm cfx_comm;
typedef struct cfx_comm_class cfx_comm_class;

typedef enum cfx_reduction {
    CFX_REDUCE_SUM,
    CFX_REDUCE_PRODUCT,
    CFX_REDUCE_MIN,
    CFX_REDUCE_MAX,
    CFX_REDUCE_BAND, /* bitwise, of integers only */
    CFX_REDUCE_BOR,
    CFX_REDUCE_BXOR
} cfx_reduction;

/* Some ranks of the world, in their order within the group. */
typedef struct cfx_group {
    const char *name;
    int size;
    int rank;         /* of this process in the group; -1: not a member */
    const int *ranks; /* in the world; NULL: all of them */
} cfx_group;

/*
 * Buffers are contiguous. `in` and `out` do not overlap, except in all_reduce,
 * where they may be equal. Types are those with arithmetic, without bool and
 * complex ones. Hooks fail with CFX_EIO, CFX_ENOMEM.
 */
struct cfx_comm_class {
    size_t size; /* sizeof(cfx_comm_class) */
    const char *name;
    const cfx_comm_class *super;
    /* `n` elements of each rank, combined, on every rank. */
    cfx_status (*all_reduce)(cfx_comm *c, const cfx_group *g,
                             cfx_reduction how, cfx_dtype type, const void *in,
                             void *out, int64_t n, cfx_error *err);
    /* `bytes` of each rank, one after the other, on every rank. */
    cfx_status (*all_gather)(cfx_comm *c, const cfx_group *g, const void *in,
                             void *out, int64_t bytes, cfx_error *err);
    /* Rank r gets the r-th `n` elements of the combination; `in` has n times
     * the group's size. */
    cfx_status (*reduce_scatter)(cfx_comm *c, const cfx_group *g,
                                 cfx_reduction how, cfx_dtype type,
                                 const void *in, void *out, int64_t n,
                                 cfx_error *err);
    /* give[r] bytes go to rank r, take[r] come from it, one after the other. */
    cfx_status (*all_to_all)(cfx_comm *c, const cfx_group *g, const void *in,
                             const int64_t *give, void *out,
                             const int64_t *take, cfx_error *err);
    /* `bytes` at `data` on rank `from` of the group, on every rank. */
    cfx_status (*broadcast)(cfx_comm *c, const cfx_group *g, int from,
                            void *data, int64_t bytes, cfx_error *err);
    /* End the job on all ranks: this one has failed. May return. */
    void (*stop)(cfx_comm *c, int status);
    void (*release)(cfx_comm *c);
};

/* The first member of a communicator. */
struct cfx_comm {
    const cfx_comm_class *cls;
    cfx_context *ctx; /* for temporary memory */
    int rank, size;   /* of the world */
};

CFX_BEGIN_DECLS

/* The world of one rank, and how other classes compute all by all_to_all:
 * reductions in the order of the ranks. */
CFX_API extern const cfx_comm_class cfx_comm_base;

/* Give a context its communicator, which is released with it; also if this
 * function fails, with CFX_EINVAL if there is one, or CFX_ENOMEM. */
CFX_API cfx_status cfx_context_set_comm_take(cfx_context *ctx, cfx_comm *comm,
                                             cfx_error *err);

/* The communicator of a context, or NULL for a world of one rank. */
CFX_API cfx_comm *cfx_context_comm(cfx_context *ctx);

/* Name a group of `n` ranks of the world; "0" is the world, as in PyTorch.
 * Fails with CFX_EINVAL for a name in use and for a rank outside the world or
 * given twice, CFX_ENOMEM. */
CFX_API cfx_status cfx_context_add_group(cfx_context *ctx, const char *name,
                                         int n, const int *ranks,
                                         cfx_error *err);

/* Find a group by its name. Fails with CFX_ENAME, and CFX_EINVAL if this rank
 * is not in it. */
CFX_API cfx_status cfx_context_find_group(cfx_context *ctx, const char *name,
                                          cfx_group *out, cfx_error *err);

/* Call a hook of the context's communicator. */
CFX_API cfx_status cfx_comm_all_reduce(cfx_context *ctx, const cfx_group *g,
                                       cfx_reduction how, cfx_dtype type,
                                       const void *in, void *out, int64_t n,
                                       cfx_error *err);
CFX_API cfx_status cfx_comm_all_gather(cfx_context *ctx, const cfx_group *g,
                                       const void *in, void *out,
                                       int64_t bytes, cfx_error *err);
CFX_API cfx_status cfx_comm_reduce_scatter(cfx_context *ctx,
                                           const cfx_group *g,
                                           cfx_reduction how, cfx_dtype type,
                                           const void *in, void *out,
                                           int64_t n, cfx_error *err);
CFX_API cfx_status cfx_comm_all_to_all(cfx_context *ctx, const cfx_group *g,
                                       const void *in, const int64_t *give,
                                       void *out, const int64_t *take,
                                       cfx_error *err);
CFX_API cfx_status cfx_comm_broadcast(cfx_context *ctx, const cfx_group *g,
                                      int from, void *data, int64_t bytes,
                                      cfx_error *err);
CFX_API void cfx_comm_stop(cfx_comm *comm, int status);
CFX_API void cfx_comm_release(cfx_comm *comm);

/* acc[i] = acc[i] combined with in[i], for communicators. 16-bit floats are
 * rounded after each step. Never fails. */
CFX_API void cfx_comm_combine(cfx_reduction how, cfx_dtype type, void *acc,
                              const void *in, int64_t n);

/*
 * A world whose ranks are threads of this process: out[r] is for the context
 * of rank r, which one thread uses. Its memory is that of `ctx`, which must
 * outlive them. Fails with CFX_ENOMEM, CFX_EUNSUPPORTED in a build without
 * threads.
 */
CFX_API cfx_status cfx_comm_threads_new(cfx_comm **out, cfx_context *ctx,
                                        int n, cfx_error *err);

CFX_END_DECLS

#endif
