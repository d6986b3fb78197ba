/*
 * graph -- create graphs and nodes, and walk over them.
 */
#include "graph/graph_impl.h"

#include <stdalign.h>

#include <cfx/graph_module.h>

#include "base/unicode.h"

/* ---- Nodes lie in blocks, each twice as long as the last ---- */

enum {
    FIRST_BLOCK = 2048, /* bytes */
    LONGEST_BLOCK = 1024 * 1024
};

struct cfx_node_block {
    cfx_node_block *next; /* the previous block */
    size_t size;          /* in bytes */
    uint32_t used, cap;   /* in nodes */
    alignas(64) cfx_node node[];
};

static cfx_node_block *add_block(cfx_graph *g)
{
    size_t size = FIRST_BLOCK;
    if (g->blocks)
        size = g->blocks->size < LONGEST_BLOCK ? 2 * g->blocks->size
                                               : LONGEST_BLOCK;
    cfx_node_block *block = cfx_block_alloc(g->ctx, size);
    if (!block)
        return NULL;
    block->next = g->blocks;
    block->size = size;
    block->used = 0;
    block->cap = (uint32_t)((size - sizeof(*block)) / sizeof(cfx_node));
    g->blocks = block;
    return block;
}

/* Memory for the next node; returned again until it is used. */
static cfx_node *next_node(cfx_graph *g)
{
    cfx_node_block *block = g->blocks;
    if (!block || block->used == block->cap)
        block = add_block(g);
    return block ? &block->node[block->used] : NULL;
}

static void take_node(cfx_graph *g)
{
    g->blocks->used++;
    g->ids++;
    g->len++;
}

/* ---- Graph ---- */

cfx_status cfx_graph_new(cfx_graph **out, cfx_context *ctx, cfx_error *err)
{
    cfx_graph *g = cfx_calloc(ctx, 1, sizeof(*g));
    if (!g)
        return cfx_no_memory(err);
    g->ctx = ctx;
    cfx_names_init(&g->names, ctx);
    cfx_store_init(&g->store, ctx);
    *out = g;
    return CFX_OK;
}

/* Only counted objects must be released one by one. */
static void drop_counted(cfx_graph *g)
{
    for (cfx_node_block *b = g->blocks; b; b = b->next)
        for (uint32_t i = 0; i < b->used && g->store.counted; i++) {
            cfx_node *n = &b->node[i];
            cfx_store_drop_array(&g->store, n->args, n->nargs);
            cfx_store_drop_array(&g->store, n->kwargs, 2 * (size_t)n->nkwargs);
            cfx_store_drop(&g->store, n->meta);
        }
}

void cfx_graph_free(cfx_graph *g)
{
    if (!g)
        return;
    drop_counted(g);
    while (g->blocks) {
        cfx_node_block *block = g->blocks;
        g->blocks = block->next;
        cfx_block_free(g->ctx, block, block->size);
    }
    cfx_graph__free_hooks(g);
    cfx_free(g->ctx, g->seen, g->seen_cap * sizeof(*g->seen));
    cfx_store_release(&g->store);
    cfx_names_release(&g->names);
    cfx_free(g->ctx, g, sizeof(*g));
}

cfx_context *cfx_graph_context(const cfx_graph *g)
{
    return g->ctx;
}

struct cfx_module *cfx_graph_owning_module(const cfx_graph *g)
{
    return g->owner;
}

/* The old owner got all updates so far; the new one must recompute. */
void cfx_graph_set_owning_module(cfx_graph *g, struct cfx_module *m)
{
    g->owner = m;
    cfx_graph__forget_effects(g);
}

size_t cfx_graph_len(const cfx_graph *g)
{
    return g->len;
}

uint32_t cfx_graph_ids(const cfx_graph *g)
{
    return g->ids;
}

/* ---- Walking ---- */

cfx_node *cfx_graph_first(const cfx_graph *g)
{
    return g->first;
}

cfx_node *cfx_graph_last(const cfx_graph *g)
{
    return g->last;
}

cfx_node *cfx_graph_output_node(const cfx_graph *g)
{
    cfx_node *last = cfx_graph_last(g);
    return last && last->op == CFX_OUTPUT ? last : NULL;
}

cfx_node *cfx_graph_find(const cfx_graph *g, const char *name)
{
    const char *found = cfx_names_find(&g->names, name);
    return found ? *cfx_names_user(found) : NULL;
}

