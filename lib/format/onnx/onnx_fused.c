/*
 * onnx_fused -- rules of ONNX Runtime's fused operators: convolutions and products
 * with an activation, activations with a bias, norms of sums.
 *
 * Attention has a file of its own, onnx_fused_attention.c, and so have quantized
 * operators: onnx_fused_quantize.c.
 */
#include <stdio.h>

#include "format/onnx/onnx.h"

/* ---- Activations ---- */

enum { MAX_PARAMS = 2 };

/* The activations that may be fused, and their attributes. */
static const struct {
    const char *name, *param[MAX_PARAMS];
} activations[] = {
    {"Relu", {NULL}},
    {"Sigmoid", {NULL}},
    {"Tanh", {NULL}},
    {"Softplus", {NULL}},
    {"Softsign", {NULL}},
    {"HardSwish", {NULL}},
    {"LeakyRelu", {"alpha"}},
    {"ThresholdedRelu", {"alpha"}},
    {"Elu", {"alpha"}},
    {"Celu", {"alpha"}},
    {"Selu", {"alpha", "gamma"}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"Clip", {"min", "max"}},
};

/* Parameter k of the fused activation: FusedConv has a list of them, FusedGemm an
 * attribute for each, as "activation_alpha". */
static bool read_param(onnx_node *n, const char *name, size_t k, float *out)
{
    const Onnx__AttributeProto *list = onnx_attr(n, "activation_params"), *own;
    char full[32];

    snprintf(full, sizeof(full), "activation_%s", name);
    own = onnx_attr(n, full);
    if (list && k < list->n_floats)
        *out = list->floats[k];
    else if (own && own->has_f)
        *out = own->f;
    else
        return false;
    return true;
}

/* Call the rule of an activation with the attributes of operator set 10, which has
 * the limits of Clip among them. */
static cfx_value activate(onnx_node *n, cfx_value x, const char *name,
                          const char *const *param)
{
    Onnx__AttributeProto attr[MAX_PARAMS], *list[MAX_PARAMS];
    Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
    onnx_node *call = onnx_node_with(n, 1, &x);

    for (size_t k = 0; k < MAX_PARAMS && param[k]; k++) {
        Onnx__AttributeProto *a = &attr[proto.n_attribute];
        onnx__attribute_proto__init(a);
        a->name = (char *)(uintptr_t)param[k];
        a->has_f = read_param(n, param[k], k, &a->f);
        list[proto.n_attribute] = a;
        proto.n_attribute += a->has_f ? 1 : 0;
    }
    if (!call)
        return CFX_NOTHING;
    proto.attribute = list;
    call->proto = &proto;
    call->opset = 10;
    call->rule = onnx_find_rule(n->importer, "", name, ONNX_NEWEST);
    return call->rule->import(call);
}

/* The result of a fused operator, of which `y` lacks the activation. */
static cfx_value activated(onnx_node *n, cfx_value y)
{
    const char *name = onnx_attr_text(n, "activation", "");

    for (size_t i = 0; i < sizeof(activations) / sizeof(*activations); i++)
        if (!strcmp(name, activations[i].name))
            return activate(n, y, name, activations[i].param);
    return *name ? onnx_fail(n, CFX_EUNSUPPORTED,
                             "its activation '%.40s' is not supported", name)
                 : y;
}

/* ---- Convolutions and products ---- */

/* The sum with input 3 comes before the activation. */
cfx_value onnx_import_fused_conv(onnx_node *n)
{
    cfx_value y = onnx_import_conv(n);

    if (onnx_has(n, 3))
        y = cfx_add(n->s, y, onnx_tensor(n, 3));
    return activated(n, y);
}

cfx_value onnx_import_fused_gemm(onnx_node *n)
{
    return activated(n, onnx_import_gemm(n));
}

/* An operand of FusedMatMul: `batch` moves the first axis behind those of the
 * batch, `transpose` exchanges the last two then. */
static cfx_value operand(onnx_node *n, size_t i, bool batch, bool transpose)
{
    cfx_value x = onnx_tensor(n, i);
    int rank = onnx_rank(n, x);

    if (batch && rank > 2)
        x = cfx_movedim(n->s, x, cfx_int(0), cfx_int(-2));
    return transpose && rank > 1
               ? cfx_transpose(n->s, x, cfx_int(-2), cfx_int(-1))
               : x;
}

cfx_value onnx_import_fused_mat_mul(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", 1);
    cfx_value a = operand(n, 0, onnx_attr_int(n, "transBatchA", 0),
                          onnx_attr_int(n, "transA", 0));
    cfx_value b = operand(n, 1, onnx_attr_int(n, "transBatchB", 0),
                          onnx_attr_int(n, "transB", 0));
    cfx_value y = cfx_matmul(n->s, a, b);

    return alpha == 1 ? y : cfx_mul(n->s, y, cfx_float(alpha));
}

/* ---- Activations with a bias ---- */

