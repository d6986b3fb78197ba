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
#include "graph/graph_impl.h"

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

/* The extent that an int is; of a node, the one that it reads from a shape. */
static bool read_extent(cfx_value v, cfx_dim *out)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    const cfx_node *x = n && n->nargs == 2 ? cfx_node__arg(n, 0) : NULL;
    const cfx_tensor *t = x ? cfx_node__known_tensor(x) : NULL;
    bool reads = t && (cfx_node_is(n, "sym_size") || cfx_node_is(n, "size")) &&
                 n->args[1].kind == CFX_INT && n->args[1].u.i >= 0 &&
                 n->args[1].u.i < t->rank;
    if (reads)
        *out = t->shape[n->args[1].u.i];
    else if (v.kind == CFX_INT)
        *out = cfx_dim_int(v.u.i);
    return reads || v.kind == CFX_INT;
}

/* group_norm takes batch and channels from the shape. */
static bool has_those_axes(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, 0);
    (void)p;
    for (int i = 0; i < 2; i++) {
        cfx_dim n;
        if (!x || x->rank < 2 || !read_extent(m->placeholders[3 + i], &n) ||
            !cfx_dim_same(x->shape[i], n))
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

/* The parameter that a placeholder of the pattern stands for, or one that is dequantized
 * and perhaps transposed, if it has this rank. */
static const cfx_tensor *parameter(const cfx_pass_call *p, const cfx_match *m,
                                   int i, int rank)
{
    const cfx_node *v = cfx_value__node(m->placeholders[i]), *n = v;
    cfx_value state;
    while (n && cfx_pass__is_transpose(n))
        n = cfx_node__arg(n, 0);
    bool dequantizes = n && cfx_node__has_flag(n, CFX_OP_DEQUANTIZES);
    const cfx_node *of = dequantizes ? cfx_node__arg(n, 0) : v;
    if (!of || of->op != CFX_GET_ATTR ||
        cfx_module_fetch_attr(&state, p->gm, of->target->text, NULL) ||
        state.kind != CFX_TENSOR)
        return NULL;
    const cfx_tensor *t = dequantizes ? cfx_match__known(m, i)
                                      : state.u.tensor;
    return t && t->rank == rank ? t : NULL;
}

static bool has_weight(cfx_pass_call *p, const cfx_match *m)
{
    return parameter(p, m, 1, 2);
}

/* MatMul and Add, as ONNX exporters write a layer. */
static cfx_value matmul_add(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_add(s, cfx_matmul(s, in[0], in[1]), in[2]);
}

static bool is_layer(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *w = parameter(p, m, 1, 2), *b = parameter(p, m, 2, 1);
    return w && b && cfx_dim_same(w->shape[1], b->shape[0]);
}

static cfx_value linear_of_transpose(cfx_scope *s, const cfx_value *in,
                                     const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_linear(s, in[0], cfx_t(s, in[1]), in[2]);
}

/* x with its batch axes folded into one, as bmm takes it. */
static cfx_value folded(cfx_scope *s, cfx_value x)
{
    cfx_value copy = cfx_clone(s, x, .memory_format = cfx_pattern_any(s));
    return cfx_pattern_one_of(s, cfx_view(s, copy, cfx_pattern_any(s)),
                              cfx_view(s, x, cfx_pattern_any(s)),
                              cfx_reshape(s, x, cfx_pattern_any(s)));
}

static cfx_value folded_bmm(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value a = folded(s, in[0]), b = folded(s, in[1]);
    cfx_value y = cfx_named(s, "bmm", cfx_bmm(s, a, b));
    return cfx_view(s, y, cfx_pattern_any(s));
}

/* Do the axes of a and b from `first` to `end` agree? They are counted from the last,
 * which is 1. */
static bool agree(const cfx_tensor *a, const cfx_tensor *b, int first, int end)
{
    bool same = a && b && a->rank >= end && b->rank >= end;
    for (int i = first; same && i <= end; i++)
        same = cfx_dim_same(a->shape[a->rank - i], b->shape[b->rank - i]);
    return same;
}

/* Are only the batch axes folded, alike for both factors and for the result? */
static bool folds_batch(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_node *bmm = cfx_match__node(m, "bmm");
    const cfx_tensor *a = cfx_match__known(m, 0), *b = cfx_match__known(m, 1);
    const cfx_tensor *y = cfx_node__known_tensor(bmm);
    const cfx_tensor *out = cfx_node__known_tensor(m->returning[0].u.node);
    (void)p;
    return a && b && y && out && a->rank > 2 && b->rank == a->rank &&
           out->rank == a->rank && agree(a, b, 3, a->rank) &&
           agree(out, a, 2, a->rank) && agree(out, b, 1, 1) &&
           agree(y, out, 1, 2) &&
           agree(cfx_node__known_tensor(cfx_node__arg(bmm, 0)), a, 1, 2) &&
           agree(cfx_node__known_tensor(cfx_node__arg(bmm, 1)), b, 1, 2);
}

static cfx_value batched_matmul(cfx_scope *s, const cfx_value *in,
                                const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_matmul(s, in[0], in[1]);
}

/* The last two axes of x exchanged, with its batch axes folded meanwhile. */
static cfx_value folded_transpose(cfx_scope *s, const cfx_value *in,
                                  void *user)
{
    (void)user;
    cfx_value x = folded(s, in[0]);
    cfx_value axes = cfx_list(s, cfx_int(0), cfx_int(2), cfx_int(1));
    cfx_value y = cfx_pattern_one_of(
        s, cfx_permute(s, x, axes),
        cfx_transpose(s, x, cfx_int(1), cfx_int(2)),
        cfx_transpose(s, x, cfx_int(-2), cfx_int(-1)));
    return folded(s, cfx_named(s, "folded", y));
}

/* Does no user of n write to it, or care whether it is contiguous? */
static bool may_be_strided(const cfx_node *n)
{
    bool may = true;
    for (const cfx_use *u = n->first_user; u && may; u = u->next) {
        cfx_effects e;
        may = u->user->op != CFX_OUTPUT &&
              !cfx_node_effects(u->user, &e, NULL) && !e.input_views &&
              !cfx_effects_any(&e) &&
              !cfx_node__has_flag(u->user, CFX_OP_READS_STRIDES);
    }
    return may;
}

/* Is v read by nodes that do not write? */
static bool is_only_read(cfx_value v)
{
    bool only = v.kind == CFX_NODE;
    for (const cfx_use *u = only ? v.u.node->first_user : NULL; u && only;
         u = u->next) {
        cfx_effects e;
        only = u->user->op == CFX_OUTPUT ||
               (!cfx_node_effects(u->user, &e, NULL) && !cfx_effects_any(&e));
    }
    return only;
}

static bool folds_transpose(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, 0);
    const cfx_tensor *y = cfx_node__known_tensor(cfx_match__node(m, "folded"));
    const cfx_tensor *out = cfx_node__known_tensor(m->returning[0].u.node);
    (void)p;
    return may_be_strided(m->returning[0].u.node) &&
           is_only_read(m->placeholders[0]) && x && y && out && x->rank > 2 &&
           y->rank == 3 && out->rank == x->rank && agree(x, out, 3, x->rank) &&
           agree(y, out, 1, 2) &&
           cfx_dim_same(y->shape[1], x->shape[x->rank - 1]) &&
           cfx_dim_same(y->shape[2], x->shape[x->rank - 2]);
}

