/*
 * quantizer -- the classes that decide what is quantized.
 */
#include <cfx/quantize.h>

#include <string.h>

#include "base/class.h"
#include "graph/graph_impl.h"
#include "interp/quantize/quantize_impl.h"

const cfx_quantizer_class *cfx_quantizer_class_with(
    const cfx_quantizer_class *cls, size_t offset)
{
    return cfx_class__with(cls, offset);
}

void cfx_quantizer_init(cfx_quantizer *q, const cfx_quantizer_class *cls)
{
    *q = (cfx_quantizer){.cls = cls};
}

static cfx_status base_annotate(cfx_quantizer *q, const cfx_node *n,
                                cfx_quant_mark *mark)
{
    (void)n;
    (void)q;
    mark->reason = "the quantizer has no rule for it";
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_base = {
    .size = sizeof(cfx_quantizer_class),
    .name = "base",
    .annotate = base_annotate,
};

/* ---- Specifications ---- */

#define UINT8 .dtype = CFX_U8, .least = 0, .most = 255
#define INT8 .dtype = CFX_I8, .least = -128, .most = 127

static const cfx_quant_spec activations[] = {
    {.observer = "HistogramObserver", UINT8},
    {.observer = "MinMaxObserver", UINT8},
    {.observer = "MovingAverageMinMaxObserver", UINT8},
    {.observer = "PercentileObserver", UINT8},
    {.observer = "EntropyObserver", UINT8},
};

const cfx_quant_spec *cfx_find_activations(const char *observer)
{
    for (size_t i = 0; i < sizeof(activations) / sizeof(*activations); i++)
        if (!strcmp(activations[i].observer, observer))
            return &activations[i];
    return NULL;
}

/* Results from 0 to 1 and from -1 to 1 have the scales that torch.ao fixes. */
static const cfx_quant_spec from_0_to_1 = {
    .observer = "FixedQParamsObserver",
    UINT8,
    .scale = 1.0 / 256,
};

static const cfx_quant_spec from_minus_1_to_1 = {
    .observer = "FixedQParamsObserver",
    UINT8,
    .scale = 2.0 / 256,
    .zero_point = 128,
};

static const cfx_quant_spec rows = {
    .observer = "PerChannelMinMaxObserver",
    INT8,
    .symmetric = true,
    .by_channel = true,
};

static const cfx_quant_spec table_rows = {
    .observer = "PerChannelMinMaxObserver",
    UINT8,
    .by_channel = true,
};

static const cfx_quant_spec columns = {
    .observer = "PerChannelMinMaxObserver",
    INT8,
    .symmetric = true,
    .by_channel = true,
    .axis = 1,
};

/* ---- Patterns ---- */

/* The way in which a backend quantizes an operator. */
typedef enum role {
    NO_RULE,
    TABLE,      /* rows of a weight are read */
    LINEAR,     /* as COMPUTE, with a matrix as weight */
    COMPUTE,    /* integers in and out; an activation after it is fused */
    SUM,        /* as COMPUTE */
    PRODUCT,    /* as COMPUTE */
    FUNCTION,   /* integers in and out, element by element */
    IMAGE_NORM, /* integers in and out */
    NORM,       /* integers in and out; float for x86 */
    FORMULA,    /* float; for x86 with what it reads and what reads it */
    ACTIVATE,   /* of integers or float */
    PASS,       /* elements move, are averaged or limited */
    SHARE,      /* elements of several tensors in one result */
    PRODUCE     /* from float to a fixed range of integers; float for x86 */
} role;

typedef struct rule {
    const char *name;
    role role;
    const cfx_quant_spec *weight; /* NULL: `activations`, if it computes */
    const cfx_quant_spec *output; /* NULL: `activations` */
    const char *reason;           /* why it has no rule */
} rule;

static const char in_float[] = "it is computed in float";

static const rule rules[] = {
    {"conv1d", COMPUTE, &rows, NULL, NULL},
    {"conv2d", COMPUTE, &rows, NULL, NULL},
    {"conv3d", COMPUTE, &rows, NULL, NULL},
    {"conv_transpose1d", COMPUTE, &columns, NULL, NULL},
    {"conv_transpose2d", COMPUTE, &columns, NULL, NULL},
    {"conv_transpose3d", COMPUTE, &columns, NULL, NULL},
    {"convolution", COMPUTE, &rows, NULL, NULL},
    {"linear", LINEAR, &rows, NULL, NULL},
    {"addmm", LINEAR, &columns, NULL, NULL},
    {"matmul", COMPUTE, NULL, NULL, NULL},
    {"mm", COMPUTE, NULL, NULL, NULL},
    {"bmm", COMPUTE, NULL, NULL, NULL},
    {"baddbmm", COMPUTE, NULL, NULL, NULL},
    {"add", SUM, NULL, NULL, NULL},
    {"mul", PRODUCT, NULL, NULL, NULL},
    {"batch_norm", COMPUTE, NULL, NULL, NULL},
    {"relu", ACTIVATE, NULL, NULL, NULL},
    {"relu6", ACTIVATE, NULL, NULL, NULL},
    {"hardtanh", ACTIVATE, NULL, NULL, NULL},
    {"elu", FUNCTION, NULL, NULL, NULL},
    {"group_norm", IMAGE_NORM, NULL, NULL, NULL},
    {"hardswish", FUNCTION, NULL, NULL, NULL},
    {"instance_norm", IMAGE_NORM, NULL, NULL, NULL},
    {"layer_norm", NORM, NULL, NULL, NULL},
    {"leaky_relu", FUNCTION, NULL, NULL, NULL},
    {"prelu", FUNCTION, NULL, NULL, NULL},
    {"sigmoid", FUNCTION, NULL, &from_0_to_1, NULL},
    {"hardsigmoid", FUNCTION, NULL, &from_0_to_1, NULL},
    {"tanh", FUNCTION, NULL, &from_minus_1_to_1, NULL},
    /* No scale serves scores of which some are masked. */
    {"softmax", PRODUCE, NULL, &from_0_to_1, NULL},
    {"_softmax", PRODUCE, NULL, &from_0_to_1, NULL},
    {"adaptive_avg_pool1d", PASS, NULL, NULL, NULL},
    {"adaptive_avg_pool2d", PASS, NULL, NULL, NULL},
    {"adaptive_avg_pool3d", PASS, NULL, NULL, NULL},
    {"avg_pool1d", PASS, NULL, NULL, NULL},
    {"avg_pool2d", PASS, NULL, NULL, NULL},
    {"avg_pool3d", PASS, NULL, NULL, NULL},
    {"max_pool1d", PASS, NULL, NULL, NULL},
    {"max_pool2d", PASS, NULL, NULL, NULL},
    {"max_pool3d", PASS, NULL, NULL, NULL},
    {"mean", PASS, NULL, NULL, NULL},
    {"clamp", PASS, NULL, NULL, NULL},
    {"interpolate", PASS, NULL, NULL, NULL},
    {"embedding", TABLE, &table_rows, NULL,
     "it reads single rows: the quantizer embedding quantizes its table"},
    {"embedding_bag", TABLE, &table_rows, NULL,
     "it reads single rows: the quantizer embedding quantizes its table"},
    {"gelu", NO_RULE, NULL, NULL, in_float},
    {"silu", NO_RULE, NULL, NULL, in_float},
    /* Variances, roots and quotients: 8 bits leave nothing of `+ eps`, or of
     * small ones beside large ones. */
    {"sub", FORMULA, NULL, NULL, in_float},
    {"div", FORMULA, NULL, NULL, in_float},
    {"pow", FORMULA, NULL, NULL, in_float},
    {"square", FORMULA, NULL, NULL, in_float},
    {"sqrt", FORMULA, NULL, NULL, in_float},
    {"rsqrt", FORMULA, NULL, NULL, in_float},
    {"reciprocal", FORMULA, NULL, NULL, in_float},
    {"exp", FORMULA, NULL, NULL, in_float},
    {"log", FORMULA, NULL, NULL, in_float},
    {"rms_norm", NORM, NULL, NULL, in_float},
    {"scaled_dot_product_attention", NO_RULE, NULL, NULL,
     "its softmax is computed in float"},
};

/* Does n multiply by a matrix that is a parameter, as a layer in ONNX does? */
static bool multiplies_weight(const cfx_node *n)
{
    const cfx_module *gm = cfx_graph_owning_module(n->graph);
    cfx_node *w = cfx_node__arg(n, 1);
    const cfx_tensor *t = gm && w ? cfx_quantize__parameter(gm, w) : NULL;
    return t && t->rank == 2 &&
           (cfx_node_is(n, "matmul") || cfx_node_is(n, "mm"));
}

static const rule *rule_of(const cfx_node *n)
{
    static const rule layer = {"matmul", LINEAR, &columns, NULL, NULL};
    static const rule none = {NULL, NO_RULE, NULL, NULL, NULL};
    static const rule moved = {NULL, PASS, NULL, NULL, NULL};
    static const rule joined = {NULL, SHARE, NULL, NULL, NULL};
    if (n->op != CFX_CALL_FUNCTION && n->op != CFX_CALL_METHOD)
        return &none;
    if (multiplies_weight(n))
        return &layer;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (cfx_node_is(n, rules[i].name))
            return &rules[i];
    if (!cfx_node__has_flag(n, CFX_OP_MOVES))
        return &none;
    cfx_value first = n->nargs     ? n->args[0]
                      : n->nkwargs ? n->kwargs[1]
                                   : CFX_NOTHING;
    return cfx_value_is_seq(first) ? &joined : &moved;
}

static bool is_compute(const rule *r)
{
    return r->role == LINEAR || r->role == COMPUTE || r->role == SUM ||
           r->role == PRODUCT;
}

static const cfx_quant_spec *weight_of(const rule *r, const cfx_node *n)
{
    enum { TRANSPOSED = 6 }; /* of aten.convolution */
    bool transposed = n->nargs > TRANSPOSED &&
                      n->args[TRANSPOSED].kind == CFX_BOOL_VALUE &&
                      n->args[TRANSPOSED].u.i;
    return transposed && r->weight == &rows && cfx_node_is(n, "convolution")
               ? &columns
               : r->weight;
}

/* Is an activation that only n feeds its only user? */
static bool has_fused_activation(const cfx_node *n)
{
    return n->nusers == 1 && rule_of(n->first_user->user)->role == ACTIVATE;
}

static bool is_fused_activation(const cfx_node *n)
{
    const cfx_node *input = n->ninputs ? cfx_node_input(n, 0) : NULL;
    return input && input->nusers == 1 && is_compute(rule_of(input));
}

/* ---- x86, all that has an integer form ---- */

static cfx_status x86_all_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark)
{
    const rule *r = rule_of(n);
    const cfx_quant_spec *own = q->activations ? q->activations : activations;
    const cfx_quant_spec *output = r->output ? r->output : own;
    mark->reason = r->reason;
    if (r->reason)
        return CFX_OK;
    switch (r->role) {
    case LINEAR:
    case COMPUTE:
    case SUM:
    case PRODUCT:
        mark->input = own;
        mark->weight = r->weight ? weight_of(r, n) : own;
        mark->output = has_fused_activation(n) ? NULL : output;
        return CFX_OK;
    case FUNCTION:
    case IMAGE_NORM:
    case NORM:
        mark->input = own;
        mark->output = output;
        break;
    case ACTIVATE:
        mark->fused = is_fused_activation(n);
        mark->output = output;
        break;
    case PASS: mark->passes = true; break;
    case SHARE:
        mark->input = mark->weight = mark->output = output;
        mark->shares = true;
        break;
    case PRODUCE: mark->output = output; break;
    case TABLE:
    case FORMULA:
    case NO_RULE:
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_x86_all, annotate)(q, n,
                                                                     mark);
    }
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_x86_all = {
    .size = sizeof(cfx_quantizer_class),
    .name = "x86_all",
    .super = &cfx_quantizer_base,
    .annotate = x86_all_annotate,
};

