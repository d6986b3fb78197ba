/*
 * onnx_recorder -- the scope in which rules call operators.
 *
 * A call of constants alone is computed, if they are few numbers. Any other
 * becomes a node; constants among its arguments become get_attr nodes of
 * parameters and buffers. The result of each node is inferred at once, so that
 * rules know ranks and types; a result that is a known number needs no node.
 */
#include <stdio.h>

#include "format/onnx/onnx.h"
#include "nn/module_impl.h"

/* Constants with more elements are not folded at import, so that the graph shows how
 * weights are used. */
enum { FOLD_MAX = 1024 };

static onnx_recorder *downcast(cfx_scope *s)
{
    assert(s->hook.record_call);
    return (onnx_recorder *)s;
}

/* ---- Names ---- */

char *onnx_identifier(onnx_recorder *r, const char *name, bool dots)
{
    size_t n = strlen(name), at = 0;
    char *out = cfx_arena_alloc(&r->arena, n + 2);

    if (!out)
        return NULL;
    for (; *name == '/' || *name == '.' || *name == ':'; name++)
        ;
    if ((*name >= '0' && *name <= '9') || !*name)
        out[at++] = '_';
    for (; *name; name++) {
        char c = *name;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '_';
        bool dot = dots && c == '.' && at && out[at - 1] != '.' && name[1];
        out[at++] = plain || dot ? c : '_';
    }
    out[at] = '\0';
    return out;
}

void *onnx_address_get(const cfx_map *m, const void *at)
{
    const cfx_map_entry *e = cfx_map_get(m, (const char *)&at, sizeof(at));

    return e ? e->v.p : NULL;
}

cfx_map_entry *onnx_address_put(onnx_recorder *r, cfx_map *m, const void *at)
{
    char *key = cfx_arena_strdup(&r->arena, (const char *)&at, sizeof(at));
    cfx_map_entry *e = key ? cfx_map_put(m, key, sizeof(at), NULL) : NULL;

    if (!e)
        cfx_no_memory(&r->base.error);
    return e;
}

void onnx_name_tensor(cfx_scope *s, cfx_tensor *t, const char *name)
{
    onnx_recorder *r = downcast(s);
    cfx_map_entry *e = onnx_address_put(r, &r->tensor_names, t);

    if (e)
        e->v.p = (void *)(uintptr_t)name;
}

void onnx_name_like(cfx_scope *s, cfx_tensor *t, const cfx_tensor *of)
{
    const char *name = onnx_address_get(&downcast(s)->tensor_names, of);

    if (name)
        onnx_name_tensor(s, t, name);
}

/* The address of a tensor or node; NULL of other values. */
static const void *address_of(cfx_value v)
{
    return v.kind == CFX_TENSOR ? (const void *)v.u.tensor
           : v.kind == CFX_NODE ? (const void *)v.u.node
                                : NULL;
}

void onnx_mark_type(cfx_scope *s, cfx_value v, int64_t code)
{
    onnx_recorder *r = downcast(s);
    const void *at = address_of(v);
    cfx_map_entry *e = at ? onnx_address_put(r, &r->types, at) : NULL;

    if (e)
        e->v.p = (void *)(uintptr_t)code;
}

int64_t onnx_marked_type(cfx_scope *s, cfx_value v)
{
    const void *at = address_of(v);

    return at ? (int64_t)(uintptr_t)onnx_address_get(&downcast(s)->types, at)
              : 0;
}

void onnx_set_floats(cfx_scope *s, cfx_value integers, cfx_value floats)
{
    onnx_recorder *r = downcast(s);
    const void *at = integers.kind == CFX_NODE ? address_of(integers) : NULL;
    cfx_map_entry *e = at && floats.kind == CFX_NODE
                           ? onnx_address_put(r, &r->at->floats, at)
                           : NULL;

    if (e)
        e->v.p = floats.u.node;
}

cfx_value onnx_floats(cfx_scope *s, cfx_value integers)
{
    const void *at = address_of(integers);
    cfx_node *n = at ? onnx_address_get(&downcast(s)->at->floats, at) : NULL;

    return n ? cfx_value_of_node(n) : CFX_NOTHING;
}

