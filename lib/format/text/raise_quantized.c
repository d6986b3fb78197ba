/*
 * raise_quantized -- graphs of torch.ao's convert_fx, whose calls compute with
 * quantized tensors, become those of convert_to_reference_fx.
 *
 *     q = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)
 *     y = torch.ops.quantized.add_relu(q, q, scale_1, zero_point_1)
 *     z = torch.flatten(y, 1).dequantize()
 *
 * A node of floats stands for each quantized tensor: dequantize_per_tensor after
 * quantize_per_tensor, which follow a call that computes in float, or a module of
 * lib/nn/nn_quantized.c. The graph tells the scales of all of them: they are arguments,
 * or state of a module, or those of the input. Weights that torch.ao packs are
 * tensors of integers with _scale, _zero_point and _bias beside them, as
 * models/export.py writes them.
 */
#include <string.h>

#include "format/text/text_quantized.h"
#include "nn/module_impl.h"

#define OPS "torch.ops.quantized."

/* Scale, zero point, least and most integer, and their type. */
enum { SCALE, ZERO_POINT, LEAST, MOST, DTYPE, NPARAMS };

typedef struct raiser {
    cfx_graph *g;
    const cfx_module *gm;
    /* A node that stands for a quantized tensor -> the node that tells its scale:
     * dequantize_per_tensor, or the call of a module. */
    cfx_node_map source;
    cfx_error *err;
} raiser;

/* ---- Rules ---- */

/* Functions of torch.ops.quantized, and those that compute in float. */
enum {
    RELU = 1,    /* follows */
    PACKED = 2,  /* the second argument is a weight with a bias */
    DYNAMIC = 4, /* the range of the input gives its scale */
    SCALES = 8   /* with a number, it multiplies the scale */
};

static const struct quantized_op {
    const char *name, *target;
    unsigned is;
} quantized_ops[] = {
    {"add", "torch.add", 0},
    {"add_relu", "torch.add", RELU},
    {"mul", "torch.mul", SCALES},
    {"mul_relu", "torch.mul", RELU | SCALES},
    {"matmul", "torch.matmul", 0},
    {"linear", "torch.nn.functional.linear", PACKED},
    {"linear_relu", "torch.nn.functional.linear", RELU | PACKED},
    {"linear_dynamic", "torch.nn.functional.linear", PACKED | DYNAMIC},
    {"linear_relu_dynamic", "torch.nn.functional.linear",
     RELU | PACKED | DYNAMIC},
    {"conv1d", "torch.nn.functional.conv1d", PACKED},
    {"conv1d_relu", "torch.nn.functional.conv1d", RELU | PACKED},
    {"conv2d", "torch.nn.functional.conv2d", PACKED},
    {"conv2d_relu", "torch.nn.functional.conv2d", RELU | PACKED},
    {"conv3d", "torch.nn.functional.conv3d", PACKED},
    {"conv3d_relu", "torch.nn.functional.conv3d", RELU | PACKED},
    {"dropout", "torch.nn.functional.dropout", 0},
    {"elu", "torch.nn.functional.elu", 0},
    {"hardswish", "torch.nn.functional.hardswish", 0},
    {"instance_norm", "torch.nn.functional.instance_norm", 0},
    {"layer_norm", "torch.nn.functional.layer_norm", 0},
    {"leaky_relu", "torch.nn.functional.leaky_relu", 0},
};

/* Operators and modules that take quantized tensors themselves. The result has the
 * scale of the input, or one that ATen fixes. */
