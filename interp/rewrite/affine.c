/*
 * affine -- find layers with a weight and a bias and the norms beside them,
 * read their parameters, and replace them.
 */
#include "interp/rewrite/affine.h"

#include <cfx/observer.h>
#include <stdio.h>

#include "interp/rewrite/rewrite_rules.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

/* ---- Paths ---- */

static cfx_status count_path(path_uses *u, cfx_pass_call *p, const char *path,
                             size_t len)
{
    cfx_map_entry *e = cfx_map_put(&u->count, path, len, NULL);
    if (!e)
        return cfx_no_memory(p->err);
    e->v.u++;
    return CFX_OK;
}

/* Add the tensor of a get_attr node that something writes to. */
static cfx_status add_target(path_uses *u, cfx_pass_call *p, const cfx_node *n)
{
    cfx_error why = {0};
    cfx_value v;
    cfx_status st = cfx_module_fetch_attr(&v, p->gm, n->target->text, &why);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(p->err);
    if (st || v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor)) {
        u->unknown = true;
        return CFX_OK;
    }
    if (cfx_grow(p->ctx, u->target, u->cap, u->ntargets + 1, p->err))
        return CFX_ENOMEM;
    u->target[u->ntargets++] = v.u.tensor;
    return CFX_OK;
}

/* Does n write to parameters that it does not name? Observers write to buffers of
 * their own. */
static bool writes_to_state(const cfx_aliases *a, const cfx_pass_call *p,
                            const cfx_node *n)
{
    const cfx_module *m = n->op == CFX_CALL_MODULE
                              ? cfx_module_at(p->gm, n->target->text)
                              : NULL;
    return cfx_aliases__effects(a, n)->state_writes &&
           !(m && cfx_module_is_observer(m));
}

static cfx_status find_writes(path_uses *u, cfx_pass_call *p)
{
    cfx_aliases a;
    cfx_status st = cfx_aliases__init_apart(&a, p->graph, p->err);
    for (const cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        u->unknown = u->unknown || writes_to_state(&a, p, n);
        if (n->op == CFX_GET_ATTR && cfx_aliases__is_written(&a, n))
            st = add_target(u, p, n);
    }
    u->written = u->unknown || u->ntargets;
    cfx_aliases__release(&a);
    return st;
}

/* The memory from the first element to the last. */
static void find_span(const cfx_tensor *t, const char **from, const char **to)
{
    int64_t low = 0, high = 0;
    int64_t size = (int64_t)cfx_dtype_size((cfx_dtype)t->dtype);
    for (int i = 0; i < t->rank; i++) {
        int64_t by = (cfx_tensor_size(t, i) - 1) * cfx_tensor_stride(t, i);
        *(by < 0 ? &low : &high) += by;
    }
    *from = (const char *)t->data + low * size;
    *to = (const char *)t->data + (high + 1) * size;
}

bool cfx_path_uses__writes(const path_uses *u, const cfx_tensor *t)
{
    const char *from, *to, *begin, *end;
    if (u->unknown || !u->ntargets)
        return u->unknown;
    if (cfx_tensor_is_meta(t))
        return true;
    find_span(t, &from, &to);
    for (size_t i = 0; i < u->ntargets; i++) {
        find_span(u->target[i], &begin, &end);
        if (begin < to && from < end)
            return true;
    }
    return false;
}

/* A get_attr also counts for the module that owns the parameter. */
cfx_status cfx_path_uses__init(path_uses *u, cfx_pass_call *p)
{
    *u = (path_uses){.ctx = p->ctx};
    cfx_map_init(&u->count, p->ctx);
    cfx_status st = find_writes(u, p);
    for (const cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        const char *path = n->target->text, *dot = strrchr(path, '.');
        if (n->op == CFX_GET_ATTR || n->op == CFX_CALL_MODULE)
            st = count_path(u, p, path, strlen(path));
        if (n->op == CFX_GET_ATTR && dot && !st)
            st = count_path(u, p, path, (size_t)(dot - path));
    }
    return st;
}

void cfx_path_uses__release(path_uses *u)
{
    cfx_map_release(&u->count);
    cfx_free(u->ctx, u->target, u->cap * sizeof(*u->target));
}