static cfx_value transpose_last(cfx_scope *s, const cfx_value *in,
                                const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_transpose(s, in[0], cfx_int(-2), cfx_int(-1));
}

/* A matrix for each of some heads, transposed before the batch is unfolded. */
static cfx_value unfolded_transpose(cfx_scope *s, const cfx_value *in,
                                    void *user)
{
    (void)user;
    cfx_value axes = cfx_list(s, cfx_int(0), cfx_int(2), cfx_int(1));
    return cfx_reshape(s, cfx_permute(s, in[0], axes), cfx_pattern_any(s));
}

/* The sizes of a reshape to four axes, if they are literals; or NULL. */
static const cfx_value *literal_sizes(const cfx_node *n)
{
    bool listed = n->nargs == 2 && cfx_value_is_seq(n->args[1]) &&
                  n->args[1].u.seq->len == 4;
    return n->ninputs != 1 ? NULL
           : listed        ? n->args[1].u.seq->item
           : n->nargs == 5 ? n->args + 1
                           : NULL;
}

static bool unfolds_batch(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, 0);
    const cfx_tensor *out = cfx_node__known_tensor(m->returning[0].u.node);
    (void)p;
    return x && out && x->rank == 3 && out->rank == 4 &&
           literal_sizes(m->returning[0].u.node) &&
           cfx_dim_same(out->shape[2], x->shape[2]) &&
           cfx_dim_same(out->shape[3], x->shape[1]);
}

