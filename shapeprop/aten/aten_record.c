/*
 * aten_record -- nodes of the new graph, and which of them computes a value.
 *
 * A tensor is known by its identity, an extent by its expression. An extent
 * that no node computes is computed from the symbols in it, and these are
 * extents of inputs.
 */
#include "shapeprop/aten/aten.h"

#include <stdio.h>

#include "dim/expr.h"
#include "nn/module_impl.h"
#include "tensor/storage.h"

void cfx_aten__frame_init(cfx_aten_frame *f, cfx_context *ctx)
{
    *f = (cfx_aten_frame){.graph = NULL};
    cfx_map_init(&f->tensors, ctx);
    cfx_map_init(&f->extents, ctx);
}

void cfx_aten__frame_release(cfx_aten_frame *f)
{
    cfx_map_release(&f->tensors);
    cfx_map_release(&f->extents);
    cfx_graph_free(f->graph);
    f->graph = NULL;
}

/* ---- What is known ---- */

cfx_aten_known *cfx_aten__find(cfx_aten *a, const cfx_tensor *t)
{
    const cfx_map_entry *e = cfx_map_get(&a->at->tensors, (const char *)&t,
                                         sizeof(t));
    return e ? e->v.p : NULL;
}

static cfx_status know_tensor(cfx_aten *a, cfx_tensor *t, cfx_node *n,
                              int item, cfx_error *err)
{
    cfx_aten_known *k = cfx_aten__find(a, t);

    if (k) {
        k->node = n;
        k->item = item;
        return CFX_OK;
    }
    k = cfx_arena_alloc(&a->arena, sizeof(*k));
    if (!k)
        return cfx_no_memory(err);
    *k = (cfx_aten_known){
        .next = a->refs, .tensor = t, .node = n, .item = item};
    cfx_map_entry *e = cfx_map_put(&a->at->tensors, (const char *)&k->tensor,
                                   sizeof(t), NULL);
    if (!e)
        return cfx_no_memory(err);
    e->v.p = k;
    a->refs = k;
    cfx_tensor_ref(t);
    return CFX_OK;
}

static cfx_aten_extent *find_extent(cfx_aten *a, cfx_dim d)
{
    const cfx_map_entry *e = cfx_map_get(
        &a->at->extents, (const char *)&d.bits, sizeof(d.bits));
    return e ? e->v.p : NULL;
}

/* The first node that computes an extent stays the one that is used. */
static cfx_status know_extent(cfx_aten *a, cfx_dim d, cfx_node *n, int axis,
                              cfx_error *err)
{
    if (cfx_dim_is_int(d) || find_extent(a, d))
        return CFX_OK;
    cfx_aten_extent *x = cfx_arena_alloc(&a->arena, sizeof(*x));
    if (!x)
        return cfx_no_memory(err);
    *x = (cfx_aten_extent){d.bits, n, axis};
    cfx_map_entry *e = cfx_map_put(&a->at->extents, (const char *)&x->bits,
                                   sizeof(x->bits), NULL);
    if (!e)
        return cfx_no_memory(err);
    e->v.p = x;
    return CFX_OK;
}

cfx_status cfx_aten__know(cfx_aten *a, cfx_value v, cfx_node *n, int item,
                          cfx_error *err)
{
    if (v.kind == CFX_TENSOR)
        return know_tensor(a, v.u.tensor, n, item, err);
    return v.kind == CFX_SYMINT && item < 0
               ? know_extent(a, v.u.dim, n, -1, err)
               : CFX_OK;
}

cfx_status cfx_aten__know_all(cfx_aten *a, cfx_value v, cfx_node *n,
                              cfx_error *err)
{
    cfx_status st = CFX_OK;

    if (!cfx_value_is_seq(v))
        return cfx_aten__know(a, v, n, -1, err);
    for (uint32_t i = 0; i < v.u.seq->len && !st; i++)
        st = cfx_aten__know(a, v.u.seq->item[i], n, (int)i, err);
    return st;
}

