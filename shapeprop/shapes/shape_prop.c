/*
 * shape_prop -- an interpreter that records the shape of each node's value.
 *
 * It only annotates: the walk is the base class's, in a scope without data
 * (shape_scope) or in an eager one.
 */
#include <cfx/shape_prop.h>

#include <stdio.h>

#include <cfx/text.h>

#include "nn/module_impl.h"
#include "tensor/storage.h"

/* The meta that propagation sets. */
enum { TYPE, TENSOR_META, SHAPE_KEYS };
static const char *const shape_keys[SHAPE_KEYS] = {"type", "tensor_meta"};

static cfx_shape_prop *downcast(cfx_interp *it)
{
    return (cfx_shape_prop *)it;
}

/* ---- Meta of a node ---- */

static cfx_status meta_of(cfx_tensor **out, const cfx_tensor *t,
                          cfx_error *err)
{
    return cfx_tensor__meta_like(out, t->ctx, t, err);
}

typedef struct extraction {
    cfx_error *err;
    bool found; /* a tensor was found */
} extraction;

/* Return a meta with the strides of a tensor; other values as they are. */
static cfx_status extract(void *user, cfx_value v, cfx_value *out)
{
    extraction *x = user;
    cfx_tensor *t;
    *out = v;
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor)) {
        x->found |= v.kind == CFX_TENSOR;
        cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = meta_of(&t, v.u.tensor, x->err);
    if (!st)
        *out = cfx_value_of_tensor(t);
    x->found = true;
    return st;
}

static bool is_parameter(const cfx_interp *it, const cfx_node *n)
{
    const char *name;
    if (n->op != CFX_GET_ATTR)
        return false;
    const cfx_module *m = cfx_module__owner(it->module, n->target->text,
                                            &name);
    const cfx_state *state = m ? cfx_module_state(m, name) : NULL;
    return state && !state->is_buffer;
}

static const char *type_name(const cfx_interp *it, const cfx_node *n,
                             cfx_value v)
{
    switch ((cfx_kind)v.kind) {
    case CFX_TENSOR:
        return is_parameter(it, n) ? "torch.nn.parameter.Parameter"
                                   : "torch.Tensor";
    case CFX_TUPLE: return v.u.seq->type ? v.u.seq->type->name : "tuple";
    case CFX_NONE: return "NoneType";
    case CFX_SYMINT: return "int";
    case CFX_DTYPE: return "torch.dtype";
    case CFX_DEVICE: return "torch.device";
    case CFX_MEMORY_FORMAT: return "torch.memory_format";
    case CFX_LAYOUT: return "torch.layout";
    default: return cfx_kind_name((cfx_kind)v.kind);
    }
}

static cfx_status set_type(cfx_interp *it, cfx_node *n, cfx_value v)
{
    const char *name = type_name(it, n, v);
    cfx_value type = cfx_str_new(cfx_module_context(it->module), name,
                                 strlen(name));
    if (!type.kind)
        return cfx_no_memory(it->err);
    cfx_status st = cfx_node_set_meta(n, shape_keys[TYPE], type, it->err);
    cfx_value_unref(type);
    return st;
}

static cfx_status annotate(cfx_interp *it, cfx_node *n, cfx_value v)
{
    extraction x = {.err = it->err};
    cfx_value meta;
    cfx_status st = cfx_value_map(&meta, cfx_module_context(it->module), v,
                                  extract, &x, it->err);
    if (st)
        return st;
    st = cfx_node_set_meta(n, shape_keys[TENSOR_META],
                           x.found ? meta : CFX_NOTHING, it->err);
    cfx_value_unref(meta);
    return st ? st : set_type(it, n, v);
}

/* ---- Error messages ---- */

typedef struct text {
    char s[CFX_ERROR_TEXT];
    size_t len;
} text;

static cfx_status append(void *user, const char *s, size_t n)
{
    text *t = user;
    if (n > sizeof(t->s) - 1 - t->len)
        n = sizeof(t->s) - 1 - t->len;
    memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = '\0';
    return CFX_OK;
}

static void add(text *t, const char *s)
{
    append(t, s, strlen(s));
}