/* ---- Graphs ---- */

cfx_status onnx_graph_init(onnx_graph *g, cfx_context *ctx, onnx_graph *outer,
                           cfx_error *err)
{
    *g = (onnx_graph){.outer = outer};
    cfx_map_init(&g->constants, ctx);
    cfx_map_init(&g->floats, ctx);
    cfx_status st = cfx_graph_new(&g->graph, ctx, err);
    if (!st)
        st = cfx_module_new_container(&g->module, ctx, "OnnxModel", err);
    if (!st)
        cfx_node_map_init(&g->metas, g->graph);
    else
        onnx_graph_release(g);
    return st;
}

void onnx_graph_release(onnx_graph *g)
{
    cfx_node_map_release(&g->metas);
    cfx_map_release(&g->constants);
    cfx_map_release(&g->floats);
    cfx_module_unref(g->module);
    cfx_graph_free(g->graph);
    *g = (onnx_graph){0};
}

/* Keep what is known of a node's result; takes the value. */
static void keep_meta_take(onnx_recorder *r, const cfx_node *n, cfx_value v)
{
    if (v.kind != CFX_ABSENT)
        cfx_node_map_set(&r->at->metas, n, v, &r->base.error);
    cfx_value_unref(v);
}

cfx_value onnx_meta(cfx_scope *s, cfx_value v)
{
    onnx_recorder *r = downcast(s);

    if (v.kind != CFX_NODE)
        return v;
    for (onnx_graph *g = r->at; g; g = g->outer)
        if (v.u.node->graph == g->graph)
            return cfx_node_map_get(&g->metas, v.u.node);
    return CFX_NOTHING;
}

void onnx_set_meta(cfx_scope *s, cfx_value node, cfx_value meta)
{
    if (node.kind == CFX_NODE && node.u.node->graph == downcast(s)->at->graph)
        keep_meta_take(downcast(s), node.u.node, cfx_value_ref(meta));
}

cfx_value onnx_placeholder(cfx_scope *s, const char *name, cfx_value meta)
{
    onnx_recorder *r = downcast(s);
    cfx_node *n = cfx_scope_failed(s)
                      ? NULL
                      : cfx_graph_placeholder(r->at->graph, name, &s->error);

    if (!n)
        return cfx_none();
    /* The model's inputs keep the shapes that the file declares. */
    if (!r->at->outer && meta.kind == CFX_TENSOR)
        cfx_node_set_meta(n, "val", meta, &s->error);
    keep_meta_take(r, n, cfx_value_ref(meta));
    return cfx_value_of_node(n);
}

static cfx_value get_attr(onnx_recorder *r, const char *path, cfx_value meta)
{
    cfx_node *n = cfx_graph_get_attr(r->at->graph, path, &r->base.error);

    if (!n)
        return cfx_none();
    keep_meta_take(r, n, cfx_value_ref(meta));
    return cfx_value_of_node(n);
}

cfx_value onnx_child_take(cfx_scope *s, const char *name, cfx_module *child)
{
    onnx_recorder *r = downcast(s);
    cfx_value v = cfx_value_of_kind(CFX_MODULE);

    v.u.module = child;
    cfx_graph_set_owning_module(r->at->graph, r->at->module);
    if (cfx_module_add_take(r->at->module, name, child, &s->error))
        return cfx_none();
    return get_attr(r, name, v);
}

/* ---- Constants as parameters and buffers ---- */

/* The module that gets a state of a dotted path, and the state's name; NULL if
 * the path leads through a tensor or is taken. */
static cfx_module *place_of(onnx_recorder *r, char *path, const char **last)
{
    cfx_module *at = r->at->module;
    char *dot;

    for (; (dot = strchr(path, '.')); path = dot + 1) {
        *dot = '\0';
        cfx_module *child = cfx_module_child(at, path);
        if (!child && !cfx_module_state(at, path)) {
            if (cfx_module_new_container(&child, r->base.ctx, "Module",
                                         &r->base.error) ||
                cfx_module_add_take(at, path, child, &r->base.error))
                return NULL;
        }
        *dot = '.';
        if (!child)
            return NULL;
        at = child;
    }
    *last = path;
    return cfx_module_state(at, path) || cfx_module_child(at, path) ? NULL
                                                                    : at;
}

