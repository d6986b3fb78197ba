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
#include "interp/passes/affine.h"

#include <cfx/ops.h>

#include "interp/split/extract.h"

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
    cfx_value v = n ? cfx_extract__known(n) : CFX_NOTHING;
    return v.kind == CFX_TENSOR ? v.u.tensor->rank : 0;
}

static cfx_status check_eval(cfx_pass_call *p, const layer *l, const norm *b)
{
    if (!l->training && !b->training)
        return CFX_OK;
    cfx_fail(p->err, CFX_EINVAL, "Fusion only for eval!");
    return cfx_fail_at(p->err, "%s", b->n->name);
}

/* Return the input of a norm or linear layer, if it is a node. */
static cfx_node *input_of(const cfx_node *n)
{
    if (n->nargs && n->args[0].kind == CFX_NODE)
        return n->args[0].u.node;
    cfx_value v = CFX_NOTHING;
    for (uint32_t i = 0; i < n->nkwargs && !n->nargs; i++)
        if (!strcmp(n->kwargs[2 * i].u.str->text, "input"))
            v = n->kwargs[2 * i + 1];
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* The rank of what the norm reads and gives; 0: not known. BatchNorm1d takes rows and
 * sequences, BatchNorm2d and BatchNorm3d one rank only. */
static int rank_at(const norm *b)
{
    int rank = b->axes > 1 ? b->axes + 2 : known_rank(b->n);
    return rank ? rank : known_rank(input_of(b->n));
}

/* Are the layer's channels on axis 1, as the norm's are? */
static bool shares_channels(const layer *l, const norm *b)
{
    int spatial = l->kind == LAYER_LINEAR ? 0 : l->weight->rank - 2;
    return rank_at(b) == spatial + 2;
}

/* ---- The passes ---- */

typedef struct folding {
    cfx_pass_call *p;
    path_uses uses;
    bool in_front;
} folding;

/* Fold the norm into the layer and let the layer replace it. */
static cfx_status fold(folding *f, layer *l, norm *b)
{
    cfx_pass_call *p = f->p;
    cfx_scope s;
    cfx_value weight = CFX_NOTHING, bias = CFX_NOTHING;
    int64_t channels;
    cfx_status st = check_eval(p, l, b);
    if (st || f->uses.written)
        return st;
    st = cfx_layer__load(l, p);
    if (!st)
        st = cfx_norm__load(b, p);
    if (st || !shares_channels(l, b))
        return st;
    channels = f->in_front ? cfx_tensor_size(l->weight, 1)
                           : channels_of(l, l->weight);
    if (cfx_tensor_numel(b->var) != channels ||
        cfx_tensor_numel(b->mean) != channels)
        return CFX_OK;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    if (f->in_front)
        fold_in_front(&s, l, b, &weight, &bias);
    else
        fold_behind(&s, l, b, &weight, &bias);
    st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_layer__store(l, p, &f->uses, weight, bias);
    cfx_scope_release(&s);
    if (st)
        return st;
    p->changed++;
    return f->in_front ? cfx_pass__replace(p, b->n, input_of(b->n))
                       : cfx_pass__fuse_into(p, b->n, l->n);
}

static cfx_status fold_at(folding *f, cfx_node *n, bool linear)
{
    layer l;
    norm b;
    cfx_node *before = NULL;
    f->in_front = false;
    if (cfx_norm__find(&b, f->p, n) && (before = input_of(n)) != NULL &&
        before->nusers == 1 && b.running &&
        cfx_layer__find(&l, f->p, before) &&
        (l.kind == LAYER_LINEAR) == linear)
        return fold(f, &l, &b);
    if (!linear || !cfx_layer__find(&l, f->p, n) || l.kind != LAYER_LINEAR)
        return CFX_OK;
    before = input_of(n);
    if (!before || before->nusers != 1 || !cfx_norm__find(&b, f->p, before) ||
        !b.running || !input_of(before))
        return CFX_OK;
    f->in_front = true;
    return fold(f, &l, &b);
}

static cfx_status run(cfx_pass_call *p, bool linear)
{
    folding f = {.p = p};
    cfx_status st = cfx_path_uses__init(&f.uses, p);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        st = fold_at(&f, n, linear);
    cfx_path_uses__release(&f.uses);
    if (p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

static cfx_status fuse_conv_bn_run(cfx_pass_call *p)
{
    return run(p, false);
}
static cfx_status fuse_linear_bn_run(cfx_pass_call *p)
{
    return run(p, true);
}

const cfx_pass cfx_pass__fuse_conv_bn = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_conv_bn()",
    .doc = "Fold batch norms into the convolutions before them; those of "
           "sequences where meta tensor_meta shows that they have a batch.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = fuse_conv_bn_run,
};

const cfx_pass cfx_pass__fuse_linear_bn = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_linear_bn()",
    .doc = "Fold batch norms into the linear layers before or after them, "
           "where meta tensor_meta shows that they are of rows.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = fuse_linear_bn_run,
};
