/*
 * views -- graphs without writes: what a call writes becomes a new value.
 *
 * A tensor that a call writes is known by the node of its new contents from
 * then on. If it is a view, the tensor that it is a view of gets them, too: its
 * elements are scattered there. Other views of that memory are made again where
 * they are used next, since their nodes are older than the write.
 */
#include <cfx/ops.h>

#include "op/op_impl.h"
#include "shapeprop/aten/aten.h"

/* ---- Views ---- */

/* The entry of a tensor that no node may compute yet. */
static cfx_aten_known *entry(cfx_aten *a, const cfx_tensor *t, cfx_error *err)
{
    cfx_value v = cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t);

    if (!cfx_aten__find(a, t) && cfx_aten__know(a, v, NULL, -1, err))
        return NULL;
    return cfx_aten__find(a, t);
}

/* The entry of the tensor that has the memory. */
static cfx_aten_known *owner(cfx_aten *a, cfx_aten_known *k)
{
    while (k && k->view)
        k = cfx_aten__find(a, k->view->of);
    return k;
}

static cfx_status copy_args(cfx_aten *a, cfx_aten_view *v, cfx_args args,
                            cfx_error *err)
{
    size_t n = args.nargs + 2 * args.nkwargs;
    cfx_value *copy = cfx_arena_alloc(&a->arena, (n + 1) * sizeof(*copy));

    if (!copy)
        return cfx_no_memory(err);
    cfx_context *ctx = cfx_module_context(a->root);
    for (size_t i = 0; i < n; i++) {
        cfx_value from = i < args.nargs ? args.args[i]
                                        : args.kwargs[i - args.nargs];
        copy[i] = cfx_value_own(ctx, from);
        if (from.kind && !copy[i].kind) {
            while (i-- > 0)
                cfx_value_unref(copy[i]);
            return cfx_no_memory(err);
        }
    }
    v->args = copy;
    v->nargs = args.nargs;
    v->nkwargs = args.nkwargs;
    return CFX_OK;
}

struct viewing {
    cfx_aten *a;
    const cfx_aten_view *view;
    unsigned version;
    cfx_error *err;
};

static cfx_status mark_view(void *user, cfx_value v)
{
    const struct viewing *m = user;
    cfx_aten_known *k = v.kind == CFX_TENSOR && v.u.tensor != m->view->of
                            ? entry(m->a, v.u.tensor, m->err)
                            : NULL;

    if (k) {
        k->view = m->view;
        k->version = m->version;
    }
    return cfx_scope_failed(&m->a->shapes.base) ? m->err->code : CFX_OK;
}

cfx_status cfx_aten__know_view(cfx_aten *a, cfx_tensor *of, const char *target,
                               cfx_args args, cfx_value result, cfx_error *err)
{
    cfx_aten_view *v = cfx_arena_alloc(&a->arena, sizeof(*v));
    cfx_aten_known *k = v ? owner(a, entry(a, of, err)) : NULL;

    if (!k)
        return cfx_no_memory(err);
    *v = (cfx_aten_view){.next = a->views, .of = of};
    v->target = cfx_arena_strdup(&a->arena, target, strlen(target));
    if (!v->target || copy_args(a, v, args, err))
        return cfx_no_memory(err);
    v->result = cfx_value_ref(result);
    a->views = v;
    struct viewing m = {a, v, k->version, err};
    return cfx_value_visit(result, mark_view, &m);
}

void cfx_aten__views_release(cfx_aten *a)
{
    for (cfx_aten_view *v = a->views; v; v = v->next) {
        for (size_t i = 0; i < v->nargs + 2 * v->nkwargs; i++)
            cfx_value_unref(v->args[i]);
        cfx_value_unref(v->result);
    }
}

cfx_status cfx_aten__refresh(cfx_aten *a, cfx_aten_known *k, cfx_error *err)
{
    const cfx_aten_known *memory = owner(a, k);
    const cfx_aten_view *v = k->view;

    if (!v || !memory || k->version == memory->version)
        return CFX_OK;
    cfx_status st = cfx_aten__emit(
        a, v->target,
        (cfx_args){v->args, v->nargs, v->args + v->nargs, v->nkwargs},
        v->result, err);
    struct viewing m = {a, v, memory->version, err};
    return st ? st : cfx_value_visit(v->result, mark_view, &m);
}

/* ---- Writes ---- */

static cfx_value shape_of(cfx_scope *s, const cfx_tensor *t)
{
    cfx_value item[CFX_MAX_RANK];

    for (int i = 0; i < t->rank; i++)
        item[i] = cfx_value_of_dim(t->shape[i]);
    return cfx_list_of(s, CFX_LIST, (size_t)t->rank, item);
}

static cfx_value flat(cfx_scope *s, cfx_value v)
{
    return cfx_reshape(s, v, cfx_list(s, cfx_int(-1)));
}

static cfx_dim numel(cfx_scope *s, const cfx_tensor *t)
{
    cfx_dim n = cfx_dim_int(1);

    for (int i = 0; i < t->rank; i++)
        n = cfx_dim_mul(s->env, n, t->shape[i]);
    return n;
}

/* The call of a view, of another tensor. */
static cfx_value view_of(cfx_scope *s, const cfx_aten_known *k, cfx_value x)
{
    const cfx_aten_view *v = k->view;
    cfx_value args[CFX_MAX_PARAMS];

    if (v->nargs > CFX_MAX_PARAMS)
        return cfx_none();
    for (size_t i = 0; i < v->nargs; i++)
        args[i] = v->args[i].kind == CFX_TENSOR && v->args[i].u.tensor == v->of
                      ? x
                      : v->args[i];
    cfx_value y = cfx_call_function(
        s, v->target,
        (cfx_args){args, v->nargs, v->args + v->nargs, v->nkwargs});
    for (uint32_t i = 0; cfx_value_is_seq(v->result) &&
                         i < v->result.u.seq->len && cfx_value_is_seq(y);
         i++)
        if (v->result.u.seq->item[i].u.tensor == k->tensor)
            return cfx_nth(s, y, i);
    return y;
}

