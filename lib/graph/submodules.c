/*
 * submodules -- copy, extend and prune a tree of modules.
 */
#include <cfx/graph_module.h>

#include "graph/graph_impl.h"
#include "nn/module_impl.h"

/* ---- Copies ---- */

static cfx_status copy_state(cfx_module *to, const cfx_module *m,
                             cfx_error *err)
{
    for (size_t i = 0; i < m->nstate; i++) {
        const cfx_state *s = &m->state[i];
        cfx_status st = cfx_module__add_state(to, s, err);
        if (st)
            return st;
    }
    return CFX_OK;
}

/* Copy a module without its children. */
static cfx_status copy_one(cfx_module **out, const cfx_module *m,
                           cfx_error *err)
{
    cfx_module *to;
    *out = NULL;
    cfx_status st = cfx_module__clone(&to, m, err);
    if (st)
        return st;
    st = copy_state(to, m, err);
    if (!st && m->graph) {
        st = cfx_graph_copy(&to->graph, m->graph, err);
        to->free_graph = m->free_graph;
        if (!st)
            cfx_graph_set_owning_module(to->graph, to);
    }
    if (st)
        cfx_module_unref(to);
    else
        *out = to;
    return st;
}

/* Parents are copied before children, which are added to the copy. */
cfx_status cfx_module_copy(cfx_module **out, const cfx_module *m,
                           cfx_error *err)
{
    cfx_module *root, *at;
    *out = NULL;
    cfx_status st = copy_one(&root, m, err);
    if (st)
        return st;
    at = root;
    const cfx_module *of = m;
    for (const cfx_module *n = m; (n = cfx_module_next(n, m));) {
        cfx_module *child;
        for (; of != n->parent; of = of->parent)
            at = at->parent;
        st = copy_one(&child, n, err);
        if (!st)
            st = cfx_module_add_take(at, n->name, child, err);
        if (st) {
            cfx_module_unref(root);
            return st;
        }
        at = child;
        of = n;
    }
    *out = root;
    return CFX_OK;
}

/* ---- Adding ---- */

/* The child of that name, created if it is missing. */
static cfx_status enter(cfx_module **at, const char *name, cfx_error *err)
{
    cfx_module *m = *at, *child = cfx_module_child(m, name);
    cfx_status st = CFX_OK;
    if (!child && cfx_module_state(m, name))
        return cfx_fail(err, CFX_ENAME, "%s of %s is not a module", name,
                        m->class_name);
    if (!child)
        st = cfx_module_new_container(&child, m->ctx, "Module", err);
    if (!st && !child->parent)
        st = cfx_module_add_take(m, name, child, err);
    if (!st)
        *at = child;
    return st;
}

static cfx_status add_at(cfx_module *m, const char *path, cfx_buf *atom,
                         cfx_module **child, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t n; path[n = strcspn(path, ".")] && !st; path += n + 1) {
        cfx_buf_clear(atom);
        cfx_buf_add(atom, path, n);
        st = atom->failed ? cfx_no_memory(err)
                          : enter(&m, n ? atom->s : "", err);
    }
    if (!st && cfx_module_state(m, path))
        st = cfx_fail(err, CFX_ENAME, "attribute '%s' already exists", path);
    if (st)
        return st;
    cfx_module *taken = *child;
    *child = NULL;
    return cfx_module_add_take(m, path, taken, err);
}

cfx_status cfx_module_add_submodule_take(cfx_module *m, const char *path,
                                         cfx_module *child, cfx_error *err)
{
    cfx_buf atom;
    cfx_buf_init(&atom, m->ctx);
    cfx_status st = add_at(m, path, &atom, &child, err);
    cfx_buf_release(&atom);
    cfx_module_unref(child);
    return st;
}

/* ---- Removing ---- */

bool cfx_module_delete_submodule(cfx_module *m, const char *path)
{
    cfx_module *at = cfx_module_at(m, path);
    if (!at || at == m)
        return false;
    cfx_module__remove(at);
    return true;
}

