/*
 * symbolic -- trace a function or a module into a GraphModule: parameters
 * become placeholders, the result becomes the output, and attributes that the
 * graph names are copied from the root.
 */
#include <stdio.h>

#include <cfx/text.h>

#include "interp/trace/tracer_impl.h"
#include "nn/module_impl.h"
#include "tensor/storage.h"

cfx_value cfx_ph(void)
{
    return cfx_value_of_node(NULL);
}

static bool is_ph(cfx_value v)
{
    return v.kind == CFX_NODE && !v.u.node;
}

/* ---- Concrete arguments ---- */

struct leaves {
    cfx_tracer *t;
    const char *param;
    cfx_value init;
    int n;
};

/* Format str(v) for a message. */
static cfx_status append(void *user, const char *text, size_t len)
{
    cfx_buf_add(user, text, len);
    return ((cfx_buf *)user)->failed ? CFX_ENOMEM : CFX_OK;
}

static cfx_status check_leaf(cfx_tracer *t, const char *param, cfx_value proxy,
                             cfx_value is)
{
    cfx_scope *s = &t->base;
    cfx_buf text;
    cfx_sink sink = {append, &text};
    cfx_buf_init(&text, s->ctx);
    cfx_buf_printf(&text, "%s has been specialized to have value ", param);
    cfx_print_value(sink, is, CFX_STYLE_ARGUMENT, NULL);
    cfx_buf_puts(&text, " but got another value");
    cfx_value message = text.failed ? cfx_none()
                                    : cfx_str(s, cfx_buf_str(&text));
    if (text.failed)
        cfx_no_memory(&s->error);
    cfx_buf_release(&text);
    cfx_value args[] = {proxy, is};
    if (is.kind == CFX_NONE) {
        args[1] = message;
        cfx_tracer_create(t, CFX_CALL_FUNCTION,
                          "torch.fx._symbolic_trace._assert_is_none",
                          cfx_args_of(args, 2));
        return s->error.code;
    }
    cfx_value same = cfx_tracer_create(t, CFX_CALL_FUNCTION, "operator.eq",
                                       cfx_args_of(args, 2));
    cfx_value both[] = {same, message};
    cfx_tracer_create(t, CFX_CALL_FUNCTION, "torch._assert",
                      cfx_args_of(both, 2));
    return s->error.code;
}

/* Make a leaf of a concrete argument a parameter; known values are checked. */
static cfx_status concrete_leaf(void *user, cfx_value v, cfx_value *out)
{
    struct leaves *l = user;
    cfx_tracer *t = l->t;
    char name[256];
    snprintf(name, sizeof(name), "%s_%d", l->param, ++l->n);
    cfx_value proxy = cfx_tracer__placeholder(t, name, l->init, CFX_NOTHING);
    *out = is_ph(v) ? proxy : cfx_value_ref(v);
    bool checked = v.kind == CFX_NONE || v.kind == CFX_BOOL_VALUE ||
                   v.kind == CFX_INT || v.kind == CFX_FLOAT ||
                   v.kind == CFX_STR;
    if (!cfx_scope_failed(&t->base) && checked)
        check_leaf(t, l->param, proxy, v);
    if (cfx_scope_failed(&t->base)) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return t->base.error.code;
}

static const cfx_concrete_arg *concrete_of(const cfx_tracer *t,
                                           const char *name)
{
    const cfx_trace_options *o = &t->self->o;
    for (size_t i = 0; i < o->nconcrete; i++)
        if (!strcmp(o->concrete[i].name, name))
            return &o->concrete[i];
    return NULL;
}

/* ---- Parameters ---- */

static cfx_status without_numbers(void *user, cfx_value v, cfx_value *out)
{
    cfx_tracer *t = user;
    cfx_tensor *meta;
    const cfx_tensor *x = v.u.tensor;
    *out = cfx_value_ref(v);
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(x))
        return CFX_OK;
    cfx_value_unref(v);
    cfx_status st = cfx_tensor__meta_like(&meta, t->base.ctx, x,
                                          &t->base.error);
    *out = st ? CFX_NOTHING : cfx_value_of_tensor(meta);
    return st;
}

