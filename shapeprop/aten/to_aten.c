/*
 * to_aten -- retrace a graph into calls of ATen's overloads.
 *
 * An interpreter walks the graph in a scope that propagates shapes, so that
 * the scope sees each call of an operator bound, with the types of its
 * arguments: also those that modules make. It records each under ATen's name.
 * A call that gives no new tensor, such as an extent or an item of a tuple, is
 * not recorded: its value is known.
 */
#include <cfx/to_aten.h>

#include <stdio.h>

#include "graph/graph_impl.h"
#include "nn/module_impl.h"
#include "op/composite.h"
#include "op/op_impl.h"
#include "shapeprop/aten/aten.h"

static cfx_aten *downcast(cfx_scope *s)
{
    return (cfx_aten *)s;
}

/* ---- Calls of operators ---- */

static bool is_tensor(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR;
}

/* Does a call write, or have another effect, on tensors? */
static bool has_effect(const cfx_call *call)
{
    bool writes = call->inplace || call->op->flags & CFX_OP_EFFECT,
         any = false;

    for (int k = 0; k < call->schema->nparams; k++) {
        writes |= call->schema->params[k].writes;
        any |= cfx_value_any(call->in[k], is_tensor, NULL);
    }
    return writes && any;
}

bool cfx_aten__is_new_extent(cfx_aten *a, cfx_value v)
{
    return v.kind == CFX_SYMINT && cfx_dim_symbol_name(v.u.dim) &&
           !cfx_map_get(&a->at->extents, (const char *)&v.u.dim.bits,
                        sizeof(v.u.dim.bits));
}

/* Note an operator that ATen lacks; its call is recorded as it is, so that
 * others are found, too. */
cfx_status cfx_aten__miss(cfx_aten *a, cfx_call *call, cfx_value result)
{
    char room[128];
    const char *name = cfx_op__shown_name(call->op, call->schema, room,
                                          sizeof(room));
    bool added = false;
    char *key = cfx_arena_strdup(&a->arena, name, strlen(name));
    if (!key || !cfx_map_put(&a->missing, key, strlen(key), &added))
        return cfx_no_memory(call->err);
    if (added)
        cfx_buf_printf(&a->missing_text, "%s%s",
                       a->missing_text.len ? ", " : "", name);
    return cfx_aten__emit(a, name, CFX_NO_ARGS, result, call->err);
}

cfx_status cfx_aten__propagate(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_status st = CFX_SCOPE_SUPER(&cfx_aten__class, call_op)(s, call, out);

    if (st)
        *out = CFX_NOTHING;
    return st;
}

cfx_status cfx_aten__lower(cfx_aten *a, const cfx_call *call,
                           cfx_aten_lowering *fn, cfx_value *out)
{
    cfx_scope *s = &a->shapes.base;
    size_t frame = cfx_scope_enter(s);
    cfx_value v = cfx_scope_leave(s, frame, fn(s, call));

    if (cfx_scope_failed(s))
        return s->error.code;
    if (v.kind != CFX_NONE)
        *out = cfx_value_ref(v);
    return CFX_OK;
}

/* An exported graph spells its calls already. */
static bool is_spelled(const cfx_call *unbound)
{
    static const char ops[] = "torch.ops.";
    const char *target = unbound ? unbound->target.u.str->text : "";
    const char *name = !strncmp(target, ops, sizeof(ops) - 1)
                           ? strchr(target + sizeof(ops) - 1, '.')
                           : NULL;

    return name && strchr(name + 1, '.') &&
           strncmp(target, "torch.ops.cfx.", 14) != 0;
}

static bool is_wanted(cfx_aten *a, const cfx_call *call, bool exported,
                      cfx_value result)
{
    return has_effect(call) || !cfx_aten__knows(a, result) ||
           cfx_aten__is_new_extent(a, result) ||
           (exported && result.kind == CFX_TENSOR);
}

