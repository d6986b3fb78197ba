/*
 * remove_noops -- remove nodes that return their argument.
 *
 * There is no list of operators: a call is tried on tensors without data, and
 * the result is compared with the argument. If shape propagation has stored the
 * input's meta, that meta is used, and `contiguous`, `to` and `view` are
 * removed where they change nothing. Otherwise tensors of all ranks, several
 * types and strides, and extents of 1 and of more than slices usually take are
 * tried, and all that the call accepts must be returned unchanged. So only
 * calls that never change anything are removed: dropout in eval mode, Identity,
 * positive, alias.
 *
 * Assertions that the known dtype of a computed tensor fulfils are removed, too.
 *
 * A copy, as Core ATen has in place of dropout, is removed where meta shows that it
 * has the strides of its input, neither is written to, and the caller cannot tell
 * them apart.
 */
#include "interp/rewrite/rewrite_rules.h"
#include "graph/aliases.h"
#include "graph/graph_impl.h"
#include "op/op_impl.h"

/* One sample of rank 0; for other ranks one for each axis that is long. */
enum { NSAMPLES = 1 + CFX_MAX_RANK * (CFX_MAX_RANK + 1) / 2 };

typedef struct trial {
    cfx_pass_call *p;
    cfx_tensor *sample[NSAMPLES];
    cfx_aliases aliases;
    bool dropout_only;
} trial;

/* All extents but one are 1. Every other sample has gaps between elements, so
 * that it is not contiguous. */
static cfx_status make_sample(trial *t, int i, int rank, int axis)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_F16,  CFX_I64, CFX_U8,
                                      CFX_F64, CFX_BOOL, CFX_C64};
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    for (int k = 0; k < CFX_MAX_RANK; k++) {
        shape[k] = cfx_dim_int(k == axis ? (int64_t)1 << 40 : 1);
        stride[k] = cfx_dim_int(3);
    }
    return cfx_tensor_meta(&t->sample[i], t->p->ctx,
                           types[(size_t)i % (sizeof(types) / sizeof(*types))],
                           rank, shape, i % 2 ? stride : NULL, t->p->err);
}

static cfx_status make_samples(trial *t)
{
    int i = 0;
    cfx_status st = make_sample(t, i++, 0, 0);
    for (int rank = 1; rank <= CFX_MAX_RANK; rank++)
        for (int axis = 0; axis < rank && !st; axis++)
            st = make_sample(t, i++, rank, axis);
    return st;
}

/* A scope that tracks views of x while each call returns one. */
typedef struct tracking_scope {
    cfx_scope base;
    const cfx_tensor *x, *view;
} tracking_scope;

static cfx_status track_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    tracking_scope *t = (tracking_scope *)s;
    call->alias[0] = 0;
    cfx_status st = cfx_call_meta(call, out);
    if (st || out->kind != CFX_TENSOR)
        return st;
    const cfx_tensor *from = call->alias[0]
                                 ? cfx_call_tensor(call, call->alias[0] - 1)
                                 : NULL;
    if (from && (from == t->x || from == t->view))
        t->view = out->u.tensor;
    else if (out->u.tensor == t->view)
        t->view = NULL;
    return CFX_OK;
}

static const cfx_scope_class tracking_class = {
    .size = sizeof(cfx_scope_class),
    .name = "tracking",
    .super = &cfx_meta_class,
    .call_op = track_op,
};