/* Return the value of parameter i as the traced code sees it. */
static cfx_value parameter(cfx_tracer *t, size_t i, const char *name,
                           cfx_value init)
{
    cfx_scope *s = &t->base;
    const cfx_trace_options *o = &t->self->o;
    const char *bare = name + strspn(name, "*");
    const cfx_concrete_arg *concrete = concrete_of(t, bare);
    cfx_value v = CFX_NOTHING;
    if (cfx_scope_failed(s))
        return cfx_none();
    if (concrete && !is_ph(concrete->value)) {
        struct leaves l = {.t = t, .param = bare, .init = init};
        cfx_status st = cfx_value_map(&v, s->ctx, concrete->value,
                                      concrete_leaf, &l, &s->error);
        return st ? cfx_none() : cfx_scope_take(s, v);
    }
    if (i < o->nmetas && o->metas[i].kind &&
        cfx_value_map(&v, s->ctx, o->metas[i], without_numbers, t, &s->error))
        return cfx_none();
    cfx_value proxy = cfx_tracer__placeholder(t, name, init, v);
    cfx_value_unref(v);
    return proxy;
}

static cfx_status bad_params(cfx_tracer *t, const char *params)
{
    return cfx_fail(&t->base.error, CFX_EINVAL,
                    "the parameters '%s' are malformed", params);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* True if it is a new name, with at most two stars before it. */
static bool is_new_param(const cfx_tracer *t, const char *name)
{
    const char *c = name + (*name == '*');
    c += *c == '*' && c > name;
    if (!is_letter(*c))
        return false;
    while (is_letter(*c) || (*c >= '0' && *c <= '9'))
        c++;
    return !*c && !cfx_graph_find_nodes(t->graph, CFX_PLACEHOLDER, name, NULL);
}

/* Read one parameter of "x y=None *args"; returns the rest of the text. */
static const char *read_param(cfx_tracer *t, const char *params, const char *p,
                              size_t i, cfx_value *out)
{
    cfx_scope *s = &t->base;
    char name[256];
    cfx_value init = CFX_NOTHING;
    size_t word = strcspn(p, " "), n = strcspn(p, " =");
    if (!n || n >= sizeof(name)) {
        bad_params(t, params);
        return NULL;
    }
    memcpy(name, p, n);
    name[n] = '\0';
    if (!is_new_param(t, name)) {
        bad_params(t, params);
        return NULL;
    }
    if (p[n] == '=' &&
        cfx_parse_value(&init, s->ctx, p + n + 1, word - n - 1, &s->error))
        return NULL;
    *out = parameter(t, i, name, init);
    cfx_value_unref(init);
    p += word;
    return cfx_scope_failed(s) ? NULL : p + strspn(p, " ");
}

static size_t count_words(const char *p)
{
    size_t n = 0;
    for (p += strspn(p, " "); *p; n++) {
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    return n;
}

static cfx_status trace_params(cfx_tracer *t, cfx_trace_fn *fn, void *user,
                               const char *params, cfx_value *result)
{
    cfx_scope *s = &t->base;
    size_t n = count_words(params);
    cfx_value *in = cfx_calloc(s->ctx, n + 1, sizeof(*in));
    const char *p = params + strspn(params, " ");
    if (!in)
        return cfx_no_memory(&s->error);
    for (size_t i = 0; i < n && p; i++)
        p = read_param(t, params, p, i, &in[i]);
    if (p)
        *result = fn(s, in, user);
    cfx_free(s->ctx, in, (n + 1) * sizeof(*in));
    return s->error.code;
}

/* ---- Attributes that the graph names ---- */

/* Find the tensor or module that a node names: a constant, or an attribute of
 * the root. Parameters without loaded weights are copied without them. */
static bool find_item(const cfx_tracer *t, const cfx_node *n,
                      cfx_module_item *out)
{
    const char *path = n->target->text;
    const char *dot = strrchr(path, '.');
    *out = (cfx_module_item){.path = path};
    cfx_tensor *constant = cfx_tracer__constant(t, path);
    if (constant) {
        out->v = cfx_value_of_tensor(constant);
        return true;
    }
    if (!t->root)
        return false;
    if (cfx_module_fetch_attr(&out->v, t->root, path, NULL)) {
        out->v = CFX_NOTHING;
        return n->op == CFX_GET_ATTR;
    }
    if (out->v.kind == CFX_MODULE)
        return true;
    const cfx_module *m = t->root;
    while (m && dot && path < dot) {
        size_t len = strcspn(path, ".");
        m = cfx_module__child_named(m, path, len);
        path += len + 1;
    }
    out->parameter = !cfx_module_state(m, path)->is_buffer;
    return true;
}

/* Copies have their own training flags; new containers get those of the root's
 * modules. */
static void copy_training(cfx_module *to, const cfx_module *root)
{
    char path[512];
    for (cfx_module *m = to; m; m = cfx_module_next(m, to)) {
        size_t n = cfx_module_path(m, path, sizeof(path));
        const cfx_module *from = n < sizeof(path) ? cfx_module_at(root, path)
                                                  : NULL;
        if (from)
            m->training = from->training;
    }
}

static size_t count_names(const cfx_graph *g)
{
    size_t n = 0;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        n += at->op == CFX_CALL_MODULE || at->op == CFX_GET_ATTR;
    return n;
}

cfx_status cfx_tracer__module_take(cfx_module **out, cfx_tracer *t,
                                   cfx_graph *graph, const char *class_name,
                                   cfx_error *err)
{
    cfx_context *ctx = t->base.ctx;
    size_t n = count_names(graph), k = 0;
    cfx_module_item *item = cfx_calloc(ctx, n + 1, sizeof(*item));
    *out = NULL;
    if (!item) {
        cfx_graph_free(graph);
        return cfx_no_memory(err);
    }
    for (const cfx_node *at = cfx_graph_first(graph); at;
         at = cfx_node_next(at))
        if (at->op == CFX_CALL_MODULE || at->op == CFX_GET_ATTR)
            k += find_item(t, at, &item[k]);
    cfx_status st = cfx_graph_module_from_dict_take_graph(
        out, ctx, item, k, graph, class_name, err);
    cfx_free(ctx, item, (n + 1) * sizeof(*item));
    if (!st && t->root)
        copy_training(*out, t->root);
    return st;
}


/* A trace: a graph, a tracer over it, and a `body` that records calls and
 * returns the output. */
struct job {
    cfx_module **out;
    cfx_module *root;
    const char *class_name;
    const cfx_trace_options *options;
    cfx_status (*body)(cfx_tracer *t, const struct job *job, cfx_value *out);
    cfx_trace_fn *fn;
    void *user;
    const char *params;
};

static cfx_status trace(const struct job *job, cfx_context *ctx,
                        cfx_error *err)
{
    cfx_graph *g = NULL;
    cfx_tracer t = {0};
    cfx_value result = cfx_none();
    *job->out = NULL;
    cfx_status st = cfx_graph_new(&g, ctx, err);
    if (!st)
        st = cfx_tracer__init_on(&t, g, job->root, job->options, true, err);
    if (st) {
        cfx_graph_free(g);
        return st;
    }
    st = job->body(&t, job, &result);
    if (!st)
        cfx_tracer_create(&t, CFX_OUTPUT, "output", CFX_ARGS(result));
    st = cfx_scope_status(&t.base, err);
    if (!st)
        st = cfx_tracer__module_take(job->out, &t, g, job->class_name, err);
    else
        cfx_graph_free(g);
    cfx_tracer_release(&t);
    return st;
}

static cfx_status function_body(cfx_tracer *t, const struct job *job,
                                cfx_value *out)
{
    return trace_params(t, job->fn, job->user, job->params, out);
}

cfx_status cfx_trace_function_with(cfx_module **gm, cfx_context *ctx,
                                   cfx_trace_fn *fn, void *user,
                                   const char *params,
                                   const cfx_trace_options *options,
                                   cfx_error *err)
{
    struct job job = {.out = gm,
                      .options = options,
                      .body = function_body,
                      .fn = fn,
                      .user = user,
                      .params = params,
                      .class_name = "GraphModule"};
    if (options && options->root) {
        job.root = options->root;
        job.class_name = cfx_module_class_name(options->root);
    }
    if (options && options->class_name)
        job.class_name = options->class_name;
    return trace(&job, ctx, err);
}

cfx_status cfx_trace_function(cfx_module **gm, cfx_context *ctx,
                              cfx_trace_fn *fn, void *user, const char *params,
                              cfx_error *err)
{
    return cfx_trace_function_with(gm, ctx, fn, user, params, NULL, err);
}

/* The parameters of a GraphModule are its placeholders. */
static cfx_status graph_body(cfx_tracer *t, const cfx_graph *g, cfx_value *in,
                             size_t *n)
{
    *n = 0;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        if (at->op == CFX_PLACEHOLDER) {
            in[*n] = parameter(t, *n, at->target->text,
                               at->nargs ? at->args[0] : CFX_NOTHING);
            if (in[*n].kind == CFX_NODE && at->type)
                cfx_node_set_type(in[*n].u.node, at->type->text,
                                  &t->base.error);
            ++*n;
        }
    return t->base.error.code;
}

static size_t count_placeholders(const cfx_graph *g)
{
    size_t n = 0;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        n += at->op == CFX_PLACEHOLDER;
    return n;
}

static cfx_status forward_body(cfx_tracer *t, const cfx_schema *schema,
                               cfx_value *in)
{
    for (int k = 0; k < schema->nparams; k++) {
        const cfx_param *p = &schema->params[k];
        in[k] = parameter(t, (size_t)k, p->name,
                          p->required ? CFX_NOTHING : p->init);
    }
    return t->base.error.code;
}

static cfx_status module_body(cfx_tracer *t, const struct job *job,
                              cfx_value *out)
{
    cfx_scope *s = &t->base;
    cfx_module *m = job->root;
    if (!m->graph && !m->forward)
        return cfx_fail(&s->error, CFX_EUNSUPPORTED, "a %s cannot be called",
                        m->class_name);
    size_t n = m->graph ? count_placeholders(m->graph)
                        : (size_t)m->forward->nparams;
    cfx_value *in = cfx_calloc(s->ctx, n + 1, sizeof(*in));
    if (!in)
        return cfx_no_memory(&s->error);
    cfx_status st = m->graph ? graph_body(t, m->graph, in, &n)
                             : forward_body(t, m->forward, in);
    cfx_unbound_call c = {.args = in, .nargs = n};
    if (!st)
        st = m->graph ? cfx_module_forward(s, m, in, out)
                      : cfx_module__forward_unbound(s, m, &c, out);
    if (!st)
        *out = cfx_scope_take(s, *out);
    cfx_free(s->ctx, in, (n + 1) * sizeof(*in));
    return st;
}

cfx_status cfx_symbolic_trace(cfx_module **gm, cfx_module *root,
                              const cfx_trace_options *options, cfx_error *err)
{
    struct job job = {.out = gm,
                      .root = root,
                      .options = options,
                      .body = module_body,
                      .class_name = cfx_module_class_name(root)};
    if (options && options->class_name)
        job.class_name = options->class_name;
    return trace(&job, cfx_module_context(root), err);
}