cfx_status cfx_aten__know_extents(cfx_aten *a, const cfx_tensor *t,
                                  cfx_node *n, cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (int i = 0; i < t->rank && !st; i++)
        if (cfx_dim_symbol_name(t->shape[i]))
            st = know_extent(a, t->shape[i], n, i, err);
    return st;
}

static bool is_unknown(void *user, cfx_value v)
{
    const cfx_aten_known *k = v.kind == CFX_TENSOR
                                  ? cfx_aten__find(user, v.u.tensor)
                                  : NULL;
    return v.kind == CFX_TENSOR && !(k && k->node);
}

bool cfx_aten__knows(cfx_aten *a, cfx_value v)
{
    return !cfx_value_any(v, is_unknown, a);
}

/* ---- Nodes ---- */

/* "add" of "torch.ops.aten.add.Tensor" and of "operator.add". */
static void hint_of(char *buf, size_t size, const char *target)
{
    const char *at = strncmp(target, "torch.ops.", 10) ? strchr(target, '.')
                                                       : target + 9;
    at = at ? at + 1 : target;
    const char *dot = strchr(at, '.');
    if (!strncmp(target, "torch.ops.", 10) && dot)
        at = dot + 1;
    snprintf(buf, size, "%.*s", (int)strcspn(at, "."), at);
}