/* Find a place for a constant: its name, the name without dots, then with a
 * number. */
static char *choose_path(onnx_recorder *r, const char *name, cfx_module **at,
                         const char **last)
{
    char *path = onnx_identifier(r, name, true), numbered[16];

    *at = path ? place_of(r, path, last) : NULL;
    for (int i = 0; path && !*at && !cfx_scope_failed(&r->base); i++) {
        char *flat = onnx_identifier(r, name, false);
        size_t n = flat ? strlen(flat) : 0;
        path = flat ? cfx_arena_alloc(&r->arena, n + sizeof(numbered)) : NULL;
        if (!path)
            break;
        numbered[0] = '\0';
        if (i)
            snprintf(numbered, sizeof(numbered), "_%d", i);
        memcpy(path, flat, n);
        strcpy(path + n, numbered);
        *at = place_of(r, path, last);
    }
    if (!path)
        cfx_no_memory(&r->base.error);
    return path;
}

static cfx_value constant_node(onnx_recorder *r, cfx_tensor *t)
{
    cfx_node *known = onnx_address_get(&r->at->constants, t);
    const char *name = onnx_address_get(&r->tensor_names, t);
    cfx_module *owner;
    const char *last;

    if (known)
        return cfx_value_of_node(known);
    char *path = choose_path(r, name ? name : "constant", &owner, &last);
    if (!path || cfx_scope_failed(&r->base))
        return cfx_none();
    const cfx_state state = {
        last, t, !name || !cfx_dtype_is_float((cfx_dtype)t->dtype), true};
    cfx_map_entry *e = onnx_address_put(r, &r->at->constants, t);
    if (!e || cfx_module__add_state(owner, &state, &r->base.error)) {
        cfx_no_memory(&r->base.error);
        return cfx_none();
    }
    cfx_value node = get_attr(r, path, cfx_value_of_tensor(t));
    e->v.p = node.kind == CFX_NODE ? node.u.node : NULL;
    return node;
}

static cfx_status to_node(void *user, cfx_value v, cfx_value *out)
{
    onnx_recorder *r = user;

    *out = v.kind == CFX_TENSOR ? constant_node(r, v.u.tensor)
                                : cfx_value_ref(v);
    return r->base.error.code;
}

cfx_value onnx_output_value(cfx_scope *s, cfx_value v)
{
    cfx_value out;

    if (cfx_scope_failed(s) ||
        cfx_value_map(&out, s->ctx, v, to_node, downcast(s), &s->error))
        return cfx_none();
    return cfx_scope_take(s, out);
}

/* ---- Calls ---- */

static bool is_node(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_NODE;
}

static bool is_large(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR && cfx_tensor_numel(v.u.tensor) > FOLD_MAX;
}

/* Are all arguments known and small, and is the result always the same? Integers that
 * are dequantized stay, since passes compute with them. */
static bool can_compute(const cfx_unbound_call *c)
{
    if (c->target->op->flags &
        (CFX_OP_RANDOM | CFX_OP_EFFECT | CFX_OP_DEQUANTIZES))
        return false;
    for (size_t i = 0; i < c->nargs + c->nkwargs; i++) {
        cfx_value v = i < c->nargs ? c->args[i]
                                   : c->kwargs[2 * (i - c->nargs) + 1];
        if (cfx_value_any(v, is_node, NULL) ||
            cfx_value_any(v, is_large, NULL))
            return false;
    }
    return true;
}

static cfx_status move_error(onnx_recorder *r, cfx_scope *from, cfx_status st)
{
    if (st)
        cfx_fail_from(&r->base.error, &from->error);
    cfx_error_clear(&from->error);
    return st;
}

cfx_value onnx_transposed(cfx_scope *s, cfx_value matrix)
{
    onnx_recorder *r = downcast(s);
    cfx_value y = cfx_contiguous(&r->eager, cfx_t(&r->eager, matrix));

    if (move_error(r, &r->eager, r->eager.error.code))
        return cfx_none();
    onnx_name_like(s, y.u.tensor, matrix.u.tensor);
    return y;
}