static void mark_written(cfx_aliases *a, const path_uses *u,
                         const cfx_pass_call *p)
{
    cfx_value v;
    *cfx_alias_sets__flags(&a->sets, a->life.ids) |= CFX_ALIAS_WRITTEN;
    for (const cfx_node *n = cfx_graph_first(p->graph); n;
         n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR &&
            !cfx_module_fetch_attr(&v, p->gm, n->target->text, NULL) &&
            v.kind == CFX_TENSOR && cfx_path_uses__writes(u, v.u.tensor))
            *cfx_alias_sets__flags(&a->sets, n->id) |= CFX_ALIAS_WRITTEN;
}

cfx_status cfx_pass__aliases(cfx_aliases *a, cfx_pass_call *p)
{
    path_uses u;
    cfx_status st = cfx_path_uses__init(&u, p);
    if (!st)
        st = cfx_aliases__init_apart(a, p->graph, p->err);
    if (!st && u.written)
        mark_written(a, &u, p);
    cfx_path_uses__release(&u);
    return st;
}

bool cfx_path_uses__once(const path_uses *u, const char *path)
{
    const cfx_map_entry *e = cfx_map_get(&u->count, path, strlen(path));
    if (e && e->v.u > 1)
        return false;
    for (const char *dot = path; (dot = strchr(dot, '.')) != NULL; dot++)
        if (cfx_map_get(&u->count, path, (size_t)(dot - path)))
            return false;
    return true;
}

/* ---- Arguments ---- */

const cfx_schema *cfx_pass__signature(const cfx_node *n)
{
    const cfx_target *t = cfx_node__targets(n);
    return !t ? NULL : t->variant ? t->variant : t->schema;
}

cfx_value cfx_pass__kwarg(const cfx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (!strcmp(n->kwargs[2 * i].u.str->text, name))
            return n->kwargs[2 * i + 1];
    return CFX_NOTHING;
}

cfx_value cfx_pass__arg(const cfx_node *n, const cfx_schema *schema,
                        const char *name)
{
    int k = cfx_param_find(schema, name, strlen(name));
    if (k >= 0 && k < schema->npositional && (uint32_t)k < n->nargs)
        return n->args[k];
    return cfx_pass__kwarg(n, name);
}

bool cfx_pass__calls(const cfx_pass_call *p, const cfx_node *n, const char *op)
{
    const cfx_module *m = n->op == CFX_CALL_MODULE
                              ? cfx_module_at(p->gm, n->target->text)
                              : NULL;
    if (!m)
        return cfx_node_is(n, op);
    return m->op && !strcmp(m->op->schema->name, op);
}

static cfx_status remove_kwarg(cfx_pass_call *p, cfx_node *n, const char *name)
{
    size_t bytes = (2 * (size_t)n->nkwargs + 1) * sizeof(cfx_value), len = 0;
    cfx_value *kept = cfx_alloc(p->ctx, bytes);
    if (!kept)
        return cfx_no_memory(p->err);
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (strcmp(n->kwargs[2 * i].u.str->text, name)) {
            kept[2 * len] = n->kwargs[2 * i];
            kept[2 * len++ + 1] = n->kwargs[2 * i + 1];
        }
    cfx_status st = cfx_node_set_kwargs(n, kept, len, p->err);
    cfx_free(p->ctx, kept, bytes);
    return st;
}

cfx_status cfx_pass__set_arg(cfx_pass_call *p, cfx_node *n,
                             const cfx_schema *schema, const char *name,
                             cfx_value v)
{
    int k = cfx_param_find(schema, name, strlen(name));
    if (k >= 0 && (uint32_t)k < n->nargs)
        return cfx_node_update_arg(n, (size_t)k, v.kind ? v : cfx_none(),
                                   p->err);
    return v.kind ? cfx_node_update_kwarg(n, name, v, p->err)
                  : remove_kwarg(p, n, name);
}

bool cfx_pass__is_transpose(const cfx_node *n)
{
    bool swaps = n->nargs == 3 && n->args[1].kind == CFX_INT &&
                 n->args[2].kind == CFX_INT &&
                 (n->args[1].u.i - n->args[2].u.i) % 2 != 0;
    return n->nargs && cfx_value__node(n->args[0]) &&
           (cfx_node_is(n, "t") || (cfx_node_is(n, "transpose") && swaps));
}

