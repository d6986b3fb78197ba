/*
 * quantize_convert -- replace observers by quantize and dequantize.
 */
#include <cfx/ops.h>

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/passes/pass_impl.h"
#include "interp/quantize/quantize_impl.h"

#define OVERLOAD(name) "torch.ops.quantized_decomposed." name
#define OP(name) OVERLOAD(name) ".default"

/* A pass over the graph, and the parameters that were quantized, by the bytes of
 * their scales. */
typedef struct converter {
    cfx_pass_call *p;
    cfx_quantized_list *all; /* NULL: not asked for */
    cfx_aliases aliases;
    cfx_quant_report *report;
    cfx_arena memory;
    cfx_map made; /* of struct made */
    struct made *last;
} converter;

/* One observer: what it observed, and what it chose. */
typedef struct choice {
    cfx_module *observer;
    cfx_node *call, *from;
    cfx_tensor *parameter; /* that `from` reads; or NULL */
    cfx_quant_range range;
    cfx_tensor *scale, *zero_point;
    int64_t axis;
    double error; /* of a parameter */
} choice;

/* The elements of a channel with one scale; 0: all. */
static int64_t group_of(const choice *c)
{
    cfx_value v = cfx_attr(c->observer, "group_size");
    return v.kind == CFX_INT ? v.u.i : 0;
}

/* Are two integers stored in one byte? */
static bool is_packed(const choice *c)
{
    return group_of(c) && group_of(c) % 2 == 0 && c->range.dtype == CFX_I8 &&
           c->range.least >= -8 && c->range.most <= 7;
}

/* Does each run choose scale and zero point? */
static bool is_dynamic(const cfx_module *m)
{
    cfx_value v = cfx_attr(m, "is_dynamic");
    return v.kind == CFX_BOOL_VALUE && cfx_attr_bool(m, "is_dynamic");
}

static bool is_by_channel(const choice *c)
{
    return cfx_attr(c->observer, "ch_axis").kind == CFX_INT;
}

cfx_status cfx_quantize__observe(cfx_module *observer, cfx_tensor *parameter,
                                 cfx_error *err)
{
    cfx_scope s;
    cfx_value out = CFX_NOTHING;
    cfx_scope_init(&s, &cfx_eager_class, cfx_module_context(observer), NULL);
    cfx_scope_call_module(&s, observer, NULL,
                          CFX_ARGS(cfx_value_of_tensor(parameter)), &out);
    cfx_status st = cfx_scope_status(&s, err);
    cfx_value_unref(out);
    cfx_scope_release(&s);
    return st;
}

static cfx_status choose(choice *c, cfx_error *err)
{
    cfx_status st = cfx_observer_range(c->observer, &c->range, err);
    bool seen = cfx_observer_has_seen(c->observer) ||
                !cfx_module_state(c->observer, "min_val");
    if (!st && !seen && c->parameter)
        st = cfx_quantize__observe(c->observer, c->parameter, err);
    else if (!st && !seen)
        st = cfx_fail(
            err, CFX_EINVAL,
            "the observer has seen no data: run the prepared model on calibration data");
    if (!st)
        st = cfx_observer_qparams(c->observer, &c->scale, &c->zero_point, err);
    if (!st && is_by_channel(c) && !c->parameter)
        st = cfx_fail(err, CFX_EUNSUPPORTED,
                      "scales by channel are supported for parameters only");
    if (!st && is_by_channel(c))
        c->axis = cfx_attr_int(c->observer, "ch_axis");
    return st;
}

/* ---- New nodes ---- */

static cfx_node *call_function(cfx_pass_call *p, const choice *c,
                               const char *name, cfx_args args)
{
    cfx_node *n = cfx_graph_call_function(p->graph, name, args, p->err);
    return n && !cfx_node_inherit(n, c->call, p->err) ? n : NULL;
}

static cfx_node *call_op(cfx_pass_call *p, const choice *c, const char *op,
                         cfx_value x, cfx_value scale, cfx_value zero)
{
    cfx_value args[] = {x,
                        scale,
                        zero,
                        cfx_int(c->range.least),
                        cfx_int(c->range.most),
                        cfx_value_of_dtype(c->range.dtype)};
    cfx_value by_channel[] = {args[0], args[1], args[2], cfx_int(c->axis),
                              args[3], args[4], args[5]};
    return call_function(p, c, op,
                         is_by_channel(c) ? (cfx_args){by_channel, 7, NULL, 0}
                                          : (cfx_args){args, 6, NULL, 0});
}