/* ---- x86, without what costs accuracy ---- */

static cfx_status x86_annotate(cfx_quantizer *q, const cfx_node *n,
                               cfx_quant_mark *mark)
{
    const rule *r = rule_of(n);
    mark->is_sum = r->role == SUM;
    mark->pointwise = r->role == SUM || r->role == PRODUCT ||
                      r->role == FUNCTION;
    mark->gives_float = r->role == FORMULA;
    mark->reads_float = r->role == FORMULA || r->role == NORM ||
                        r->role == PRODUCE;
    if (!mark->reads_float)
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_x86, annotate)(q, n, mark);
    mark->reason = in_float;
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_x86 = {
    .size = sizeof(cfx_quantizer_class),
    .name = "x86",
    .super = &cfx_quantizer_x86_all,
    .annotate = x86_annotate,
};

/* ---- Weights only ---- */

/* A table is quantized as the weight of a linear layer, which it often is too. */

static cfx_status weights_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark)
{
    const rule *r = rule_of(n);
    if ((!is_compute(r) && r->role != TABLE) || !r->weight)
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_weights, annotate)(q, n,
                                                                     mark);
    mark->weight = r->role == TABLE ? &rows : weight_of(r, n);
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_weights = {
    .size = sizeof(cfx_quantizer_class),
    .name = "weights",
    .super = &cfx_quantizer_base,
    .annotate = weights_annotate,
};

