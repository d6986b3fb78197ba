/*
 * tune -- choose algorithms by measurement.
 *
 * A convolution that Winograd's algorithm can compute is measured in both ways,
 * each in a copy of the whole model, so that the caches are as in a run. The
 * copies run alternately; a node's time is its least median.
 */
#include "optimize/optimizer.h"

#include <cfx/roofline.h>
#include <float.h>
#include <string.h>

enum { ROUNDS = 3, MOST_RUNS = 1000 };

typedef enum way { DIRECT, WINOGRAD, WAYS } way;

/* A copy of the model in which one way is taken wherever it can be. */
typedef struct trial {
    cfx_module *gm;
    cfx_roofline *r;
    double *seconds; /* of each node */
    size_t cap;
} trial;

static const char *const trial_names[WAYS] = {"", "'*'"};

/* Append the passes in which Winograd's algorithm computes what is named. */
static void print_passes(cfx_buf *to, const cfx_optimizer *z,
                         const char *names)
{
    cfx_buf_printf(to, "%sblock_channels(winograd=[%s]%s)%s",
                   CFX_PASSES_BEFORE_BLOCKS, names,
                   z->o->bfloat16 ? ", bfloat16=True" : "",
                   CFX_PASSES_AFTER_BLOCKS);
}

/* ---- Inputs ---- */

typedef struct zeros {
    cfx_value *value;
    size_t n, cap;
} zeros;

static void release_zeros(zeros *in, cfx_context *ctx)
{
    for (size_t i = 0; i < in->n; i++)
        cfx_value_unref(in->value[i]);
    cfx_free(ctx, in->value, in->cap * sizeof(*in->value));
}

static cfx_status zero_of(cfx_value *out, cfx_context *ctx, cfx_value like,
                          cfx_error *err)
{
    int64_t shape[CFX_MAX_RANK];
    cfx_tensor *t;
    if (like.kind != CFX_TENSOR) {
        *out = cfx_value_ref(like);
        return CFX_OK;
    }
    for (int i = 0; i < like.u.tensor->rank; i++) {
        if (!cfx_dim_is_int(like.u.tensor->shape[i]))
            return cfx_fail(
                err, CFX_EINVAL,
                "symbols have no time that can be measured: give inputs with numbers");
        shape[i] = cfx_dim_value(like.u.tensor->shape[i]);
    }
    cfx_status st = cfx_tensor_new(&t, ctx, like.u.tensor->dtype,
                                   like.u.tensor->rank, shape, err);
    if (st)
        return st;
    memset(t->data, 0, (size_t)cfx_tensor_numel(t) * cfx_dtype_size(t->dtype));
    *out = cfx_value_of_tensor(t);
    return CFX_OK;
}

/* Tensors of zeros in place of z's inputs: no time depends on their numbers. */
static cfx_status make_zeros(zeros *in, const cfx_optimizer *z,
                             cfx_context *ctx, cfx_error *err)
{
    cfx_status st = cfx_grow(ctx, in->value, in->cap, z->ninputs, err);
    for (; in->n < z->ninputs && !st; in->n += !st)
        st = zero_of(&in->value[in->n], ctx, z->inputs[in->n], err);
    return st;
}

/* ---- Trials ---- */

static void release_trial(trial *t, cfx_context *ctx)
{
    cfx_roofline_free(t->r);
    cfx_module_unref(t->gm);
    cfx_free(ctx, t->seconds, t->cap * sizeof(*t->seconds));
}

static cfx_status make_trial(trial *t, way w, const cfx_optimizer *z,
                             const cfx_module *gm, const zeros *in,
                             cfx_error *err)
{
    cfx_buf passes;
    cfx_buf_init(&passes, cfx_module_context(gm));
    print_passes(&passes, z, trial_names[w]);
    cfx_status st = passes.failed ? cfx_no_memory(err)
                                  : cfx_module_copy(&t->gm, gm, err);
    if (!st)
        st = cfx_optimizer__apply(z, t->gm, cfx_buf_str(&passes), NULL, false,
                                  err);
    cfx_buf_release(&passes);
    if (!st)
        st = cfx_roofline_new(&t->r, t->gm, in->value, in->n, NULL, err);
    if (!st)
        st = cfx_grow(cfx_module_context(gm), t->seconds, t->cap, t->r->nnodes,
                      err);
    for (size_t i = 0; !st && i < t->r->nnodes; i++)
        t->seconds[i] = DBL_MAX;
    return st;
}