const cfx_module *cfx_pass__module(const cfx_pass_call *p, const cfx_node *n)
{
    if (n->op != CFX_CALL_MODULE)
        return NULL;
    const cfx_module *m = cfx_module_at(p->gm, n->target->text);
    /* Parametrized modules compute their parameters from others. */
    return !m || m->graph || !m->schema || cfx_module__is_parametrized(m)
               ? NULL
               : m;
}

/* True if the parameter can be read: it is a get_attr, or None. */
static bool is_attr(cfx_value v)
{
    return cfx_value_is_none(v) ||
           (v.kind == CFX_NODE && v.u.node->op == CFX_GET_ATTR);
}

/* ---- Layers ---- */

extern const cfx_op cfx_op__linear, cfx_op__conv1d, cfx_op__conv2d,
    cfx_op__conv3d, cfx_op__conv_transpose1d, cfx_op__conv_transpose2d,
    cfx_op__conv_transpose3d, cfx_op__convolution, cfx_op__batch_norm;
extern const cfx_module_type cfx_module__Linear, cfx_module__Conv1d,
    cfx_module__Conv2d, cfx_module__Conv3d, cfx_module__ConvTranspose1d,
    cfx_module__ConvTranspose2d, cfx_module__ConvTranspose3d,
    cfx_module__BatchNorm1d, cfx_module__BatchNorm2d, cfx_module__BatchNorm3d;

/* Operators and module types of layers, with their spatial axes; 0: any. */
static const struct layer_type {
    layer_kind kind;
    int axes;
    const cfx_op *op;
    const cfx_module_type *type;
} layer_types[] = {
    {LAYER_LINEAR, 0, &cfx_op__linear, &cfx_module__Linear},
    {LAYER_CONV, 1, &cfx_op__conv1d, &cfx_module__Conv1d},
    {LAYER_CONV, 2, &cfx_op__conv2d, &cfx_module__Conv2d},
    {LAYER_CONV, 3, &cfx_op__conv3d, &cfx_module__Conv3d},
    {LAYER_CONV, 0, &cfx_op__convolution, NULL},
    {LAYER_CONV_TRANSPOSE, 1, &cfx_op__conv_transpose1d,
     &cfx_module__ConvTranspose1d},
    {LAYER_CONV_TRANSPOSE, 2, &cfx_op__conv_transpose2d,
     &cfx_module__ConvTranspose2d},
    {LAYER_CONV_TRANSPOSE, 3, &cfx_op__conv_transpose3d,
     &cfx_module__ConvTranspose3d},
    {LAYER_NORM, 0, &cfx_op__batch_norm, NULL},
    {LAYER_NORM, 1, NULL, &cfx_module__BatchNorm1d},
    {LAYER_NORM, 2, NULL, &cfx_module__BatchNorm2d},
    {LAYER_NORM, 3, NULL, &cfx_module__BatchNorm3d},
};

/* Return the table entry of a module or function, or NULL. */
static const struct layer_type *type_of(const cfx_module *m, const cfx_op *op)
{
    for (size_t i = 0; i < sizeof(layer_types) / sizeof(*layer_types); i++)
        if (m ? cfx_module_type_of(m) == layer_types[i].type
              : op && cfx_op__has_overload(layer_types[i].op, op))
            return &layer_types[i];
    return NULL;
}

static const struct layer_type *type_of_call(cfx_pass_call *p,
                                             const cfx_node *n,
                                             const cfx_module **m)
{
    const cfx_target *t = n->op == CFX_CALL_FUNCTION ? cfx_node__targets(n)
                                                     : NULL;
    *m = cfx_pass__module(p, n);
    return type_of(*m, t ? t->op : NULL);
}

/* aten.convolution has an argument for "transposed". */
static bool find_function(layer *l)
{
    const cfx_node *n = l->n;
    cfx_value groups = cfx_pass__arg(n, l->schema, "groups");
    cfx_value transposed = cfx_pass__arg(n, l->schema, "transposed");
    cfx_value weight = cfx_pass__arg(n, l->schema, "weight");
    if (cfx_value_is_none(weight) || !is_attr(weight) ||
        !is_attr(cfx_pass__arg(n, l->schema, "bias")))
        return false;
    if (transposed.kind == CFX_NODE || groups.kind == CFX_NODE)
        return false;
    if (transposed.kind == CFX_BOOL_VALUE && transposed.u.i)
        l->kind = LAYER_CONV_TRANSPOSE;
    l->groups = groups.kind == CFX_INT ? groups.u.i : 1;
    return true;
}

