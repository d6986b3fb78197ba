/*
 * fuse_bn -- fold batch norms into the layers before or after them.
 *
 *     y = (W x + b - mean) * s + beta,  s = gamma / sqrt(var + eps)
 *       = (s W) x + (b - mean) * s + beta
 *
 * and, with the norm before a linear layer,
 *
 *     y = W ((x - mean) * s + beta) + b = (W s) x + W (beta - mean * s) + b
 *
 * The arithmetic is torch.nn.utils.fusion's, with the same order and types;
 * results are converted to the layer's type. Unlike torch's, it is right for
 * grouped transposed convolutions.
 *
 * A norm's channels are axis 1, those of a linear layer its last axis, and those of a
 * convolution the one before its N spatial axes: torch's norms and layers take images
 * without a batch, too, and rows of tokens. So the rank must be known, from meta or
 * from the type of the norm. Equal extents are no proof.
 */
#include "interp/rewrite/affine.h"

#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"
#include "graph/graph_impl.h"

static cfx_value tensor(cfx_tensor *t)
{
    return cfx_value_of_tensor(t);
}

static cfx_value as_type_of(cfx_scope *s, cfx_value v, const cfx_tensor *t)
{
    return cfx_to(s, v, cfx_value_of_dtype((cfx_dtype)t->dtype));
}

static cfx_value zeros_like(cfx_scope *s, const cfx_tensor *t)
{
    return cfx_zeros_like(s, tensor((cfx_tensor *)t));
}

/* Return 1 / sqrt(var + eps), and the same times gamma. */
static cfx_value deviation(cfx_scope *s, const norm *b)
{
    return cfx_rsqrt(s, cfx_add(s, tensor(b->var), cfx_float(b->eps)));
}

static cfx_value scale(cfx_scope *s, const norm *b, cfx_value deviation_)
{
    return b->weight ? cfx_mul(s, tensor(b->weight), deviation_) : deviation_;
}

/* Reshape v to lie along `axis` of a tensor of that rank. */
static cfx_value along(cfx_scope *s, cfx_value v, int axis, int rank)
{
    cfx_value shape[CFX_MAX_RANK + 1];
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_int(i == axis ? -1 : 1);
    return cfx_reshape(s, v, cfx_list_of(s, CFX_LIST, (size_t)rank, shape));
}

/* Scale each output channel of the weight (in, out / groups, k...). */
static cfx_value scale_transposed(cfx_scope *s, const layer *l, cfx_value by)
{
    const cfx_tensor *w = l->weight;
    cfx_value all[CFX_MAX_RANK + 1], shape[CFX_MAX_RANK + 1];
    cfx_value per[CFX_MAX_RANK + 1];
    if (l->groups <= 1)
        return cfx_mul(s, tensor(l->weight), along(s, by, 1, w->rank));
    for (int i = 0; i < w->rank; i++)
        shape[i] = cfx_int(cfx_tensor_size(w, i));
    all[0] = per[0] = cfx_int(l->groups);
    all[1] = cfx_int(shape[0].u.i / l->groups);
    per[1] = cfx_int(1);
    per[2] = shape[1];
    for (int i = 1; i < w->rank; i++) {
        all[i + 1] = shape[i];
        if (i > 1)
            per[i + 1] = cfx_int(1);
    }
    size_t n = (size_t)w->rank;
    cfx_value split = cfx_reshape(s, tensor(l->weight),
                                  cfx_list_of(s, CFX_LIST, n + 1, all));
    cfx_value by_group = cfx_reshape(s, by,
                                     cfx_list_of(s, CFX_LIST, n + 1, per));
    return cfx_reshape(s, cfx_mul(s, split, by_group),
                       cfx_list_of(s, CFX_LIST, n, shape));
}

