/*
 * print_model -- the model file: the tree of modules and the graph.
 *
 * The superset begins with `# cfx 1`, has a block `state:` for state that the
 * tree does not declare, and ends with the graphs of child modules.
 * ../README.md is its specification.
 */
#include <cfx/file.h>

#include "format/print.h"
#include "nn/module_impl.h"

/* ---- Tensors in arguments ---- */

void cfx_numbering_init(cfx_numbering *n, cfx_context *ctx)
{
    cfx_arena_init(&n->keys, ctx);
    cfx_map_init(&n->map, ctx);
    n->count = 0;
}

void cfx_numbering_release(cfx_numbering *n)
{
    cfx_map_release(&n->map);
    cfx_arena_release(&n->keys);
}

cfx_status cfx_numbering_get(cfx_numbering *n, const cfx_tensor *t,
                             uint64_t *number, bool *added)
{
    *added = false;
    cfx_map_entry *e = cfx_map_get(&n->map, (const char *)&t, sizeof(t));
    if (!e) {
        char *key = cfx_arena_strdup(&n->keys, (const char *)&t, sizeof(t));
        e = key ? cfx_map_put(&n->map, key, sizeof(t), added) : NULL;
        if (!e)
            return CFX_ENOMEM;
        e->v.u = n->count++;
    }
    *number = e->v.u;
    return CFX_OK;
}

typedef struct visitor {
    cfx_numbering numbers;
    cfx_status (*fn)(void *user, const char *name, cfx_tensor *t);
    void *user;
} visitor;

static cfx_status visit_value(void *user, cfx_value v)
{
    visitor *vis = user;
    uint64_t number;
    bool added;
    char name[32];
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    cfx_status st = cfx_numbering_get(&vis->numbers, v.u.tensor, &number,
                                      &added);
    if (st || !added)
        return st;
    snprintf(name, sizeof(name), "%%tensor%llu", (unsigned long long)number);
    return vis->fn(vis->user, name, v.u.tensor);
}

static cfx_status visit_graph(visitor *vis, const cfx_graph *g)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        for (uint32_t i = 0; !st && i < n->nargs; i++)
            st = cfx_value_visit(n->args[i], visit_value, vis);
        for (uint32_t i = 0; !st && i < 2 * n->nkwargs; i++)
            st = cfx_value_visit(n->kwargs[i], visit_value, vis);
        if (st)
            return st;
    }
    return CFX_OK;
}

cfx_status cfx_model_visit_tensors(const cfx_module *gm,
                                   cfx_status (*fn)(void *user,
                                                    const char *name,
                                                    cfx_tensor *t),
                                   void *user, cfx_error *err)
{
    visitor vis = {.fn = fn, .user = user};
    cfx_status st = CFX_OK;
    cfx_numbering_init(&vis.numbers, cfx_module_context(gm));
    for (const cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm))
        if (cfx_graph_module_graph(m))
            st = visit_graph(&vis, cfx_graph_module_graph(m));
    cfx_numbering_release(&vis.numbers);
    return st == CFX_ENOMEM ? cfx_no_memory(err) : st;
}

static void print_tensor(void *user, cfx_out *o, const cfx_tensor *t)
{
    uint64_t number;
    bool added;
    if (cfx_numbering_get(user, t, &number, &added)) {
        cfx_out_fail(o, CFX_ENOMEM);
        return;
    }
    cfx_out_puts(o, "tensor('%tensor");
    cfx_out_int(o, (int64_t)number);
    cfx_out_puts(o, "', ");
    cfx_print__type(o, t, false);
    cfx_out_putc(o, ')');
}

/* ---- State ---- */

cfx_status cfx_model__remake(cfx_module **fresh, const cfx_module *m,
                             cfx_error *err)
{
    const cfx_schema *schema = m->schema;
    cfx_value pairs[2 * CFX_MAX_PARAMS];
    size_t n = 0;
    cfx_status st = CFX_OK;
    *fresh = NULL;
    if (!schema || (!m->nstate && !m->nchildren))
        return CFX_OK;
    for (int k = schema->npositional; !st && k < schema->nparams; k++) {
        const char *name = schema->params[k].name;
        pairs[2 * n] = cfx_str_new(m->ctx, name, strlen(name));
        if (pairs[2 * n].kind == CFX_ABSENT)
            st = cfx_no_memory(err);
        else
            pairs[2 * n++ + 1] = m->attrs.in[k];
    }
    if (!st)
        st = cfx_module_new(
            fresh, m->ctx, m->type, m->class_name,
            (cfx_args){m->attrs.in, (size_t)schema->npositional, pairs, n},
            err);
    while (n > 0)
        cfx_value_unref(pairs[2 * --n]);
    return st;
}