static cfx_value biased(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);

    return onnx_has(n, 1) ? cfx_add(n->s, x, onnx_tensor(n, 1)) : x;
}

cfx_value onnx_import_bias_gelu(onnx_node *n)
{
    return cfx_gelu(n->s, biased(n));
}

cfx_value onnx_import_fast_gelu(onnx_node *n)
{
    return cfx_gelu(n->s, biased(n), .approximate = cfx_str(n->s, "tanh"));
}

/* Softmax as before operator set 13: the axes from `axis` on are one. */
cfx_value onnx_import_bias_softmax(onnx_node *n)
{
    cfx_value x = biased(n);

    onnx_ignore(n, "is_inner_broadcast"); /* the bias tells by its shape */
    return onnx_with_inputs(n, onnx_import_softmax, 1, &x);
}

/* ---- Norms of sums ---- */

/* The norm of the last axis, by layer_norm or rms_norm. */
static cfx_value normalized(onnx_node *n, cfx_value x, cfx_value scale,
                            cfx_value bias, bool rms)
{
    cfx_value eps = cfx_float(onnx_attr_float(n, "epsilon", 1e-12));
    int rank = onnx_rank(n, x);

    if (rank < 1)
        return CFX_NOTHING;
    cfx_value shape = onnx_extents(n->s, x, rank - 1, rank);
    return rms ? cfx_rms_norm(n->s, x, shape, .weight = scale, .eps = eps)
               : cfx_layer_norm(n->s, x, shape, .weight = scale, .bias = bias,
                                .eps = eps);
}

/* Normalize the sum of inputs 0 and 1 and of a bias, input `bias`. ONNX Runtime takes
 * the bias from the linear layer that gives input 0. */
static cfx_value skip_norm(onnx_node *n, size_t bias, bool rms)
{
    cfx_value x = onnx_tensor(n, 0);

    if (onnx_has(n, bias))
        x = cfx_add(n->s, x, onnx_tensor(n, bias));
    x = cfx_add(n->s, x, onnx_tensor(n, 1));
    n->out[3] = x;
    return normalized(n, x, onnx_tensor(n, 2),
                      rms ? CFX_NOTHING : onnx_optional(n, 3), rms);
}

cfx_value onnx_import_skip_layer_norm(onnx_node *n)
{
    return skip_norm(n, 4, false);
}

cfx_value onnx_import_skip_rms_norm(onnx_node *n)
{
    return skip_norm(n, 3, true);
}

enum { IDS, SEGMENTS, WORDS, POSITIONS, SEGMENT_TABLE, SCALE, BIAS, MASK, AT };

/* The sum of the embeddings of words, positions and segments, normalized; the count
 * of each row's mask. */
cfx_value onnx_import_embed_layer_norm(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value type = cfx_value_of_dtype(CFX_I32);
    cfx_value ids = onnx_tensor(n, IDS), positions = onnx_tensor(n, POSITIONS);
    cfx_value x = cfx_embedding(s, onnx_tensor(n, WORDS), ids);
    cfx_value y = onnx_has(n, AT)
                      ? cfx_embedding(s, positions, onnx_tensor(n, AT))
                      : cfx_slice(s, positions, cfx_int(0), cfx_int(0),
                                  onnx_size(s, ids, 1), cfx_int(1));

    x = cfx_add(s, x, y);
    if (onnx_has(n, SEGMENTS))
        x = cfx_add(s, x,
                    cfx_embedding(s, onnx_tensor(n, SEGMENT_TABLE),
                                  onnx_tensor(n, SEGMENTS)));
    onnx_ignore(n, "mask_index_type"); /* that of output 1, which has one */
    if (n->nout > 1 && onnx_has(n, MASK))
        n->out[1] = cfx_sum(s, cfx_eq(s, onnx_tensor(n, MASK), cfx_int(1)),
                            .dim = onnx_int_arg(s, 1, (int64_t[]){1}),
                            .dtype = type);
    else if (n->nout > 1)
        n->out[1] = cfx_zeros(s, cfx_list(s, onnx_size(s, ids, 0)),
                              .dtype = type);
    n->out[2] = x;
    return normalized(n, x, onnx_tensor(n, SCALE), onnx_tensor(n, BIAS),
                      false);
}

/* ---- Others ---- */

/* Weights of these operators are reordered for the processor that wrote the file, and
 * do not tell how. */
cfx_value onnx_import_blocked_layout(onnx_node *n)
{
    return onnx_fail(
        n, CFX_EUNSUPPORTED,
        "its layout is that of one processor: save the model at ORT_ENABLE_EXTENDED");
}

/* The function of the row, of all inputs. */
cfx_value onnx_import_call(onnx_node *n)
{
    cfx_value *v = onnx_alloc(n->s, n->nin + 1, sizeof(*v));

    for (size_t i = 0; v && i < n->nin; i++)
        v[i] = onnx_tensor(n, i);
    return v ? cfx_call_function(n->s, n->rule->target, cfx_args_of(v, n->nin))
             : CFX_NOTHING;
}