static double scale_at(const choice *c, int64_t i)
{
    return (double)((const float *)c->scale->data)[i];
}

static int64_t zero_at(const choice *c, int64_t i)
{
    cfx_dtype type = (cfx_dtype)c->zero_point->dtype;
    return cfx_element_int(type, (const char *)c->zero_point->data +
                                     (size_t)i * cfx_dtype_size(type));
}

static bool has_zeros(const choice *c)
{
    bool any = false;
    for (int64_t i = 0; i < cfx_tensor_numel(c->zero_point) && !any; i++)
        any = zero_at(c, i) != 0;
    return any;
}

static cfx_node *quantize_value(cfx_pass_call *p, const choice *c)
{
    cfx_value scale = cfx_float(scale_at(c, 0)), zero = cfx_int(zero_at(c, 0));
    cfx_node *q = call_op(p, c, OP("quantize_per_tensor"),
                          cfx_value_of_node(c->from), scale, zero);
    return q ? call_op(p, c, OP("dequantize_per_tensor"), cfx_value_of_node(q),
                       scale, zero)
             : NULL;
}

/* ---- By the range of each run ---- */

static bool is_by_token(const choice *c)
{
    const char *scheme = cfx_attr_str(c->observer, "qscheme");
    return scheme && !strcmp(scheme, "per_token_affine");
}

/* Scale and zero point of the value; eps is that of PyTorch's observers. */
static cfx_node *choose_in_run(cfx_pass_call *p, const choice *c)
{
    const cfx_value x = cfx_value_of_node(c->from);
    const cfx_value type = cfx_value_of_dtype(c->range.dtype);
    return is_by_token(c)
               ? call_function(p, c, OP("choose_qparams_per_token_asymmetric"),
                               CFX_ARGS(x, type))
               : call_function(p, c, OVERLOAD("choose_qparams.tensor"),
                               CFX_ARGS(x, cfx_int(c->range.least),
                                        cfx_int(c->range.most),
                                        cfx_float(0x1p-23), type));
}

static cfx_node *item_of(cfx_pass_call *p, const choice *c, cfx_node *pair,
                         int64_t i)
{
    return call_function(p, c, "operator.getitem",
                         CFX_ARGS(cfx_value_of_node(pair), cfx_int(i)));
}

static cfx_node *quantize_in_run(cfx_pass_call *p, const choice *c)
{
    bool rows = is_by_token(c);
    cfx_node *pair = choose_in_run(p, c);
    cfx_node *scale = pair ? item_of(p, c, pair, 0) : NULL;
    cfx_node *zero = scale ? item_of(p, c, pair, 1) : NULL;
    if (!zero)
        return NULL;
    const cfx_value s = cfx_value_of_node(scale), z = cfx_value_of_node(zero);
    cfx_node *q = call_op(p, c,
                          rows ? OP("quantize_per_token")
                               : OVERLOAD("quantize_per_tensor.tensor"),
                          cfx_value_of_node(c->from), s, z);
    if (!q || !rows)
        return q ? call_op(p, c, OVERLOAD("dequantize_per_tensor.tensor"),
                           cfx_value_of_node(q), s, z)
                 : NULL;
    return call_function(
        p, c, OP("dequantize_per_token"),
        CFX_ARGS(cfx_value_of_node(q), s, z, cfx_int(c->range.least),
                 cfx_int(c->range.most), cfx_value_of_dtype(c->range.dtype),
                 cfx_value_of_dtype(CFX_F32)));
}

/* ---- Parameters ---- */

/* The tensor to be rounded: the parameter, or what GPTQ made of it. */
static cfx_value to_round(const choice *c)
{
    const cfx_state *s = cfx_module_state(c->observer, CFX_QUANTIZE_ROUNDED);
    return cfx_value_of_tensor(s ? s->tensor : c->parameter);
}