/* Run one copy for so long, at least once. */
static cfx_status measure(trial *t, const zeros *in, double seconds,
                          cfx_error *err)
{
    double runs = t->r->run_seconds > 0 ? seconds / t->r->run_seconds : 1;
    runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : runs;
    cfx_status st = cfx_roofline_measure(t->r, in->value, in->n, (int)runs,
                                         NULL, NULL, err);
    for (size_t i = 0; i < t->r->nnodes && !st; i++)
        if (t->r->node[i].seconds < t->seconds[i])
            t->seconds[i] = t->r->node[i].seconds;
    return st;
}

/* In the first round each copy runs once, which tells how long a run takes. */
static cfx_status measure_all(trial t[WAYS], const zeros *in, double seconds,
                              cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i <= ROUNDS; i++)
        for (way w = 0; w < WAYS && !st; w++)
            st = measure(&t[w], in, seconds / (ROUNDS * WAYS), err);
    return st;
}

/* ---- The choice ---- */

static cfx_value origin(const trial *t, size_t i)
{
    return cfx_node_meta(t->r->node[i].cost->node, "from_node");
}

static bool has_winograd(const trial *t)
{
    for (size_t i = 0; i < t->r->nnodes; i++)
        if (cfx_node_is(t->r->node[i].cost->node, "blocked_winograd_conv2d"))
            return true;
    return false;
}

/* Append the names of the convolutions that are faster by Winograd's algorithm.
 * Nodes of both graphs that compute the same come in the same order. */
static void choose(const trial t[WAYS], const cfx_optimizer *z, cfx_buf *names)
{
    const trial *d = &t[DIRECT], *w = &t[WINOGRAD];
    for (size_t i = 0, from = 0; i < w->r->nnodes; i++) {
        cfx_value nodes = origin(w, i);
        size_t j = from;
        if (!cfx_node_is(w->r->node[i].cost->node,
                         "blocked_winograd_conv2d") ||
            !cfx_value_is_seq(nodes))
            continue;
        while (j < d->r->nnodes && !cfx_value_equal(origin(d, j), nodes))
            j++;
        if (j == d->r->nnodes)
            continue;
        from = j + 1;
        const char *name = nodes.u.seq->item[0].u.str->text;
        if (z->o->tuned)
            z->o->tuned(z->o->user, name, d->seconds[j], w->seconds[i]);
        if (w->seconds[i] < d->seconds[j])
            cfx_buf_printf(names, "%s'%s'", names->len ? ", " : "", name);
    }
}

cfx_status cfx_optimizer__tune(const cfx_optimizer *z, const cfx_module *gm,
                               cfx_buf *passes, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    trial t[WAYS] = {{.gm = NULL}};
    zeros in = {.n = 0};
    cfx_buf names;
    cfx_buf_init(&names, ctx);
    cfx_status st = make_zeros(&in, z, ctx, err);
    for (way w = 0; w < WAYS && !st; w++)
        st = make_trial(&t[w], w, z, gm, &in, err);
    if (!st && has_winograd(&t[WINOGRAD]))
        st = measure_all(t, &in, z->o->tune_seconds, err);
    if (!st)
        choose(t, z, &names);
    print_passes(passes, z, cfx_buf_str(&names));
    if (!st && (names.failed || passes->failed))
        st = cfx_no_memory(err);
    cfx_buf_release(&names);
    for (way w = 0; w < WAYS; w++)
        release_trial(&t[w], ctx);
    release_zeros(&in, ctx);
    return st;
}