/* The meta of an argument. Fails with CFX_EUSER where one is unknown, which
 * never leaves this file: also for strings, of which there are shapes only. */
static cfx_status to_meta(void *user, cfx_value v, cfx_value *out)
{
    onnx_recorder *r = user;
    bool texts = onnx_marked_type(&r->base, v) == ONNX_STRING;

    *out = texts ? CFX_NOTHING : cfx_value_ref(onnx_meta(&r->base, v));
    return out->kind == CFX_ABSENT ? CFX_EUSER : CFX_OK;
}

static bool map_args(cfx_value *to, onnx_recorder *r,
                     const cfx_unbound_call *c,
                     cfx_status (*fn)(void *, cfx_value, cfx_value *))
{
    size_t n = c->nargs + 2 * c->nkwargs;
    cfx_error why = {0};

    for (size_t i = 0; i < n; i++) {
        cfx_value v = i < c->nargs ? c->args[i] : c->kwargs[i - c->nargs];
        cfx_value out = {0};
        cfx_status st = cfx_value_map(&out, r->base.ctx, v, fn, r, &why);
        if (st) {
            if (st == CFX_ENOMEM)
                cfx_no_memory(&r->base.error);
            return false;
        }
        to[i] = cfx_scope_take(&r->meta, out);
    }
    return true;
}

/* Infer a call's result; absent where something about it is unknown. */
static void infer(onnx_recorder *r, const cfx_unbound_call *c, cfx_value *out)
{
    cfx_value args[3 * CFX_MAX_PARAMS];
    size_t frame = cfx_scope_enter(&r->meta);

    *out = CFX_NOTHING;
    if (c->nargs + 2 * c->nkwargs <= 3 * CFX_MAX_PARAMS &&
        map_args(args, r, c, to_meta)) {
        cfx_status st = cfx_scope_call_target(
            &r->meta, c->target,
            (cfx_args){args, c->nargs, args + c->nargs, c->nkwargs}, out);
        if (st == CFX_EUNSUPPORTED) {
            cfx_error_clear(&r->meta.error);
            *out = CFX_NOTHING;
        } else {
            move_error(r, &r->meta, st);
        }
    }
    cfx_scope_leave(&r->meta, frame, cfx_none());
}

/* A call's result that needs no node: a number that is known. */
static bool is_known_number(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE;
}

static cfx_status make_node(onnx_recorder *r, const cfx_unbound_call *c,
                            cfx_value meta, cfx_value *out)
{
    cfx_value args[3 * CFX_MAX_PARAMS];
    size_t frame = cfx_scope_enter(&r->meta);
    cfx_node *n = NULL;

    if (map_args(args, r, c, to_node))
        n = cfx_graph_create_node(
            r->at->graph, c->method ? CFX_CALL_METHOD : CFX_CALL_FUNCTION,
            c->name, (cfx_args){args, c->nargs, args + c->nargs, c->nkwargs},
            NULL, NULL, &r->base.error);
    cfx_scope_leave(&r->meta, frame, cfx_none());
    if (n) {
        keep_meta_take(r, n, cfx_value_ref(meta));
        *out = cfx_value_of_node(n);
    }
    return r->base.error.code;
}

