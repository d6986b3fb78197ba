/*
 * lower_quantized -- replace what is between dequantize and quantize by operators on
 * integers: torch.ops.cfx.quantized_conv2d, quantized_linear, quantized_add, ...
 *
 * The reference graph of a quantized model has float operators whose inputs are
 * dequantize_per_tensor of uint8. Their results, possibly clamped, are inputs of
 * quantize_per_tensor. Such a chain becomes one operator on uint8. Its result differs
 * from the reference by at most one quantization step, since the reference rounds each
 * float product and sum.
 *
 * Attention computes its scores with integers, whatever follows it. A linear layer whose
 * input is quantized by the range of each run becomes dynamic_quantized_linear.
 *
 * Images stay in the blocked layout: a convolution becomes to_blocked, the convolution,
 * from_blocked, and later nodes read the argument of from_blocked. This file walks over
 * the graph and finds the chains.
 */
#include "interp/passes/lower/lower_quantized.h"

#include <cfx/ops.h>
#include <math.h>
#include <string.h>

#include "graph/graph_impl.h"
#include "interp/passes/lower/post_ops.h"
#include "op/op_impl.h"

/* ---- Facts about nodes ---- */

cfx_status cfx_lower__constant(cfx_lowering *l, cfx_value v, cfx_dtype dtype,
                               cfx_tensor **out)
{
    const cfx_node *n = cfx_value__node(v);
    cfx_scope *s = &l->frozen.known.scope;
    cfx_tensor *t = NULL;
    cfx_status st = n ? cfx_frozen__load(&l->frozen, n, dtype, &t) : CFX_OK;
    cfx_value kept = t ? cfx_scope_take(s, cfx_value_of_tensor(t))
                       : CFX_NOTHING;
    *out = kept.kind == CFX_TENSOR ? t : NULL;
    return st ? st : cfx_scope_status(s, l->p->err);
}

static bool has_type(const cfx_node *n, cfx_dtype dtype)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t && t->dtype == dtype;
}

/* Read the parameters of a call that quantizes per tensor; false if they are not literals,
 * or not in the range of uint8. */
static bool read_affine(const cfx_node *n, cfx_affine *out)
{
    cfx_value scale = cfx_lower__arg(n, "scale");
    cfx_value zero = cfx_lower__arg(n, "zero_point");
    cfx_value least = cfx_lower__arg(n, "quant_min");
    cfx_value most = cfx_lower__arg(n, "quant_max");
    if ((scale.kind != CFX_FLOAT && scale.kind != CFX_INT) ||
        zero.kind != CFX_INT || least.kind != CFX_INT || most.kind != CFX_INT)
        return false;
    *out = (cfx_affine){cfx_value_number(scale), zero.u.i, least.u.i,
                        most.u.i};
    return out->scale > 0 && isfinite(out->scale) && out->zero_point >= 0 &&
           out->zero_point <= 255 && out->least >= 0 &&
           out->least <= out->most && out->most <= 255;
}

cfx_node *cfx_lower__dequantized(cfx_lowering *l, const cfx_node *n,
                                 cfx_affine *out)
{
    if (!n || !cfx_node_is(n, "dequantize_per_tensor") ||
        !has_type(n, CFX_F32) || cfx_lower__is_written(l, n) ||
        !read_affine(n, out))
        return NULL;
    cfx_node *q = cfx_value__node(cfx_lower__arg(n, "input"));
    return q && has_type(q, CFX_U8) && !cfx_lower__is_written(l, q) ? q : NULL;
}

static bool is_quantize(const cfx_node *n, cfx_affine *out)
{
    return cfx_node_is(n, "quantize_per_tensor") && has_type(n, CFX_U8) &&
           read_affine(n, out);
}

/* The value of the parameter or buffer that v reads, if it has one element of this type;
 * else CFX_NOTHING. */
static cfx_status read_element(cfx_lowering *l, cfx_value v, cfx_dtype dtype,
                               cfx_value *out)
{
    cfx_tensor *t;
    cfx_status st = cfx_lower__constant(l, v, dtype, &t);
    *out = CFX_NOTHING;
    if (!st && t && cfx_tensor_numel(t) == 1)
        *out = dtype == CFX_F32 ? cfx_float((double)*(const float *)t->data)
                                : cfx_int(*(const int64_t *)t->data);
    return st;
}

#define DECOMPOSED "torch.ops.quantized_decomposed."

/* Replace a scale and a zero point that are buffers by numbers, in a call of the overload
 * that takes numbers. */
