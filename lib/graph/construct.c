/*
 * construct -- a GraphModule with just the modules and state that its graph
 * names.
 *
 * A module that was copied with its descendants is marked `all_used`. Others
 * are prefixes, which such a copy may replace later.
 */
#include <cfx/graph_module.h>

#include <stdlib.h>

#include "graph/graph_impl.h"
#include "nn/module_impl.h"

/* The module under construction and its source. */
typedef struct construction {
    cfx_module *to;
    const cfx_module *root; /* or NULL */
    cfx_map items;          /* path -> cfx_module_item */
    cfx_buf atom;
    cfx_error *err;
} construction;

/* ---- Destinations ---- */

/* Create the parents of a path; *path becomes its last atom. NULL inside a
 * module that was copied with its descendants. */
static cfx_status make_prefix(construction *c, const char **path,
                              cfx_module **out)
{
    cfx_module *at = c->to;
    size_t n;
    *out = NULL;
    for (; (*path)[n = strcspn(*path, ".")]; *path += n + 1) {
        cfx_buf_clear(&c->atom);
        cfx_buf_add(&c->atom, *path, n);
        if (c->atom.failed)
            return cfx_no_memory(c->err);
        cfx_module *child = cfx_module__child_named(at, *path, n);
        cfx_status st = CFX_OK;
        if (!child)
            st = cfx_module_new_container(&child, at->ctx, "Module", c->err);
        if (!st && !child->parent) {
            child->training = c->to->training;
            st = cfx_module_add_take(at, cfx_buf_str(&c->atom), child, c->err);
        }
        if (st)
            return st;
        at = child;
        if (at->all_used)
            return CFX_OK;
    }
    *out = at;
    return CFX_OK;
}

static cfx_status put_module(construction *c, cfx_module *at, const char *name,
                             const cfx_module *m)
{
    cfx_module *copy;
    const cfx_module *there = cfx_module_child(at, name);
    if (there && there->all_used)
        return CFX_OK;
    cfx_status st = cfx_module_copy(&copy, m, c->err);
    if (st)
        return st;
    for (cfx_module *n = copy; n; n = cfx_module_next(n, copy))
        n->all_used = true;
    return cfx_module_add_take(at, name, copy, c->err);
}

static cfx_status put_state(construction *c, cfx_module *at, const char *name,
                            cfx_tensor *t, bool is_buffer)
{
    const cfx_state s = {name, t, is_buffer, true};
    return cfx_module_state(at, name) ? CFX_OK
                                      : cfx_module__add_state(at, &s, c->err);
}

/* ---- Sources ---- */

static cfx_status missing(construction *c, const char *target)
{
    return cfx_fail(c->err, CFX_ENAME, "Node referenced nonexistent target %s",
                    target);
}

/* Copy the module or state that a target of the root names. */
static cfx_status copy_target(construction *c, const char *target)
{
    const cfx_module *from = c->root, *next;
    const char *rest = target, *name = target;
    cfx_module *at;
    cfx_status st = make_prefix(c, &name, &at);
    if (st || !at)
        return st;
    while (*rest &&
           (next = cfx_module__child_named(from, rest, strcspn(rest, ".")))) {
        from = next;
        rest += strcspn(rest, ".");
        rest += *rest == '.';
    }
    if (!*rest)
        return put_module(c, at, name, from);
    const cfx_state *s = cfx_module_state(from, rest);
    return s ? put_state(c, at, name, s->tensor, s->is_buffer)
             : missing(c, target);
}

static cfx_status copy_item(construction *c, const cfx_node *n)
{
    const char *target = n->target->text, *name = target;
    const cfx_map_entry *e = cfx_map_get(&c->items, target, strlen(target));
    cfx_module *at;
    if (!e)
        return cfx_fail(
            c->err, CFX_ENAME,
            "Node %s referenced target %s but that target was not provided in ``root``!",
            n->name, target);
    const cfx_module_item *item = e->v.p;
    if (cfx_value_is_absent(item->v))
        return CFX_OK;
    cfx_status st = make_prefix(c, &name, &at);
    if (st || !at)
        return st;
    if (item->v.kind == CFX_MODULE)
        return put_module(c, at, name, item->v.u.module);
    if (item->v.kind == CFX_TENSOR || item->v.kind == CFX_NONE)
        return put_state(c, at, name,
                         item->v.kind == CFX_NONE ? NULL : item->v.u.tensor,
                         !item->parameter);
    return cfx_fail(c->err, CFX_EINVAL, "%s is a %s, not a tensor or module",
                    target, cfx_kind_name((cfx_kind)item->v.kind));
}