bool cfx_layer__find(layer *l, cfx_pass_call *p, cfx_node *n)
{
    *l = (layer){.n = n, .groups = 1};
    const struct layer_type *type = type_of_call(p, n, &l->module);
    if (!type || type->kind == LAYER_NORM)
        return false;
    l->kind = type->kind;
    l->axes = type->axes;
    if (!l->module) {
        l->schema = cfx_pass__signature(n);
        return find_function(l);
    }
    l->training = cfx_module_training(l->module);
    if (l->kind != LAYER_LINEAR)
        l->groups = cfx_attr_int(l->module, "groups");
    return true;
}

/* Load a parameter of a module, or the one that a get_attr names. */
static cfx_status load(cfx_pass_call *p, const cfx_node *n,
                       const cfx_module *m, const cfx_schema *schema,
                       const char *name, cfx_tensor **out)
{
    *out = NULL;
    if (!m) {
        cfx_value v = cfx_pass__arg(n, schema, name);
        return cfx_value_is_none(v)
                   ? CFX_OK
                   : cfx_pass_weight(p, v.u.node->target->text, out);
    }
    const cfx_state *s = cfx_module_state(m, name);
    if (!s || !s->tensor)
        return CFX_OK;
    if (cfx_tensor_is_meta(s->tensor))
        return cfx_fail(p->err, CFX_EWEIGHT, "missing weight: %s.%s",
                        n->target->text, name);
    *out = s->tensor;
    return CFX_OK;
}

cfx_status cfx_layer__load(layer *l, cfx_pass_call *p)
{
    cfx_status st = load(p, l->n, l->module, l->schema, "weight", &l->weight);
    if (!st)
        st = load(p, l->n, l->module, l->schema, "bias", &l->bias);
    return st;
}

/* ---- Norms ---- */

static bool find_norm_function(norm *b)
{
    const cfx_node *n = b->n;
    cfx_value training = cfx_pass__arg(n, b->schema, "training");
    cfx_value eps = cfx_pass__arg(n, b->schema, "eps");
    cfx_value mean = cfx_pass__arg(n, b->schema, "running_mean");
    cfx_value var = cfx_pass__arg(n, b->schema, "running_var");
    if (!is_attr(mean) || !is_attr(var) || training.kind == CFX_NODE ||
        eps.kind == CFX_NODE ||
        !is_attr(cfx_pass__arg(n, b->schema, "weight")) ||
        !is_attr(cfx_pass__arg(n, b->schema, "bias")))
        return false;
    b->training = training.kind == CFX_BOOL_VALUE && training.u.i;
    b->running = !cfx_value_is_none(mean) && !cfx_value_is_none(var);
    b->eps = eps.kind ? cfx_value_number(eps) : 1e-5;
    return true;
}

bool cfx_norm__find(norm *b, cfx_pass_call *p, cfx_node *n)
{
    *b = (norm){.n = n};
    const struct layer_type *type = type_of_call(p, n, &b->module);
    if (!type || type->kind != LAYER_NORM)
        return false;
    b->axes = type->axes;
    if (!b->module) {
        b->schema = cfx_pass__signature(n);
        return find_norm_function(b);
    }
    b->training = cfx_module_training(b->module);
    b->running = cfx_attr_bool(b->module, "track_running_stats");
    b->eps = cfx_attr_double(b->module, "eps");
    return true;
}

cfx_status cfx_norm__load(norm *b, cfx_pass_call *p)
{
    cfx_status st = load(p, b->n, b->module, b->schema, "weight", &b->weight);
    if (!st)
        st = load(p, b->n, b->module, b->schema, "bias", &b->bias);
    if (!st)
        st = load(p, b->n, b->module, b->schema, "running_mean", &b->mean);
    if (!st)
        st = load(p, b->n, b->module, b->schema, "running_var", &b->var);
    return st;
}

/* ---- Storing parameters ---- */