static cfx_status strip_numbers(void *user, cfx_value v, cfx_value *out)
{
    cfx_aten *a = user;
    cfx_tensor *t;

    *out = v;
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor)) {
        cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor__meta_like(&t, v.u.tensor->ctx, v.u.tensor,
                                          &a->shapes.base.error);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

static cfx_status push_module(cfx_aten *a, cfx_value *items, const char *path,
                              size_t len, const cfx_module *m)
{
    cfx_context *ctx = a->shapes.base.ctx;
    cfx_value pair[2] = {CFX_NOTHING, CFX_NOTHING};
    const char *name = cfx_module_class_name(m);
    cfx_buf key;

    cfx_buf_init(&key, ctx);
    cfx_buf_puts(&key, len ? "L__self___" : "L__self__");
    for (size_t i = 0; i < len; i++)
        cfx_buf_putc(&key, path[i] == '.' ? '_' : path[i]);
    pair[0] = cfx_str_new(ctx, path, len);
    pair[1] = cfx_str_new(ctx, name, strlen(name));
    if (!key.failed)
        items[0] = cfx_str_new(ctx, key.s, key.len);
    if (pair[0].kind && pair[1].kind)
        items[1] = cfx_tuple_new(ctx, 2, pair);
    cfx_buf_release(&key);
    cfx_value_unref(pair[0]);
    cfx_value_unref(pair[1]);
    return items[0].kind && items[1].kind ? CFX_OK : CFX_ENOMEM;
}

/* The modules around a path, the outermost first: a new value. */
static cfx_status make_stack(cfx_value *out, cfx_aten *a,
                             const cfx_node_path *path, cfx_error *err)
{
    cfx_value items[2 * CFX_MAX_DEPTH] = {{0}};
    const cfx_module *m = a->root;
    size_t n = 0, from = 0, end = 0;
    cfx_status st = push_module(a, items, "", 0, m);

    for (n = 2; end < path->len && n < 2 * CFX_MAX_DEPTH && !st; n += 2) {
        while (end < path->len && path->path[end] != '.')
            end++;
        m = cfx_module__child_named(m, path->path + from, end - from);
        if (!m)
            break;
        st = push_module(a, items + n, path->path, end, m);
        from = ++end;
    }
    if (!st)
        *out = cfx_dict_new(a->shapes.base.ctx, n / 2, items);
    while (n > 0)
        cfx_value_unref(items[--n]);
    return !st && out->kind ? CFX_OK : cfx_no_memory(err);
}

/* Exported graphs have a stack; for others it follows from the path. */
static cfx_status set_stack(cfx_aten *a, cfx_node *n, cfx_error *err)
{
    const cfx_node *from = a->origin;
    cfx_value stack = CFX_NOTHING;

    if (!from || cfx_node_meta(n, "nn_module_stack").kind ||
        from->graph != cfx_graph_module_graph(a->root))
        return CFX_OK;
    cfx_status st = make_stack(&stack, a, &a->path[from->id], err);
    if (!st)
        st = cfx_node_set_meta(n, "nn_module_stack", stack, err);
    cfx_value_unref(stack);
    return st;
}

cfx_status cfx_aten__annotate(cfx_aten *a, cfx_node *n, cfx_value v,
                              cfx_error *err)
{
    cfx_value val = CFX_NOTHING;
    cfx_status st = cfx_value_map(&val, a->shapes.base.ctx, v, strip_numbers,
                                  a, err);

    if (!st)
        st = cfx_node_set_meta(n, "val", val, err);
    cfx_value_unref(val);
    if (!st && a->origin && n->op == CFX_CALL_FUNCTION)
        st = cfx_node_inherit(n, a->origin, err);
    if (!st)
        st = cfx_node_set_meta(n, "from_node", CFX_NOTHING, err);
    return st || n->op != CFX_CALL_FUNCTION ? st : set_stack(a, n, err);
}

/* Names of the graph that is retraced stay free for the nodes that have
 * them. */
static void keep_free(const cfx_aten *a, char *hint, size_t size)
{
    char other[128];

    if (a->at->outer || !cfx_graph_find(cfx_graph_module_graph(a->root), hint))
        return;
    snprintf(other, sizeof(other), "%.60s_%.60s",
             a->origin ? a->origin->name : "inner", hint);
    snprintf(hint, size, "%s", other);
}

static cfx_node *make(cfx_aten *a, const char *target, cfx_args args,
                      cfx_value result, cfx_error *err)
{
    char hint[128];

    hint_of(hint, sizeof(hint), target);
    keep_free(a, hint, sizeof(hint));
    cfx_node *n = cfx_graph_create_node(a->at->graph, CFX_CALL_FUNCTION,
                                        target, args, hint, NULL, err);
    return n && !cfx_aten__annotate(a, n, result, err) ? n : NULL;
}

/* ---- Extents ---- */

static cfx_status extent_node(cfx_value *out, cfx_aten *a, cfx_dim d,
                              int depth, cfx_error *err);

/* An operation on two extents, whose value is `d`. */
static cfx_status extent_call(cfx_value *out, cfx_aten *a, const char *target,
                              cfx_value x, cfx_value y, cfx_dim d,
                              cfx_error *err)
{
    cfx_node *n = make(a, target, CFX_ARGS(x, y), cfx_value_of_dim(d), err);

    if (!n)
        return err->code;
    *out = cfx_value_of_node(n);
    return know_extent(a, d, n, -1, err);
}

/* The operands in turn: ((t0 op t1) op t2) ... */
static cfx_status extent_fold(cfx_value *out, cfx_aten *a, const char *target,
                              const cfx_expr *e,
                              cfx_dim (*op)(cfx_shape_env *, cfx_dim, cfx_dim),
                              int depth, cfx_error *err)
{
    cfx_dim so_far = e->term[0].of;
    cfx_value next;
    cfx_status st = extent_node(out, a, so_far, depth, err);

    for (uint32_t i = 1; i < e->n && !st; i++) {
        st = extent_node(&next, a, e->term[i].of, depth, err);
        so_far = op(a->shapes.base.env, so_far, e->term[i].of);
        if (!st)
            st = extent_call(out, a, target, *out, next, so_far, err);
    }
    return st;
}

static cfx_status extent_product(cfx_value *out, cfx_aten *a,
                                 const cfx_expr *e, int depth, cfx_error *err)
{
    cfx_shape_env *env = a->shapes.base.env;
    cfx_dim so_far = cfx_dim_int(1);
    cfx_status st = CFX_OK;
    cfx_value next;

    *out = cfx_int(1);
    for (uint32_t i = 0; i < e->n && !st; i++) {
        st = extent_node(&next, a, e->term[i].of, depth, err);
        for (int64_t k = 0; k < e->term[i].k && !st; k++) {
            so_far = cfx_dim_mul(env, so_far, e->term[i].of);
            if (out->kind == CFX_INT)
                *out = next;
            else
                st = extent_call(out, a, "operator.mul", *out, next, so_far,
                                 err);
        }
    }
    return st;
}

/* One term of a sum, k * of. */
static cfx_status extent_term(cfx_value *out, cfx_aten *a, const cfx_term *t,
                              int depth, cfx_error *err)
{
    cfx_status st = extent_node(out, a, t->of, depth, err);

    if (st || t->k == 1)
        return st;
    return extent_call(
        out, a, "operator.mul", *out, cfx_int(t->k),
        cfx_dim_mul(a->shapes.base.env, t->of, cfx_dim_int(t->k)), err);
}

static cfx_status extent_sum(cfx_value *out, cfx_aten *a, const cfx_expr *e,
                             cfx_dim d, int depth, cfx_error *err)
{
    cfx_shape_env *env = a->shapes.base.env;
    cfx_dim so_far = CFX_DIM_BAD;
    cfx_value next;
    cfx_status st = CFX_OK;

    for (uint32_t i = 0; i < e->n && !st; i++) {
        cfx_dim part = cfx_dim_mul(env, e->term[i].of,
                                   cfx_dim_int(e->term[i].k));
        st = extent_term(i ? &next : out, a, &e->term[i], depth, err);
        so_far = i ? cfx_dim_add(env, so_far, part) : part;
        if (!st && i)
            st = extent_call(out, a, "operator.add", *out, next, so_far, err);
    }
    if (!st && e->c)
        st = extent_call(out, a, "operator.add", *out, cfx_int(e->c),
                         cfx_dim_add(env, so_far, cfx_dim_int(e->c)), err);
    if (!st && e->den != 1)
        st = extent_call(out, a, "operator.floordiv", *out, cfx_int(e->den), d,
                         err);
    return st;
}

static cfx_status no_extent(cfx_dim d, cfx_error *err)
{
    char text[128];

    cfx_dim_format(d, text, sizeof(text));
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "the extent %s is that of no input, and no call gives it",
                    text);
}