/* Mark a module and its ancestors, up to the root of the sweep, as used. */
static void use(cfx_module *m, const cfx_module *root)
{
    for (; m != root && !m->used; m = m->parent)
        m->used = true;
}

/* Mark a module and its descendants as used. */
static void use_all(cfx_module *m, const cfx_module *root)
{
    use(m, root);
    if (m->all_used)
        return;
    for (cfx_module *at = m; at; at = cfx_module_next(at, m))
        at->used = at->all_used = true;
}

/* Mark the modules on a path as used. */
static void use_target(cfx_module *gm, const char *path)
{
    cfx_module *at = gm, *next;
    while (*path &&
           (next = cfx_module__child_named(at, path, strcspn(path, ".")))) {
        at = next;
        path += strcspn(path, ".");
        path += *path == '.';
    }
    if (*path)
        use(at, gm);
    else
        use_all(at, gm);
}

/* Remove the unused children of m; returns their number, with descendants. */
static size_t remove_unused(cfx_module *m)
{
    size_t removed = 0;
    for (size_t i = 0; i < m->nchildren; i++) {
        cfx_module *child = m->child[i];
        if (child->used)
            continue;
        for (cfx_module *at = child; at; at = cfx_module_next(at, child))
            removed++;
    }
    if (removed)
        cfx_module__remove_unused(m);
    return removed;
}

/* Mark the modules that the graph uses. */
static void mark(cfx_module *gm)
{
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        m->used = m->all_used = false;
    for (cfx_node *n = cfx_graph_first(gm->graph); n; n = cfx_node_next(n))
        if (n->op == CFX_CALL_MODULE || n->op == CFX_GET_ATTR)
            use_target(gm, n->target->text);
}

size_t cfx_graph_module_delete_all_unused_submodules(cfx_module *gm)
{
    size_t removed = 0;
    if (!gm->graph)
        return 0;
    mark(gm);
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        removed += remove_unused(m);
    return removed;
}

/* The paths of get_attr nodes, and that of a module with a dot after it. */
typedef struct named {
    cfx_map paths;
    cfx_buf path;
    size_t prefix;
} named;

static cfx_status find_paths(named *d, cfx_module *gm, cfx_error *err)
{
    for (cfx_node *n = cfx_graph_first(gm->graph); n; n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR &&
            !cfx_map_put(&d->paths, n->target->text, n->target->len, NULL))
            return cfx_no_memory(err);
    return CFX_OK;
}

/* What cannot be looked up for lack of memory is kept. */
static bool is_named(void *user, const cfx_state *s)
{
    named *d = user;
    d->path.len = d->prefix;
    cfx_buf_puts(&d->path, s->name);
    return d->path.failed ||
           cfx_map_get(&d->paths, d->path.s, d->path.len) != NULL;
}

static size_t filter(named *d, const cfx_module *gm, cfx_module *m)
{
    char path[512];
    size_t n = m == gm ? 0 : cfx_module_path(m, path, sizeof(path));
    if (n >= sizeof(path) || m->all_used || m->type != &cfx_module__Module ||
        (m->graph && m != gm))
        return 0;
    d->path.len = 0;
    if (n) {
        cfx_buf_add(&d->path, path, n);
        cfx_buf_puts(&d->path, ".");
    }
    d->prefix = d->path.len;
    return d->path.failed ? 0 : cfx_module__filter_state(m, is_named, d);
}

cfx_status cfx_graph_module_delete_all_unused_state(cfx_module *gm,
                                                    size_t *removed,
                                                    cfx_error *err)
{
    named d;
    size_t n = 0;
    if (removed)
        *removed = 0;
    if (!gm->graph)
        return CFX_OK;
    mark(gm);
    cfx_map_init(&d.paths, gm->ctx);
    cfx_buf_init(&d.path, gm->ctx);
    cfx_status st = find_paths(&d, gm, err);
    for (cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm))
        n += filter(&d, gm, m);
    cfx_map_release(&d.paths);
    cfx_buf_release(&d.path);
    if (removed)
        *removed = n;
    return st;
}