static const struct kept {
    const char *name;
    double scale; /* 0: that of the input */
    int zero_point;
} kept[] = {
    {"adaptive_avg_pool1d", 0, 0},
    {"adaptive_avg_pool2d", 0, 0},
    {"adaptive_avg_pool3d", 0, 0},
    {"avg_pool1d", 0, 0},
    {"avg_pool2d", 0, 0},
    {"avg_pool3d", 0, 0},
    {"cat", 0, 0},
    {"channel_shuffle", 0, 0},
    {"clamp", 0, 0},
    {"contiguous", 0, 0},
    {"detach", 0, 0},
    {"dropout", 0, 0},
    {"flatten", 0, 0},
    {"hardsigmoid", 1.0 / 256, 0},
    {"hardtanh", 0, 0},
    {"hardtanh_", 0, 0},
    {"interpolate", 0, 0},
    {"max_pool1d", 0, 0},
    {"max_pool2d", 0, 0},
    {"max_pool3d", 0, 0},
    {"mean", 0, 0},
    {"narrow", 0, 0},
    {"permute", 0, 0},
    {"pixel_shuffle", 0, 0},
    {"pixel_unshuffle", 0, 0},
    {"relu", 0, 0},
    {"relu6", 0, 0},
    {"relu_", 0, 0},
    {"repeat", 0, 0},
    {"repeat_interleave", 0, 0},
    {"reshape", 0, 0},
    {"sigmoid", 1.0 / 256, 0},
    {"squeeze", 0, 0},
    {"stack", 0, 0},
    {"tanh", 2.0 / 256, 128},
    {"transpose", 0, 0},
    {"unsqueeze", 0, 0},
    {"view", 0, 0},
    {"AdaptiveAvgPool1d", 0, 0},
    {"AdaptiveAvgPool2d", 0, 0},
    {"AdaptiveAvgPool3d", 0, 0},
    {"AvgPool1d", 0, 0},
    {"AvgPool2d", 0, 0},
    {"AvgPool3d", 0, 0},
    {"ChannelShuffle", 0, 0},
    {"Dropout", 0, 0},
    {"Flatten", 0, 0},
    {"Hardsigmoid", 1.0 / 256, 0},
    {"Hardtanh", 0, 0},
    {"Identity", 0, 0},
    {"MaxPool1d", 0, 0},
    {"MaxPool2d", 0, 0},
    {"MaxPool3d", 0, 0},
    {"PixelShuffle", 0, 0},
    {"PixelUnshuffle", 0, 0},
    {"ReLU", 0, 0},
    {"ReLU6", 0, 0},
    {"Sigmoid", 1.0 / 256, 0},
    {"Tanh", 2.0 / 256, 128},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct quantized_op *find_op(const cfx_node *n)
{
    const char *name = n->target->text;
    size_t len = strlen(OPS);
    if (n->op != CFX_CALL_FUNCTION || strncmp(name, OPS, len))
        return NULL;
    for (size_t i = 0; i < COUNT(quantized_ops); i++)
        if (!strcmp(name + len, quantized_ops[i].name))
            return &quantized_ops[i];
    return NULL;
}

static const cfx_module *called_module(const raiser *r, const cfx_node *n)
{
    return n->op == CFX_CALL_MODULE ? cfx_module_at(r->gm, n->target->text)
                                    : NULL;
}

static const struct kept *find_kept(const raiser *r, const cfx_node *n)
{
    const cfx_module *m = called_module(r, n);
    for (size_t i = 0; i < COUNT(kept); i++)
        if (m ? m->schema && !strcmp(m->schema->name, kept[i].name)
              : cfx_node_is(n, kept[i].name))
            return &kept[i];
    return NULL;
}

/* Does a call ask for the shape of its input? */
static bool asks_shape(const cfx_node *n)
{
    return cfx_node_is(n, "size") ||
           (n->op == CFX_CALL_FUNCTION &&
            !strcmp(n->target->text, "builtins.getattr"));
}

static cfx_status fail(const raiser *r, const cfx_node *n, const char *why)
{
    return cfx_fail(
        r->err, CFX_EUNSUPPORTED,
        "%%%s: %s %s: convert with torch.ao's convert_to_reference_fx",
        n->name, n->target->text, why);
}

/* ---- Scales ---- */

/* Or a node that is one. Other values would be gone with the call's arguments. */
static bool is_number(cfx_value v)
{
    return v.kind == CFX_NODE || v.kind == CFX_FLOAT || v.kind == CFX_INT;
}

/* The source of the first input that stands for a quantized tensor, or NULL. */
static cfx_node *source_of(const raiser *r, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        cfx_node *s = cfx_node_map_node(&r->source, cfx_node_input(n, i));
        if (s)
            return s;
    }
    return NULL;
}

