/*
 * text_quantized -- quantized tensors, which PyTorch's reference models have.
 *
 *     q = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)
 *     y = q.dequantize()
 *
 * cfx has no types of tensors with a scale. Where all users of such a tensor make
 * floats of it, the calls become those of torch.ops.quantized_decomposed, whose
 * integers are uint8 or int8. raise_quantized.c does so for other users.
 */
#include "format/text/text_quantized.h"

#include <float.h>

#include "format/text/reader.h"

static const cfx_quantized_type types[] = {{"torch.quint8", CFX_U8, 0, 255},
                                           {"torch.qint8", CFX_I8, -128, 127}};

/* Calls that make one: their arguments, of which the last is the type, are those
 * of the other operators, which take the range before it. */
static const struct quantizer {
    const char *name;
    uint32_t nargs;
    const char *quantize, *dequantize; /* scale and zero point are numbers */
    const char *tensor_quantize, *tensor_dequantize;
} quantizers[] = {
    {"torch.quantize_per_tensor", 4, DECOMPOSED "quantize_per_tensor.default",
     DECOMPOSED "dequantize_per_tensor.default",
     DECOMPOSED "quantize_per_tensor.tensor",
     DECOMPOSED "dequantize_per_tensor.tensor"},
    {"torch.quantize_per_channel", 5,
     DECOMPOSED "quantize_per_channel.default",
     DECOMPOSED "dequantize_per_channel.default",
     DECOMPOSED "quantize_per_channel.default",
     DECOMPOSED "dequantize_per_channel.default"},
};

enum { MAX_ARGS = 7 };

/* ---- Scales that the model has ---- */

const cfx_quantized_type *cfx_quantized__find_type(cfx_value v)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (v.kind == CFX_NAME && !strcmp(v.u.str->text, types[i].name))
            return &types[i];
    return NULL;
}

static const struct quantizer *find_quantizer(const cfx_node *n)
{
    for (size_t i = 0; i < sizeof(quantizers) / sizeof(*quantizers); i++)
        if (n->op == CFX_CALL_FUNCTION &&
            !strcmp(n->target->text, quantizers[i].name) &&
            n->nargs == quantizers[i].nargs && !n->nkwargs)
            return &quantizers[i];
    return NULL;
}

bool cfx_quantized__is_dequantize(const cfx_node *n)
{
    bool method = n->op == CFX_CALL_METHOD &&
                  !strcmp(n->target->text, "dequantize");
    bool function = n->op == CFX_CALL_FUNCTION &&
                    !strcmp(n->target->text, "torch.dequantize");
    return (method || function) && n->nargs == 1 && !n->nkwargs &&
           n->args[0].kind == CFX_NODE;
}

static bool is_only_dequantized(const cfx_node *n)
{
    const cfx_use *u = n->first_user;
    while (u && cfx_quantized__is_dequantize(u->user))
        u = u->next;
    return !u && n->first_user;
}

cfx_status cfx_quantized__set_call(cfx_node *n, const char *target,
                                   const cfx_value *args, size_t nargs,
                                   cfx_error *err)
{
    cfx_status st = cfx_node_set_op(n, CFX_CALL_FUNCTION, target, err);
    return st ? st : cfx_node_set_args(n, args, nargs, err);
}

/* Rewrite a call, and those that use it. */
static cfx_status rewrite(cfx_node *n, const struct quantizer *q,
                          const cfx_quantized_type *type, cfx_error *err)
{
    bool tensor = n->args[1].kind == CFX_NODE;
    size_t k = q->nargs - 1;
    cfx_value args[MAX_ARGS];
    memcpy(args, n->args, k * sizeof(*args));
    args[k] = cfx_int(type->least);
    args[k + 1] = cfx_int(type->most);
    args[k + 2] = cfx_value_of_dtype(type->dtype);
    cfx_status st = cfx_quantized__set_call(
        n, tensor ? q->tensor_quantize : q->quantize, args, k + 3, err);
    args[0] = cfx_value_of_node(n);
    memcpy(args + 1, n->args + 1, (k - 1) * sizeof(*args));
    /* One whose arguments are set becomes the last user. */
    for (uint32_t i = n->nusers; i > 0 && !st; i--)
        st = cfx_quantized__set_call(
            n->first_user->user, tensor ? q->tensor_dequantize : q->dequantize,
            args, k + 3, err);
    return st;
}

/* ---- Scales that the data decide ---- */

cfx_status cfx_quantized__choose(cfx_value out[2], cfx_node *n,
                                 const cfx_quantized_type *type, int most,
                                 cfx_error *err)
{
    cfx_graph *g = n->graph;
    cfx_insert_point at = cfx_graph_inserting_before(g, n);
    cfx_node *both = cfx_graph_call_function(
        g, DECOMPOSED "choose_qparams.tensor",
        CFX_ARGS(n->args[0], cfx_int(type->least), cfx_int(most),
                 cfx_float(FLT_EPSILON), cfx_value_of_dtype(type->dtype)),
        err);
    cfx_status st = both ? CFX_OK : err->code;
    for (int i = 0; i < 2 && !st; i++) {
        cfx_node *one = cfx_graph_call_function(
            g, "operator.getitem",
            CFX_ARGS(cfx_value_of_node(both), cfx_int(i)), err);
        out[i] = one ? cfx_value_of_node(one) : CFX_NOTHING;
        st = one ? CFX_OK : err->code;
    }
    cfx_graph_restore(g, at);
    return st;
}

/* quantize_per_tensor_dynamic(x, type, reduce_range) becomes quantize_per_tensor,
 * by half the integers where the range is reduced. */
static cfx_status make_static(cfx_node *n, cfx_error *err)
{
    if (n->op != CFX_CALL_FUNCTION || n->nargs != 3 || n->nkwargs ||
        strcmp(n->target->text, "torch.quantize_per_tensor_dynamic") != 0)
        return CFX_OK;
    const cfx_quantized_type *type = cfx_quantized__find_type(n->args[1]);
    if (!type || type->least || n->args[2].kind != CFX_BOOL_VALUE ||
        !is_only_dequantized(n))
        return CFX_OK;
    cfx_value name = cfx_value_ref(n->args[1]);
    cfx_value chosen[2] = {CFX_NOTHING, CFX_NOTHING};
    cfx_status st = cfx_quantized__choose(
        chosen, n, type, n->args[2].u.i ? type->most / 2 : type->most, err);
    const cfx_value args[] = {n->args[0], chosen[0], chosen[1], name};
    if (!st)
        st = cfx_quantized__set_call(n, quantizers[0].name, args, 4, err);
    cfx_value_unref(name);
    return st;
}

/* ---- Graphs ---- */

static cfx_status lower(cfx_graph *g, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n)) {
        st = make_static(n, err);
        if (st)
            break;
        const struct quantizer *q = find_quantizer(n);
        const cfx_quantized_type *type = q ? cfx_quantized__find_type(
                                                 n->args[q->nargs - 1])
                                           : NULL;
        if (type && is_only_dequantized(n))
            st = rewrite(n, q, type, err);
    }
    return st;
}

cfx_status cfx_read__quantized(cfx_module *gm, const char *name,
                               cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm)) {
        cfx_graph *g = cfx_graph_module_graph(m);
        st = g ? lower(g, err) : CFX_OK;
        if (g && !st)
            st = cfx_quantized__raise(g, m, err);
    }
    if (st && name)
        cfx_fail_at(err, "%s", name);
    return st;
}
