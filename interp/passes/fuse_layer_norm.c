/*
 * fuse_layer_norm -- torch.nn.functional.layer_norm in place of its formula.
 *
 *     (x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + eps) * w + b
 *
 * as ONNX files before opset 17 have it, and as exporters of JAX and TensorFlow write
 * it. It is the norm over the last axis, whose extent meta must show. recompose, which
 * finds rms_norm in the middle of it, has to come later.
 */
#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"

enum { X, AXES, EPS }; /* the first parameters of patterns */

/* ---- Parts of formulas ---- */

static cfx_value mean(cfx_scope *s, cfx_value x, cfx_value axes)
{
    return cfx_mean(s, x, .dim = axes, .keepdim = cfx_bool(true));
}

static cfx_value square(cfx_scope *s, cfx_value x)
{
    cfx_value two = cfx_pattern_number(s, 2, 0);
    return cfx_pattern_one_of(s, cfx_pow(s, x, two), cfx_mul(s, x, x),
                              cfx_square(s, x));
}

/* x / sqrt(y + eps), times w unless that is absent. */
static cfx_value by_root(cfx_scope *s, cfx_value x, cfx_value y, cfx_value eps,
                         cfx_value w)
{
    cfx_value sum = cfx_add(s, y, eps);
    cfx_value root = cfx_pattern_one_of(
        s, cfx_sqrt(s, sum), cfx_pow(s, sum, cfx_pattern_number(s, 0.5, 0)));
    cfx_value inverse = cfx_pattern_one_of(
        s, cfx_rsqrt(s, sum), cfx_reciprocal(s, root),
        cfx_div(s, cfx_pattern_number(s, 1, 0), root),
        cfx_pow(s, sum, cfx_pattern_number(s, -0.5, 0)));
    if (cfx_value_is_absent(w))
        return cfx_pattern_one_of(s, cfx_div(s, x, root),
                                  cfx_mul(s, x, inverse));
    return cfx_mul(s, x, cfx_mul(s, inverse, w));
}

/* ---- Conditions ---- */

/* The number in a list of one, or v itself. */
static cfx_value only(cfx_value v)
{
    bool list = cfx_value_is_seq(v);
    return !list ? v : v.u.seq->len == 1 ? v.u.seq->item[0] : CFX_NOTHING;
}

/* The input, if it is floating-point and `AXES` is its last axis, of known extent. */
static const cfx_tensor *rows(const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, X);
    return cfx_match__is_last_axis(m, X, m->placeholders[AXES]) &&
                   cfx_dtype_is_float((cfx_dtype)x->dtype) &&
                   cfx_dim_is_int(x->shape[x->rank - 1])
               ? x
               : NULL;
}

/* Is the i-th parameter a vector with an element for each of a row of x? */
static bool fits(const cfx_match *m, int i, const cfx_tensor *x)
{
    const cfx_tensor *t = cfx_match__known(m, i);
    return t && t->rank == 1 && t->dtype == x->dtype &&
           cfx_dim_same(t->shape[0], x->shape[x->rank - 1]);
}

static bool is_norm(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = rows(m);
    const cfx_tensor *y = cfx_node__known_tensor(m->returning[0].u.node);
    double eps;
    return x && y && y->dtype == x->dtype && y->rank == x->rank &&
           cfx_facts__number(p, m->placeholders[EPS], &eps) &&
           (m->nplaceholders < 4 || fits(m, 3, x));
}

/* w and b of an operator on x, whose normalized_shape is the second parameter. */
static bool is_affine(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, X);
    cfx_value n = only(m->placeholders[1]);
    (void)p;
    bool row = x && x->rank && n.kind == CFX_INT &&
               cfx_dim_is(x->shape[x->rank - 1], n.u.i);
    return row && fits(m, 3, x) && (m->nplaceholders < 5 || fits(m, 4, x));
}

static cfx_value row_shape(cfx_scope *s, const cfx_match *m)
{
    const cfx_tensor *x = rows(m);
    return cfx_list(s, cfx_value_of_dim(x->shape[x->rank - 1]));
}

/* ---- Formulas ---- */

static cfx_value variance_formula(cfx_scope *s, const cfx_value *in,
                                  cfx_value w)
{
    cfx_value x = in[X], axes = in[AXES];
    cfx_value d = cfx_sub(s, x, mean(s, x, axes));
    return by_root(s, d, mean(s, square(s, d), axes), in[EPS], w);
}

static cfx_value plain(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return variance_formula(s, in, CFX_NOTHING);
}

/* JAX multiplies the weight first. */
static cfx_value weighted(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return variance_formula(s, in, in[3]);
}

static cfx_value layer_norm(cfx_scope *s, const cfx_value *in,
                            const cfx_match *m, void *p)
{
    double eps = 0;
    cfx_facts__number(p, m->placeholders[EPS], &eps);
    return cfx_layer_norm(s, in[X], row_shape(s, m),
                          m->nplaceholders > 3 ? in[3] : cfx_none(),
                          cfx_none(), cfx_float(eps));
}

static cfx_value times_weight(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value none = cfx_none();
    return cfx_mul(s, cfx_layer_norm(s, in[0], in[1], none, none, in[2]),
                   in[3]);
}

static cfx_value with_weight(cfx_scope *s, const cfx_value *in,
                             const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_layer_norm(s, in[0], in[1], in[3], cfx_none(), in[2]);
}

static cfx_value plus_bias(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_add(
        s, cfx_layer_norm(s, in[0], in[1], in[3], cfx_none(), in[2]), in[4]);
}

static cfx_value with_bias(cfx_scope *s, const cfx_value *in,
                           const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_layer_norm(s, in[0], in[1], in[3], in[4], in[2]);
}

/* ---- The pass ---- */

/* Norms come before what is added to them. */
static const cfx_rewrite_rule rules[] = {
    {.params = "x axes eps",
     .pattern = plain,
     .where = is_norm,
     .build = layer_norm},
    {.params = "x axes eps w",
     .pattern = weighted,
     .where = is_norm,
     .build = layer_norm},
    {.params = "x shape eps w",
     .pattern = times_weight,
     .where = is_affine,
     .build = with_weight},
    {.params = "x shape eps w b",
     .pattern = plus_bias,
     .where = is_affine,
     .build = with_bias},
    {0},
};

const cfx_pass cfx_pass__fuse_layer_norm = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_layer_norm()",
    .doc =
        "Replace the formula of layer_norm over the last axis with layer_norm, where meta tensor_meta shows a floating-point type and the extent of that axis.",
    .flags = CFX_PASS_ROUNDS,
    .rules = rules,
};
