/*
 * recompose -- operators in place of what PyTorch's decompositions make of them.
 *
 * A graph of Core ATen (ExportedProgram.run_decompositions) has the first result of
 * _native_batch_norm_legit_no_training for batch_norm, addmm with a transposed weight
 * for linear, and formulas for some activations, which models also write out. Other
 * passes know the operators.
 */
#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"

/* ---- The first of several results ---- */

static cfx_value first_of(cfx_scope *s, const char *name, const cfx_value *in,
                          size_t n)
{
    return cfx_nth(s, cfx_call_function(s, name, cfx_args_of(in, n)), 0);
}

static cfx_value native_batch_norm(cfx_scope *s, const cfx_value *in,
                                   void *user)
{
    (void)user;
    return first_of(
        s, "torch.ops.aten._native_batch_norm_legit_no_training.default", in,
        7);
}

static cfx_value batch_norm(cfx_scope *s, const cfx_value *in,
                            const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_batch_norm(s, in[0], in[1], in[2], in[3], in[4],
                          cfx_bool(false), in[5], in[6], cfx_bool(false));
}

static cfx_value native_layer_norm(cfx_scope *s, const cfx_value *in,
                                   void *user)
{
    (void)user;
    return first_of(s, "torch.ops.aten.native_layer_norm.default", in, 5);
}

static cfx_value layer_norm(cfx_scope *s, const cfx_value *in,
                            const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_layer_norm(s, in[0], in[1], in[2], in[3], in[4]);
}

static cfx_value native_group_norm(cfx_scope *s, const cfx_value *in,
                                   void *user)
{
    (void)user;
    return first_of(s, "torch.ops.aten.native_group_norm.default", in, 8);
}

/* group_norm takes batch and channels from the shape. */
static bool has_those_axes(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, 0);
    (void)p;
    for (int i = 0; i < 2; i++) {
        cfx_value n = m->placeholders[3 + i];
        if (!x || x->rank < 2 || n.kind != CFX_INT ||
            !cfx_dim_is(x->shape[i], n.u.i))
            return false;
    }
    return true;
}

static cfx_value group_norm(cfx_scope *s, const cfx_value *in,
                            const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_group_norm(s, in[0], in[6], in[1], in[2], in[7]);
}

static cfx_value pool_with_indices(cfx_scope *s, const cfx_value *in,
                                   void *user)
{
    (void)user;
    return first_of(s, "torch.ops.aten.max_pool2d_with_indices.default", in,
                    6);
}

static cfx_value max_pool2d(cfx_scope *s, const cfx_value *in,
                            const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_max_pool2d(s, in[0], in[1], in[2], in[3], in[4], in[5]);
}

/* ---- Convolutions ---- */

static cfx_value convolution(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_convolution(s, in[0], in[1], in[2], in[3], in[4], in[5],
                           cfx_bool(false), cfx_pattern_any(s), in[6]);
}

/* The spatial axes of the weight; 0 if they are not known. */
static int axes_of(const cfx_match *m)
{
    const cfx_tensor *t = cfx_match__known(m, 1);
    return t && t->rank > 2 && t->rank < 6 ? t->rank - 2 : 0;
}

static bool has_known_axes(cfx_pass_call *p, const cfx_match *m)
{
    (void)p;
    return axes_of(m);
}

static cfx_value conv(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                      void *p)
{
    static const char *const names[] = {"torch.conv1d", "torch.conv2d",
                                        "torch.conv3d"};
    (void)p;
    return cfx_call_function(s, names[axes_of(m) - 1], cfx_args_of(in, 7));
}

/* ---- Products ---- */

static cfx_value transposed(cfx_scope *s, cfx_value w)
{
    cfx_value axes = cfx_list(s, cfx_int(1), cfx_int(0));
    return cfx_pattern_one_of(s, cfx_permute(s, w, axes), cfx_t(s, w),
                              cfx_transpose(s, w, cfx_int(0), cfx_int(1)));
}

static cfx_value addmm(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_addmm(s, in[2], in[0], transposed(s, in[1]));
}

/* The bias of linear has one element for each row of the weight. */
static bool is_bias(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *w = cfx_match__known(m, 1), *b = cfx_match__known(m, 2);
    (void)p;
    return w && b && b->rank == 1 && cfx_dim_same(b->shape[0], w->shape[0]);
}

static cfx_value linear(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                        void *p)
{
    (void)p;
    return m->nplaceholders > 2 ? cfx_linear(s, in[0], in[1], in[2])
                                : cfx_linear(s, in[0], in[1]);
}

static cfx_value mm(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_mm(s, in[0], transposed(s, in[1]));
}

static cfx_value matmul(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_matmul(s, in[0], transposed(s, in[1]));
}

/* The parameter that a placeholder of the pattern stands for, if it is one of this
 * rank. */