static cfx_status use_numbers(cfx_lowering *l, cfx_node *n)
{
    bool quantize = cfx_node_is(n, "quantize_per_tensor");
    cfx_value args[3] = {CFX_NOTHING};
    if ((!quantize && !cfx_node_is(n, "dequantize_per_tensor")) ||
        n->nargs != 6 || n->nkwargs)
        return CFX_OK;
    cfx_status st = read_element(l, n->args[1], CFX_F32, &args[1]);
    if (!st)
        st = read_element(l, n->args[2], CFX_I64, &args[2]);
    if (st || !args[1].kind || !args[2].kind)
        return st;
    l->p->changed++;
    st = cfx_node_set_target(n,
                             quantize
                                 ? DECOMPOSED "quantize_per_tensor.default"
                                 : DECOMPOSED "dequantize_per_tensor.default",
                             l->p->err);
    for (int i = 1; i < 3 && !st; i++)
        st = cfx_node_update_arg(n, (size_t)i, args[i], l->p->err);
    return st;
}

/* ---- Blocked images ---- */

/* to_blocked of n. It also replaces a quantize_per_tensor before it, unless the input of
 * that is written to. */
static cfx_value to_blocked(cfx_lowering *l, cfx_scope *s, cfx_node *n,
                            int64_t block)
{
    cfx_affine to;
    cfx_node *x = is_quantize(n, &to)
                      ? cfx_value__node(cfx_lower__arg(n, "input"))
                      : NULL;
    if (x && has_type(x, CFX_F32) && !cfx_lower__is_written(l, x))
        return cfx_quantize_to_blocked(
            s, cfx_value_of_node(x), cfx_float(to.scale),
            cfx_int(to.zero_point),
            .quant_min = to.least > 0 ? cfx_int(to.least) : CFX_NOTHING,
            .quant_max = to.most < 255 ? cfx_int(to.most) : CFX_NOTHING,
            .block = cfx_int(block));
    return cfx_to_blocked(s, cfx_value_of_node(n), .block = cfx_int(block));
}

cfx_value cfx_lower__blocked(cfx_lowering *l, cfx_scope *s, cfx_node *n,
                             int64_t block)
{
    cfx_node *form = cfx_lower__form(n);
    cfx_value made = cfx_node_map_get(&l->blocked, n);
    if (form)
        return cfx_value_of_node(form);
    if (block == CFX_BLOCK && made.kind == CFX_NODE)
        return made;
    made = to_blocked(l, s, n, block);
    l->made = made.kind == CFX_NODE ? made.u.node : NULL;
    l->made_of = n;
    if (block == CFX_BLOCK && made.kind == CFX_NODE)
        cfx_node_map_set(&l->blocked, n, made, NULL);
    return made;
}

cfx_status cfx_lower__replace(cfx_lowering *l, const cfx_chain *c,
                              cfx_retrace_fn *fn, void *user, cfx_node **next)
{
    bool done;
    cfx_error *err = l->p->err;
    l->made = NULL;
    cfx_status st = cfx_retracer__node(&l->retracer, c->n, fn, user, next,
                                       &done);
    if (!st && !done)
        st = cfx_fail_from(err, &l->retracer.why);
    if (st || !l->made)
        return st;
    st = cfx_node_set_meta(l->made, "from_node", CFX_NOTHING, err);
    return st ? st : cfx_node_inherit(l->made, l->made_of, err);
}

void cfx_lower__name_origin(cfx_scope *s, const cfx_chain *c, cfx_value y)
{
    cfx_error err = {0};
    if (c->clamp && y.kind == CFX_NODE &&
        cfx_node_inherit(y.u.node, c->from, &err))
        cfx_scope_fail(s, err.code, "%s", err.text);
}

/* ---- Chains ---- */

/* Is n an activation that clamps to literal bounds? Chains have no modules. */
static bool read_clamp(const cfx_lowering *l, const cfx_node *n, double *lo,
                       double *hi)
{
    return n->op != CFX_CALL_MODULE && cfx_post_op__clamps(l->p, n, lo, hi);
}

bool cfx_lower__is_between(cfx_lowering *l, const cfx_node *n)
{
    return n->nusers == 1 &&
           (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD) &&
           has_type(n, CFX_F32) && !cfx_lower__is_written(l, n);
}

/* The node that computes the first argument of n, if only n reads it. */
static cfx_node *only_read_by(cfx_lowering *l, const cfx_node *n)
{
    cfx_node *x = n->nargs ? cfx_value__node(n->args[0]) : NULL;
    return x && cfx_lower__is_between(l, x) ? x : NULL;
}