static bool has_extents(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR || v.kind == CFX_SYMINT;
}

/* Append the shapes of a call's tensors: " of f32[2, 3], f32[2, 4]". */
static void add_inputs(text *t, const cfx_interp *it, const cfx_node *n)
{
    size_t from = t->len;
    for (uint32_t i = 0; i < n->ninputs && t->len - from < 256; i++) {
        cfx_value v = cfx_interp_env(it, cfx_node_input(n, i));
        if (!cfx_value_any(v, has_extents, NULL))
            continue;
        add(t, t->len == from ? " of " : ", ");
        cfx_print_shape((cfx_sink){append, t}, v, false, NULL);
    }
}

static void add_place(text *t, const cfx_interp *it, const cfx_node *n)
{
    cfx_context *ctx = cfx_module_context(it->module);
    size_t size = cfx_graph_ids(it->graph) * sizeof(cfx_node_path);
    cfx_node_path *path = cfx_alloc(ctx, size);
    if (path) {
        cfx_graph_node_paths(it->graph, path);
        add(t, path[n->id].len ? " in " : "");
        append(t, path[n->id].path, path[n->id].len);
    }
    cfx_free(ctx, path, size);
}

/* Format "CAUSE; operator.add of f32[2, 3], f32[2, 4] in layer1.0". */
static void explain(const cfx_interp *it, const cfx_node *n)
{
    text t = {.len = 0};
    const char *name = n->target->text;
    const cfx_module *m;
    if (!it->err || n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT ||
        it->err->located)
        return;
    m = n->op == CFX_CALL_MODULE ? cfx_module_at(it->module, name) : NULL;
    add(&t, it->err->text);
    add(&t, "; ");
    add(&t, n->op == CFX_CALL_METHOD ? "Tensor." : "");
    add(&t, m ? cfx_module_class_name(m) : name);
    add_inputs(&t, it, n);
    add_place(&t, it, n);
    memcpy(it->err->text, t.s, t.len + 1);
}

/* ---- Hooks ---- */

/* Use the shape of an input, not its numbers, which the next run may change. */
static cfx_status shape_prop_placeholder(cfx_interp *it, const cfx_call *call,
                                         cfx_value *out)
{
    extraction x = {.err = it->err};
    cfx_value given;
    cfx_status st = CFX_SUPER(&cfx_shape_prop_class, placeholder)(it, call,
                                                                  &given);
    if (st || downcast(it)->real) {
        *out = given;
        return st;
    }
    st = cfx_value_map(out, cfx_module_context(it->module), given, extract, &x,
                       it->err);
    cfx_value_unref(given);
    return st;
}

/* Compare the result with the node's earlier meta. */
static cfx_status check(cfx_shape_prop *p, const cfx_node *n, cfx_value v)
{
    cfx_value want = cfx_node_meta(n, shape_keys[TENSOR_META]);
    if (!want.kind)
        return CFX_OK;
    return cfx_shape_match_check(p->match, n->name, v, want,
                                 n->op != CFX_PLACEHOLDER, p->base.err);
}

static cfx_status shape_prop_run_node(cfx_interp *it, const cfx_node *n,
                                      cfx_value *out)
{
    cfx_status st = CFX_SUPER(&cfx_shape_prop_class, run_node)(it, n, out);
    if (CFX_UNLIKELY(st)) {
        explain(it, n);
        return st;
    }
    if (downcast(it)->match)
        st = check(downcast(it), n, *out);
    if (!st && !downcast(it)->no_meta)
        st = annotate(it, cfx_node_map_node(&downcast(it)->nodes, n), *out);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

static void release_own(cfx_shape_prop *p)
{
    cfx_node_map_release(&p->nodes);
    cfx_shape_match_free(p->match);
    p->match = NULL;
    cfx_shape_scope_release(&p->scope);
    cfx_shape_env_free(p->own);
    p->own = NULL;
}

static void shape_prop_release(cfx_interp *it)
{
    cfx_shape_prop *p = downcast(it);
    release_own(p);
    CFX_SUPER(&cfx_shape_prop_class, release)(it);
}

const cfx_interp_class cfx_shape_prop_class = {
    .size = sizeof(cfx_interp_class),
    .name = "shape_prop",
    .super = &cfx_interp_base,
    .placeholder = shape_prop_placeholder,
    .run_node = shape_prop_run_node,
    .release = shape_prop_release,
};

/* ---- Init and release ---- */

/* Hooks get const nodes; these are the graph's own, whose meta is written. */
static cfx_status find_nodes(cfx_shape_prop *p, cfx_graph *g, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_node_map_init(&p->nodes, g);
    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n))
        st = cfx_node_map_set(&p->nodes, n, cfx_value_of_node(n), err);
    return st;
}