/* Fold a norm after the layer. */
static void fold_behind(cfx_scope *s, const layer *l, const norm *b,
                        cfx_value *weight, cfx_value *bias)
{
    cfx_value dev = deviation(s, b), by = scale(s, b, dev);
    const cfx_tensor *like = l->bias ? l->bias : l->weight;
    cfx_value c = l->bias ? tensor(l->bias) : zeros_like(s, b->mean);
    cfx_value w;
    if (l->kind == LAYER_CONV_TRANSPOSE)
        w = scale_transposed(s, l, by);
    else
        w = cfx_mul(s, tensor(l->weight), along(s, by, 0, l->weight->rank));
    *weight = as_type_of(s, w, l->weight);
    c = cfx_mul(s, cfx_sub(s, c, tensor(b->mean)), dev);
    if (b->weight)
        c = cfx_mul(s, c, tensor(b->weight));
    if (b->bias)
        c = cfx_add(s, c, tensor(b->bias));
    *bias = as_type_of(s, c, like);
}

/* Fold a norm before a linear layer. */
static void fold_in_front(cfx_scope *s, const layer *l, const norm *b,
                          cfx_value *weight, cfx_value *bias)
{
    cfx_value by = scale(s, b, deviation(s, b));
    const cfx_tensor *like = l->bias ? l->bias : l->weight;
    cfx_value w = cfx_mul(s, tensor(l->weight), along(s, by, 1, 2));
    cfx_value c = cfx_neg(s, cfx_mul(s, tensor(b->mean), by));
    if (b->bias)
        c = cfx_add(s, c, tensor(b->bias));
    c = cfx_matmul(s, as_type_of(s, tensor(l->weight), c.u.tensor), c);
    if (l->bias)
        c = cfx_add(s, c, tensor(l->bias));
    *weight = as_type_of(s, w, l->weight);
    *bias = as_type_of(s, c, like);
}

/* ---- What can be folded ---- */

/* Return the extent of the weight's axis of output channels. */
static int64_t channels_of(const layer *l, const cfx_tensor *weight)
{
    return l->kind == LAYER_CONV_TRANSPOSE
               ? cfx_tensor_size(weight, 1) * l->groups
               : cfx_tensor_size(weight, 0);
}

static int known_rank(const cfx_node *n)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t ? t->rank : 0;
}

/* The rank of what the norm reads and gives; 0: not known. BatchNorm1d takes rows and
 * sequences, BatchNorm2d and BatchNorm3d one rank only. */
static int rank_at(const norm *b)
{
    int rank = b->axes > 1 ? b->axes + 2 : known_rank(b->n);
    return rank ? rank : known_rank(cfx_node_input(b->n, 0));
}

/* Are the layer's channels on axis 1, as the norm's are? */
static bool shares_channels(const layer *l, const norm *b)
{
    int spatial = l->kind == LAYER_LINEAR ? 0 : l->weight->rank - 2;
    return rank_at(b) == spatial + 2;
}

/* ---- The rules ---- */

static bool is_norm(void *p, cfx_value v)
{
    norm b;
    return cfx_norm__find(&b, p, v.u.node) && b.running && v.u.node->ninputs;
}

static bool is_layer(void *p, cfx_value v, bool linear)
{
    layer l;
    return cfx_layer__find(&l, p, v.u.node) && cfx_layer__is_plain(&l) &&
           (l.kind == LAYER_LINEAR) == linear;
}

static bool is_conv(void *p, cfx_value v)
{
    return is_layer(p, v, false);
}

static bool is_linear(void *p, cfx_value v)
{
    return is_layer(p, v, true);
}

static const cfx_match_predicate predicates[] = {
    {"norm", is_norm, NULL},
    {"conv", is_conv, NULL},
    {"linear", is_linear, NULL},
};

static cfx_value call(cfx_scope *s, const char *what, cfx_value x)
{
    return cfx_named(s, what, cfx_pattern_call(s, what, &x, 1));
}

static cfx_value norm_of_conv(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return call(s, "norm", call(s, "conv", in[0]));
}

static cfx_value norm_of_linear(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return call(s, "norm", call(s, "linear", in[0]));
}