static cfx_status quantize_tensor(choice *c, cfx_tensor **out, cfx_error *err)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, cfx_module_context(c->observer),
                   NULL);
    cfx_value x = to_round(c), y, back;
    cfx_value least = cfx_int(c->range.least), most = cfx_int(c->range.most);
    cfx_value type = cfx_value_of_dtype(c->range.dtype);
    cfx_value scale = cfx_value_of_tensor(c->scale);
    cfx_value zero = cfx_value_of_tensor(c->zero_point);
    if (is_by_channel(c)) {
        cfx_value axis = cfx_int(c->axis);
        y = cfx_quantize_per_channel(&s, x, scale, zero, axis, least, most,
                                     type);
        back = cfx_dequantize_per_channel(&s, y, scale, zero, axis, least,
                                          most, type);
    } else {
        y = cfx_quantize_per_tensor(&s, x, scale, zero, least, most, type);
        back = cfx_dequantize_per_tensor(&s, y, scale, zero, least, most,
                                         type);
    }
    y = cfx_contiguous(&s, y);
    cfx_status st = cfx_scope_status(&s, err);
    *out = st ? NULL : cfx_tensor_ref(y.u.tensor);
    if (!st)
        c->error = cfx_quantize__error(c->parameter, back.u.tensor);
    cfx_scope_release(&s);
    return st;
}

static cfx_node *add_named(cfx_pass_call *p, const choice *c,
                           const char *suffix, cfx_tensor *t)
{
    cfx_buf prefix;
    cfx_node *n = NULL;
    cfx_buf_init(&prefix, p->ctx);
    cfx_buf_puts(&prefix, c->from->target->text);
    cfx_buf_puts(&prefix, suffix);
    if (prefix.failed)
        cfx_no_memory(p->err);
    else
        n = cfx_pass_add_tensor(p, cfx_buf_str(&prefix), t);
    cfx_buf_release(&prefix);
    return n && !cfx_node_inherit(n, c->call, p->err) ? n : NULL;
}

static cfx_node *quantize_parameter(cfx_pass_call *p, choice *c)
{
    cfx_tensor *t;
    cfx_node *q, *scale, *zero, *out = NULL;
    if (quantize_tensor(c, &t, p->err))
        return NULL;
    if (!is_by_channel(c)) {
        q = add_named(p, c, "_quantized_", t);
        out = q ? call_op(p, c, OP("dequantize_per_tensor"),
                          cfx_value_of_node(q), cfx_float(scale_at(c, 0)),
                          cfx_int(zero_at(c, 0)))
                : NULL;
    } else if ((q = add_named(p, c, "_quantized_", t)) &&
               (scale = add_named(p, c, "_scale_", c->scale)) &&
               (zero = add_named(p, c, "_zero_point_", c->zero_point))) {
        out = call_op(p, c, OP("dequantize_per_channel"), cfx_value_of_node(q),
                      cfx_value_of_node(scale), cfx_value_of_node(zero));
    }
    cfx_tensor_unref(t);
    return out;
}

/* ---- Parameters by groups ---- */

/* Two integers of 4 bits in a byte, the first in the lower half; 8 is added. */
static cfx_status pack(cfx_tensor **out, const cfx_tensor *t, cfx_error *err)
{
    int64_t shape[] = {cfx_tensor_size(t, 0), cfx_tensor_size(t, 1) / 2};
    cfx_status st = cfx_tensor_new(out, t->ctx, CFX_U8, 2, shape, err);
    const int8_t *from = t->data;
    for (int64_t i = 0; !st && i < shape[0] * shape[1]; i++)
        ((uint8_t *)(*out)->data)[i] = (uint8_t)((from[2 * i] + 8) |
                                                 (from[2 * i + 1] + 8) << 4);
    return st;
}

/* The integers, packed if they are small, as rows of output channels; scales and
 * zero points get a column for each group, and these the type of the integers. */
static cfx_status quantize_groups(choice *c, cfx_tensor **out, cfx_error *err)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, cfx_module_context(c->observer),
                   NULL);
    cfx_value least = cfx_int(c->range.least), most = cfx_int(c->range.most);
    cfx_value type = cfx_value_of_dtype(c->range.dtype);
    cfx_value float32 = cfx_value_of_dtype(CFX_F32);
    cfx_value group = cfx_int(group_of(c)), axis = cfx_int(c->axis);
    cfx_value rows = cfx_int(cfx_tensor_size(c->parameter, (int)c->axis));
    cfx_value shape = cfx_list(&s, rows, cfx_int(-1));
    cfx_value x = cfx_transpose(&s, to_round(c), cfx_int(0), axis);
    cfx_value scale = cfx_reshape(&s, cfx_value_of_tensor(c->scale), shape);
    cfx_value zero = cfx_reshape(&s, cfx_value_of_tensor(c->zero_point),
                                 shape);
    cfx_value y = cfx_quantize_per_channel_group(&s, x, scale, zero, least,
                                                 most, type, group);
    cfx_value back = cfx_dequantize_per_channel_group(
        &s, y, scale, zero, least, most, type, group, float32);
    back = cfx_transpose(&s, back, cfx_int(0), axis);
    y = cfx_contiguous(&s, y);
    zero = cfx_to(&s, zero, type);
    cfx_status st = cfx_scope_status(&s, err);
    *out = NULL;
    if (!st && is_packed(c))
        st = pack(out, y.u.tensor, err);
    else if (!st)
        *out = cfx_tensor_ref(y.u.tensor);
    if (!st) {
        c->error = cfx_quantize__error(c->parameter, back.u.tensor);
        cfx_tensor_unref(c->scale);
        c->scale = cfx_tensor_ref(scale.u.tensor);
        cfx_tensor_unref(c->zero_point);
        c->zero_point = cfx_tensor_ref(zero.u.tensor);
    }
    cfx_scope_release(&s);
    return st;
}