/* Node get_attr, before n, of a name after a path and a separator. */
static cfx_status read_state(raiser *r, cfx_node *n, const char *path,
                             const char *name, cfx_value *out)
{
    cfx_buf b;
    cfx_insert_point at = cfx_graph_inserting_before(r->g, n);
    cfx_buf_init(&b, cfx_graph_context(r->g));
    cfx_buf_printf(&b, "%s%s", path, name);
    cfx_node *made = b.failed ? NULL
                              : cfx_graph_create_node(r->g, CFX_GET_ATTR, b.s,
                                                      CFX_NO_ARGS, NULL, NULL,
                                                      r->err);
    cfx_status st = b.failed ? cfx_no_memory(r->err)
                    : made   ? CFX_OK
                             : r->err->code;
    if (made)
        *out = cfx_value_of_node(made);
    cfx_buf_release(&b);
    cfx_graph_restore(r->g, at);
    return st;
}

static void set_range(cfx_value params[NPARAMS],
                      const cfx_quantized_type *type)
{
    params[LEAST] = cfx_int(type ? type->least : 0);
    params[MOST] = cfx_int(type ? type->most : 255);
    params[DTYPE] = cfx_value_of_dtype(type ? type->dtype : CFX_U8);
}

/* The parameters of a source, which nodes before n read. */
static cfx_status params_of(raiser *r, const cfx_node *source, cfx_node *n,
                            cfx_value params[NPARAMS])
{
    if (source->op != CFX_CALL_MODULE) {
        memcpy(params, source->args + 1, NPARAMS * sizeof(*params));
        return CFX_OK;
    }
    set_range(params, NULL);
    cfx_status st = read_state(r, n, source->target->text, ".scale",
                               &params[SCALE]);
    return st ? st
              : read_state(r, n, source->target->text, ".zero_point",
                           &params[ZERO_POINT]);
}

/* ---- Edits ---- */

static bool is_other(void *data, cfx_node *user)
{
    return user != data;
}

/* A call after n that takes n and more arguments, for all its users. */
static cfx_status follow(raiser *r, cfx_node **n, const char *target,
                         const cfx_value *more, size_t nmore)
{
    cfx_value args[1 + NPARAMS] = {cfx_value_of_node(*n)};
    if (nmore)
        memcpy(args + 1, more, nmore * sizeof(*more));
    cfx_insert_point at = cfx_graph_inserting_after(r->g, *n);
    cfx_node *made = cfx_graph_call_function(
        r->g, target, cfx_args_of(args, 1 + nmore), r->err);
    cfx_graph_restore(r->g, at);
    cfx_status st = made ? cfx_node_replace_all_uses_with(*n, made, is_other,
                                                          made, r->err)
                         : r->err->code;
    if (made)
        *n = made;
    return st;
}

static cfx_status dequantize(raiser *r, cfx_node *q,
                             const cfx_value params[NPARAMS])
{
    const char *target = params[SCALE].kind == CFX_NODE
                             ? DECOMPOSED "dequantize_per_tensor.tensor"
                             : DECOMPOSED "dequantize_per_tensor.default";
    cfx_status st = follow(r, &q, target, params, NPARAMS);
    return st ? st
              : cfx_node_map_set(&r->source, q, cfx_value_of_node(q), r->err);
}

static const char *quantize_target(cfx_value scale)
{
    return scale.kind == CFX_NODE ? DECOMPOSED "quantize_per_tensor.tensor"
                                  : DECOMPOSED "quantize_per_tensor.default";
}