static cfx_status by_groups(cfx_quantizer *q, const cfx_node *n,
                            cfx_quant_mark *mark, const cfx_quant_spec *specs)
{
    const rule *r = rule_of(n);
    if (r->role != LINEAR && r->role != TABLE)
        return base_annotate(q, n, mark);
    mark->weight = &specs[r->weight->axis];
    return CFX_OK;
}

#define GROUPS(n, is_symmetric, of_axis)                                      \
    {                                                                         \
        .observer = "PerGroupMinMaxObserver", .dtype = CFX_I8, .least = -8,   \
        .most = 7, .symmetric = is_symmetric, .by_channel = true, .group = n, \
        .axis = of_axis                                                       \
    }

/* Quantizers of weights by groups differ in the size of the groups, and in whether these
 * have zero points. */
#define BY_GROUPS(id, n, symmetric)                                           \
    static cfx_status id##_annotate(cfx_quantizer *q, const cfx_node *node,   \
                                    cfx_quant_mark *mark)                     \
    {                                                                         \
        static const cfx_quant_spec specs[] = {GROUPS(n, symmetric, 0),       \
                                               GROUPS(n, symmetric, 1)};      \
        return by_groups(q, node, mark, specs);                               \
    }                                                                         \
    const cfx_quantizer_class cfx_quantizer_##id = {                          \
        .size = sizeof(cfx_quantizer_class),                                  \
        .name = #id,                                                          \
        .super = &cfx_quantizer_base,                                         \
        .annotate = id##_annotate,                                            \
    };