/* ---- Both ---- */

/* A node that names a module or state, and the number of dots in its
 * target. */
typedef struct naming {
    const cfx_node *n;
    size_t dots, index;
} naming;

static size_t count_dots(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '.';
    return n;
}

static int compare_depth(const void *a, const void *b)
{
    const naming *x = a, *y = b;
    if (x->dots != y->dots)
        return x->dots < y->dots ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Items of a dict are copied parents first, as in torch.fx: a parent that came
 * later would replace its children. */
static cfx_status copy_named(construction *c, const cfx_graph *g)
{
    size_t len = 0;
    cfx_status st = CFX_OK;
    naming *all = cfx_calloc(g->ctx, g->len + 1, sizeof(*all));
    if (!all)
        return cfx_no_memory(c->err);
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (n->op == CFX_CALL_MODULE || n->op == CFX_GET_ATTR) {
            all[len] = (naming){n, count_dots(n->target->text), len};
            len++;
        }
    if (!c->root)
        qsort(all, len, sizeof(*all), compare_depth);
    for (size_t i = 0; i < len && !st; i++)
        st = c->root ? copy_target(c, all[i].n->target->text)
                     : copy_item(c, all[i].n);
    cfx_free(g->ctx, all, (g->len + 1) * sizeof(*all));
    return st;
}

static cfx_status construct(cfx_module **out, construction *c, cfx_graph *g,
                            cfx_error *err)
{
    c->err = err;
    cfx_buf_init(&c->atom, g->ctx);
    cfx_status st = copy_named(c, g);
    cfx_buf_release(&c->atom);
    if (st) {
        cfx_module_unref(c->to);
        cfx_graph_free(g);
        return st;
    }
    return cfx_graph_module_new_take_both(out, g->ctx, c->to, g, NULL, err);
}

static cfx_status begin(construction *c, cfx_context *ctx, cfx_graph *g,
                        const char *class_name, cfx_error *err)
{
    cfx_status st = cfx_module_new_container(&c->to, ctx, class_name, err);
    if (st)
        cfx_graph_free(g);
    return st;
}

cfx_status cfx_graph_module_from_root_take_graph(cfx_module **out,
                                                 const cfx_module *root,
                                                 cfx_graph *graph,
                                                 const char *class_name,
                                                 cfx_error *err)
{
    construction c = {.root = root};
    *out = NULL;
    cfx_status st = begin(&c, root->ctx, graph,
                          class_name ? class_name : root->class_name, err);
    if (st)
        return st;
    c.to->training = root->training;
    return construct(out, &c, graph, err);
}

cfx_status cfx_graph_module_from_dict_take_graph(
    cfx_module **out, cfx_context *ctx, const cfx_module_item *items, size_t n,
    cfx_graph *graph, const char *class_name, cfx_error *err)
{
    construction c = {.root = NULL};
    *out = NULL;
    cfx_status st = begin(&c, ctx, graph,
                          class_name ? class_name : "GraphModule", err);
    if (st)
        return st;
    cfx_map_init(&c.items, ctx);
    for (size_t i = 0; i < n && !st; i++) {
        cfx_map_entry *e = cfx_map_put(&c.items, items[i].path,
                                       strlen(items[i].path), NULL);
        if (e)
            e->v.p = (void *)&items[i];
        else
            st = cfx_no_memory(err);
    }
    if (!st) {
        st = construct(out, &c, graph, err);
    } else {
        cfx_module_unref(c.to);
        cfx_graph_free(graph);
    }
    cfx_map_release(&c.items);
    return st;
}