static cfx_status extent_node(cfx_value *out, cfx_aten *a, cfx_dim d,
                              int depth, cfx_error *err)
{
    if (cfx_dim_is_int(d)) {
        *out = cfx_int(cfx_dim_value(d));
        return CFX_OK;
    }
    cfx_aten_extent *x = find_extent(a, d);
    if (x && x->axis >= 0) {
        cfx_node *n = make(
            a, "torch.ops.aten.sym_size.int",
            CFX_ARGS(cfx_value_of_node(x->node), cfx_int(x->axis)),
            cfx_value_of_dim(d), err);
        if (!n)
            return err->code;
        x->node = n;
        x->axis = -1;
    }
    if (x) {
        *out = cfx_value_of_node(x->node);
        return CFX_OK;
    }
    if (cfx_dim_is_bad(d) || depth > CFX_EXPR_DEPTH_MAX)
        return no_extent(d, err);
    const cfx_expr *e = cfx_expr_of(d);
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_FLOORDIV:
        return extent_fold(out, a, "operator.floordiv", e, cfx_dim_floordiv,
                           depth + 1, err);
    case CFX_EXPR_MOD:
        return extent_fold(out, a, "operator.mod", e, cfx_dim_mod, depth + 1,
                           err);
    case CFX_EXPR_MIN:
        return extent_fold(out, a, "torch.sym_min", e, cfx_dim_min, depth + 1,
                           err);
    case CFX_EXPR_MAX:
        return extent_fold(out, a, "torch.sym_max", e, cfx_dim_max, depth + 1,
                           err);
    case CFX_EXPR_PRODUCT: return extent_product(out, a, e, depth + 1, err);
    case CFX_EXPR_SUM: return extent_sum(out, a, e, d, depth + 1, err);
    default: return no_extent(d, err);
    }
}