cfx_status cfx_pass__module_like(cfx_module **out, const cfx_module *like,
                                 const cfx_value *kwargs, size_t nkwargs,
                                 cfx_error *err)
{
    const cfx_schema *schema = like->schema;
    size_t cap = 2 * (size_t)schema->nparams + 1, n = 0;
    cfx_value *all = cfx_calloc(like->ctx, cap, sizeof(*all));
    bool made = all != NULL;
    *out = NULL;
    for (int k = 0; made && k < schema->nparams; k++) {
        const char *name = schema->params[k].name;
        all[2 * n] = cfx_str_new(like->ctx, name, strlen(name));
        all[2 * n + 1] = like->attrs.in[k];
        made = all[2 * n].kind == CFX_STR;
        for (size_t i = 0; i < nkwargs; i++)
            if (!strcmp(kwargs[2 * i].u.str->text, name))
                all[2 * n + 1] = kwargs[2 * i + 1];
        n++;
    }
    cfx_status st = made ? cfx_module_new(out, like->ctx, like->type,
                                          like->class_name,
                                          (cfx_args){NULL, 0, all, n}, err)
                         : cfx_no_memory(err);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(all[2 * i]);
    cfx_free(like->ctx, all, cap * sizeof(*all));
    if (!st) {
        cfx_module_train(*out, like->training);
        (*out)->undecided = like->undecided;
    }
    return st;
}

/* Store a module at `path`, or, unless `replace`, at a free path beside it, and
 * let n call it. Takes the module. */
static cfx_status put_module_take(cfx_pass_call *p, cfx_node *n,
                                  const char *path, bool replace,
                                  cfx_module *m)
{
    char text[600];
    int len = snprintf(text, sizeof(text), "%s", path);
    for (int i = 1; !replace && len < 512 && cfx_module_at(p->gm, text); i++)
        snprintf(text + len, sizeof(text) - (size_t)len, "_%d", i);
    if (len >= 512) {
        cfx_module_unref(m);
        return cfx_fail(p->err, CFX_EINVAL, "the path %s is too long", path);
    }
    cfx_status st = cfx_module_add_submodule_take(p->gm, text, m, p->err);
    return st || !strcmp(n->target->text, text)
               ? st
               : cfx_node_set_target(n, text, p->err);
}

/* Make a module with `bias` and, if linear, the widths of the weight. */
static cfx_status layer_module(cfx_module **out, const layer *l,
                               const cfx_tensor *weight, bool bias,
                               cfx_pass_call *p)
{
    cfx_context *ctx = p->ctx;
    const char *name[] = {"bias", "in_features", "out_features"};
    cfx_value kwargs[6];
    size_t n = l->kind == LAYER_LINEAR ? 3 : 1;
    cfx_status st = CFX_OK;
    memset(kwargs, 0, sizeof(kwargs));
    for (size_t i = 0; i < n; i++) {
        kwargs[2 * i] = cfx_str_new(ctx, name[i], strlen(name[i]));
        kwargs[2 * i + 1] = i ? cfx_value_of_dim(weight->shape[2 - i])
                              : cfx_bool(bias);
        if (!kwargs[2 * i].kind)
            st = cfx_no_memory(p->err);
    }
    if (!st)
        st = cfx_pass__module_like(out, l->module, kwargs, n, p->err);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(kwargs[2 * i]);
    return st;
}

/* The module of a layer with another weight and bias, stored for this call. */
static cfx_status store_module(layer *l, cfx_pass_call *p, path_uses *u,
                               cfx_value weight, cfx_value bias)
{
    const char *path = l->n->target->text;
    bool once = cfx_path_uses__once(u, path);
    cfx_module *m;
    cfx_status st = layer_module(&m, l, weight.u.tensor,
                                 bias.kind == CFX_TENSOR, p);
    if (st)
        return st;
    st = cfx_module_set(m, "weight", weight.u.tensor, p->err);
    if (!st && bias.kind == CFX_TENSOR)
        st = cfx_module_set(m, "bias", bias.u.tensor, p->err);
    if (st) {
        cfx_module_unref(m);
        return st;
    }
    if (!once)
        cfx_map_get(&u->count, path, strlen(path))->v.u--;
    st = put_module_take(p, l->n, path, once, m);
    path = l->n->target->text;
    return st || once ? st : count_path(u, p, path, strlen(path));
}

