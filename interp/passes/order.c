/*
 * order -- which nodes must keep their order because they share memory.
 *
 * By class of memory: the last node that wrote, and those that have read since.
 */
#include "passes/memory.h"

#include "base/util.h"

/* A reader in the list of its class; `next`: index + 1, or 0. */
typedef struct reader {
    cfx_node *n;
    uint32_t next;
} reader;

typedef struct ordering {
    cfx_order_pairs *out;
    cfx_memory memory;
    cfx_node **writer;       /* by class */
    uint32_t *readers;       /* by class: index + 1 */
    reader *pool;
    uint32_t npool;
    size_t room;
    cfx_error *err;
} ordering;

static cfx_status add_pair(ordering *o, cfx_node *before, cfx_node *after)
{
    cfx_order_pairs *p = o->out;
    if (!before || before == after)
        return CFX_OK;
    if (cfx_grow(p->ctx, p->item, p->room, p->n + 1, o->err))
        return CFX_ENOMEM;
    p->item[p->n++] = (cfx_order_pair){before, after};
    return CFX_OK;
}

static cfx_status note_read(ordering *o, cfx_node *n, uint32_t class)
{
    if (!o->memory.written[class])
        return CFX_OK;
    o->pool[o->npool] = (reader){n, o->readers[class]};
    o->readers[class] = ++o->npool;
    return add_pair(o, o->writer[class], n);
}

static cfx_status note_write(ordering *o, cfx_node *n, uint32_t class)
{
    cfx_status st = add_pair(o, o->writer[class], n);
    for (uint32_t i = o->readers[class]; i && !st; i = o->pool[i - 1].next)
        st = add_pair(o, o->pool[i - 1].n, n);
    o->writer[class] = n;
    o->readers[class] = 0;
    return st;
}

/* First what n writes to, then what it reads: so it is among the readers that
 * the next write comes after. */
static cfx_status visit(ordering *o, cfx_node *n)
{
    cfx_memory *m = &o->memory;
    const cfx_effects *e = &m->effects[n->id];
    uint32_t state = cfx_memory__state(m);
    cfx_status st = CFX_OK;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR)
        return st;
    if (cfx_memory__writes_state(m, n))
        st = note_write(o, n, state);
    for (uint32_t i = 0; i < n->ninputs && !st; i++) {
        uint32_t class = cfx_memory__class(m, cfx_node_input(n, i)->id);
        if (cfx_effects__writes(e, i))
            st = note_write(o, n, class);
        else
            st = note_read(o, n, class);
    }
    return st || n->op != CFX_CALL_MODULE ? st : note_read(o, n, state);
}

static cfx_status prepare(ordering *o, const cfx_graph *g)
{
    cfx_context *ctx = cfx_graph_context(g);
    size_t n = (size_t)cfx_graph_ids(g) + 1, inputs = 0;
    cfx_status st = cfx_memory__init(&o->memory, g, o->err);
    if (st)
        return st;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        inputs += at->ninputs + (size_t)1;
    o->room = inputs + 1;
    o->writer = cfx_calloc(ctx, n, sizeof(cfx_node *));
    o->readers = cfx_calloc(ctx, n, sizeof(*o->readers));
    o->pool = cfx_calloc(ctx, o->room, sizeof(*o->pool));
    return o->writer && o->readers && o->pool ? CFX_OK : cfx_no_memory(o->err);
}

static bool any_written(const cfx_memory *m)
{
    for (uint32_t i = 0; i <= m->ids; i++)
        if (m->written[i])
            return true;
    return false;
}

cfx_status cfx_memory__order(cfx_order_pairs *out, const cfx_graph *g,
                             cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    size_t n = (size_t)cfx_graph_ids(g) + 1;
    ordering o = {.out = out, .err = err};
    *out = (cfx_order_pairs){.ctx = ctx};
    cfx_status st = prepare(&o, g);
    bool any = !st && any_written(&o.memory);
    for (cfx_node *at = any ? cfx_graph_first(g) : NULL; at && !st;
         at = cfx_node_next(at))
        st = visit(&o, at);
    cfx_free(ctx, o.writer, n * sizeof(cfx_node *));
    cfx_free(ctx, o.readers, n * sizeof(*o.readers));
    cfx_free(ctx, o.pool, o.room * sizeof(*o.pool));
    cfx_memory__release(&o.memory);
    return st;
}

void cfx_order_pairs__release(cfx_order_pairs *p)
{
    if (p->ctx)
        cfx_free(p->ctx, p->item, p->room * sizeof(*p->item));
    *p = (cfx_order_pairs){0};
}
