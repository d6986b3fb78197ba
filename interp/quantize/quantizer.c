/*
 * quantizer -- the classes that decide what is quantized.
 */
#include <cfx/quantize.h>

#include <string.h>

const cfx_quantizer_class *cfx_quantizer_class_with(
    const cfx_quantizer_class *cls, size_t offset)
{
    void (*hook)(void);
    for (; cls->super; cls = cls->super) {
        memcpy(&hook, (const char *)cls + offset, sizeof(hook));
        if (hook)
            break;
    }
    return cls;
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

/* ---- Patterns ---- */

/* The way in which a backend quantizes an operator. */
typedef enum role {
    NO_RULE,
    COMPUTE, /* integers in and out; an activation after it is fused */
    ACTIVATE,
    PASS,         /* elements move or are selected */
    SHARE,        /* elements of several tensors in one result */
    WEIGHTED = 16 /* flag: it has a weight with output channels first */
} role;

static const struct rule {
    const char *name;
    int role;
} rules[] = {
    {"conv1d", COMPUTE | WEIGHTED},
    {"conv2d", COMPUTE | WEIGHTED},
    {"conv3d", COMPUTE | WEIGHTED},
    {"linear", COMPUTE | WEIGHTED},
    {"matmul", COMPUTE},
    {"mm", COMPUTE},
    {"bmm", COMPUTE},
    {"add", COMPUTE},
    {"relu", ACTIVATE},
    {"relu6", ACTIVATE},
    {"hardtanh", ACTIVATE},
    {"max_pool1d", PASS},
    {"max_pool2d", PASS},
    {"avg_pool2d", PASS},
    {"adaptive_avg_pool2d", PASS},
    {"flatten", PASS},
    {"reshape", PASS},
    {"view", PASS},
    {"permute", PASS},
    {"transpose", PASS},
    {"squeeze", PASS},
    {"unsqueeze", PASS},
    {"contiguous", PASS},
    {"cat", SHARE},
};

static int role_of(const cfx_node *n)
{
    if (n->op != CFX_CALL_FUNCTION && n->op != CFX_CALL_METHOD)
        return NO_RULE;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (cfx_node_is(n, rules[i].name))
            return rules[i].role;
    return NO_RULE;
}

static bool is_compute(const cfx_node *n)
{
    return (role_of(n) & ~WEIGHTED) == COMPUTE;
}

/* Is an activation that only n feeds its only user? */
static bool has_fused_activation(const cfx_node *n)
{
    return n->nusers == 1 && role_of(n->first_user->user) == ACTIVATE;
}

static bool is_fused_activation(const cfx_node *n)
{
    const cfx_node *input = n->ninputs ? cfx_node_input(n, 0) : NULL;
    return input && input->nusers == 1 && is_compute(input);
}

/* ---- x86 ---- */

static const cfx_quant_spec activations = {
    .observer = "HistogramObserver",
    .dtype = CFX_U8,
    .least = 0,
    .most = 255,
};

static const cfx_quant_spec weights = {
    .observer = "PerChannelMinMaxObserver",
    .dtype = CFX_I8,
    .least = -128,
    .most = 127,
    .symmetric = true,
    .by_channel = true,
};

static cfx_status x86_annotate(cfx_quantizer *q, const cfx_node *n,
                               cfx_quant_mark *mark)
{
    int rule = role_of(n);
    switch (rule & ~WEIGHTED) {
    case COMPUTE:
        mark->input = &activations;
        mark->weight = rule & WEIGHTED ? &weights : &activations;
        mark->output = has_fused_activation(n) ? NULL : &activations;
        return CFX_OK;
    case ACTIVATE:
        mark->input = is_fused_activation(n) ? NULL : &activations;
        mark->output = &activations;
        return CFX_OK;
    case PASS: mark->passes = true; return CFX_OK;
    case SHARE:
        mark->input = mark->weight = mark->output = &activations;
        mark->shares = true;
        return CFX_OK;
    default:
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_x86, annotate)(q, n, mark);
    }
}

const cfx_quantizer_class cfx_quantizer_x86 = {
    .size = sizeof(cfx_quantizer_class),
    .name = "x86",
    .super = &cfx_quantizer_base,
    .annotate = x86_annotate,
};

/* ---- Weights only ---- */

static cfx_status weights_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark)
{
    if (!(role_of(n) & WEIGHTED))
        return CFX_QUANTIZER_SUPER(&cfx_quantizer_weights, annotate)(q, n,
                                                                     mark);
    mark->weight = &weights;
    return CFX_OK;
}

const cfx_quantizer_class cfx_quantizer_weights = {
    .size = sizeof(cfx_quantizer_class),
    .name = "weights",
    .super = &cfx_quantizer_base,
    .annotate = weights_annotate,
};

/* ---- By name ---- */

const cfx_quantizer_class *cfx_find_quantizer(const char *name)
{
    static const cfx_quantizer_class *const classes[] = {
        &cfx_quantizer_x86, &cfx_quantizer_weights};
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        if (!strcmp(classes[i]->name, name))
            return classes[i];
    return NULL;
}