bool cfx_layer__is_plain(const layer *l)
{
    const cfx_node *n = l->n;
    uint32_t known = 1;
    for (uint32_t i = 0; i < n->ninputs; i++)
        known += l->schema && cfx_node_input(n, i)->op == CFX_GET_ATTR;
    return n->ninputs <= known;
}

/* The get_attr of a new buffer of the module that is rewritten. */
static cfx_value attr_of(cfx_scope *s, cfx_pass_call *p, const char *prefix,
                         cfx_value t)
{
    char name[256];
    if (t.kind != CFX_TENSOR)
        return t;
    if (cfx_pass__store_tensor(p, prefix, t.u.tensor, name, sizeof(name)))
        return cfx_scope__fail_from(s, p->err);
    return cfx_tracer_create((cfx_tracer *)s, CFX_GET_ATTR, name,
                             (cfx_args){NULL, 0, NULL, 0});
}

cfx_value cfx_layer__call(cfx_scope *s, layer *l, cfx_pass_call *p,
                          cfx_value x, cfx_value weight, cfx_value bias)
{
    cfx_call_copy c;
    cfx_call_copy__init(s, &c, l->n);
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_call_copy__set(s, &c, 0, "input", x);
    if (l->module) {
        path_uses *u = cfx_facts__paths(p);
        if (!u || store_module(l, p, u, weight, bias))
            return cfx_scope__fail_from(s, p->err);
    } else {
        int w = cfx_param_find(l->schema, "weight", 6);
        int b = cfx_param_find(l->schema, "bias", 4);
        cfx_call_copy__set(s, &c, w, "weight",
                           attr_of(s, p, "_fused_weight", weight));
        cfx_call_copy__set(s, &c, b, "bias",
                           attr_of(s, p, "_fused_bias", bias));
    }
    cfx_value y = cfx_tracer_create(
        (cfx_tracer *)s, (cfx_opcode)l->n->op, l->n->target->text,
        (cfx_args){c.args, c.nargs, c.kwargs, c.nkwargs});
    return cfx_named(s, l->n->name, y);
}

/* ---- Erasing nodes ---- */

cfx_status cfx_pass__drop_attrs(cfx_pass_call *p, cfx_node *const *nodes,
                                size_t n)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++)
        if (nodes[i]->op == CFX_GET_ATTR && !nodes[i]->nusers &&
            !nodes[i]->erased)
            st = cfx_graph_erase_node(p->graph, nodes[i], p->err);
    return st;
}

cfx_status cfx_pass__replace(cfx_pass_call *p, cfx_node *n, cfx_node *with)
{
    cfx_node *attrs[CFX_MAX_PARAMS];
    size_t nattrs = 0;
    for (uint32_t i = 0; i < n->ninputs && nattrs < CFX_MAX_PARAMS; i++)
        if (cfx_node_input(n, i)->op == CFX_GET_ATTR)
            attrs[nattrs++] = cfx_node_input(n, i);
    cfx_status st = cfx_node_replace_all_uses_with(n, with, NULL, NULL,
                                                   p->err);
    if (!st)
        st = cfx_graph_erase_node(p->graph, n, p->err);
    p->changed++;
    return st ? st : cfx_pass__drop_attrs(p, attrs, nattrs);
}

/* Set `from_node` to the node's own name, unless it has one. */
static cfx_status name_origin(cfx_pass_call *p, cfx_node *n)
{
    if (cfx_node_meta(n, "from_node").kind)
        return CFX_OK;
    cfx_value name = cfx_str_new(p->ctx, n->name, strlen(n->name));
    cfx_value list = name.kind ? cfx_list_new(p->ctx, 1, &name) : CFX_NOTHING;
    cfx_status st = list.kind ? cfx_node_set_meta(n, "from_node", list, p->err)
                              : cfx_no_memory(p->err);
    cfx_value_unref(list);
    cfx_value_unref(name);
    return st;
}

cfx_status cfx_pass__fuse_into(cfx_pass_call *p, cfx_node *n, cfx_node *into)
{
    cfx_status st = name_origin(p, into);
    if (!st)
        st = cfx_node_inherit(into, n, p->err);
    return st ? st : cfx_pass__replace(p, n, into);
}