/* Quantize a result, and back. */
static cfx_status requantize(raiser *r, cfx_node *n,
                             const cfx_value params[NPARAMS])
{
    cfx_status st = follow(r, &n, quantize_target(params[SCALE]), params,
                           NPARAMS);
    return st ? st : dequantize(r, n, params);
}

/* ---- Calls ---- */

/* torch.quantize_per_tensor(x, scale, zero_point, type) */
static cfx_status raise_quantize(raiser *r, cfx_node *n,
                                 const cfx_quantized_type *type)
{
    cfx_value args[1 + NPARAMS];
    memcpy(args, n->args, 3 * sizeof(*args));
    set_range(args + 1, type);
    cfx_status st = cfx_quantized__set_call(n, quantize_target(args[1]), args,
                                            COUNT(args), r->err);
    return st ? st : dequantize(r, n, args + 1);
}

/* The weight and the bias of a packed one, which args[1] reads. */
static cfx_status unpack(raiser *r, cfx_node *n, cfx_value weight[2])
{
    cfx_node *packed = n->nargs > 1 && n->args[1].kind == CFX_NODE
                           ? n->args[1].u.node
                           : NULL;
    if (!packed || packed->op != CFX_GET_ATTR)
        return fail(r, n, "has no weight that the model keeps");
    const char *path = packed->target->text;
    cfx_value args[] = {cfx_value_of_node(packed),
                        CFX_NOTHING,
                        CFX_NOTHING,
                        cfx_int(0),
                        cfx_int(-128),
                        cfx_int(127),
                        cfx_value_of_dtype(CFX_I8)};
    cfx_status st = read_state(r, n, path, "_scale", &args[1]);
    if (!st)
        st = read_state(r, n, path, "_zero_point", &args[2]);
    if (!st)
        st = read_state(r, n, path, "_bias", &weight[1]);
    if (st)
        return st;
    cfx_insert_point at = cfx_graph_inserting_before(r->g, n);
    cfx_node *w = cfx_graph_call_function(
        r->g, DECOMPOSED "dequantize_per_channel.default",
        cfx_args_of(args, COUNT(args)), r->err);
    cfx_graph_restore(r->g, at);
    weight[0] = w ? cfx_value_of_node(w) : CFX_NOTHING;
    return w ? CFX_OK : r->err->code;
}

/* The input of a dynamic call, by the range that it has. */
static cfx_status round_input(raiser *r, cfx_node *n, cfx_value *x)
{
    enum { HALF = 127 }; /* as reduce_range says */
    const cfx_quantized_type type = {"", CFX_U8, 0, 255};
    cfx_value params[NPARAMS];
    bool half = n->nargs > 2 && n->args[2].kind == CFX_BOOL_VALUE &&
                n->args[2].u.i;
    cfx_status st = cfx_quantized__choose(params, n, &type,
                                          half ? HALF : type.most, r->err);
    set_range(params, &type);
    const char *const target[] = {DECOMPOSED "quantize_per_tensor.tensor",
                                  DECOMPOSED "dequantize_per_tensor.tensor"};
    for (int i = 0; i < 2 && !st; i++) {
        cfx_value args[1 + NPARAMS] = {i ? *x : n->args[0]};
        memcpy(args + 1, params, sizeof(params));
        cfx_insert_point at = cfx_graph_inserting_before(r->g, n);
        cfx_node *made = cfx_graph_call_function(
            r->g, target[i], cfx_args_of(args, COUNT(args)), r->err);
        cfx_graph_restore(r->g, at);
        *x = made ? cfx_value_of_node(made) : CFX_NOTHING;
        st = made ? CFX_OK : r->err->code;
    }
    return st;
}

enum { MAX_ARGS = 16 };

