/*
 * split_order -- find nodes that must keep their order because they share memory.
 *
 * For each alias set: the last node that wrote, and the readers since.
 */
#include "interp/split/split_order.h"

#include "base/util.h"
#include "graph/aliases.h"

/* A reader in the list of its set; `next`: index + 1, or 0. */
typedef struct reader {
    cfx_node *n;
    uint32_t next;
} reader;

typedef struct ordering {
    cfx_order_pairs *out;
    cfx_aliases aliases;
    cfx_node **writer; /* by set */
    uint32_t *readers; /* by set: index + 1 */
    reader *pool;
    uint32_t npool;
    size_t cap;
    cfx_error *err;
} ordering;

static cfx_status add_pair(ordering *o, cfx_node *before, cfx_node *after)
{
    cfx_order_pairs *p = o->out;
    if (!before || before == after)
        return CFX_OK;
    if (cfx_grow(p->ctx, p->item, p->cap, p->n + 1, o->err))
        return CFX_ENOMEM;
    p->item[p->n++] = (cfx_order_pair){before, after};
    return CFX_OK;
}

static cfx_status note_read(ordering *o, cfx_node *n, uint32_t set)
{
    if (!cfx_aliases__is(&o->aliases, set, CFX_ALIAS_WRITTEN))
        return CFX_OK;
    o->pool[o->npool] = (reader){n, o->readers[set]};
    o->readers[set] = ++o->npool;
    return add_pair(o, o->writer[set], n);
}

static cfx_status note_write(ordering *o, cfx_node *n, uint32_t set)
{
    cfx_status st = add_pair(o, o->writer[set], n);
    for (uint32_t i = o->readers[set]; i && !st; i = o->pool[i - 1].next)
        st = add_pair(o, o->pool[i - 1].n, n);
    o->writer[set] = n;
    o->readers[set] = 0;
    return st;
}

/* Writes of n come before its reads, so that n is among the readers that
 * precede the next write. */
static cfx_status visit(ordering *o, cfx_node *n)
{
    cfx_aliases *a = &o->aliases;
    const cfx_effects *e = cfx_aliases__effects(a, n);
    uint32_t state = cfx_aliases__state(a);
    cfx_status st = CFX_OK;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR)
        return st;
    if (e->state_writes)
        st = note_write(o, n, state);
    for (uint32_t i = 0; i < n->ninputs && !st; i++) {
        uint32_t set = cfx_aliases__set(a, cfx_node_input(n, i));
        if (cfx_effects__writes(e, i))
            st = note_write(o, n, set);
        else
            st = note_read(o, n, set);
    }
    return st || n->op != CFX_CALL_MODULE ? st : note_read(o, n, state);
}

static cfx_status prepare(ordering *o, const cfx_graph *g)
{
    cfx_context *ctx = cfx_graph_context(g);
    size_t n = (size_t)cfx_graph_ids(g) + 1, inputs = 0;
    cfx_status st = cfx_aliases__init(&o->aliases, g, o->err);
    if (st)
        return st;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        inputs += at->ninputs + (size_t)1;
    o->cap = inputs + 1;
    o->writer = cfx_calloc(ctx, n, sizeof(cfx_node *));
    o->readers = cfx_calloc(ctx, n, sizeof(*o->readers));
    o->pool = cfx_calloc(ctx, o->cap, sizeof(*o->pool));
    return o->writer && o->readers && o->pool ? CFX_OK : cfx_no_memory(o->err);
}

static bool any_written(const cfx_aliases *a)
{
    for (uint32_t i = 0; i <= a->life.ids; i++)
        if (cfx_aliases__is(a, i, CFX_ALIAS_WRITTEN))
            return true;
    return false;
}

cfx_status cfx_order_pairs__find(cfx_order_pairs *out, const cfx_graph *g,
                                 cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    size_t n = (size_t)cfx_graph_ids(g) + 1;
    ordering o = {.out = out, .err = err};
    *out = (cfx_order_pairs){.ctx = ctx};
    cfx_status st = prepare(&o, g);
    bool any = !st && any_written(&o.aliases);
    for (cfx_node *at = any ? cfx_graph_first(g) : NULL; at && !st;
         at = cfx_node_next(at))
        st = visit(&o, at);
    cfx_free(ctx, o.writer, n * sizeof(cfx_node *));
    cfx_free(ctx, o.readers, n * sizeof(*o.readers));
    cfx_free(ctx, o.pool, o.cap * sizeof(*o.pool));
    cfx_aliases__release(&o.aliases);
    return st;
}

void cfx_order_pairs__release(cfx_order_pairs *p)
{
    if (p->ctx)
        cfx_free(p->ctx, p->item, p->cap * sizeof(*p->item));
    *p = (cfx_order_pairs){0};
}
