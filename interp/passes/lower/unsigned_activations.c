/*
 * unsigned_activations -- activations in int8 as those in uint8 that stand for the same
 * numbers: q + 128, with the zero point plus 128.
 *
 * The kernels take uint8. An activation is changed if all its users are
 * dequantize_per_tensor, or move its elements and can be changed with it.
 */
#include "base/util.h"
#include "interp/passes/lower/lower_quantized.h"

enum { OFFSET = 128 };

static bool has_type(const cfx_node *n, cfx_dtype dtype)
{
    const cfx_tensor *t = n ? cfx_node__known_tensor(n) : NULL;
    return t && t->dtype == dtype;
}

static const char *const numbers[] = {"zero_point", "quant_min", "quant_max"};
enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };

/* Does n quantize to int8, or dequantize it, by numbers? */
static bool is_of_int8(const cfx_node *n, const char *name)
{
    cfx_value type = cfx_lower__arg(n, "dtype");
    if (n->op != CFX_CALL_FUNCTION || !cfx_node_is(n, name) ||
        type.kind != CFX_DTYPE || type.u.dtype != CFX_I8)
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        cfx_value v = cfx_lower__arg(n, numbers[i]);
        if (v.kind != CFX_INT || v.u.i < INT8_MIN || v.u.i > INT8_MAX)
            return false;
    }
    return true;
}

/* A weight that is quantized in each run stays in int8, which products take. */
static bool quantizes(const cfx_node *n)
{
    return is_of_int8(n, "quantize_per_tensor") && n->ninputs == 1 &&
           cfx_node_input(n, 0)->op != CFX_GET_ATTR;
}

/* Are the elements of n some of those of its only input, in its order of size? */
static bool moves(const cfx_node *n)
{
    return n->ninputs == 1 && has_type(n, CFX_I8) &&
           (cfx_node__has_flag(n, CFX_OP_MOVES) ||
            cfx_node_is(n, "max_pool2d"));
}

static bool can_change(cfx_lowering *l, const cfx_node *n, const bool *fits)
{
    if (!cfx_node_is_call(n) || !n->nusers || !has_type(n, CFX_I8) ||
        cfx_aliases__is_written(&l->frozen.aliases, n) ||
        (!quantizes(n) && !moves(n)))
        return false;
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!(u->user->ninputs == 1 &&
              is_of_int8(u->user, "dequantize_per_tensor")) &&
            !(moves(u->user) && fits[u->user->id]))
            return false;
    return true;
}

/* Add the offset to the numbers of a call. */
static cfx_status shift(cfx_pass_call *p, cfx_node *n)
{
    const cfx_schema *schema = cfx_pass__signature(n);
    cfx_status st = cfx_pass__set_arg(p, n, schema, "dtype",
                                      cfx_value_of_dtype(CFX_U8));
    for (int i = 0; i < NUMBERS && !st; i++) {
        cfx_value v = cfx_pass__arg(n, schema, numbers[i]);
        st = cfx_pass__set_arg(p, n, schema, numbers[i],
                               cfx_int(v.u.i + OFFSET));
    }
    p->changed++;
    return st;
}

/* Record that the result is in uint8. */
static cfx_status set_type(cfx_pass_call *p, cfx_node *n)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    cfx_tensor *meta;
    cfx_status st = cfx_tensor_meta(&meta, p->ctx, CFX_U8, t->rank, t->shape,
                                    t->stride, p->err);
    if (st)
        return st;
    st = cfx_node__forget_known(n, p->err);
    if (!st)
        st = cfx_node_set_meta(n, "tensor_meta", cfx_value_of_tensor(meta),
                               p->err);
    cfx_tensor_unref(meta);
    return st;
}

static cfx_status change(cfx_pass_call *p, cfx_node *n, bool fits)
{
    cfx_node *x = n->ninputs == 1 ? cfx_node_input(n, 0) : NULL;
    if (fits && quantizes(n)) {
        cfx_status st = shift(p, n);
        return st ? st : set_type(p, n);
    }
    if (!has_type(x, CFX_U8))
        return CFX_OK;
    if (is_of_int8(n, "dequantize_per_tensor"))
        return shift(p, n);
    return fits ? set_type(p, n) : CFX_OK;
}

/* Users are checked before what they read, and changed after it. */
cfx_status cfx_lower__use_uint8(cfx_lowering *l)
{
    cfx_pass_call *p = l->p;
    size_t ids = cfx_graph_ids(p->graph);
    bool *fits = cfx_calloc(p->ctx, ids + 1, sizeof(*fits));
    cfx_status st = fits ? CFX_OK : cfx_no_memory(p->err);
    for (cfx_node *n = st ? NULL : cfx_graph_last(p->graph); n;
         n = cfx_node_prev(n))
        fits[n->id] = can_change(l, n, fits);
    for (cfx_node *n = st ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        st = change(p, n, fits[n->id]);
    cfx_free(p->ctx, fits, (ids + 1) * sizeof(*fits));
    return st;
}