/* int8 integers from packed ones: the halves of each byte beside each other. */
static cfx_node *unpack(cfx_pass_call *p, const choice *c, cfx_node *packed)
{
    const cfx_value x = cfx_value_of_node(packed);
    cfx_scope s;
    cfx_node *low = call_function(p, c, "torch.bitwise_and",
                                  CFX_ARGS(x, cfx_int(15)));
    cfx_node *high = low ? call_function(p, c, "torch.bitwise_right_shift",
                                         CFX_ARGS(x, cfx_int(4)))
                         : NULL;
    cfx_node *n = NULL;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value both = high ? cfx_list(&s, cfx_value_of_node(low),
                                     cfx_value_of_node(high))
                          : cfx_none();
    if (high && !cfx_scope_status(&s, p->err))
        n = call_function(p, c, "torch.stack", CFX_ARGS(both, cfx_int(-1)));
    cfx_scope_release(&s);
    if (n)
        n = call_function(p, c, "torch.flatten",
                          CFX_ARGS(cfx_value_of_node(n), cfx_int(1)));
    if (n)
        n = call_function(
            p, c, OVERLOAD("convert_element_type.no_fuse"),
            CFX_ARGS(cfx_value_of_node(n), cfx_value_of_dtype(CFX_I8)));
    return n ? call_function(p, c, "torch.sub",
                             CFX_ARGS(cfx_value_of_node(n), cfx_int(8)))
             : NULL;
}

static cfx_node *quantize_by_groups(cfx_pass_call *p, choice *c)
{
    cfx_tensor *t;
    cfx_node *n = NULL, *scale = NULL, *zero = NULL;
    bool zeros = has_zeros(c);
    if (quantize_groups(c, &t, p->err))
        return NULL;
    if ((n = add_named(p, c, is_packed(c) ? "_packed_" : "_quantized_", t)) &&
        (scale = add_named(p, c, "_scale_", c->scale)) && zeros)
        zero = add_named(p, c, "_zero_point_", c->zero_point);
    if (n && scale && is_packed(c))
        n = unpack(p, c, n);
    cfx_tensor_unref(t);
    if (!n || !scale || !zero != !zeros)
        return NULL;
    n = call_function(p, c, OP("dequantize_per_channel_group"),
                      CFX_ARGS(cfx_value_of_node(n), cfx_value_of_node(scale),
                               zero ? cfx_value_of_node(zero) : cfx_none(),
                               cfx_int(c->range.least), cfx_int(c->range.most),
                               cfx_value_of_dtype(c->range.dtype),
                               cfx_int(group_of(c)),
                               cfx_value_of_dtype(CFX_F32)));
    if (!n || !c->axis)
        return n;
    return call_function(
        p, c, "torch.transpose",
        CFX_ARGS(cfx_value_of_node(n), cfx_int(0), cfx_int(c->axis)));
}

/* ---- Parameters that are equal ---- */

/* A parameter whose integers and scales are in the graph. A weight that two
 * layers share is often stored twice; quantized, it is one. */
struct made {
    cfx_tensor *parameter, *scale, *zero_point;
    cfx_quant_range range;
    int64_t axis, group;
    cfx_node *node; /* that dequantizes it */
    struct made *before;
};

static bool same_bytes(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank &&
                cfx_tensor_is_contiguous(a) && cfx_tensor_is_contiguous(b);
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_tensor_size(a, i) == cfx_tensor_size(b, i);
    size_t size = (size_t)cfx_tensor_numel(a) *
                  cfx_dtype_size((cfx_dtype)a->dtype);
    return same && !memcmp(a->data, b->data, size);
}

