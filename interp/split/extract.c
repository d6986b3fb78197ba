/*
 * extract -- copy nodes into the graphs of new submodules, with the modules
 * that they name.
 */
#include "interp/split/extract.h"

#include "nn/module_impl.h"

int cfx_extract__by_order(const void *a, const void *b)
{
    const cfx_node *x = *(cfx_node *const *)a, *y = *(cfx_node *const *)b;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- Scratch ---- */

void *cfx_extract__scratch(cfx_arena *a, size_t n, size_t size, cfx_error *err)
{
    size_t bytes;
    void *p = cfx_mul_size(&bytes, n + 1, size) ? cfx_arena_alloc(a, bytes)
                                                : NULL;
    if (p)
        memset(p, 0, bytes);
    else
        cfx_no_memory(err);
    return p;
}

void cfx_extract__bucket(uint32_t n, const uint32_t *key, uint32_t nkeys,
                         uint32_t *start, uint32_t *item)
{
    memset(start, 0, (nkeys + (size_t)2) * sizeof(*start));
    for (uint32_t i = 0; i < n; i++)
        if (key[i] < nkeys)
            start[key[i] + 2]++;
    for (uint32_t k = 2; k < nkeys + 2; k++)
        start[k] += start[k - 1];
    for (uint32_t i = 0; i < n; i++)
        if (key[i] < nkeys)
            item[start[key[i] + 1]++] = i;
}

/* ---- Nodes ---- */

static cfx_value in_env(void *user, cfx_node *n)
{
    cfx_node *const *env = user;
    return env[n->id] ? cfx_value_of_node(env[n->id]) : CFX_NOTHING;
}

cfx_status cfx_extract__node(cfx_extraction *c, const cfx_node *n,
                             const cfx_extract_options *how)
{
    cfx_node_spec spec = {
        .op = how->placeholder ? CFX_PLACEHOLDER : (cfx_opcode)n->op,
        .target = how->target ? how->target : n->target->text,
        .name = how->name,
        .type = n->type && !how->plain ? n->type->text : NULL,
        .map = in_env,
        .user = c->env,
    };
    if (!how->plain)
        spec.meta = n->meta;
    if (!how->placeholder) {
        spec.args = n->args;
        spec.kwargs = n->kwargs;
        spec.nargs = n->nargs;
        spec.nkwargs = n->nkwargs;
    }
    cfx_node *copy = cfx_graph__make(c->to, &spec, c->err);
    if (!copy)
        return c->err->code;
    c->env[n->id] = copy;
    return CFX_OK;
}

/* Return the values that env has for n nodes, allocated from the context. */
static cfx_value *values_of(const cfx_extraction *c, cfx_node *const *of,
                            size_t n)
{
    cfx_value *v = cfx_calloc(cfx_graph_context(c->to), n + 1, sizeof(*v));
    for (size_t i = 0; v && i < n; i++)
        v[i] = cfx_value_of_node(c->env[of[i]->id]);
    if (!v)
        cfx_no_memory(c->err);
    return v;
}

cfx_status cfx_extract__output(cfx_extraction *c, cfx_node *const *of,
                               size_t n, bool tuple)
{
    cfx_context *ctx = cfx_graph_context(c->to);
    if (n == 1 && !tuple)
        return cfx_graph_output(c->to, cfx_value_of_node(c->env[of[0]->id]),
                                c->err)
                   ? CFX_OK
                   : c->err->code;
    cfx_value *items = values_of(c, of, n);
    cfx_value v = items ? cfx_tuple_new(ctx, n, items) : CFX_NOTHING;
    cfx_free(ctx, items, (n + 1) * sizeof(*items));
    if (v.kind != CFX_TUPLE)
        return cfx_no_memory(c->err);
    cfx_node *made = cfx_graph_output(c->to, v, c->err);
    cfx_value_unref(v);
    return made ? CFX_OK : c->err->code;
}

cfx_node *cfx_extract__call(cfx_extraction *c, const char *path,
                            cfx_node *const *inputs, size_t n)
{
    cfx_context *ctx = cfx_graph_context(c->to);
    cfx_value *args = values_of(c, inputs, n);
    cfx_node *made = NULL;
    if (args)
        made = cfx_graph_call_module(c->to, path, cfx_args_of(args, n),
                                     c->err);
    cfx_free(ctx, args, (n + 1) * sizeof(*args));
    return made;
}

cfx_status cfx_extract__results(cfx_extraction *c, cfx_node *call,
                                cfx_node *const *of, size_t n, bool tuple)
{
    if (n == 1 && !tuple) {
        c->env[of[0]->id] = call;
        return cfx_node_inherit(call, of[0], c->err);
    }
    for (size_t i = 0; i < n; i++) {
        cfx_value args[] = {cfx_value_of_node(call), cfx_int((int64_t)i)};
        cfx_node *item = cfx_graph_call_function(c->to, "operator.getitem",
                                                 cfx_args_of(args, 2), c->err);
        if (!item || cfx_node_inherit(item, of[i], c->err))
            return c->err->code;
        c->env[of[i]->id] = item;
    }
    return CFX_OK;
}

/* ---- Modules ---- */

size_t cfx_path__dots(const char *path)
{
    size_t n = 0;
    for (; (path = strchr(path, '.')) != NULL; path++)
        n++;
    return n;
}

/* Find the module that holds the last atom of `path` and store it in *parent.
 * Missing modules on the way are created as empty containers. */
static cfx_status make_parents(cfx_module **parent, const char **last,
                               cfx_module *to, const char *path,
                               cfx_error *err)
{
    char atom[256];
    *parent = to;
    for (;; path += strlen(atom) + 1) {
        size_t n = strcspn(path, ".");
        if (!path[n]) {
            *last = path;
            return CFX_OK;
        }
        if (n >= sizeof(atom))
            return cfx_fail(err, CFX_ENAME, "Node target %s not found!", path);
        memcpy(atom, path, n);
        atom[n] = '\0';
        cfx_module *child = cfx_module_child(*parent, atom);
        if (!child) {
            cfx_status st = cfx_module_new_container(&child, to->ctx, "Module",
                                                     err);
            if (!st) {
                cfx_module_train(child, to->training);
                st = cfx_module_add_take(*parent, atom, child, err);
            }
            if (st)
                return st;
        }
        *parent = child;
    }
}

/* True if m is a container created on the way to a submodule of `from`. */
static bool is_standin(const cfx_module *m, const cfx_module *from)
{
    return m->type == &cfx_module__Module && !m->graph &&
           (from->graph || from->type != m->type ||
            from->nchildren > m->nchildren || from->nstate > m->nstate);
}

static cfx_status lift_module(cfx_module *parent, const char *name,
                              const cfx_module *from, cfx_error *err)
{
    const cfx_module *old = cfx_module_child(parent, name);
    cfx_module *copy;
    if (old && !is_standin(old, from))
        return CFX_OK;
    cfx_status st = cfx_module_copy(&copy, from, err);
    return st ? st : cfx_module_add_take(parent, name, copy, err);
}

static cfx_status lift_state(cfx_module *parent, const char *name,
                             const cfx_state *from, cfx_error *err)
{
    const cfx_state s = {name, from->tensor, from->is_buffer,
                         from->persistent};
    return cfx_module_state(parent, name)
               ? CFX_OK
               : cfx_module__add_state(parent, &s, err);
}

cfx_status cfx_lift__one(cfx_module *to, const char *as,
                         const cfx_module *from, const char *path,
                         cfx_error *err)
{
    const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
    const cfx_module *at = from;
    cfx_module *parent;
    char name[512];
    size_t n = dot ? (size_t)(dot - path) : 0;
    if (n >= sizeof(name))
        return cfx_fail(err, CFX_ENAME, "Node target %s not found!", path);
    memcpy(name, path, n);
    name[n] = '\0';
    if (n)
        at = cfx_module_at(from, name);
    const cfx_state *state = at ? cfx_module_state(at, last) : NULL;
    const cfx_module *child = at ? cfx_module_child(at, last) : NULL;
    if (!state && !child)
        return cfx_fail(err, CFX_ENAME, "Node target %s not found!", path);
    cfx_status st = make_parents(&parent, &last, to, as, err);
    if (st)
        return st;
    return state ? lift_state(parent, last, state, err)
                 : lift_module(parent, last, child, err);
}

cfx_status cfx_lift__all(cfx_module *to, const cfx_graph *g,
                         const cfx_module *from, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        const char *path = n->target->text;
        if (n->op == CFX_GET_ATTR || n->op == CFX_CALL_MODULE)
            st = cfx_lift__one(to, path, from, path, err);
    }
    return st;
}

cfx_status cfx_extract__module_take(cfx_module **out, const cfx_module *like,
                                    cfx_graph *g, const char *class_name,
                                    cfx_error *err)
{
    cfx_status st = cfx_graph_module_new_take_both(out, like->ctx, NULL, g,
                                                   class_name, err);
    if (!st)
        cfx_module_train(*out, like->training);
    return st;
}