/* ---- The insert point ---- */

static cfx_insert_point set_point(cfx_graph *g, cfx_node *n, bool after)
{
    assert(!n || n->graph == g);
    cfx_insert_point old = g->point;
    g->point = (cfx_insert_point){.node = n, .after = after};
    return old;
}

cfx_insert_point cfx_graph_inserting_before(cfx_graph *g, cfx_node *n)
{
    return set_point(g, n, !n);
}

cfx_insert_point cfx_graph_inserting_after(cfx_graph *g, cfx_node *n)
{
    return set_point(g, n, n != NULL);
}

void cfx_graph_restore(cfx_graph *g, cfx_insert_point at)
{
    set_point(g, at.node, at.after);
}

/* The insert point before (after) an erased node is before its successor
 * (after its predecessor). */
static void link_at_point(cfx_graph *g, cfx_node *n)
{
    cfx_insert_point *at = &g->point;
    if (at->node && at->node->erased)
        at->node = at->after ? cfx_node_prev(at->node)
                             : cfx_node_next(at->node);
    cfx_graph__link(n, at->node, at->after);
}

/* ---- Making nodes ---- */

static cfx_status check_spec(const cfx_graph *g, const cfx_node_spec *spec,
                             cfx_error *err)
{
    if ((unsigned)spec->op >= CFX_NOPCODES)
        return cfx_fail(err, CFX_EINVAL, "%d is not an opcode", (int)spec->op);
    if (!spec->target || !*spec->target)
        return cfx_fail(err, CFX_EINVAL, "a %s needs a target",
                        cfx_opcode_names[spec->op]);
    if (g->ids == UINT32_MAX)
        return cfx_fail(err, CFX_EINVAL, "a graph has at most %u nodes",
                        UINT32_MAX);
    cfx_status st = cfx_check_name(spec->target, err);
    if (!st && spec->type)
        st = cfx_check_name(spec->type, err);
    return st;
}

static const char *make_name(cfx_graph *g, const cfx_node *n,
                             const cfx_node_spec *spec)
{
    const cfx_string *target = n->target;
    if (spec->from_other_graph)
        return cfx_names_again(&g->names, spec->name);
    return spec->name ? cfx_names_create(&g->names, spec->name,
                                         strlen(spec->name), false)
                      : cfx_names_of_target(&g->names, spec->op, target->text,
                                            target->len);
}

/* Copy the contents of a node. */
static cfx_status fill(cfx_node *n, const cfx_node_spec *spec, cfx_error *err)
{
    cfx_store *store = &n->graph->store;
    cfx_args_copy to = {
        .g = n->graph,
        .of = spec->name ? spec->name : spec->target,
        .map = spec->map,
        .user = spec->user,
        .map_is_pure = spec->map_is_pure,
    };
    n->op = (uint8_t)spec->op;
    cfx_status st = cfx_store_string(store, &n->target, spec->target,
                                     strlen(spec->target), err);
    if (!st && spec->type)
        st = cfx_store_string(store, &n->type, spec->type, strlen(spec->type),
                              err);
    if (!st)
        st = cfx_graph__copy_args(&to, &n->args, spec->args, spec->nargs, err);
    if (st)
        return st;
    n->nargs = (uint32_t)spec->nargs;
    st = cfx_graph__copy_kwargs(&to, &n->kwargs, spec->kwargs, spec->nkwargs,
                                err);
    if (st)
        return st;
    n->nkwargs = (uint16_t)spec->nkwargs;
    return cfx_value_is_absent(spec->meta)
               ? CFX_OK
               : cfx_graph__copy_meta(&to, &n->meta, spec->meta, err);
}

/* Undo `fill`. */
static void discard(cfx_node *n)
{
    cfx_store *store = &n->graph->store;
    cfx_node__drop_args(n);
    cfx_store_drop(store, n->meta);
    cfx_store_drop_string(store, n->type);
    cfx_store_drop_string(store, n->target);
}

/* Add a filled node to the graph. False when out of memory. */
static bool enter(cfx_graph *g, cfx_node *n, const cfx_node_spec *spec)
{
    cfx_use *inputs;
    if (cfx_graph__find_inputs(n, true, &inputs, NULL))
        return false;
    n->name = make_name(g, n, spec);
    if (!n->name) {
        cfx_graph__free_uses(g, inputs);
        return false;
    }
    *cfx_names_user(n->name) = n;
    n->id = g->ids;
    take_node(g);
    cfx_graph__take_inputs(n, inputs);
    link_at_point(g, n);
    cfx_graph__tell(CFX_CREATED, n);
    return true;
}