static bool is_same(const struct made *m, const choice *c)
{
    return m->range.dtype == c->range.dtype &&
           m->range.least == c->range.least &&
           m->range.most == c->range.most && m->axis == c->axis &&
           m->group == group_of(c) && same_bytes(m->scale, c->scale) &&
           same_bytes(m->zero_point, c->zero_point) &&
           same_bytes(m->parameter, c->parameter);
}

/* Find the node of an equal parameter, or remember this one, whose node is not
 * made yet. */
static cfx_status find_made(converter *v, const choice *c, struct made **out)
{
    enum { KEY = 256 };
    size_t size = (size_t)cfx_tensor_numel(c->scale) * sizeof(float);
    cfx_map_entry *e = cfx_map_put(&v->made, c->scale->data,
                                   size < KEY ? size : KEY, NULL);
    *out = e ? e->v.p : NULL;
    if (!e)
        return cfx_no_memory(v->p->err);
    if (*out)
        return CFX_OK;
    *out = e->v.p = cfx_arena_alloc(&v->memory, sizeof(**out));
    if (!*out)
        return cfx_no_memory(v->p->err);
    **out = (struct made){
        .parameter = cfx_tensor_ref(c->parameter),
        .scale = cfx_tensor_ref(c->scale),
        .zero_point = cfx_tensor_ref(c->zero_point),
        .range = c->range,
        .axis = c->axis,
        .group = group_of(c),
        .before = v->last,
    };
    v->last = *out;
    return CFX_OK;
}

static void release_made(converter *v)
{
    for (struct made *m = v->last; m; m = m->before) {
        cfx_tensor_unref(m->parameter);
        cfx_tensor_unref(m->scale);
        cfx_tensor_unref(m->zero_point);
    }
    cfx_map_release(&v->made);
    cfx_arena_release(&v->memory);
}

/* ---- The walk ---- */

/* Is it not the node that the observer was made for? */
static bool is_shared(const choice *c)
{
    return strcmp(c->call->name, c->call->target->text) != 0;
}

/* equal: the parameter has the integers of one before it. */
static cfx_status report(converter *v, const choice *c, bool equal)
{
    cfx_quant_row row = {
        .kind = c->parameter && !equal  ? CFX_QUANT_WEIGHT
                : equal || is_shared(c) ? CFX_QUANT_SHARED
                                        : CFX_QUANT_VALUE,
        .dtype = c->range.dtype,
        .bits = is_packed(c) ? 4 : 8 * (int)cfx_dtype_size(c->range.dtype),
        .channels = c->scale ? cfx_tensor_numel(c->scale) : 0,
        .zero_point = c->scale ? zero_at(c, 0) : 0,
        .error = c->error,
    };
    if (is_dynamic(c->observer))
        row.kind = CFX_QUANT_DYNAMIC;
    for (int64_t i = 0; i < row.channels; i++)
        row.scale = fmax(row.scale, scale_at(c, i));
    if (c->parameter) {
        int64_t n = cfx_tensor_numel(c->parameter);
        row.bytes_before = n * (int64_t)sizeof(float);
        row.bytes_after = equal ? 0 : n * row.bits / 8;
        if (!equal && group_of(c))
            row.bytes_after += row.channels *
                               (int64_t)(sizeof(float) + has_zeros(c));
        else if (!equal && is_by_channel(c))
            row.bytes_after += row.channels *
                               (int64_t)(sizeof(float) + sizeof(int64_t));
    }
    return cfx_quant_report__add(v->report, v->p->ctx, &row, c->from->name,
                                 v->p->err);
}

static bool is_finite(const cfx_tensor *scale)
{
    bool finite = true;
    for (int64_t i = 0, n = cfx_tensor_numel(scale); i < n && finite; i++)
        finite = isfinite(((const float *)scale->data)[i]);
    return finite;
}

static cfx_node *quantize(cfx_pass_call *p, choice *c)
{
    if (is_dynamic(c->observer))
        return quantize_in_run(p, c);
    if (!c->parameter)
        return quantize_value(p, c);
    return group_of(c) ? quantize_by_groups(p, c) : quantize_parameter(p, c);
}

/* ---- What was quantized ---- */

void cfx_quantized_list__release(cfx_quantized_list *list, cfx_context *ctx)
{
    for (size_t i = 0; i < list->n; i++)
        cfx_tensor_unref(list->item[i].parameter);
    cfx_free(ctx, list->item, list->cap * sizeof(*list->item));
    *list = (cfx_quantized_list){0};
}