/* True if v is the tensor x, or a view that does not differ from it. */
static bool same_tensor(const tracking_scope *s, cfx_value v)
{
    const cfx_tensor *x = s->x, *y = v.u.tensor;
    if (v.kind != CFX_TENSOR)
        return false;
    if (y == x)
        return true;
    if (y != s->view || y->dtype != x->dtype || y->rank != x->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (!cfx_dim_same(y->shape[i], x->shape[i]) ||
            !cfx_dim_same(y->stride[i], x->stride[i]))
            return false;
    return cfx_dim_same(y->offset, x->offset);
}

/* ---- One call ---- */

/* Copy a node's arguments with `x` in place of its input. Only the top level is
 * replaced, since a list of tensors cannot be returned as a tensor. */
static bool bind_sample(cfx_value *to, const cfx_value *from, size_t n,
                        cfx_tensor *x)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
        if (from[i].kind == CFX_NODE)
            to[i] = cfx_value_of_tensor(x);
        else if (cfx_value_is_seq(from[i]) || from[i].kind == CFX_DICT)
            for (uint32_t k = 0; k < from[i].u.seq->len; k++)
                if (from[i].u.seq->item[k].kind == CFX_NODE ||
                    from[i].u.seq->item[k].kind >= CFX_TUPLE)
                    return false;
    }
    return true;
}

/* Operators that return lists or numbers are not tried: splitting a long axis
 * could give a long list. */
static bool gives_tensor(const cfx_target *t)
{
    char type[16];
    for (; t; t = t->next) {
        cfx_schema__returns(t->schema, type, sizeof(type));
        if (!strcmp(type, "Tensor") || !strcmp(type, "any"))
            return true;
    }
    return false;
}

/* Call the node on x and compute nothing; true if x is returned. */
static cfx_status call_on(trial *t, const cfx_node *n, const cfx_value *args,
                          const cfx_value *kwargs, cfx_tensor *x, bool *same)
{
    tracking_scope scope = {.x = x};
    cfx_scope *s = &scope.base;
    const char *name = n->target->text;
    const cfx_target *target = NULL;
    cfx_status st = CFX_ENAME;
    cfx_value out = CFX_NOTHING;
    cfx_scope_init(s, &tracking_class, t->p->ctx, NULL);
    if (n->op == CFX_CALL_MODULE) {
        cfx_module *m = cfx_module_at(t->p->gm, name);
        if (m && !cfx_graph_module_graph(m))
            st = cfx_scope_call_module(
                s, m, name, (cfx_args){args, n->nargs, kwargs, n->nkwargs},
                &out);
    } else {
        target = n->op == CFX_CALL_METHOD ? cfx_find_method(t->p->ctx, name)
                                          : cfx_find_function(t->p->ctx, name);
        if (gives_tensor(target))
            st = cfx_scope_call_target(
                s, target, (cfx_args){args, n->nargs, kwargs, n->nkwargs},
                &out);
    }
    *same = !st && same_tensor(&scope, out);
    if (!st)
        cfx_value_unref(out);
    cfx_scope_release(s);
    return st;
}

/* Only lack of memory is an error. `fits`: the call accepts x. */
static cfx_status try_on(trial *t, const cfx_node *n, cfx_tensor *x,
                         bool *fits, bool *same)
{
    size_t nargs = n->nargs, nkwargs = 2 * (size_t)n->nkwargs;
    size_t bytes = (nargs + nkwargs + 1) * sizeof(cfx_value);
    cfx_value *args = cfx_alloc(t->p->ctx, bytes);
    *fits = *same = false;
    if (!args)
        return cfx_no_memory(t->p->err);
    cfx_status st = CFX_EINVAL;
    if (bind_sample(args, n->args, nargs, x) &&
        bind_sample(args + nargs, n->kwargs, nkwargs, x))
        st = call_on(t, n, args, args + nargs, x, same);
    cfx_free(t->p->ctx, args, bytes);
    *fits = !st;
    return st == CFX_ENOMEM ? cfx_no_memory(t->p->err) : CFX_OK;
}

static cfx_status is_noop(trial *t, const cfx_node *n, bool *yes)
{
    cfx_value known = cfx_node__known(cfx_node_input(n, 0));
    cfx_effects effects;
    bool fits, same;
    *yes = false;
    cfx_status st = cfx_node_effects(n, &effects, NULL);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(t->p->err);
    if (st || cfx_effects_any(&effects))
        return CFX_OK;
    if (known.kind == CFX_TENSOR)
        return try_on(t, n, known.u.tensor, &fits, yes);
    for (int i = 0; i < NSAMPLES && !known.kind; i++) {
        st = try_on(t, n, t->sample[i], &fits, &same);
        if (st || (fits && !same)) {
            *yes = false;
            return st;
        }
        *yes |= same;
    }
    return CFX_OK;
}