/* Create a node at its final address. */
static cfx_node *make_in_place(cfx_graph *g, const cfx_node_spec *spec,
                               cfx_error *err)
{
    cfx_node *n = next_node(g);
    if (!n) {
        cfx_no_memory(err);
        return NULL;
    }
    *n = (cfx_node){.graph = g};
    if (!fill(n, spec, err)) {
        if (enter(g, n, spec))
            return n;
        cfx_no_memory(err);
    }
    discard(n);
    return NULL;
}

/* Create a node if spec->map may edit the graph meanwhile. */
static cfx_node *make_outside(cfx_graph *g, const cfx_node_spec *spec,
                              cfx_error *err)
{
    cfx_node filled = {.graph = g};
    if (!fill(&filled, spec, err)) {
        cfx_node *n = next_node(g);
        if (n) {
            *n = filled;
            if (enter(g, n, spec))
                return n;
        }
        cfx_no_memory(err);
    }
    discard(&filled);
    return NULL;
}

cfx_node *cfx_graph__make(cfx_graph *g, const cfx_node_spec *spec,
                          cfx_error *err)
{
    if (check_spec(g, spec, err))
        return NULL;
    return spec->map && !spec->map_is_pure ? make_outside(g, spec, err)
                                           : make_in_place(g, spec, err);
}

cfx_node *cfx_graph_create_node(cfx_graph *g, cfx_opcode op,
                                const char *target, cfx_args a,
                                const char *name, const char *type,
                                cfx_error *err)
{
    const cfx_node_spec spec = {
        .op = op,
        .target = target,
        .args = a.args,
        .kwargs = a.kwargs,
        .nargs = a.nargs,
        .nkwargs = a.nkwargs,
        .name = name,
        .type = type,
    };
    return cfx_graph__make(g, &spec, err);
}

cfx_node *cfx_graph_placeholder(cfx_graph *g, const char *name, cfx_error *err)
{
    return cfx_graph_create_node(g, CFX_PLACEHOLDER, name, CFX_NO_ARGS, NULL,
                                 NULL, err);
}

/* As in torch.fx, which only warns: the attribute may be added later. */
static void warn_if_missing(const cfx_graph *g, cfx_opcode op,
                            const char *path)
{
    cfx_value v;
    if (!g->owner || !path ||
        (!cfx_module_fetch_attr(&v, g->owner, path, NULL) &&
         (op == CFX_GET_ATTR || v.kind == CFX_MODULE)))
        return;
    cfx_message(
        g->ctx, CFX_WARNING,
        "Attempted to insert a %s Node with no underlying reference in the owning GraphModule! '%s' has to be added to it",
        cfx_opcode_names[op], path);
}

cfx_node *cfx_graph_get_attr(cfx_graph *g, const char *path, cfx_error *err)
{
    warn_if_missing(g, CFX_GET_ATTR, path);
    return cfx_graph_create_node(g, CFX_GET_ATTR, path, CFX_NO_ARGS, NULL,
                                 NULL, err);
}

cfx_node *cfx_graph_call_function(cfx_graph *g, const char *target, cfx_args a,
                                  cfx_error *err)
{
    return cfx_graph_create_node(g, CFX_CALL_FUNCTION, target, a, NULL, NULL,
                                 err);
}

cfx_node *cfx_graph_call_method(cfx_graph *g, const char *method, cfx_args a,
                                cfx_error *err)
{
    return cfx_graph_create_node(g, CFX_CALL_METHOD, method, a, NULL, NULL,
                                 err);
}

cfx_node *cfx_graph_call_module(cfx_graph *g, const char *path, cfx_args a,
                                cfx_error *err)
{
    warn_if_missing(g, CFX_CALL_MODULE, path);
    return cfx_graph_create_node(g, CFX_CALL_MODULE, path, a, NULL, NULL, err);
}

cfx_node *cfx_graph_output(cfx_graph *g, cfx_value result, cfx_error *err)
{
    return cfx_graph_create_node(g, CFX_OUTPUT, "output", CFX_ARGS(result),
                                 NULL, NULL, err);
}