/* Does a chain that begins at n go on to a later node, and end in quantize? */
static bool goes_on(const cfx_lowering *l, const cfx_node *n)
{
    double lo, hi;
    cfx_affine to;
    for (int i = 0; i < 2 && n->nusers == 1; i++) {
        n = n->first_user->user;
        if (is_quantize(n, &to))
            return true;
        if (!read_clamp(l, n, &lo, &hi))
            return false;
    }
    return false;
}

/* The chain that ends with n: n alone, or up to quantize. */
static bool find_chain(cfx_lowering *l, cfx_node *n, cfx_chain *c)
{
    *c = (cfx_chain){.n = n, .from = n, .lo = -INFINITY, .hi = INFINITY};
    if (n->op != CFX_CALL_FUNCTION || cfx_lower__is_written(l, n))
        return false;
    c->rounds = is_quantize(n, &c->to);
    if (!c->rounds)
        return has_type(n, CFX_F32) && !goes_on(l, n);
    c->from = only_read_by(l, n);
    if (c->from && read_clamp(l, c->from, &c->lo, &c->hi)) {
        c->clamp = c->from;
        c->from = only_read_by(l, c->from);
    }
    return c->from;
}

cfx_result_range cfx_lower__range(const cfx_chain *c)
{
    const cfx_affine *to = &c->to;
    double zero = (double)to->zero_point;
    double least = fmax((double)to->least, rint(c->lo / to->scale) + zero);
    double most = fmin((double)to->most, rint(c->hi / to->scale) + zero);
    least = fmin(least, (double)to->most);
    most = fmax(most, least);
    return (cfx_result_range){
        cfx_int(to->zero_point),
        least > 0 ? cfx_int((int64_t)least) : CFX_NOTHING,
        most < 255 ? cfx_int((int64_t)most) : CFX_NOTHING};
}

static bool is_same_affine(const cfx_affine *a, const cfx_affine *b)
{
    return a->scale == b->scale && a->zero_point == b->zero_point &&
           a->least == b->least && a->most == b->most;
}

/* Let an activation that clamps read x, not x quantized and dequantized, if its result is
 * quantized with the same parameters: rounding is monotone, so the integers are equal. */
static cfx_status skip_rounding(cfx_lowering *l, cfx_node *n)
{
    cfx_affine from, before, to;
    double lo, hi;
    cfx_node *dq = n->nusers == 1 && read_clamp(l, n, &lo, &hi)
                       ? only_read_by(l, n)
                       : NULL;
    cfx_node *q = dq ? cfx_lower__dequantized(l, dq, &from) : NULL;
    if (!q || q->nusers != 1 || !is_quantize(q, &before) ||
        !is_quantize(n->first_user->user, &to) ||
        !is_same_affine(&from, &before) || !is_same_affine(&from, &to))
        return CFX_OK;
    cfx_node *x = cfx_value__node(cfx_lower__arg(q, "input"));
    if (!x || !has_type(x, CFX_F32) || cfx_lower__is_written(l, x))
        return CFX_OK;
    l->p->changed++;
    cfx_status st = cfx_node_replace_input_with(n, dq, x, l->p->err);
    if (!st)
        st = cfx_graph_erase_node(l->p->graph, dq, l->p->err);
    return st ? st : cfx_graph_erase_node(l->p->graph, q, l->p->err);
}

/* ---- Zeros around an image ---- */

/* Does n pad with zeros? */
static bool pads_zeros(const cfx_node *n)
{
    cfx_value mode = cfx_lower__arg(n, "mode");
    cfx_value value = cfx_lower__arg(n, "value");
    bool constant = !mode.kind || (mode.kind == CFX_STR &&
                                   !strcmp(mode.u.str->text, "constant"));
    bool zero = !value.kind || value.kind == CFX_NONE ||
                ((value.kind == CFX_INT || value.kind == CFX_FLOAT) &&
                 cfx_value_number(value) == 0);
    return n->op == CFX_CALL_FUNCTION && cfx_node_is(n, "pad") && constant &&
           zero;
}

/* Call what computes n of integers: the padding is the zero point. */
static cfx_node *pad_integers(cfx_lowering *l, const cfx_node *n, cfx_node *q,
                              int64_t zero)
{
    cfx_pass_call *p = l->p;
    const cfx_tensor *t = cfx_node__known_tensor(n);
    cfx_tensor *meta;
    cfx_value args[] = {cfx_value_of_node(q), cfx_lower__arg(n, "pad"),
                        CFX_NOTHING, cfx_int(zero)};
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    args[2] = cfx_str(&s, "constant");
    cfx_node *y = cfx_scope_status(&s, p->err)
                      ? NULL
                      : cfx_graph_call_function(p->graph,
                                                "torch.nn.functional.pad",
                                                cfx_args_of(args, 4), p->err);
    cfx_scope_release(&s);
    if (!y || cfx_tensor_meta(&meta, p->ctx, CFX_U8, t->rank, t->shape,
                              t->stride, p->err))
        return NULL;
    cfx_status st = cfx_node_set_meta(y, "tensor_meta",
                                      cfx_value_of_tensor(meta), p->err);
    cfx_tensor_unref(meta);
    return st || cfx_node_inherit(y, n, p->err) ? NULL : y;
}