static cfx_status record(cfx_aten *a, cfx_call *call, const cfx_call *unbound,
                         const cfx_aten_spelling *c, cfx_value result)
{
    if (is_spelled(unbound))
        return cfx_aten__emit(a, unbound->target.u.str->text,
                              (cfx_args){unbound->args, unbound->nargs,
                                         unbound->kwargs, unbound->nkwargs},
                              result, call->err);
    return c ? cfx_aten__emit(
                   a, c->target,
                   (cfx_args){c->arg, c->nargs, c->kwarg, c->nkwargs}, result,
                   call->err)
             : cfx_aten__miss(a, call, result);
}

/* Record a call that no lowering replaces. The calls of a composite that ATen
 * lacks are recorded in its place. */
static cfx_status call_recorded(cfx_aten *a, cfx_call *call,
                                const cfx_call *unbound, cfx_value *out)
{
    cfx_aten_spelling c = {.nargs = 0};
    bool exported = is_spelled(unbound), found = exported;
    cfx_status st = exported ? CFX_OK : cfx_aten__spell(&c, call, &found);

    if (!st) {
        call->inner = found ? NULL : &a->shapes.base;
        st = cfx_aten__propagate(&a->shapes.base, call, out);
        call->inner = NULL;
    }
    if (!st && is_wanted(a, call, exported, *out))
        st = record(a, call, unbound, found ? &c : NULL, *out);
    cfx_aten__spelling_release(&c);
    return st;
}

static cfx_status aten_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_aten *a = downcast(s);
    const cfx_call *unbound = a->unbound;
    cfx_aten_lowering *fn = NULL;
    cfx_status st = CFX_OK;

    a->unbound = NULL;
    *out = CFX_NOTHING;
    if (a->muted)
        return cfx_aten__propagate(s, call, out);
    if (!is_spelled(unbound))
        fn = cfx_aten__find_lowering(call);
    if (fn)
        st = cfx_aten__lower(a, call, fn, out);
    if (!st && !out->kind)
        st = call_recorded(a, call, unbound, out);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

/* ---- Operators of higher order ---- */

static cfx_status aten_call_higher_order(cfx_scope *s, cfx_call *call,
                                         cfx_value *out)
{
    cfx_aten *a = downcast(s);
    const cfx_call *unbound = a->unbound;
    bool outer = a->higher, inlined = call->op->flags & CFX_OP_WRAPS;
    cfx_aten_spelling c = {.nargs = 0};

    a->unbound = NULL;
    a->higher = !inlined;
    cfx_status st = CFX_SCOPE_SUPER(&cfx_aten__class,
                                    call_higher_order)(s, call, out);
    a->higher = outer;
    if (st || a->muted || inlined)
        return st;
    size_t n = 0;
    while (n < (size_t)call->schema->nparams && call->in[n].kind)
        n++;
    cfx_args args = {call->in, n, NULL, 0};
    cfx_op_call_name(call->op, false, &(bool){false}, c.target,
                     sizeof(c.target));
    if (is_spelled(unbound)) {
        snprintf(c.target, sizeof(c.target), "%s",
                 unbound->target.u.str->text);
        args = (cfx_args){unbound->args, unbound->nargs, unbound->kwargs,
                          unbound->nkwargs};
    }
    st = strncmp(c.target, "torch.ops.higher_order.", 23)
             ? cfx_aten__miss(a, call, *out)
             : cfx_aten__emit(a, c.target, args, *out, call->err);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

/* The arguments of a nested graph become its placeholders. */
static cfx_status add_inputs(cfx_aten *a, const cfx_unbound_call *c,
                             cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < c->nargs && !st; i++) {
        char name[32];
        snprintf(name, sizeof(name), "arg%zu_1", i);
        cfx_node *n = cfx_graph_create_node(
            a->at->graph, CFX_PLACEHOLDER, name, CFX_NO_ARGS, name, NULL, err);
        st = n ? cfx_aten__annotate(a, n, c->args[i], err) : err->code;
        if (!st)
            st = cfx_aten__know(a, c->args[i], n, -1, err);
        if (!st && c->args[i].kind == CFX_TENSOR)
            st = cfx_aten__know_extents(a, c->args[i].u.tensor, n, err);
    }
    return st;
}