/* A call without its scale: that is in keywords, or in the last two arguments. */
typedef struct call {
    cfx_value args[MAX_ARGS], kwargs[2 * MAX_ARGS];
    size_t nargs, nkwargs;
    cfx_value scale, zero_point; /* absent if the call has none */
} call;

static cfx_status read_call(raiser *r, const cfx_node *n, bool scaled, call *c)
{
    *c = (call){.nargs = n->nargs};
    if (n->nargs >= MAX_ARGS || n->nkwargs >= MAX_ARGS)
        return fail(r, n, "has too many arguments");
    if (n->nargs)
        memcpy(c->args, n->args, n->nargs * sizeof(*c->args));
    for (size_t i = 0; i < n->nkwargs; i++) {
        const cfx_value *pair = n->kwargs + 2 * i;
        const char *key = pair->u.str->text;
        if (!strcmp(key, "output_scale"))
            c->scale = pair[1];
        else if (!strcmp(key, "output_zero_point"))
            c->zero_point = pair[1];
        else {
            memcpy(c->kwargs + 2 * c->nkwargs, pair, 2 * sizeof(*pair));
            c->nkwargs++;
        }
    }
    if (scaled && c->scale.kind == CFX_ABSENT && n->nargs > 3) {
        c->nargs -= 2;
        c->scale = n->args[c->nargs];
        c->zero_point = n->args[c->nargs + 1];
    }
    return !scaled || (is_number(c->scale) && is_number(c->zero_point))
               ? CFX_OK
               : fail(r, n, "has no scale of its result");
}

/* Give a weight and a bias the places that they have in float. */
static cfx_status place_weight(raiser *r, cfx_node *n, call *c, bool dynamic)
{
    cfx_value weight[2];
    cfx_status st = unpack(r, n, weight);
    if (st)
        return st;
    size_t rest = dynamic ? 0 : c->nargs - 2;
    memmove(c->args + 3, c->args + 2, rest * sizeof(*c->args));
    memcpy(c->args + 1, weight, sizeof(weight));
    c->nargs = 3 + rest;
    return CFX_OK;
}

static cfx_status raise_op(raiser *r, cfx_node *n,
                           const struct quantized_op *op)
{
    cfx_value params[NPARAMS];
    const cfx_node *source = source_of(r, n);
    call c;
    if (!source && !(op->is & DYNAMIC))
        return fail(r, n, "has no quantized input");
    cfx_status st = read_call(r, n, !(op->is & DYNAMIC), &c);
    if (!st && (op->is & PACKED))
        st = place_weight(r, n, &c, op->is & DYNAMIC);
    if (!st && (op->is & DYNAMIC))
        st = round_input(r, n, &c.args[0]);
    if (!st)
        st = cfx_quantized__set_call(n, op->target, c.args, c.nargs, r->err);
    if (!st)
        st = cfx_node_set_kwargs(n, c.kwargs, c.nkwargs, r->err);
    if (!st && (op->is & RELU))
        st = follow(r, &n, "torch.relu", NULL, 0);
    if (st || (op->is & DYNAMIC))
        return st;
    if (source->op == CFX_CALL_MODULE)
        set_range(params, NULL);
    else
        memcpy(params, source->args + 1, sizeof(params));
    params[SCALE] = c.scale;
    params[ZERO_POINT] = c.zero_point;
    return requantize(r, n, params);
}

/* The number among the arguments of a product of two, or 0. */
static double factor_of(const cfx_node *n)
{
    for (uint32_t i = 0; i < n->nargs && n->nargs == 2 && !n->nkwargs; i++)
        if (n->args[i].kind == CFX_FLOAT || n->args[i].kind == CFX_INT)
            return cfx_value_number(n->args[i]);
    return 0;
}

/* A product with a number has the integers of the tensor: the scale is
 * multiplied. */
