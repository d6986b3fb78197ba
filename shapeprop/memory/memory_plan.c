/*
 * memory_plan -- create and query memory plans.
 */
#include "shapeprop/memory/memory_impl.h"

#include <stdlib.h>

const char *const cfx_block_kind_names[] = {
    [CFX_BLOCK_INPUT] = "input",   [CFX_BLOCK_STATE] = "state",
    [CFX_BLOCK_RESULT] = "result", [CFX_BLOCK_SCRATCH] = "scratch",
    [CFX_BLOCK_ALIAS] = "alias",
};

/* ---- Sums ---- */

static bool is_made(const cfx_memory_block *b)
{
    return b->kind == CFX_BLOCK_RESULT || b->kind == CFX_BLOCK_SCRATCH;
}

static bool is_placed(const cfx_memory_plan *p, const cfx_memory_block *b)
{
    return is_made(b) && !b->leaves && !b->from_data && !p->symbolic;
}

static void add_to(cfx_memory_plan *p, cfx_dim *sum, cfx_dim bytes)
{
    if (p->symbolic || cfx_dim_is_int(bytes))
        *sum = cfx_dim_add(p->env, *sum, bytes);
}

/* Set the ends of aliases to that of their block. */
static void finish_blocks(cfx_memory_plan *p)
{
    for (size_t i = 0; i < p->nblocks; i++) {
        cfx_memory_block *b = &p->block[i];
        if (b->alias_of >= 0) {
            const cfx_memory_block *of = &p->block[b->alias_of];
            b->last = of->last > b->first ? of->last : b->first;
            b->leaves = of->leaves;
        }
        if (b->kind == CFX_BLOCK_INPUT)
            add_to(p, &p->inputs, b->bytes);
        else if (b->kind == CFX_BLOCK_STATE)
            add_to(p, &p->state, b->bytes);
        else if (is_made(b) && b->leaves)
            add_to(p, &p->results, b->bytes);
        p->uncounted |= is_made(b) && !p->symbolic &&
                        (!cfx_dim_is_int(b->bytes) ||
                         cfx_dim_is_bad(b->bytes));
        bool stays = b->leaves || b->kind == CFX_BLOCK_INPUT ||
                     b->kind == CFX_BLOCK_STATE || !p->ncalls;
        b->until = stays ? cfx_graph_output_node(p->graph)
                         : p->call[b->last].outer;
    }
}

/* ---- Offsets ---- */

/* List a span for each block to be placed; false if they are too large. */
static bool list_spans(const cfx_memory_plan *p, cfx_memory_span *span,
                       size_t *n)
{
    int64_t left = CFX_MEMORY_MOST;
    *n = 0;
    for (size_t i = 0; i < p->nblocks; i++) {
        const cfx_memory_block *b = &p->block[i];
        if (!is_placed(p, b))
            continue;
        int64_t bytes = cfx_memory__asked(b);
        if (bytes > left - CFX_MEMORY_ALIGN)
            return false;
        bytes = (bytes + CFX_MEMORY_ALIGN - 1) &
                ~(int64_t)(CFX_MEMORY_ALIGN - 1);
        left -= bytes;
        span[(*n)++] = (cfx_memory_span){
            .bytes = bytes,
            .first = b->first,
            .last = b->last,
        };
    }
    return true;
}

static cfx_status place(cfx_memory_plan *p, cfx_error *err)
{
    uint32_t end = (uint32_t)p->ncalls;
    size_t n = 0, size = (p->nblocks + 1) * sizeof(cfx_memory_span);
    cfx_memory_span *span = cfx_alloc(p->ctx, size);
    if (!span)
        return cfx_no_memory(err);
    if (!list_spans(p, span, &n)) {
        cfx_free(p->ctx, span, size);
        return CFX_OK;
    }
    cfx_status st = cfx_memory__bound(&p->bound, p->ctx, span, n, end, err);
    if (!st)
        st = cfx_memory__place(span, n, end, p->bound, &p->arena, p->ctx, err);
    for (size_t i = 0, k = 0; i < p->nblocks && !st; i++)
        if (is_placed(p, &p->block[i]))
            p->block[i].offset = span[k++].offset;
    for (size_t i = 0; i < p->nblocks && !st; i++)
        if (p->block[i].alias_of >= 0)
            p->block[i].offset = p->block[p->block[i].alias_of].offset;
    cfx_free(p->ctx, span, size);
    return st;
}

/* ---- Calls of a node ---- */

typedef struct key {
    uintptr_t node;
    uint32_t at;
} key;