static cfx_status add_output(cfx_aten *a, cfx_value result, cfx_error *err)
{
    cfx_value v = CFX_NOTHING;
    cfx_status st = cfx_aten__value(&v, a, result, err);
    cfx_node *n = st ? NULL : cfx_graph_output(a->at->graph, v, err);

    cfx_value_unref(v);
    return st ? st : n ? cfx_aten__annotate(a, n, result, err) : err->code;
}

/* A graph that is called a second time (the body of a loop) is recorded the
 * first time. */
static cfx_status run_muted(cfx_aten *a, cfx_module *m, const char *path,
                            const cfx_unbound_call *c, const cfx_value *in,
                            cfx_value *out)
{
    a->muted++;
    cfx_status st = CFX_SCOPE_SUPER(&cfx_aten__class, call_graph)(
        &a->shapes.base, m, path, c, in, out);
    a->muted--;
    return st;
}

static cfx_status aten_call_graph(cfx_scope *s, cfx_module *m,
                                  const char *path, const cfx_unbound_call *c,
                                  const cfx_value *in, cfx_value *out)
{
    cfx_aten *a = downcast(s);
    cfx_error *err = &s->error;
    cfx_module *made = NULL, *container = NULL, *owner = a->made;
    cfx_aten_frame frame;

    if (!a->higher || !c)
        return CFX_SCOPE_SUPER(&cfx_aten__class, call_graph)(s, m, path, c, in,
                                                             out);
    if (a->muted || cfx_map_get(&a->graphs, (const char *)&m, sizeof(m)))
        return run_muted(a, m, path, c, in, out);
    cfx_aten__frame_init(&frame, s->ctx);
    frame.outer = a->at;
    a->at = &frame;
    a->higher = false;
    cfx_status st = cfx_graph_new(&frame.graph, s->ctx, err);
    if (!st)
        st = cfx_module_new_container(&container, s->ctx, "GraphModule", err);
    a->made = container;
    if (!st)
        st = add_inputs(a, c, err);
    if (!st)
        st = CFX_SCOPE_SUPER(&cfx_aten__class, call_graph)(s, m, path, c, in,
                                                           out);
    if (!st)
        st = add_output(a, *out, err);
    a->at = frame.outer;
    a->made = owner;
    a->higher = true;
    if (!st) {
        st = cfx_graph_module_new_take_both(&made, s->ctx, container,
                                            frame.graph, "GraphModule", err);
        container = NULL;
        frame.graph = NULL;
    }
    if (!st)
        st = cfx_aten__graph_take(a, m, cfx_module_name(m), made, err);
    cfx_module_unref(container);
    cfx_aten__frame_release(&frame);
    return st;
}

/* ---- State ---- */

static cfx_status aten_get_attr(cfx_scope *s, cfx_module *m, const char *name,
                                cfx_value *out)
{
    cfx_aten *a = downcast(s);
    cfx_status st = CFX_SCOPE_SUPER(&cfx_aten__class, get_attr)(s, m, name,
                                                                out);
    const cfx_state *state = st ? NULL : cfx_module_state(m, name);
    size_t above = cfx_module_path(a->root, NULL, 0);
    cfx_buf path;

    if (st || a->muted || out->kind != CFX_TENSOR || !state ||
        state->tensor != out->u.tensor)
        return st;
    size_t len = cfx_module_path(m, NULL, 0);
    cfx_buf_init(&path, s->ctx);
    if (!cfx_buf_reserve(&path, len + strlen(name) + 2)) {
        st = cfx_no_memory(&s->error);
    } else {
        cfx_module_path(m, path.s, len + 1);
        path.len = len;
        if (len)
            cfx_buf_putc(&path, '.');
        cfx_buf_puts(&path, name);
        st = cfx_aten__state(a, path.s + above + (above > 0), state,
                             &s->error);
    }
    cfx_buf_release(&path);
    return st;
}

const cfx_scope_class cfx_aten__class = {
    .size = sizeof(cfx_scope_class),
    .name = "to_aten",
    .super = &cfx_shape_scope_class,
    .call_op = aten_call_op,
    .call_higher_order = aten_call_higher_order,
    .call_graph = aten_call_graph,
    .get_attr = aten_get_attr,
};

/* ---- The walk ---- */

struct retracing {
    cfx_interp base;
    cfx_aten aten;
};

