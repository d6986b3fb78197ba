/*
 * convert -- replace observers by quantize and dequantize.
 */
#include <cfx/ops.h>

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/aliases.h"
#include "interp/passes/affine.h"
#include "interp/passes/pass_impl.h"
#include "interp/quantize/quantize_impl.h"

#define OP(name) "torch.ops.quantized_decomposed." name ".default"

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

static bool is_by_channel(const choice *c)
{
    return cfx_attr(c->observer, "ch_axis").kind == CFX_INT;
}

/* An observer of a parameter needs no run. */
static cfx_status observe_parameter(const choice *c, cfx_error *err)
{
    cfx_scope s;
    cfx_value out = CFX_NOTHING;
    cfx_scope_init(&s, &cfx_eager_class, cfx_module_context(c->observer),
                   NULL);
    cfx_scope_call_module(&s, c->observer, NULL,
                          CFX_ARGS(cfx_value_of_tensor(c->parameter)), &out);
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
        st = observe_parameter(c, err);
    else if (!st && !seen)
        st = cfx_fail(err, CFX_EINVAL,
                      "the observer has seen no data: run the prepared model "
                      "on calibration data");
    if (!st)
        st = cfx_observer_qparams(c->observer, &c->scale, &c->zero_point, err);
    if (!st && is_by_channel(c) && !c->parameter)
        st = cfx_fail(err, CFX_EUNSUPPORTED,
                      "scales by channel are supported for parameters only");
    if (!st && is_by_channel(c))
        c->axis = cfx_attr_int(c->observer, "ch_axis");
    if (st)
        cfx_fail_at(err, "%s", c->call->name);
    return st;
}

/* ---- New nodes ---- */

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
    cfx_args a = is_by_channel(c) ? (cfx_args){by_channel, 7, NULL, 0}
                                  : (cfx_args){args, 6, NULL, 0};
    cfx_node *n = cfx_graph_call_function(p->graph, op, a, p->err);
    return n && !cfx_node_inherit(n, c->call, p->err) ? n : NULL;
}

static double scale_at(const choice *c, int64_t i)
{
    return (double)((const float *)c->scale->data)[i];
}

static int64_t zero_at(const choice *c, int64_t i)
{
    return ((const int64_t *)c->zero_point->data)[i];
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

/* ---- Parameters ---- */

static cfx_status quantize_tensor(choice *c, cfx_tensor **out, cfx_error *err)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, cfx_module_context(c->observer),
                   NULL);
    cfx_value x = cfx_value_of_tensor(c->parameter), y, back;
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

/* ---- The walk ---- */

static cfx_status report(cfx_pass_call *p, const choice *c, bool shared,
                         cfx_quant_report *to)
{
    cfx_quant_row row = {
        .kind = c->parameter ? CFX_QUANT_WEIGHT
                : shared     ? CFX_QUANT_SHARED
                             : CFX_QUANT_VALUE,
        .dtype = c->range.dtype,
        .channels = cfx_tensor_numel(c->scale),
        .zero_point = zero_at(c, 0),
        .error = c->error,
    };
    for (int64_t i = 0; i < row.channels; i++)
        row.scale = fmax(row.scale, scale_at(c, i));
    if (c->parameter) {
        int64_t n = cfx_tensor_numel(c->parameter);
        row.bytes_before = n * (int64_t)sizeof(float);
        row.bytes_after = n * (int64_t)cfx_dtype_size(c->range.dtype);
        if (is_by_channel(c))
            row.bytes_after += row.channels *
                               (int64_t)(sizeof(float) + sizeof(int64_t));
    }
    return cfx_quant_report__add(to, p->ctx, &row, c->from->name, p->err);
}

/* Is it not the node that the observer was made for? */
static bool is_shared(const choice *c)
{
    return strcmp(c->call->name, c->call->target->text) != 0;
}

static cfx_status replace(cfx_pass_call *p, choice *c, cfx_quant_report *to)
{
    cfx_status st = choose(c, p->err);
    if (st)
        return st;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, c->call);
    cfx_node *with = c->parameter ? quantize_parameter(p, c)
                                  : quantize_value(p, c);
    cfx_graph_restore(p->graph, at);
    if (!with)
        return p->err->code;
    p->changed++;
    st = report(p, c, is_shared(c), to);
    return st ? st : cfx_pass__replace(p, c->call, with);
}

static cfx_status convert_at(cfx_pass_call *p, cfx_aliases *aliases,
                             cfx_node *n, cfx_quant_report *to)
{
    cfx_module *m = n->op == CFX_CALL_MODULE
                        ? cfx_module_at(p->gm, n->target->text)
                        : NULL;
    if (!m || !cfx_module_is_observer(m) || n->nargs != 1 ||
        n->args[0].kind != CFX_NODE)
        return CFX_OK;
    choice c = {
        .observer = m, .call = n, .from = n->args[0].u.node, .error = NAN};
    c.parameter = cfx_quantize__parameter(p->gm, c.from);
    if (c.parameter && cfx_aliases__is_written(aliases, c.from))
        c.parameter = NULL;
    cfx_status st = CFX_OK;
    if (c.parameter)
        st = cfx_pass_weight(p, c.from->target->text, &c.parameter);
    if (!st)
        st = replace(p, &c, to);
    cfx_tensor_unref(c.scale);
    cfx_tensor_unref(c.zero_point);
    return st;
}

cfx_status cfx_quantize_convert(cfx_module *gm, cfx_quant_report *to,
                                cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_pass_call p;
    cfx_aliases aliases;
    cfx_status st = cfx_pass__begin(&p, gm, &own, err);
    if (st)
        return st;
    st = cfx_aliases__init_apart(&aliases, p.graph, p.err);
    for (cfx_node *n = cfx_graph_first(p.graph), *next; n && !st; n = next) {
        next = cfx_node_next(n);
        st = convert_at(&p, &aliases, n, to);
    }
    cfx_aliases__release(&aliases);
    if (st)
        return st;
    cfx_graph_module_delete_all_unused_submodules(gm);
    return cfx_graph_module_delete_all_unused_state(gm, NULL, p.err);
}