cfx_status cfx_shape_prop_init(cfx_shape_prop *p, const cfx_interp_class *cls,
                               cfx_module *gm,
                               const cfx_shape_prop_options *options,
                               cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_shape_prop_options o = {.size = sizeof(o)};
    cfx_status st = CFX_OK;
    if (options)
        memcpy(&o, options,
               options->size < sizeof(o) ? options->size : sizeof(o));
    p->env = o.env;
    p->real = o.real;
    p->no_meta = o.no_meta;
    if (!o.real && !o.scope) {
        if (!p->env)
            st = cfx_shape_env_new(&p->own, ctx, err);
        if (st)
            return st;
        p->env = p->env ? p->env : p->own;
        cfx_shape_scope_init(&p->scope, NULL, ctx, p->env);
        o.scope = &p->scope.base;
    }
    const cfx_interp_options io = {.size = sizeof(io),
                                   .graph = o.graph,
                                   .scope = o.scope,
                                   .keep_values = o.keep_values};
    st = cfx_interp_init_with(&p->base, cls ? cls : &cfx_shape_prop_class, gm,
                              &io, err);
    if (st) {
        release_own(p);
        return st;
    }
    if (!o.no_meta)
        st = find_nodes(p, o.graph ? o.graph : cfx_graph_module_graph(gm),
                        err);
    if (!st && o.check && !cfx_context_any_shape(ctx))
        st = cfx_shape_match_new(&p->match, ctx, p->env, err);
    if (st)
        cfx_interp_release(&p->base);
    return st;
}

cfx_status cfx_propagate_shapes(cfx_module *gm, cfx_shape_env *env,
                                const cfx_value *inputs, size_t ninputs,
                                cfx_value *result, cfx_error *err)
{
    cfx_shape_prop p = {.env = NULL};
    const cfx_shape_prop_options o = {.size = sizeof(o), .env = env};
    cfx_value out = CFX_NOTHING;
    cfx_status st = cfx_shape_prop_init(&p, NULL, gm, &o, err);
    if (!st)
        st = cfx_interp_run(&p.base, inputs, ninputs, &out, err);
    if (result)
        *result = st ? CFX_NOTHING : out;
    else
        cfx_value_unref(out);
    cfx_interp_release(&p.base);
    return st;
}

/* ---- The meta of a graph ---- */

bool cfx_graph_has_shapes(const cfx_graph *g)
{
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        for (int i = 0; i < SHAPE_KEYS; i++)
            if (cfx_node_meta(n, shape_keys[i]).kind)
                return true;
    return false;
}

cfx_status cfx_graph_remove_shapes(cfx_graph *g, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n))
        for (int i = 0; i < SHAPE_KEYS && !st; i++)
            st = cfx_node_set_meta(n, shape_keys[i], CFX_NOTHING, err);
    return st;
}

/* ---- Metadata of a tensor ---- */

cfx_tensor_metadata cfx_tensor_metadata_of(const cfx_tensor *t)
{
    static const struct {
        int flag;
        cfx_memory_format format;
    } formats[] = {
        {CFX_TENSOR_CONTIGUOUS, CFX_CONTIGUOUS_FORMAT},
        {CFX_TENSOR_CHANNELS_LAST, CFX_CHANNELS_LAST},
        {CFX_TENSOR_CHANNELS_LAST_3D, CFX_CHANNELS_LAST_3D},
    };
    cfx_tensor_metadata m = {.tensor = t};
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (!m.has_memory_format && t->flags & formats[i].flag) {
            m.has_memory_format = true;
            m.memory_format = formats[i].format;
        }
    return m;
}