static cfx_value transpose_unfolded(cfx_scope *s, const cfx_value *in,
                                    const cfx_match *m, void *p)
{
    const cfx_value *to = literal_sizes(m->returning[0].u.node);
    cfx_value size = cfx_list(s, to[0], to[1], to[3], to[2]);
    (void)p;
    return cfx_transpose(s, cfx_reshape(s, in[0], size), cfx_int(-2),
                         cfx_int(-1));
}

/* A layer of rows that are not contiguous: the weight is spread over the batch. */
static cfx_value spread_bmm(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value w = cfx_expand(s, transposed(s, in[1]), cfx_pattern_any(s));
    return cfx_bmm(s, in[0], w);
}

static cfx_value spread_bmm_add(cfx_scope *s, const cfx_value *in, void *user)
{
    return cfx_add(s, spread_bmm(s, in, user), in[2]);
}

/* ---- Norms and softmax ---- */

static cfx_value softmax_formula(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value yes = cfx_bool(true);
    cfx_value most = cfx_amax(s, in[0], in[1], .keepdim = yes);
    cfx_value e = cfx_exp(s, cfx_sub(s, in[0], most));
    return cfx_pattern__quotient(s, e, cfx_sum(s, e, in[2], .keepdim = yes));
}

static bool are_last_axes(cfx_pass_call *p, const cfx_match *m)
{
    return cfx_match__is_float(p, m) &&
           cfx_match__is_last_axis(m, 0, m->placeholders[1]) &&
           cfx_match__is_last_axis(m, 0, m->placeholders[2]);
}

static cfx_value softmax(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                         void *p)
{
    (void)m;
    (void)p;
    return cfx_softmax(s, in[0], cfx_int(-1));
}

/* The placeholders of rms_norm; the weight is last, and may be missing. */
enum { RMS_X, RMS_DIM, RMS_EPS, RMS_WEIGHT };

static cfx_value rms_formula(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value x = in[RMS_X];
    cfx_value square = cfx_pattern_one_of(
        s, cfx_pow(s, x, cfx_pattern_number(s, 2, 0)), cfx_mul(s, x, x));
    cfx_value mean = cfx_mean(s, square, in[RMS_DIM],
                              .keepdim = cfx_bool(true));
    cfx_value sum = cfx_add(s, mean, in[RMS_EPS]), root = cfx_sqrt(s, sum);
    return cfx_pattern_one_of(s, cfx_mul(s, x, cfx_rsqrt(s, sum)),
                              cfx_pattern__quotient(s, x, root),
                              cfx_mul(s, x, cfx_reciprocal(s, root)));
}

static cfx_value rms_formula_weight(cfx_scope *s, const cfx_value *in,
                                    void *user)
{
    return cfx_mul(s, rms_formula(s, in, user), in[RMS_WEIGHT]);
}

static bool is_rms_norm(cfx_pass_call *p, const cfx_match *m)
{
    double eps;
    const cfx_tensor *x = cfx_match__known(m, RMS_X);
    const cfx_tensor *y = cfx_node__known_tensor(m->returning[0].u.node);
    return cfx_match__is_float(p, m) && y && y->dtype == x->dtype &&
           y->rank == x->rank &&
           cfx_match__is_last_axis(m, 0, m->placeholders[RMS_DIM]) &&
           cfx_dim_is_int(x->shape[x->rank - 1]) &&
           cfx_facts__number(p, m->placeholders[RMS_EPS], &eps);
}

static bool is_weighted_rms_norm(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *w = cfx_match__known(m, RMS_WEIGHT);
    return is_rms_norm(p, m) && w && w->rank == 1 &&
           w->dtype == cfx_match__known(m, RMS_X)->dtype &&
           agree(cfx_match__known(m, RMS_X), w, 1, 1);
}