/* ---- Values ---- */

/* One of several results gets its node at its first use. */
static cfx_status result_node(cfx_value *out, cfx_aten *a, cfx_aten_known *k,
                              cfx_error *err)
{
    if (k->item >= 0) {
        const cfx_node *origin = a->origin;
        cfx_node *n = cfx_graph_create_node(
            a->at->graph, CFX_CALL_FUNCTION, "operator.getitem",
            CFX_ARGS(cfx_value_of_node(k->node), cfx_int(k->item)), NULL, NULL,
            err);
        a->origin = NULL;
        cfx_status st = n ? cfx_aten__annotate(
                                a, n,
                                cfx_value_of_tensor(
                                    (cfx_tensor *)(uintptr_t)k->tensor),
                                err)
                          : err->code;
        a->origin = origin;
        if (!st)
            st = cfx_node_inherit(n, k->node, err);
        if (st)
            return st;
        k->node = n;
        k->item = -1;
    }
    *out = cfx_value_of_node(k->node);
    return CFX_OK;
}

/* A tensor that no node computes is a constant. */
static cfx_status constant_node(cfx_value *out, cfx_aten *a, cfx_tensor *t,
                                cfx_error *err)
{
    char name[64];
    const cfx_state state = {name, t, true, false};

    if (cfx_tensor_is_meta(t) || a->at->outer)
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            a->at->outer
                ? "a nested graph uses a tensor that is not among its arguments: make it one"
                : "a constant has no data");
    do
        snprintf(name, sizeof(name), "_tensor_constant%zu", a->constants++);
    while (cfx_module_state(a->root, name));
    cfx_status st = cfx_aten__state(a, name, &state, err);
    if (!st)
        *out = cfx_value_of_node(cfx_aten__find(a, t)->node);
    return st;
}

static cfx_status to_node(void *user, cfx_value v, cfx_value *out)
{
    cfx_aten *a = user;
    cfx_error *err = &a->shapes.base.error;
    const cfx_map_entry *e;
    cfx_aten_known *k;
    cfx_status st;

    switch ((cfx_kind)v.kind) {
    case CFX_TENSOR:
        k = cfx_aten__find(a, v.u.tensor);
        st = k && a->form->functional ? cfx_aten__refresh(a, k, err) : CFX_OK;
        return st             ? st
               : k && k->node ? result_node(out, a, k, err)
                              : constant_node(out, a, v.u.tensor, err);
    case CFX_SYMINT:
        if (!a->form->symbolic)
            return extent_node(out, a, v.u.dim, 0, err);
        *out = cfx_value_ref(v);
        return CFX_OK;
    case CFX_MODULE:
        e = cfx_map_get(&a->graphs, (const char *)&v.u.module,
                        sizeof(v.u.module));
        if (!e)
            return cfx_fail(err, CFX_EUNSUPPORTED,
                            "a module is an argument that is not called");
        *out = cfx_value_of_node(e->v.p);
        return CFX_OK;
    default: *out = cfx_value_ref(v); return CFX_OK;
    }
}

cfx_status cfx_aten__value(cfx_value *out, cfx_aten *a, cfx_value v,
                           cfx_error *err)
{
    *out = CFX_NOTHING;
    return cfx_value_map(out, a->shapes.base.ctx, v, to_node, a, err);
}

cfx_status cfx_aten__emit(cfx_aten *a, const char *target, cfx_args args,
                          cfx_value result, cfx_error *err)
{
    size_t many = args.nargs + 2 * args.nkwargs, n = 0;
    cfx_context *ctx = a->shapes.base.ctx;
    cfx_value *v = cfx_calloc(ctx, many + 1, sizeof(*v));
    cfx_status st = v ? CFX_OK : cfx_no_memory(err);

    for (; n < args.nargs && !st; n += !st)
        st = cfx_aten__value(&v[n], a, args.args[n], err);
    for (; n < many && !st; n += !st)
        st = cfx_aten__value(&v[n], a, args.kwargs[n - args.nargs], err);
    a->last = st ? NULL
                 : make(
                       a, target,
                       (cfx_args){v, args.nargs, v + args.nargs, args.nkwargs},
                       result, err);
    if (!st && !a->last)
        st = err->code;
    if (!st)
        st = cfx_aten__know_all(a, result, a->last, err);
    while (n > 0)
        cfx_value_unref(v[--n]);
    cfx_free(ctx, v, (many + 1) * sizeof(*v));
    return st;
}