static cfx_value linear_of_norm(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return call(s, "linear", call(s, "norm", in[0]));
}

/* Read the layer and the norm. False: the norm cannot be folded. */
static bool load(cfx_scope *s, const cfx_match *m, cfx_pass_call *p, layer *l,
                 norm *b)
{
    const path_uses *uses = cfx_facts__paths(p);
    cfx_node *conv = cfx_match__node(m, "conv");
    if (!uses || !cfx_norm__find(b, p, cfx_match__node(m, "norm")) ||
        !cfx_layer__find(l, p, conv ? conv : cfx_match__node(m, "linear")))
        return false;
    if (l->training || b->training) {
        cfx_fail(p->err, CFX_EINVAL, "Fusion only for eval!");
        cfx_fail_at(p->err, "%s", b->n->name);
        cfx_scope__fail_from(s, p->err);
        return false;
    }
    if (uses->written)
        return false;
    if (cfx_layer__load(l, p) || cfx_norm__load(b, p)) {
        cfx_scope__fail_from(s, p->err);
        return false;
    }
    return shares_channels(l, b);
}

static bool has_channels(const norm *b, int64_t n)
{
    return cfx_tensor_numel(b->var) == n && cfx_tensor_numel(b->mean) == n;
}

typedef void fold_fn(cfx_scope *s, const layer *l, const norm *b,
                     cfx_value *weight, cfx_value *bias);

/* Compute the parameters at once, and record the layer with them. */
static cfx_value fold(cfx_scope *s, cfx_value x, layer *l, const norm *b,
                      cfx_pass_call *p, fold_fn *fn)
{
    cfx_scope eager;
    cfx_value weight = CFX_NOTHING, bias = CFX_NOTHING, y = cfx_none();
    cfx_scope_init(&eager, &cfx_eager_class, p->ctx, NULL);
    fn(&eager, l, b, &weight, &bias);
    if (cfx_scope_status(&eager, p->err))
        cfx_scope__fail_from(s, p->err);
    else
        y = cfx_layer__call(s, l, p, x, weight, bias);
    cfx_scope_release(&eager);
    return y;
}

static cfx_value build_behind(cfx_scope *s, const cfx_value *in,
                              const cfx_match *m, void *p)
{
    layer l;
    norm b;
    return load(s, m, p, &l, &b) && has_channels(&b, channels_of(&l, l.weight))
               ? fold(s, in[0], &l, &b, p, fold_behind)
               : cfx_none();
}

static cfx_value build_in_front(cfx_scope *s, const cfx_value *in,
                                const cfx_match *m, void *p)
{
    layer l;
    norm b;
    return load(s, m, p, &l, &b) &&
                   has_channels(&b, cfx_tensor_size(l.weight, 1))
               ? fold(s, in[0], &l, &b, p, fold_in_front)
               : cfx_none();
}

#define RULE(pattern_, build_)                                                \
    {                                                                         \
        .params = "x", .pattern = pattern_, .build = build_, .repeat = true,  \
        .predicates = predicates,                                             \
        .npredicates = sizeof(predicates) / sizeof(*predicates)               \
    }

static const cfx_rewrite_rule conv_rules[] = {
    RULE(norm_of_conv, build_behind),
    {0},
};

static const cfx_rewrite_rule linear_rules[] = {
    RULE(norm_of_linear, build_behind),
    RULE(linear_of_norm, build_in_front),
    {0},
};

const cfx_pass cfx_pass__fuse_conv_bn = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_conv_bn()",
    .doc =
        "Fold batch norms into the convolutions before them; those of sequences where meta tensor_meta shows that they have a batch.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .rules = conv_rules,
};

const cfx_pass cfx_pass__fuse_linear_bn = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_linear_bn()",
    .doc =
        "Fold batch norms into the linear layers before or after them, where meta tensor_meta shows that they are of rows.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .rules = linear_rules,
};