static cfx_value rms_norm(cfx_scope *s, const cfx_value *in,
                          const cfx_match *m, void *p)
{
    double eps = 0;
    const cfx_tensor *x = cfx_match__known(m, RMS_X);
    cfx_value shape = cfx_list(s, cfx_value_of_dim(x->shape[x->rank - 1]));
    cfx_facts__number(p, m->placeholders[RMS_EPS], &eps);
    return cfx_rms_norm(s, in[RMS_X], shape,
                        m->nplaceholders > RMS_WEIGHT ? in[RMS_WEIGHT]
                                                      : CFX_NOTHING,
                        .eps = cfx_float(eps));
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
        s, cfx_pattern__quotient(s, x, cfx_pattern_number(s, 6, 0)),
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
/* ---- Masks of windows ---- */

/* Windows of several images stand in one axis; their mask is added where that axis is
 * split into images and windows:
 *
 *     (scores.view(images, windows, heads, n, n) + mask).view(-1, heads, n, n)
 *
 * as in Swin transformers. Added to the scores as they are, it is a mask of attention. */
enum { WINDOW_SCORES, WINDOW_MASK };

static cfx_value window_mask(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value x = in[WINDOW_SCORES], size = cfx_pattern_any(s);
    x = cfx_pattern_one_of(s, cfx_view(s, x, size), cfx_reshape(s, x, size));
    x = cfx_add(s, cfx_named(s, "split", x), in[WINDOW_MASK]);
    size = cfx_pattern_any(s);
    return cfx_pattern_one_of(s, cfx_view(s, x, size),
                              cfx_reshape(s, x, size));
}

/* Does the first axis of x become two, and one again, and is the mask that of windows? */
static bool is_window_mask(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_node *n = cfx_match__node(m, "split");
    const cfx_tensor *x = cfx_match__known(m, WINDOW_SCORES);
    const cfx_tensor *mask = cfx_match__known(m, WINDOW_MASK);
    const cfx_tensor *split = n ? cfx_node__known_tensor(n) : NULL;
    const cfx_tensor *y = cfx_node__known_tensor(m->returning[0].u.node);
    bool fits = x && mask && split && y && x->rank == 4 && split->rank == 5 &&
                cfx_facts__same_layout(x, y) && mask->dtype == x->dtype &&
                mask->rank == 5;
    (void)p;
    for (int i = 1; fits && i < 4; i++)
        fits = cfx_dim_same(split->shape[i + 1], x->shape[i]);
    for (int i = 0; fits && i < 5; i++)
        fits = cfx_dim_is_int(split->shape[i]) &&
               (cfx_dim_is(mask->shape[i], 1) ||
                cfx_dim_same(mask->shape[i], split->shape[i]));
    return fits;
}

/* The mask with images and windows in one axis; of one image, a view of it. */
static cfx_value join_windows(cfx_scope *s, const cfx_value *in,
                              const cfx_match *m, void *p)
{
    const cfx_tensor *mask = cfx_match__known(m, WINDOW_MASK);
    const cfx_tensor *split = cfx_node__known_tensor(
        cfx_match__node(m, "split"));
    cfx_value size[5], joined[4], v = in[WINDOW_MASK];
    (void)p;
    for (int i = 0; i < 5; i++)
        size[i] = cfx_value_of_dim((i < 2 ? split : mask)->shape[i]);
    for (int i = 1; i < 4; i++)
        joined[i] = size[i + 1];
    joined[0] = cfx_int_mul(s, size[0], size[1]);
    v = cfx_expand(s, v, cfx_list_of(s, CFX_LIST, 5, size));
    v = cfx_reshape(s, v, cfx_list_of(s, CFX_LIST, 4, joined));
    return cfx_add(s, in[WINDOW_SCORES], v);
}

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
    {.params = "x w", .pattern = matmul, .where = has_weight, .build = linear},
    {.params = "x w b",
     .pattern = matmul_add,
     .where = is_layer,
     .build = linear_of_transpose},
    {.params = "a b",
     .pattern = folded_bmm,
     .where = folds_batch,
     .build = batched_matmul},
    {.params = "x",
     .pattern = folded_transpose,
     .where = folds_transpose,
     .build = transpose_last},
    {.params = "x",
     .pattern = unfolded_transpose,
     .where = unfolds_batch,
     .build = transpose_unfolded},
    {.params = "x w b",
     .pattern = spread_bmm_add,
     .where = is_bias,
     .build = linear},
    {.params = "x w",
     .pattern = spread_bmm,
     .where = has_weight,
     .build = linear},
    {.params = "scores mask",
     .pattern = window_mask,
     .where = is_window_mask,
     .build = join_windows},
    {.params = "x dim of_sum",
     .pattern = softmax_formula,
     .where = are_last_axes,
     .build = softmax},
    {.params = "x dim eps weight",
     .pattern = rms_formula_weight,
     .where = is_weighted_rms_norm,
     .build = rms_norm},
    {.params = "x dim eps",
     .pattern = rms_formula,
     .where = is_rms_norm,
     .build = rms_norm},
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