static cfx_status note(converter *v, const choice *c, const cfx_node *first,
                       const cfx_node *with)
{
    cfx_quantized_list *to = v->all;
    if (!to)
        return CFX_OK;
    if (cfx_grow(v->p->ctx, to->item, to->cap, to->n + 1, v->p->err))
        return CFX_ENOMEM;
    to->item[to->n++] = (cfx_quantized){
        .from = c->parameter ? NULL : c->from,
        .parameter = c->parameter ? cfx_tensor_ref(c->parameter) : NULL,
        .first = first,
        .with = with,
    };
    return CFX_OK;
}

/* The node that gives the quantized value; *equal: there was one. */
static cfx_status find_node(converter *v, choice *c, cfx_node **out,
                            bool *equal)
{
    cfx_pass_call *p = v->p;
    struct made *m = NULL;
    const cfx_node *before = cfx_node_prev(c->call);
    cfx_status st = c->parameter && c->scale ? find_made(v, c, &m) : CFX_OK;
    *equal = !st && m && m->node && is_same(m, c);
    if (st || *equal) {
        *out = *equal ? m->node : NULL;
        return st;
    }
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, c->call);
    *out = quantize(p, c);
    cfx_graph_restore(p->graph, at);
    if (m && !m->node)
        m->node = *out;
    if (!*out)
        return p->err->code;
    return note(v, c,
                before ? cfx_node_next(before) : cfx_graph_first(p->graph),
                *out);
}

static cfx_status replace(converter *v, choice *c)
{
    cfx_pass_call *p = v->p;
    cfx_node *with;
    bool equal;
    cfx_status st = is_dynamic(c->observer)
                        ? cfx_observer_range(c->observer, &c->range, p->err)
                        : choose(c, p->err);
    if (!st && c->scale && !is_finite(c->scale))
        st = cfx_fail(p->err, CFX_EINVAL,
                      "the observed data has infinite elements");
    if (st)
        return cfx_fail_at(p->err, "%s",
                           c->parameter ? c->from->name : c->call->name);
    st = find_node(v, c, &with, &equal);
    if (st)
        return st;
    p->changed++;
    st = report(v, c, equal);
    return st ? st : cfx_pass__replace(p, c->call, with);
}

static cfx_status convert_at(converter *v, cfx_node *n)
{
    cfx_pass_call *p = v->p;
    cfx_module *m = n->op == CFX_CALL_MODULE
                        ? cfx_module_at(p->gm, n->target->text)
                        : NULL;
    if (!m || !(cfx_module_is_observer(m) || is_dynamic(m)) || n->nargs != 1 ||
        n->args[0].kind != CFX_NODE)
        return CFX_OK;
    choice c = {
        .observer = m, .call = n, .from = n->args[0].u.node, .error = NAN};
    c.parameter = cfx_quantize__parameter(p->gm, c.from);
    if (c.parameter && cfx_aliases__is_written(&v->aliases, c.from))
        c.parameter = NULL;
    cfx_status st = CFX_OK;
    if (c.parameter)
        st = cfx_pass_weight(p, c.from->target->text, &c.parameter);
    if (!st)
        st = replace(v, &c);
    cfx_tensor_unref(c.scale);
    cfx_tensor_unref(c.zero_point);
    return st;
}

cfx_status cfx_quantize__convert_with(cfx_module *gm, cfx_quant_report *to,
                                      cfx_quantized_list *all, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_pass_call p;
    converter v = {.p = &p, .all = all, .report = to};
    cfx_status st = cfx_pass__begin(&p, gm, &own, err);
    if (st)
        return st;
    cfx_map_init(&v.made, p.ctx);
    cfx_arena_init(&v.memory, p.ctx);
    st = cfx_pass__aliases(&v.aliases, &p);
    for (cfx_node *n = cfx_graph_first(p.graph), *next; n && !st; n = next) {
        next = cfx_node_next(n);
        st = convert_at(&v, n);
    }
    cfx_aliases__release(&v.aliases);
    release_made(&v);
    if (st)
        return st;
    cfx_graph_module_delete_all_unused_submodules(gm);
    return cfx_graph_module_delete_all_unused_state(gm, NULL, p.err);
}

cfx_status cfx_quantize_convert(cfx_module *gm, cfx_quant_report *report,
                                cfx_error *err)
{
    return cfx_quantize__convert_with(gm, report, NULL, err);
}