/* What the viewed tensor is when its view is `y`: the same view of the places
 * of its elements tells which they are. */
static cfx_value with_view(cfx_scope *s, const cfx_aten_known *k, cfx_value y)
{
    const cfx_tensor *t = k->tensor, *of = k->view->of;
    cfx_value x = cfx_value_of_tensor((cfx_tensor *)(uintptr_t)of);
    cfx_dim all = numel(s, of);

    if (t->dtype != of->dtype)
        return cfx_scope_fail(s, CFX_EUNSUPPORTED,
                              "a call writes to a view of another type");
    if (cfx_dim_same(all, numel(s, t)) && cfx_tensor_is_contiguous(t) &&
        cfx_tensor_is_contiguous(of))
        return cfx_reshape(s, y, shape_of(s, of));
    cfx_value places = CFX_ATEN(s, "arange.default", cfx_value_of_dim(all));
    places = view_of(s, k, cfx_reshape(s, places, shape_of(s, of)));
    cfx_value z = CFX_ATEN(s, "scatter.src", flat(s, x), cfx_int(0),
                           flat(s, places), flat(s, y));
    return cfx_reshape(s, z, shape_of(s, of));
}

static cfx_status refuse_outside(cfx_aten *a, const cfx_aten_known *memory,
                                 cfx_error *err)
{
    const cfx_node *n = memory ? memory->node : NULL;
    cfx_error ignored = {0};
    cfx_value state;
    bool outside = n && (n->op == CFX_PLACEHOLDER ||
                         (n->op == CFX_GET_ATTR &&
                          !cfx_module_fetch_attr(&state, a->root,
                                                 n->target->text, &ignored)));

    return outside
               ? cfx_fail(
                     err, CFX_EUNSUPPORTED,
                     "a call writes to %s, which keeps it: such a model cannot be written without state",
                     n->target->text)
               : CFX_OK;
}

/* Is a value the tensor itself, or all of it as a conversion that changes
 * nothing returns it? No other view of memory has its type and extents. */
static bool is_itself(cfx_aten *a, const cfx_aten_known *first, cfx_value v)
{
    const cfx_tensor *x = first->tensor, *t = v.u.tensor;
    const cfx_aten_known *k = cfx_aten__find(a, t);
    bool same = !first->view && k && k->view && k->view->of == x &&
                t->dtype == x->dtype && t->rank == x->rank &&
                cfx_tensor_is_contiguous(x) && cfx_tensor_is_contiguous(t);

    for (int i = 0; same && i < x->rank; i++)
        same = cfx_dim_same(t->shape[i], x->shape[i]);
    return same || t == x;
}

/* The new contents of a tensor, and of all that it is a view of. */
static cfx_status store(cfx_aten *a, const cfx_tensor *x, cfx_value contents)
{
    cfx_scope *s = &a->shapes.base;
    cfx_error *err = &s->error;
    cfx_aten_known *first = entry(a, x, err), *k = first;
    cfx_aten_known *memory = owner(a, first);
    if (first && is_itself(a, first, contents))
        return CFX_OK;
    cfx_status st = first ? refuse_outside(a, memory, err) : CFX_ENOMEM;

    while (!st) {
        cfx_value v = CFX_NOTHING;
        st = cfx_aten__value(&v, a, contents, err);
        if (st)
            break;
        cfx_value next = k->view ? with_view(s, k, contents) : cfx_none();
        if (cfx_scope_failed(s))
            st = err->code;
        k->node = v.u.node;
        k->item = -1;
        cfx_value_unref(v);
        if (!k->view)
            break;
        contents = next;
        k = cfx_aten__find(a, k->view->of);
    }
    if (!st)
        memory->version++;
    for (k = first; !st && k;
         k = k->view ? cfx_aten__find(a, k->view->of) : NULL)
        k->version = memory->version;
    return st;
}

cfx_status cfx_aten__call_written(cfx_aten *a, cfx_call *call, cfx_value *out)
{
    cfx_scope *s = &a->shapes.base;
    size_t frame = cfx_scope_enter(s);
    const cfx_tensor *x = call->in[0].kind == CFX_TENSOR ? call->in[0].u.tensor
                                                         : NULL;
    cfx_status st = cfx_aten__propagate(s, call, out);

    bool one = !st && x && call->inplace && !call->into;
    cfx_value y = one ? cfx_scope_call(s, call->op, call->in,
                                       (size_t)call->schema->nparams, false)
                      : cfx_none();
    if (y.kind == CFX_TENSOR && y.u.tensor->dtype != x->dtype)
        y = CFX_ATEN(s, "to.dtype", y,
                     cfx_value_of_dtype((cfx_dtype)x->dtype));
    st = st                     ? st
         : cfx_scope_failed(s)  ? s->error.code
         : y.kind != CFX_TENSOR ? cfx_aten__miss(a, call, *out)
                                : store(a, x, y);
    cfx_scope_leave(s, frame, cfx_none());
    /* It may be a copy without the numbers that are no longer known. */
    if (!st && out->kind == CFX_TENSOR) {
        cfx_value_unref(*out);
        *out = cfx_value_ref(call->in[0]);
    }
    return st;
}