static const cfx_interp_class retrace_class;

static struct retracing *walk_of(cfx_interp *it)
{
    return (struct retracing *)it;
}

/* Copy what a file of torch.export tells of the call. */
static cfx_status copy_signature(cfx_node *to, const cfx_node *from,
                                 cfx_error *err)
{
    static const char *const keys[] = {"in_spec", "forward_arg_names"};
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !st; i++) {
        cfx_value v = cfx_node_meta(from, keys[i]);
        if (v.kind)
            st = cfx_node_set_meta(to, keys[i], v, err);
    }
    return st;
}

/* Inputs keep their types, not their numbers. */
static cfx_status retrace_placeholder(cfx_interp *it, const cfx_call *call,
                                      cfx_value *out)
{
    cfx_aten *a = &walk_of(it)->aten;
    const cfx_node *from = call->node;
    cfx_value given;
    cfx_status st = CFX_SUPER(&retrace_class, placeholder)(it, call, &given);
    cfx_tensor *t;

    if (st)
        return st;
    *out = given;
    if (given.kind == CFX_TENSOR) {
        st = cfx_tensor_meta(&t, a->shapes.base.ctx,
                             (cfx_dtype)given.u.tensor->dtype,
                             given.u.tensor->rank, given.u.tensor->shape,
                             given.u.tensor->stride, it->err);
        cfx_value_unref(given);
        *out = st ? CFX_NOTHING : cfx_value_of_tensor(t);
    } else if (cfx_value_is_seq(given) || given.kind == CFX_DICT) {
        st = cfx_fail(
            it->err, CFX_EUNSUPPORTED,
            "the input is a %s: such a graph has an input for each tensor",
            cfx_kind_name((cfx_kind)given.kind));
    }
    bool constant = out->kind != CFX_TENSOR && out->kind != CFX_SYMINT;
    cfx_node *n = st ? NULL
                     : cfx_graph_create_node(a->at->graph, CFX_PLACEHOLDER,
                                             from->target->text,
                                             cfx_args_of(out, constant),
                                             from->name, NULL, it->err);
    if (!st)
        st = n ? cfx_aten__annotate(a, n, *out, it->err) : it->err->code;
    if (!st)
        st = copy_signature(n, from, it->err);
    if (!st)
        st = cfx_aten__know(a, *out, n, -1, it->err);
    if (!st && out->kind == CFX_TENSOR)
        st = cfx_aten__know_extents(a, out->u.tensor, n, it->err);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

/* The scope takes the unbound call, until it has recorded the first operator
 * that it leads to. */
static cfx_status retrace_function(cfx_interp *it, const cfx_call *call,
                                   cfx_value *out)
{
    cfx_aten *a = &walk_of(it)->aten;

    a->unbound = call;
    cfx_status st = CFX_SUPER(&retrace_class, call_function)(it, call, out);
    a->unbound = NULL;
    return st;
}

/* A node that one call is made of gives it its name. */
static cfx_status retrace_run_node(cfx_interp *it, const cfx_node *n,
                                   cfx_value *out)
{
    cfx_aten *a = &walk_of(it)->aten;

    a->origin = n;
    a->last = NULL;
    cfx_status st = CFX_SUPER(&retrace_class, run_node)(it, n, out);
    if (!st && a->last && strcmp(a->last->name, n->name))
        st = cfx_node_rename(a->last, n->name, it->err);
    a->origin = NULL;
    return st;
}

static const cfx_interp_class retrace_class = {
    .size = sizeof(cfx_interp_class),
    .name = "to_aten",
    .super = &cfx_interp_base,
    .placeholder = retrace_placeholder,
    .call_function = retrace_function,
    .run_node = retrace_run_node,
};

/* ---- Begin and end ---- */

static cfx_status aten_init(cfx_aten *a, const cfx_aten_form *form,
                            cfx_module *gm, cfx_shape_env *env,
                            cfx_aten_frame *frame, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    const cfx_graph *g = cfx_graph_module_graph(gm);

    cfx_shape_scope_init(&a->shapes, form->cls, ctx, env);
    a->form = form;
    cfx_aten__frame_init(frame, ctx);
    cfx_map_init(&a->stacks, ctx);
    cfx_map_init(&a->state, ctx);
    cfx_map_init(&a->graphs, ctx);
    cfx_map_init(&a->missing, ctx);
    cfx_buf_init(&a->missing_text, ctx);
    cfx_arena_init(&a->arena, ctx);
    a->root = gm;
    a->at = frame;
    a->path = cfx_calloc(ctx, cfx_graph_ids(g) + 1, sizeof(*a->path));
    if (!a->path)
        return cfx_no_memory(err);
    cfx_graph_node_paths(g, a->path);
    cfx_status st = cfx_graph_new(&frame->graph, ctx, err);
    return st ? st
              : cfx_module_new_container(&a->made, ctx, "GraphModule", err);
}

static void aten_release(cfx_aten *a, cfx_aten_frame *frame)
{
    cfx_context *ctx = cfx_module_context(a->root);
    const cfx_graph *g = cfx_graph_module_graph(a->root);

    cfx_module_unref(a->made);
    cfx_aten__views_release(a);
    for (cfx_aten_known *k = a->refs; k; k = k->next)
        cfx_tensor_unref((cfx_tensor *)(uintptr_t)k->tensor);
    cfx_aten__frame_release(frame);
    cfx_map_release(&a->stacks);
    cfx_map_release(&a->state);
    cfx_map_release(&a->graphs);
    cfx_map_release(&a->missing);
    cfx_buf_release(&a->missing_text);
    cfx_arena_release(&a->arena);
    cfx_free(ctx, a->path, (cfx_graph_ids(g) + 1) * sizeof(*a->path));
    cfx_shape_scope_release(&a->shapes);
}

static cfx_status finish(cfx_module **out, cfx_aten *a, cfx_value result,
                         cfx_error *err)
{
    if (a->missing_text.len)
        return cfx_fail(err, a->form->lacks_code, "%s: %.600s", a->form->lacks,
                        a->missing_text.s);
    cfx_error *own = &a->shapes.base.error;
    cfx_error_clear(own);
    cfx_status st = add_output(a, result, own);
    cfx_graph *g = a->at->graph;
    if (!st)
        st = cfx_graph_eliminate_dead_code(g, NULL, NULL, own);
    if (st)
        return cfx_fail_from(err, own);
    cfx_module *made = a->made;
    a->made = NULL;
    a->at->graph = NULL;
    return cfx_graph_module_new_take_both(out, cfx_module_context(a->root),
                                          made, g, "GraphModule", err);
}

cfx_status cfx_aten__retrace(cfx_module **out, const cfx_aten_form *form,
                             cfx_module *gm, cfx_shape_env *env,
                             const cfx_value *inputs, size_t ninputs,
                             cfx_error *err)
{
    struct retracing r = {.base = {.cls = NULL}};
    cfx_aten_frame frame;
    cfx_value result = CFX_NOTHING;
    cfx_error own = {0};

    *out = NULL;
    err = err ? err : &own;
    cfx_error_clear(err);
    if (!cfx_graph_module_graph(gm))
        return cfx_fail(err, CFX_EGRAPH, "the module has no graph");
    cfx_status st = aten_init(&r.aten, form, gm, env, &frame, err);
    const cfx_interp_options how = {.size = sizeof(how),
                                    .scope = &r.aten.shapes.base};
    if (!st)
        st = cfx_interp_init_with(&r.base, &retrace_class, gm, &how, err);
    if (!st)
        st = cfx_interp_run(&r.base, inputs, ninputs, &result, err);
    if (!st)
        st = finish(out, &r.aten, result, err);
    cfx_value_unref(result);
    cfx_interp_release(&r.base);
    aten_release(&r.aten, &frame);
    return st;
}

static const cfx_aten_form form = {.cls = &cfx_aten__class,
                                   .lacks = "ATen has no overload of",
                                   .lacks_code = CFX_EOPERATOR};

cfx_status cfx_to_aten(cfx_module **out, cfx_module *gm, cfx_shape_env *env,
                       const cfx_value *inputs, size_t ninputs, cfx_error *err)
{
    return cfx_aten__retrace(out, &form, gm, env, inputs, ninputs, err);
}