/* ---- Copies ---- */

/* Is n an assertion on a computed tensor that its known type fulfils? Extents may be
 * others later, the dtype follows from those of the inputs. */
static bool is_fulfilled(const cfx_node *n)
{
    const cfx_node *x = cfx_node_input(n, 0);
    cfx_value size = cfx_pass__arg(n, cfx_pass__signature(n), "size");
    cfx_value stride = cfx_pass__arg(n, cfx_pass__signature(n), "stride");
    return x->op != CFX_PLACEHOLDER && cfx_node__known_tensor(x) &&
           cfx_value_is_none(size) && cfx_value_is_none(stride);
}

/* Is n padding by nothing, as models write it that round sizes up? */
static bool pads_nothing(const cfx_node *n)
{
    cfx_value pad = cfx_node_is(n, "pad") || cfx_node_is(n, "constant_pad_nd")
                        ? cfx_pass__arg(n, cfx_pass__signature(n), "pad")
                        : CFX_NOTHING;
    bool none = cfx_value_is_seq(pad);
    for (uint32_t i = 0; none && i < pad.u.seq->len; i++)
        none = pad.u.seq->item[i].kind == CFX_INT &&
               pad.u.seq->item[i].u.i == 0;
    return none;
}

/* Is n a copy of its input that nothing can tell from it? */
static bool is_needless_copy(trial *t, const cfx_node *n)
{
    const cfx_node *x = cfx_node_input(n, 0);
    cfx_aliases *a = &t->aliases;
    uint32_t from = cfx_aliases__set(a, x), to = cfx_aliases__set(a, n);
    return (cfx_node_is(n, "clone") || pads_nothing(n)) &&
           cfx_facts__same_layout(cfx_node__known_tensor(x),
                                  cfx_node__known_tensor(n)) &&
           !cfx_aliases__is(a, from, CFX_ALIAS_WRITTEN) &&
           !cfx_aliases__is(a, to, CFX_ALIAS_WRITTEN) &&
           !(cfx_aliases__is(a, to, CFX_ALIAS_RETURNED) &&
             cfx_aliases__is(a, from,
                             CFX_ALIAS_RETURNED | CFX_ALIAS_OUTLIVES));
}

/* ---- The passes ---- */

extern const cfx_op cfx_op__dropout, cfx_op__dropout1d, cfx_op__dropout2d,
    cfx_op__dropout3d, cfx_op__alpha_dropout, cfx_op__feature_alpha_dropout,
    cfx_op__native_dropout, cfx_op__stochastic_depth;
extern const cfx_module_type cfx_module__Dropout, cfx_module__Dropout1d,
    cfx_module__Dropout2d, cfx_module__Dropout3d, cfx_module__AlphaDropout,
    cfx_module__FeatureAlphaDropout;

static const struct dropout {
    const cfx_op *op;
    const cfx_module_type *type;
} dropouts[] = {
    {&cfx_op__dropout, &cfx_module__Dropout},
    {&cfx_op__dropout1d, &cfx_module__Dropout1d},
    {&cfx_op__dropout2d, &cfx_module__Dropout2d},
    {&cfx_op__dropout3d, &cfx_module__Dropout3d},
    {&cfx_op__alpha_dropout, &cfx_module__AlphaDropout},
    {&cfx_op__feature_alpha_dropout, &cfx_module__FeatureAlphaDropout},
    {&cfx_op__native_dropout, NULL},
    {&cfx_op__stochastic_depth, NULL},
};

static bool is_dropout(cfx_pass_call *p, const cfx_node *n)
{
    const cfx_module *m = cfx_pass__module(p, n);
    const cfx_target *t = cfx_node__targets(n);
    for (size_t i = 0; i < sizeof(dropouts) / sizeof(*dropouts); i++)
        if ((m && cfx_module_type_of(m) == dropouts[i].type) ||
            (t && cfx_op__has_overload(dropouts[i].op, t->op)))
            return true;
    return false;
}