bool cfx_model__same_state(const cfx_state *a, const cfx_state *b)
{
    const cfx_tensor *x = a->tensor, *y = b->tensor;
    if (!x || !y)
        return x == y;
    if (x->dtype != y->dtype || x->rank != y->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (!cfx_dim_same(x->shape[i], y->shape[i]))
            return false;
    return a->is_buffer == b->is_buffer;
}

static cfx_status print_path(cfx_out *o, const cfx_module *m, const char *name)
{
    cfx_buf path;
    size_t n = cfx_module_path(m, NULL, 0);
    cfx_buf_init(&path, m->ctx);
    if (cfx_buf_reserve(&path, n + strlen(name) + 2)) {
        cfx_module_path(m, path.s, n + 1);
        path.len = n;
        cfx_buf_puts(&path, n ? "." : "");
        cfx_buf_puts(&path, name);
    }
    if (path.failed)
        cfx_out_fail(o, CFX_ENOMEM);
    else
        cfx_print__word(o, cfx_buf_str(&path), ":()", true);
    cfx_buf_release(&path);
    return o->status;
}

static void print_state(cfx_out *o, const cfx_module *m, const cfx_state *s)
{
    cfx_out_puts(o, "    ");
    print_path(o, m, s->name);
    cfx_out_puts(o, ": ");
    if (!s->tensor) {
        cfx_out_puts(o, "None");
    } else {
        bool is_float = cfx_dtype_is_float(s->tensor->dtype);
        cfx_print__type(o, s->tensor, false);
        if (is_float == s->is_buffer)
            cfx_out_puts(o, s->is_buffer ? " buffer" : " parameter");
    }
    cfx_out_putc(o, '\n');
}

static void print_states(cfx_out *o, const cfx_module *m, bool *any,
                         cfx_error *err)
{
    cfx_module *fresh;
    cfx_status st = cfx_model__remake(&fresh, m, err);
    cfx_out_fail(o, st);
    for (size_t i = 0; !st && i < m->nstate; i++) {
        const cfx_state *given = fresh ? cfx_module_state(fresh,
                                                          m->state[i].name)
                                       : NULL;
        if (given && cfx_model__same_state(given, &m->state[i]))
            continue;
        if (!*any)
            cfx_out_puts(o, "state:\n");
        *any = true;
        print_state(o, m, &m->state[i]);
    }
    cfx_module_unref(fresh);
}

/* ---- The whole ---- */

static void print_lossless(cfx_out *o, const cfx_module *gm, bool meta,
                           cfx_error *err)
{
    cfx_numbering numbers;
    bool any = false;
    cfx_out_puts(o, "# cfx 1\n");
    cfx_print__tree(o, gm, true, err);
    cfx_out_puts(o, "\n\n");
    for (const cfx_module *m = gm; m && !o->status; m = cfx_module_next(m, gm))
        print_states(o, m, &any, err);
    cfx_out_puts(o, any ? "\n" : "");
    cfx_numbering_init(&numbers, gm->ctx);
    cfx_values v = {.out = o,
                    .style = CFX_STYLE_LOSSLESS,
                    .user = &numbers,
                    .tensor = print_tensor,
                    .err = err};
    for (const cfx_module *m = gm; m && !o->status;
         m = cfx_module_next(m, gm)) {
        if (!m->graph)
            continue;
        cfx_out_puts(o, m == gm ? "graph" : "\ngraph ");
        if (m != gm)
            print_path(o, m->parent, m->name);
        cfx_out__graph(&v, m->graph, meta);
        cfx_out_putc(o, '\n');
    }
    cfx_numbering_release(&numbers);
}

static cfx_status no_graph(const cfx_module *gm, cfx_error *err)
{
    return cfx_fail(err, CFX_EINVAL, "%s has no graph",
                    cfx_module_class_name(gm));
}

cfx_status cfx_print_model(cfx_sink to, const cfx_module *gm, bool lossless,
                           cfx_error *err)
{
    cfx_out out;
    const cfx_graph *g = cfx_graph_module_graph(gm);
    if (!g)
        return no_graph(gm, err);
    cfx_out_init(&out, to);
    if (lossless) {
        print_lossless(&out, gm, false, err);
    } else {
        cfx_print__tree(&out, gm, false, err);
        cfx_out_puts(&out, "\n\ngraph");
        cfx_out__graph(&(cfx_values){.out = &out,
                                     .style = CFX_STYLE_ARGUMENT,
                                     .err = err},
                       g, false);
        cfx_out_putc(&out, '\n');
    }
    return cfx_out_finish(&out, err);
}

cfx_status cfx_print_annotated(cfx_sink to, const cfx_module *gm,
                               cfx_error *err)
{
    cfx_out out;
    if (!cfx_graph_module_graph(gm))
        return no_graph(gm, err);
    cfx_out_init(&out, to);
    print_lossless(&out, gm, true, err);
    return cfx_out_finish(&out, err);
}