BY_GROUPS(weights_int4_g32, 32, true)
BY_GROUPS(weights_int4_g64, 64, true)
BY_GROUPS(weights_int4_g128, 128, true)
BY_GROUPS(weights_int4_asymmetric_g32, 32, false)
BY_GROUPS(weights_int4_asymmetric_g64, 64, false)
BY_GROUPS(weights_int4_asymmetric_g128, 128, false)

/* ---- In each run ---- */

static const cfx_quant_spec by_run = {
    .observer = "PlaceholderObserver",
    UINT8,
    .dynamic = true,
};

static const cfx_quant_spec by_token = {
    .observer = "PlaceholderObserver",
    INT8,
    .dynamic = true,
    .by_token = true,
};

static cfx_status dynamic_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark)
{
    const rule *r = rule_of(n);
    if (r->role != LINEAR)
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_dynamic, annotate)(q, n,
                                                                     mark);
    mark->input = &by_run;
    mark->weight = r->weight;
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_dynamic = {
    .size = sizeof(cfx_quantizer_class),
    .name = "dynamic",
    .super = &cfx_quantizer_base,
    .annotate = dynamic_annotate,
};

static cfx_status dynamic_per_token_annotate(cfx_quantizer *q,
                                             const cfx_node *n,
                                             cfx_quant_mark *mark)
{
    cfx_status st = CFX_QUANTIZER_SUPER(&cfx_quantizer_dynamic_per_token,
                                        annotate)(q, n, mark);
    if (!st && mark->input)
        mark->input = &by_token;
    return st;
}

const cfx_quantizer_class cfx_quantizer_dynamic_per_token = {
    .size = sizeof(cfx_quantizer_class),
    .name = "dynamic_per_token",
    .super = &cfx_quantizer_dynamic,
    .annotate = dynamic_per_token_annotate,
};

/* ---- Tables ---- */

static cfx_status embedding_annotate(cfx_quantizer *q, const cfx_node *n,
                                     cfx_quant_mark *mark)
{
    const rule *r = rule_of(n);
    if (r->role != TABLE)
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_embedding, annotate)(q, n,
                                                                       mark);
    mark->weight = r->weight;
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_embedding = {
    .size = sizeof(cfx_quantizer_class),
    .name = "embedding",
    .super = &cfx_quantizer_base,
    .annotate = embedding_annotate,
};

/* ---- By name ---- */

static const cfx_quantizer_class *const classes[] = {
    &cfx_quantizer_x86,
    &cfx_quantizer_x86_all,
    &cfx_quantizer_weights,
    &cfx_quantizer_weights_int4_g32,
    &cfx_quantizer_weights_int4_g64,
    &cfx_quantizer_weights_int4_g128,
    &cfx_quantizer_weights_int4_asymmetric_g32,
    &cfx_quantizer_weights_int4_asymmetric_g64,
    &cfx_quantizer_weights_int4_asymmetric_g128,
    &cfx_quantizer_dynamic,
    &cfx_quantizer_dynamic_per_token,
    &cfx_quantizer_embedding,
};

const cfx_quantizer_class *cfx_find_quantizer(const char *name)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        if (!strcmp(classes[i]->name, name))
            return classes[i];
    return NULL;
}

const cfx_quantizer_class *cfx_quantizer_at(size_t i)
{
    return i < sizeof(classes) / sizeof(*classes) ? classes[i] : NULL;
}