static cfx_status record_call(cfx_scope *s, const cfx_unbound_call *c,
                              cfx_value *out)
{
    onnx_recorder *r = downcast(s);
    cfx_value meta;

    *out = cfx_none();
    if (cfx_scope_failed(s))
        return s->error.code;
    if (can_compute(c))
        return move_error(
            r, &r->eager,
            cfx_scope_call_target(
                &r->eager, c->target,
                (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, out));
    infer(r, c, &meta);
    if (cfx_scope_failed(s))
        return s->error.code;
    if (is_known_number(meta)) {
        *out = meta;
        return CFX_OK;
    }
    cfx_status st = make_node(r, c, meta, out);
    cfx_value_unref(meta);
    return st;
}

static cfx_status record_module(cfx_scope *s, cfx_module *m, const char *path,
                                const cfx_unbound_call *c, cfx_value *out)
{
    (void)m;
    (void)path;
    (void)c;
    *out = cfx_none();
    return cfx_fail(&s->error, CFX_EUNSUPPORTED,
                    "modules are not called by rules");
}

static cfx_status ask(cfx_scope *s, cfx_question question, cfx_value v,
                      cfx_value *out)
{
    if (question != CFX_ASK_META)
        return cfx_fail(&s->error, CFX_EUNSUPPORTED,
                        "its numbers are not known when the model is read");
    *out = cfx_value_ref(onnx_meta(s, v));
    return CFX_OK;
}

/* ---- Branches ---- */

cfx_value onnx_result_of(cfx_scope *s)
{
    onnx_recorder *r = downcast(s);
    const cfx_node *n = cfx_graph_output_node(r->at->graph);
    cfx_error why = {0};
    cfx_value out;

    if (!n || cfx_value_map(&out, s->ctx, n->args[0], to_meta, r, &why))
        return CFX_NOTHING;
    return out;
}

void onnx_set_result_take(cfx_scope *s, const cfx_module *branch,
                          cfx_value meta)
{
    onnx_recorder *r = downcast(s);
    cfx_value *kept = cfx_arena_alloc(&r->arena, sizeof(*kept));
    cfx_map_entry *e = kept ? onnx_address_put(r, &r->results, branch) : NULL;

    if (!e) {
        cfx_value_unref(meta);
        cfx_no_memory(&s->error);
        return;
    }
    *kept = meta;
    e->v.p = kept;
}

/* The scope of metas runs no graphs: a branch was inferred when it was made. */
static cfx_status branch_result(cfx_scope *s, cfx_module *m, const char *path,
                                const cfx_unbound_call *c, const cfx_value *in,
                                cfx_value *out)
{
    const onnx_recorder *r = (const onnx_recorder *)((const char *)s -
                                                     offsetof(onnx_recorder,
                                                              meta));
    const cfx_value *known = onnx_address_get(&r->results, m);

    (void)path;
    (void)c;
    (void)in;
    if (!known || cfx_value_is_absent(*known))
        return cfx_fail(&s->error, CFX_EUNSUPPORTED,
                        "the result of a branch is not known");
    *out = cfx_value_ref(*known);
    return CFX_OK;
}

void onnx_release_results(onnx_recorder *r)
{
    for (size_t i = 0; i < r->results.cap; i++)
        if (r->results.entry[i].key && r->results.entry[i].v.p)
            cfx_value_unref(*(cfx_value *)r->results.entry[i].v.p);
    cfx_map_release(&r->results);
}

static const cfx_scope_class metas_class = {
    .size = sizeof(cfx_scope_class),
    .name = "metas of onnx",
    .super = &cfx_composite__meta,
    .call_graph = branch_result,
};

static const cfx_scope_class recorder_class = {
    .size = sizeof(cfx_scope_class),
    .name = "onnx",
    .record_call = record_call,
    .record_module = record_module,
    .ask = ask,
};

cfx_status onnx_recorder_init(onnx_recorder *r, cfx_context *ctx,
                              cfx_error *err)
{
    *r = (onnx_recorder){0};
    cfx_arena_init(&r->arena, ctx);
    cfx_map_init(&r->tensor_names, ctx);
    cfx_map_init(&r->types, ctx);
    cfx_map_init(&r->results, ctx);
    cfx_map_init(&r->numbers, ctx);
    cfx_status st = cfx_shape_env_new(&r->env, ctx, err);
    cfx_scope_init(&r->base, &recorder_class, ctx, r->env);
    cfx_scope_init(&r->meta, &metas_class, ctx, r->env);
    cfx_scope_init(&r->eager, &cfx_composite__eager, ctx, NULL);
    return st;
}

void onnx_recorder_release(onnx_recorder *r)
{
    cfx_scope_release(&r->eager);
    cfx_scope_release(&r->meta);
    cfx_scope_release(&r->base);
    cfx_map_release(&r->tensor_names);
    cfx_map_release(&r->types);
    cfx_map_release(&r->numbers);
    onnx_release_results(r);
    cfx_arena_release(&r->arena);
    cfx_shape_env_free(r->env);
}