/* Let zeros be added before a dequantize, not after it. */
static cfx_status move_padding(cfx_lowering *l, cfx_node *n)
{
    cfx_pass_call *p = l->p;
    cfx_affine from;
    cfx_node *d = pads_zeros(n) && has_type(n, CFX_F32) ? cfx_node__arg(n, 0)
                                                        : NULL;
    cfx_node *q = d ? cfx_lower__dequantized(l, d, &from) : NULL;
    if (!q || cfx_lower__is_written(l, n))
        return CFX_OK;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_node *y = pad_integers(l, n, q, from.zero_point);
    cfx_value args[] = {y ? cfx_value_of_node(y) : CFX_NOTHING,
                        cfx_float(from.scale),
                        cfx_int(from.zero_point),
                        cfx_int(from.least),
                        cfx_int(from.most),
                        cfx_value_of_dtype(CFX_U8)};
    cfx_node *out = y ? cfx_graph_call_function(
                            p->graph,
                            DECOMPOSED "dequantize_per_tensor.default",
                            cfx_args_of(args, 6), p->err)
                      : NULL;
    cfx_graph_restore(p->graph, at);
    if (!out)
        return p->err->code;
    p->changed++;
    cfx_status st = cfx_node__keep_meta(out, n, p->err);
    return st ? st : cfx_pass__replace(p, n, out);
}

/* ---- The pass ---- */

/* The rules, in the order in which they are tried. */
static cfx_lower_rule *const rules[] = {
    cfx_lower__product,    cfx_lower__add,      cfx_lower__window,
    cfx_lower__mean,       cfx_lower__cat,      cfx_lower__move,
    cfx_lower__layer_norm, cfx_lower__function,
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

static cfx_status lower_alone(cfx_lowering *l, cfx_node *n, cfx_node **next,
                              bool *done)
{
    const cfx_chain alone = {.n = n, .from = n};
    if (n->op != CFX_CALL_FUNCTION || cfx_lower__is_written(l, n))
        return CFX_OK;
    cfx_status st = cfx_lower__attention(l, &alone, next, done);
    return st || *done ? st : cfx_lower__window(l, &alone, next, done);
}

static cfx_status lower_chain(cfx_lowering *l, cfx_node *n, cfx_node **next)
{
    cfx_chain c;
    bool done = false;
    cfx_status st = lower_alone(l, n, next, &done);
    if (st || done || !find_chain(l, n, &c))
        return st;
    for (int i = 0; i < RULES && !st && !done; i++)
        st = rules[i](l, &c, next, &done);
    return st;
}

/* The constants that the rules load live until the next node. */
static cfx_status lower_node(cfx_lowering *l, cfx_node *n, cfx_node **next)
{
    size_t frame = cfx_scope_enter(&l->frozen.known.scope);
    cfx_status st = lower_chain(l, n, next);
    cfx_scope_leave(&l->frozen.known.scope, frame, cfx_none());
    return st;
}

static cfx_status prepare(cfx_lowering *l)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(l->p->graph); n && !st;
         n = cfx_node_next(n))
        st = use_numbers(l, n);
    if (!st)
        st = cfx_lower__use_uint8(l);
    for (cfx_node *n = st ? NULL : cfx_graph_first(l->p->graph), *next;
         n && !st; n = next) {
        next = cfx_node_next(n);
        st = move_padding(l, n);
    }
    for (cfx_node *n = cfx_graph_first(l->p->graph); n && !st;
         n = cfx_node_next(n))
        st = skip_rounding(l, n);
    return st;
}

static cfx_status lower_quantized_run(cfx_pass_call *p)
{
    cfx_status st = cfx_lowering__run(p, prepare, lower_node);
    return st || !p->changed
               ? st
               : cfx_graph_eliminate_dead_code(p->graph, NULL, NULL, p->err);
}

const cfx_pass cfx_pass__lower_quantized = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "lower_quantized()",
    .doc =
        "Compute convolutions, linear layers, sums and pooling between dequantize and quantize with integers, where meta tensor_meta shows the types.",
    .flags = CFX_PASS_NARROWS | CFX_PASS_WEIGHTS,
    .run = lower_quantized_run,
};