/* ---- State and graphs ---- */

/* The module of the new tree that owns `path`. */
static cfx_status make_owner(cfx_module **out, const char **last, cfx_aten *a,
                             const char *path, cfx_error *err)
{
    const char *dot = strrchr(path, '.');
    cfx_module *child = NULL;
    cfx_buf above;

    *out = cfx_module__owner(a->made, path, last);
    if (*out)
        return CFX_OK;
    cfx_buf_init(&above, a->shapes.base.ctx);
    cfx_buf_add(&above, path, dot ? (size_t)(dot - path) : 0);
    cfx_status st = above.failed ? cfx_no_memory(err)
                                 : cfx_module_new_container(&child, above.ctx,
                                                            "Module", err);
    if (!st)
        st = cfx_module_add_submodule_take(a->made, cfx_buf_str(&above), child,
                                           err);
    cfx_buf_release(&above);
    if (!st)
        *out = cfx_module__owner(a->made, path, last);
    return st || *out ? st
                      : cfx_fail(err, CFX_ENAME, "'%s' is not a name", path);
}

cfx_status cfx_aten__state(cfx_aten *a, const char *path,
                           const cfx_state *state, cfx_error *err)
{
    const cfx_map_entry *e = cfx_map_get(&a->state, path, strlen(path));
    cfx_state own = *state;
    cfx_module *owner;
    char *key;

    if (a->at->outer)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "a nested graph reads '%s': make it an argument",
                        path);
    if (e)
        return cfx_aten__know(a, cfx_value_of_tensor(state->tensor), e->v.p,
                              -1, err);
    cfx_node *n = cfx_graph_get_attr(a->at->graph, path, err);
    cfx_status st = n ? cfx_aten__annotate(
                            a, n, cfx_value_of_tensor(state->tensor), err)
                      : err->code;
    if (!st)
        st = make_owner(&owner, &own.name, a, path, err);
    if (!st)
        st = cfx_module__add_state(owner, &own, err);
    if (st)
        return st;
    key = cfx_arena_strdup(&a->arena, path, strlen(path));
    cfx_map_entry *put = key ? cfx_map_put(&a->state, key, strlen(key), NULL)
                             : NULL;
    if (!put)
        return cfx_no_memory(err);
    put->v.p = n;
    return cfx_aten__know(a, cfx_value_of_tensor(state->tensor), n, -1, err);
}

cfx_status cfx_aten__graph_take(cfx_aten *a, cfx_module *of, const char *hint,
                                cfx_module *made, cfx_error *err)
{
    char name[160];
    cfx_module **key = cfx_arena_alloc(&a->arena, sizeof(*key));
    cfx_map_entry *e = NULL;

    snprintf(name, sizeof(name), "%.120s", hint);
    for (char *s = name; *s; s++)
        *s = *s == '.' ? '_' : *s;
    for (int i = 1; cfx_module_child(a->made, name); i++)
        snprintf(name, sizeof(name), "%.120s_%d", hint, i);
    cfx_status st = cfx_module_add_take(a->made, name, made, err);
    if (st)
        return st;
    if (key) {
        *key = of;
        e = cfx_map_put(&a->graphs, (const char *)key, sizeof(*key), NULL);
    }
    if (!e)
        return cfx_no_memory(err);
    e->v.p = cfx_graph_create_node(a->at->graph, CFX_GET_ATTR, name,
                                   CFX_NO_ARGS, name, NULL, err);
    return e->v.p ? CFX_OK : err->code;
}