static const cfx_tensor *parameter(const cfx_match *m, int i, int rank)
{
    cfx_value v = m->placeholders[i];
    bool state = v.kind == CFX_NODE && v.u.node->op == CFX_GET_ATTR;
    const cfx_tensor *t = state ? cfx_match__known(m, i) : NULL;
    return t && t->rank == rank ? t : NULL;
}

/* matmul of a vector has no rows. */
static bool has_rows(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, 0);
    (void)p;
    return x && x->rank > 1 && parameter(m, 1, 2);
}

/* MatMul and Add, as ONNX exporters write a layer. */
static cfx_value matmul_add(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_add(s, cfx_matmul(s, in[0], in[1]), in[2]);
}

static bool is_layer(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *w = parameter(m, 1, 2), *b = parameter(m, 2, 1);
    return w && b && has_rows(p, m) && cfx_dim_same(w->shape[1], b->shape[0]);
}

static cfx_value linear_of_transpose(cfx_scope *s, const cfx_value *in,
                                     const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_linear(s, in[0], cfx_t(s, in[1]), in[2]);
}

/* ---- Activations ---- */

static cfx_value x_sigmoid(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_mul(s, in[0], cfx_sigmoid(s, in[0]));
}

static cfx_value silu(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                      void *p)
{
    (void)m;
    (void)p;
    return cfx_silu(s, in[0]);
}

/* x + 3 between 0 and 6. */
static cfx_value gate(cfx_scope *s, cfx_value x)
{
    cfx_value zero = cfx_pattern_number(s, 0, 0);
    cfx_value six = cfx_pattern_number(s, 6, 0);
    cfx_value sum = cfx_add(s, x, cfx_pattern_number(s, 3, 0));
    return cfx_pattern_one_of(
        s, cfx_clamp(s, cfx_clamp(s, sum, zero), .max = six),
        cfx_clamp(s, sum, zero, six), cfx_relu6(s, sum),
        cfx_hardtanh(s, sum, zero, six));
}

static cfx_value sixth(cfx_scope *s, cfx_value x)
{
    return cfx_pattern_one_of(
        s, cfx_div(s, x, cfx_pattern_number(s, 6, 0)),
        cfx_mul(s, x, cfx_pattern_number(s, 1.0 / 6, 1e-6)));
}

static cfx_value hardswish_formula(cfx_scope *s, const cfx_value *in,
                                   void *user)
{
    (void)user;
    return cfx_pattern_one_of(s, sixth(s, cfx_mul(s, in[0], gate(s, in[0]))),
                              cfx_mul(s, in[0], sixth(s, gate(s, in[0]))));
}

static cfx_value hardswish(cfx_scope *s, const cfx_value *in,
                           const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_hardswish(s, in[0]);
}

static cfx_value hardsigmoid_formula(cfx_scope *s, const cfx_value *in,
                                     void *user)
{
    (void)user;
    return sixth(s, gate(s, in[0]));
}

static cfx_value hardsigmoid(cfx_scope *s, const cfx_value *in,
                             const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_hardsigmoid(s, in[0]);
}

/* ---- The pass ---- */

/* hardswish contains hardsigmoid's formula. */
static const cfx_rewrite_rule rules[] = {
    {.params = "x w b mean var momentum eps",
     .pattern = native_batch_norm,
     .build = batch_norm},
    {.params = "x shape w b eps",
     .pattern = native_layer_norm,
     .build = layer_norm},
    {.params = "x w b N C HxW groups eps",
     .pattern = native_group_norm,
     .where = has_those_axes,
     .build = group_norm},
    {.params = "x kernel stride padding dilation ceil",
     .pattern = pool_with_indices,
     .build = max_pool2d},
    {.params = "x w b stride padding dilation groups",
     .pattern = convolution,
     .where = has_known_axes,
     .build = conv},
    {.params = "x w b", .pattern = addmm, .where = is_bias, .build = linear},
    {.params = "x w", .pattern = mm, .build = linear},
    {.params = "x w", .pattern = matmul, .where = has_rows, .build = linear},
    {.params = "x w b",
     .pattern = matmul_add,
     .where = is_layer,
     .build = linear_of_transpose},
    {.params = "x",
     .pattern = x_sigmoid,
     .where = cfx_match__is_float,
     .build = silu},
    {.params = "x",
     .pattern = hardswish_formula,
     .where = cfx_match__is_float,
     .build = hardswish},
    {.params = "x",
     .pattern = hardsigmoid_formula,
     .where = cfx_match__is_float,
     .build = hardsigmoid},
    {0},
};

const cfx_pass cfx_pass__recompose = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "recompose()",
    .doc =
        "Replace what PyTorch's decompositions make of an operator, or its formula, with the operator, where meta tensor_meta shows that it applies.",
    .flags = CFX_PASS_ROUNDS,
    .rules = rules,
};