static int by_node(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static cfx_status sort_calls(cfx_memory_plan *p, cfx_error *err)
{
    size_t size = (p->ncalls + 1) * sizeof(key);
    key *k = cfx_alloc(p->ctx, size);
    p->by_node = cfx_alloc(p->ctx, (p->ncalls + 1) * sizeof(*p->by_node));
    cfx_status st = k && p->by_node ? CFX_OK : cfx_no_memory(err);
    for (size_t i = 0; i < p->ncalls && !st; i++)
        k[i] = (key){(uintptr_t)p->call[i].node, (uint32_t)i};
    if (!st)
        qsort(k, p->ncalls, sizeof(*k), by_node);
    for (size_t i = 0; i < p->ncalls && !st; i++)
        p->by_node[i] = k[i].at;
    cfx_free(p->ctx, k, size);
    return st;
}

/* Return the first index whose node is not below `n`, or is above it. */
static size_t bound_of(const cfx_memory_plan *p, uintptr_t n, bool above)
{
    size_t low = 0, high = p->ncalls;
    while (low < high) {
        size_t mid = (low + high) / 2;
        uintptr_t at = (uintptr_t)p->call[p->by_node[mid]].node;
        if (at < n || (above && at == n))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void cfx_memory__calls_of(const cfx_memory_plan *p, const cfx_node *n,
                          size_t *from, size_t *to)
{
    *from = bound_of(p, (uintptr_t)n, false);
    *to = bound_of(p, (uintptr_t)n, true);
}

/* ---- Creation and release ---- */

static cfx_status init(cfx_memory_plan *p, const cfx_value *inputs, size_t n,
                       const cfx_memory_plan_options *o, cfx_error *err)
{
    cfx_status st = CFX_OK;
    p->graph = o && o->graph ? o->graph : cfx_graph_module_graph(p->gm);
    p->env = o ? o->env : NULL;
    p->peak = p->inputs = p->state = p->results = cfx_dim_int(0);
    p->arena = p->bound = -1;
    if (!p->graph)
        return cfx_fail(err, CFX_EGRAPH, "%s has no graph",
                        cfx_module_class_name(p->gm));
    if (!p->env && (st = cfx_shape_env_new(&p->own_env, p->ctx, err)))
        return st;
    if (!p->env)
        p->env = p->own_env;
    p->nids = cfx_graph_ids(p->graph);
    p->live = cfx_alloc(p->ctx, (p->nids + 1) * sizeof(*p->live));
    p->value = cfx_calloc(p->ctx, p->nids + 1, sizeof(*p->value));
    if (!p->live || !p->value)
        return cfx_no_memory(err);
    for (uint32_t i = 0; i < p->nids; i++)
        p->live[i] = cfx_dim_int(0);
    st = cfx_memory__walk(p, inputs, n, err);
    if (st)
        return st;
    finish_blocks(p);
    st = p->symbolic ? CFX_OK : place(p, err);
    return st ? st : sort_calls(p, err);
}

cfx_status cfx_memory_plan_new(cfx_memory_plan **out, cfx_module *gm,
                               const cfx_value *inputs, size_t ninputs,
                               const cfx_memory_plan_options *options,
                               cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_memory_plan *p = cfx_calloc(ctx, 1, sizeof(*p));
    *out = NULL;
    if (!p)
        return cfx_no_memory(err);
    p->ctx = ctx;
    p->gm = cfx_module_ref(gm);
    cfx_status st = init(p, inputs, ninputs, options, err);
    if (st)
        cfx_memory_plan_free(p);
    else
        *out = p;
    return st;
}

void cfx_memory_plan_free(cfx_memory_plan *p)
{
    if (!p)
        return;
    cfx_context *ctx = p->ctx;
    cfx_free(ctx, p->block, p->block_cap * sizeof(*p->block));
    cfx_free(ctx, p->call, p->call_cap * sizeof(*p->call));
    cfx_free(ctx, p->live, (p->nids + 1) * sizeof(*p->live));
    cfx_free(ctx, p->value, (p->nids + 1) * sizeof(*p->value));
    cfx_free(ctx, p->part, p->part_cap * sizeof(*p->part));
    cfx_free(ctx, p->by_node, (p->ncalls + 1) * sizeof(*p->by_node));
    cfx_shape_env_free(p->own_env);
    cfx_module_unref(p->gm);
    cfx_free(ctx, p, sizeof(*p));
}

/* ---- Queries ---- */

bool cfx_memory_plan_is_symbolic(const cfx_memory_plan *p)
{
    return p->symbolic;
}

bool cfx_memory_plan_is_partial(const cfx_memory_plan *p)
{
    return p->uncounted;
}

int64_t cfx_memory_plan_arena(const cfx_memory_plan *p)
{
    return p->arena;
}

int64_t cfx_memory_plan_bound(const cfx_memory_plan *p)
{
    return p->bound;
}

cfx_dim cfx_memory_plan_peak(const cfx_memory_plan *p, const cfx_node **node)
{
    if (node)
        *node = p->peak_node;
    return p->peak;
}

cfx_dim cfx_memory_plan_live(const cfx_memory_plan *p, const cfx_node *n)
{
    return n->id < p->nids ? p->live[n->id] : cfx_dim_int(0);
}

cfx_dim cfx_memory_plan_input_bytes(const cfx_memory_plan *p)
{
    return p->inputs;
}

cfx_dim cfx_memory_plan_state_bytes(const cfx_memory_plan *p)
{
    return p->state;
}

cfx_dim cfx_memory_plan_result_bytes(const cfx_memory_plan *p)
{
    return p->results;
}

size_t cfx_memory_plan_len(const cfx_memory_plan *p)
{
    return p->nblocks;
}

const cfx_memory_block *cfx_memory_plan_at(const cfx_memory_plan *p, size_t i)
{
    return i < p->nblocks ? &p->block[i] : NULL;
}

uint32_t cfx_memory_plan_calls(const cfx_memory_plan *p)
{
    return (uint32_t)p->ncalls;
}