/* Is n the size of an axis that is a symbol? */
static bool is_symbol(const cfx_node *n)
{
    const cfx_schema *schema = cfx_pass__signature(n);
    const cfx_node *x = cfx_node__arg(n, 0);
    const cfx_tensor *t = x ? cfx_node__known_tensor(x) : NULL;
    cfx_value dim = schema && cfx_node_is(n, "sym_size")
                        ? cfx_pass__arg(n, schema, "dim")
                        : CFX_NOTHING;
    int64_t at = dim.kind == CFX_INT && t
                     ? dim.u.i + (dim.u.i < 0 ? t->rank : 0)
                     : -1;
    return at >= 0 && at < t->rank && !cfx_dim_is_int(t->shape[at]);
}

/* Are all inputs of n but the first symbols? What holds for them holds for any numbers. */
static bool reads_symbols(const cfx_node *n)
{
    bool all = true;
    for (uint32_t i = 1; i < n->ninputs; i++)
        all = all && is_symbol(cfx_node_input(n, i));
    return all;
}

/* Is n, which also reads extents, a view of x that is x? */
static bool is_whole_view(const trial *t, const cfx_node *n, const cfx_node *x)
{
    const cfx_effects *e = cfx_aliases__effects(&t->aliases, n);
    const cfx_tensor *from = x ? cfx_node__known_tensor(x) : NULL;
    const cfx_tensor *to = cfx_node__known_tensor(n);
    return !t->dropout_only && x == cfx_node_input(n, 0) &&
           e->input_views == 1 && !cfx_effects_any(e) &&
           !cfx_node__has_flag(n, CFX_OP_READS_STRIDES) && reads_symbols(n) &&
           cfx_facts__same_layout(from, to) &&
           cfx_dim_same(from->offset, to->offset);
}

static cfx_status remove_at(trial *t, cfx_node *n)
{
    bool noop;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR ||
        n->op == CFX_OUTPUT || !n->ninputs ||
        (t->dropout_only && !is_dropout(t->p, n)))
        return CFX_OK;
    if (n->ninputs > 1)
        return is_whole_view(t, n, cfx_node__arg(n, 0))
                   ? cfx_pass__replace(t->p, n, n->args[0].u.node)
                   : CFX_OK;
    if (cfx_node_is(n, "_assert_tensor_metadata") && !n->nusers &&
        is_fulfilled(n)) {
        t->p->changed++;
        return cfx_graph_erase_node(t->p->graph, n, t->p->err);
    }
    cfx_status st = is_noop(t, n, &noop);
    if (st || !(noop || (!t->dropout_only && is_needless_copy(t, n))))
        return st;
    cfx_aliases__join(&t->aliases, n, cfx_node_input(n, 0));
    return cfx_pass__replace(t->p, n, cfx_node_input(n, 0));
}

static cfx_status run(cfx_pass_call *p, bool dropout_only)
{
    trial t = {.p = p, .dropout_only = dropout_only};
    cfx_status st = make_samples(&t);
    if (!st)
        st = cfx_aliases__init(&t.aliases, p->graph, p->err);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        st = remove_at(&t, n);
    for (int i = 0; i < NSAMPLES; i++)
        cfx_tensor_unref(t.sample[i]);
    cfx_aliases__release(&t.aliases);
    if (p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

static cfx_status remove_dropout_run(cfx_pass_call *p)
{
    return run(p, true);
}
static cfx_status remove_noops_run(cfx_pass_call *p)
{
    return run(p, false);
}

const cfx_pass cfx_pass__remove_dropout = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "remove_dropout()",
    .doc = "Remove dropout without effect, as in eval mode.",
    .run = remove_dropout_run,
};

const cfx_pass cfx_pass__remove_noops = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "remove_noops()",
    .doc =
        "Remove calls that return their argument unchanged, copies that nothing can tell from it, and assertions that hold.",
    .run = remove_noops_run,
};