static cfx_status raise_scaled(raiser *r, cfx_node *n,
                               const struct quantized_op *op, double factor)
{
    cfx_value params[NPARAMS];
    const cfx_node *source = source_of(r, n);
    cfx_status st = source ? params_of(r, source, n, params)
                           : fail(r, n, "has no quantized input");
    if (st)
        return st;
    if (params[SCALE].kind == CFX_NODE) {
        cfx_insert_point at = cfx_graph_inserting_before(r->g, n);
        cfx_node *scale = cfx_graph_call_function(
            r->g, "torch.mul", CFX_ARGS(params[SCALE], cfx_float(factor)),
            r->err);
        cfx_graph_restore(r->g, at);
        st = scale ? CFX_OK : r->err->code;
        params[SCALE] = scale ? cfx_value_of_node(scale) : CFX_NOTHING;
    } else {
        params[SCALE] = cfx_float(factor * cfx_value_number(params[SCALE]));
    }
    if (!st)
        st = cfx_node_set_op(n, CFX_CALL_FUNCTION, op->target, r->err);
    if (!st && (op->is & RELU))
        st = follow(r, &n, "torch.relu", NULL, 0);
    return st ? st : requantize(r, n, params);
}

/* A call of what also computes in float. */
static cfx_status raise_kept(raiser *r, cfx_node *n, const cfx_node *source)
{
    cfx_value params[NPARAMS];
    const struct kept *k = find_kept(r, n);
    if (!k && n->op == CFX_OUTPUT)
        return fail(r, n, "is a quantized tensor");
    if (!k)
        return fail(
            r, n,
            "takes a quantized tensor, and no rule tells the scale of its result");
    cfx_status st = CFX_OK;
    if (k->scale > 0) {
        params[SCALE] = cfx_float(k->scale);
        params[ZERO_POINT] = cfx_int(k->zero_point);
        set_range(params, NULL);
    } else {
        st = params_of(r, source, n, params);
    }
    return st ? st : requantize(r, n, params);
}

/* ---- Graphs ---- */

static cfx_status visit(raiser *r, cfx_node *n)
{
    const cfx_quantized_type *type =
        n->op == CFX_CALL_FUNCTION && n->nargs == 4 && !n->nkwargs &&
                !strcmp(n->target->text, "torch.quantize_per_tensor") &&
                is_number(n->args[1]) && is_number(n->args[2])
            ? cfx_quantized__find_type(n->args[3])
            : NULL;
    if (type)
        return raise_quantize(r, n, type);
    const struct quantized_op *op = find_op(n);
    if (op && (op->is & SCALES) && factor_of(n) > 0)
        return raise_scaled(r, n, op, factor_of(n));
    if (op)
        return raise_op(r, n, op);
    cfx_node *source = source_of(r, n);
    if (!source || cfx_quantized__is_dequantize(n) || asks_shape(n))
        return CFX_OK;
    const cfx_module *m = called_module(r, n);
    if (m && cfx_module_state(m, "scale"))
        return cfx_node_map_set(&r->source, n, cfx_value_of_node(n), r->err);
    return raise_kept(r, n, source);
}

/* Floats that stand for a quantized tensor are dequantized. */
static cfx_status drop_dequantize(raiser *r)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(r->g); n && !st; n = cfx_node_next(n)) {
        if (!cfx_quantized__is_dequantize(n) || !source_of(r, n))
            continue;
        st = cfx_node_replace_all_uses_with(n, cfx_node_input(n, 0), NULL,
                                            NULL, r->err);
        if (!st)
            st = cfx_graph_erase_node(r->g, n, r->err);
    }
    return st;
}

cfx_status cfx_quantized__raise(cfx_graph *g, const cfx_module *gm,
                                cfx_error *err)
{
    raiser r = {.g = g, .gm = gm, .err = err};
    cfx_status st = CFX_OK;
    cfx_node_map_init(&r.source, g);
    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n))
        if (cfx_node_is_call(n) || n->op == CFX_OUTPUT)
            st = visit(&r, n);
    if (!st)
        st = drop_dequantize(&r);
    cfx_node_map_release(&r.source);
    return st;
}
