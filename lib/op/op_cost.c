/*
 * op_cost -- helpers of cost rules, mostly for bytes.
 */
#include "op/op_cost.h"

#include "op/op_impl.h"

/* ---- Counts ---- */

cfx_dim cfx_cost_linear(const cfx_call *call, int64_t a, cfx_dim n, int64_t b,
                        cfx_dim m)
{
    cfx_shape_env *env = call->env;

    return cfx_dim_add(env, cfx_dim_mul(env, n, cfx_dim_int(a)),
                       cfx_dim_mul(env, m, cfx_dim_int(b)));
}

cfx_dim cfx_cost_rows(const cfx_call *call, const cfx_tensor *t, uint32_t mask)
{
    cfx_dim n = cfx_dim_int(1);

    for (int i = 0; i < t->rank; i++) {
        if (!(mask >> i & 1))
            n = cfx_dim_mul(call->env, n, t->shape[i]);
    }
    return n;
}

/* ---- Bytes ---- */

cfx_dim cfx_cost_sized(const cfx_call *call, cfx_dim n, const cfx_tensor *t)
{
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);

    return cfx_dim_mul(call->env, n, cfx_dim_int((int64_t)size));
}

cfx_dim cfx_cost_bytes_of(const cfx_call *call, const cfx_tensor *t)
{
    cfx_dim n = cfx_dim_int(1);

    for (int i = 0; i < t->rank; i++) {
        if (!cfx_dim_is(t->stride[i], 0) || cfx_dim_is(t->shape[i], 0))
            n = cfx_dim_mul(call->env, n, t->shape[i]);
    }
    return cfx_cost_sized(call, n, t);
}

/* The distinct tensors in arguments; duplicates beyond the first 64 are not
 * detected. */
enum { MAX_DISTINCT = 64 };

typedef struct reading {
    const cfx_call *call;
    const cfx_tensor *seen[MAX_DISTINCT];
    int n;
    cfx_dim bytes;
} reading;

static cfx_status read_one(void *user, cfx_value v)
{
    reading *r = user;

    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    for (int i = 0; i < r->n; i++) {
        if (r->seen[i] == v.u.tensor)
            return CFX_OK;
    }
    if (r->n < MAX_DISTINCT)
        r->seen[r->n++] = v.u.tensor;
    r->bytes = cfx_dim_add(r->call->env, r->bytes,
                           cfx_cost_bytes_of(r->call, v.u.tensor));
    return CFX_OK;
}

static void read_value(reading *r, cfx_value v)
{
    cfx_value_visit(v, read_one, r);
}

static cfx_dim bytes_read(const cfx_call *call)
{
    reading r = {.call = call, .bytes = cfx_dim_int(0)};

    for (int k = 0; k < call->schema->nparams; k++)
        read_value(&r, call->in[k]);
    return r.bytes;
}

static cfx_dim bytes_written(const cfx_call *call)
{
    reading r = {.call = call, .bytes = cfx_dim_int(0)};

    for (int i = 0; i < call->nout; i++) {
        if (!call->alias[i])
            read_value(&r, cfx_value_of_tensor(call->out[i]));
    }
    read_value(&r, call->result);
    return r.bytes;
}

/* Are all results views or arguments? Then nothing is computed. */
static bool only_views(const cfx_call *call)
{
    for (int i = 0; i < call->nout; i++) {
        if (!call->alias[i])
            return false;
    }
    return call->nout > 0;
}

void cfx_cost__fill(const cfx_call *call, cfx_cost *cost)
{
    bool free = !call->op->run || only_views(call);

    if (cfx_dim_is_bad(cost->bytes_read))
        cost->bytes_read = free ? cfx_dim_int(0) : bytes_read(call);
    if (cfx_dim_is_bad(cost->bytes_written))
        cost->bytes_written = free ? cfx_dim_int(0) : bytes_written(call);
}

/* ---- Windows ---- */

static bool known_le(const cfx_call *call, cfx_dim a, cfx_dim b)
{
    return cfx_dim_known_le(call->env, a, b);
}

cfx_dim cfx_cost_window(const cfx_call *call, const cfx_cost_axis *a)
{
    cfx_shape_env *env = call->env;
    cfx_dim one = cfx_dim_int(1), seen;
    cfx_dim most = cfx_dim_sub(env, a->stride, one);

    /* Windows without gaps cover the axis if the rest of the last stride is
     * padding. */
    bool gaps = !cfx_dim_is(a->dilation, 1) && !cfx_dim_is(a->stride, 1);
    if (!gaps && known_le(call, a->stride, a->kernel) &&
        known_le(call, most, a->pad))
        return a->n;
    if (cfx_dim_is(a->stride, 1))
        return a->n;
    if (!gaps && known_le(call, a->stride, a->kernel))
        seen = cfx_dim_add(
            env, cfx_dim_mul(env, cfx_dim_sub(env, a->out, one), a->stride),
            a->kernel);
    else
        seen = cfx_dim_mul(env, a->out, a->kernel);
    /* With gaps, it is unknown which of them lie in the padding. Without, the
     * padding before the axis is in the first window only, if it is at most
     * the stride. */
    if (!gaps && known_le(call, a->pad, a->stride))
        seen = cfx_dim_sub(env, seen, cfx_dim_min(env, a->pad, a->kernel));
    else if (!gaps && known_le(call, a->stride, a->kernel))
        seen = cfx_dim_sub(env, seen, a->pad);
    return cfx_dim_max(env, cfx_dim_int(0), cfx_dim_min(env, a->n, seen));
}

cfx_dim cfx_cost_windows(const cfx_call *call, const cfx_tensor *x,
                         const cfx_cost_axis *axis, int naxes)
{
    cfx_dim n = cfx_dim_int(1);

    for (int i = 0; i < x->rank; i++) {
        int k = i - (x->rank - naxes);
        if (!cfx_dim_is(x->stride[i], 0) || cfx_dim_is(x->shape[i], 0))
            n = cfx_dim_mul(call->env, n,
                            k < 0 ? x->shape[i]
                                  : cfx_cost_window(call, &axis[k]));
    }
    return cfx_cost_sized(call, n, x);
}

/* ---- Rules ---- */

void cfx_cost_created(const cfx_call *call, cfx_cost *cost)
{
    (void)call;
    cost->bytes_read = cfx_dim_int(0);
}

void cfx_cost_first(const cfx_call *call, cfx_cost *cost)
{
    if (!only_views(call))
        cost->bytes_read = cfx_cost_bytes_of(call,
                                             cfx_call__tensor_at(call, 0));
}

void cfx_cost_normalize(const cfx_call *call, cfx_cost *cost, cfx_dim groups,
                        bool weight, bool bias)
{
    cfx_dim n = cfx_cost_numel(call, cfx_call__tensor_at(call, 0));

    cost->ops = cfx_cost_linear(call, 5 + weight + bias, n, 3, groups);
    cost->transcendental = cfx_dim_mul(call->env, groups, cfx_dim_int(4));
}
