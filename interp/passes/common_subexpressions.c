/*
 * common_subexpressions -- merge equal calls.
 *
 * Calls are equal if they have the same opcode, target and arguments, after
 * earlier calls were merged; 1, 1.0 and True differ (torch.fx merges them). The
 * order of keywords does not matter. A call stays if it has an effect, is
 * random, returns memory that something writes to, or reads memory that is
 * written to between the two calls.
 */
#include <cfx/pass.h>

#include "base/util.h"
#include "graph/aliases.h"

/* ---- Hashes ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    return cfx_mix64(h ^ cfx_mix64(x + UINT64_C(0x9E3779B97F4A7C15)));
}

static uint64_t hash_leaf(cfx_value v)
{
    switch (v.kind) {
    case CFX_BOOL_VALUE:
    case CFX_INT: return (uint64_t)v.u.i;
    case CFX_FLOAT: return v.u.f == v.u.f ? (uint64_t)v.u.i : 1;
    case CFX_STR:
    case CFX_DEVICE:
    case CFX_LAYOUT:
    case CFX_NAME: return cfx_hash(v.u.str->text, v.u.str->len);
    case CFX_DTYPE: return (uint64_t)v.u.dtype;
    case CFX_MEMORY_FORMAT: return (uint64_t)v.u.format;
    case CFX_TENSOR: return (uint64_t)(uintptr_t)v.u.tensor;
    case CFX_NODE: return v.u.node->id;
    default: return 0;
    }
}

static const cfx_seq *seq_of(cfx_value v)
{
    switch (v.kind) {
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT:
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_COMPLEX: return v.u.seq;
    default: return NULL;
    }
}

/* Only the upper levels of deeply nested values are hashed. */
static uint64_t hash_value(uint64_t h, cfx_value v)
{
    struct {
        const cfx_seq *seq;
        uint32_t i;
    } at[CFX_MAX_DEPTH];
    int depth = 0;
    for (;;) {
        const cfx_seq *seq = seq_of(v);
        h = mix(h, (uint64_t)v.kind << 56 ^ (seq ? seq->len : hash_leaf(v)));
        if (seq && depth < CFX_MAX_DEPTH) {
            at[depth].seq = seq;
            at[depth++].i = 0;
        }
        while (depth && at[depth - 1].i == at[depth - 1].seq->len)
            depth--;
        if (!depth)
            return h;
        v = at[depth - 1].seq->item[at[depth - 1].i++];
    }
}

static uint64_t hash_node(const cfx_node *n, uint64_t stamp)
{
    const cfx_string *target = n->target;
    uint64_t h = mix(mix(n->op, cfx_hash(target->text, target->len)), stamp);
    uint64_t keywords = 0;
    if (n->op == CFX_GET_ATTR)
        return h;
    for (uint32_t i = 0; i < n->nargs; i++)
        h = hash_value(h, n->args[i]);
    for (uint32_t i = 0; i < n->nkwargs; i++)
        keywords += hash_value(hash_value(1, n->kwargs[2 * i]),
                               n->kwargs[2 * i + 1]);
    return mix(h, keywords + n->nargs);
}

/* ---- Equality ---- */

static bool has_keyword(const cfx_node *n, cfx_value key, cfx_value v)
{
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (cfx_value_equal(n->kwargs[2 * i], key))
            return cfx_value_equal(n->kwargs[2 * i + 1], v);
    return false;
}

static bool equal(const cfx_node *a, const cfx_node *b)
{
    if (a->op != b->op || strcmp(a->target->text, b->target->text))
        return false;
    if (a->op == CFX_GET_ATTR)
        return true;
    if (a->nargs != b->nargs || a->nkwargs != b->nkwargs)
        return false;
    for (uint32_t i = 0; i < a->nargs; i++)
        if (!cfx_value_equal(a->args[i], b->args[i]))
            return false;
    for (uint32_t i = 0; i < a->nkwargs; i++)
        if (!has_keyword(b, a->kwargs[2 * i], a->kwargs[2 * i + 1]))
            return false;
    return true;
}

/* ---- The table ---- */

/* The stamp is the time of the last write to memory that the call reads: equal
 * calls with equal stamps read the same data. */
typedef struct entry {
    cfx_node *node;
    uint64_t hash, stamp;
} entry;

typedef struct merger {
    cfx_pass_call *p;
    cfx_aliases aliases;
    uint32_t *last_write; /* by alias set: a position, from 1 on */
    entry *table;
    size_t size; /* a power of two */
} merger;

static cfx_status merger_init(merger *m, cfx_pass_call *p)
{
    size_t n = cfx_graph_len(p->graph);
    m->p = p;
    cfx_status st = cfx_aliases__init(&m->aliases, p->graph, p->err);
    if (st)
        return st;
    for (m->size = 16; m->size < 2 * n;)
        m->size *= 2;
    m->last_write = cfx_calloc(p->ctx, cfx_aliases__len(&m->aliases),
                               sizeof(*m->last_write));
    m->table = cfx_calloc(p->ctx, m->size, sizeof(*m->table));
    return m->last_write && m->table ? CFX_OK : cfx_no_memory(p->err);
}

static void merger_release(merger *m)
{
    cfx_free(m->p->ctx, m->last_write,
             cfx_aliases__len(&m->aliases) * sizeof(*m->last_write));
    cfx_free(m->p->ctx, m->table, m->size * sizeof(*m->table));
    cfx_aliases__release(&m->aliases);
}

/* Return the entry of a call equal to n, or the empty entry for it. */
static entry *look_up(merger *m, const cfx_node *n, uint64_t hash,
                      uint64_t stamp)
{
    size_t i = hash & (m->size - 1);
    for (;; i = (i + 1) & (m->size - 1)) {
        entry *e = &m->table[i];
        if (!e->node ||
            (e->hash == hash && e->stamp == stamp && equal(e->node, n)))
            return e;
    }
}

/* ---- The walk ---- */

static void note_writes(merger *m, const cfx_node *n)
{
    cfx_aliases *a = &m->aliases;
    const cfx_effects *e = cfx_aliases__effects(a, n);
    uint32_t place = a->life.place[n->id];
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_effects__writes(e, i))
            m->last_write[cfx_aliases__set(a, cfx_node_input(n, i))] = place;
    if (e->state_writes)
        m->last_write[cfx_aliases__state(a)] = place;
}

static bool may_merge(merger *m, const cfx_node *n)
{
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT)
        return false;
    if (n->op == CFX_GET_ATTR)
        return true;
    return !cfx_effects_any(cfx_aliases__effects(&m->aliases, n)) &&
           !cfx_aliases__is_written(&m->aliases, n);
}

static uint64_t stamp_of(merger *m, const cfx_node *n)
{
    uint64_t stamp = 0;
    if (n->op == CFX_CALL_MODULE)
        stamp = m->last_write[cfx_aliases__state(&m->aliases)];
    for (uint32_t i = 0; i < n->ninputs; i++) {
        uint32_t set = cfx_aliases__set(&m->aliases, cfx_node_input(n, i));
        uint64_t at = m->last_write[set];
        stamp = at > stamp ? at : stamp;
    }
    return stamp;
}

static cfx_status merge(merger *m, cfx_node *n)
{
    uint64_t stamp = stamp_of(m, n), hash = hash_node(n, stamp);
    entry *e = look_up(m, n, hash, stamp);
    if (!e->node) {
        *e = (entry){n, hash, stamp};
        return CFX_OK;
    }
    cfx_status st = cfx_node_replace_all_uses_with(n, e->node, NULL, NULL,
                                                   m->p->err);
    if (!st)
        st = cfx_graph_erase_node(m->p->graph, n, m->p->err);
    m->p->changed += !st;
    return st;
}

static cfx_status common_subexpressions_run(cfx_pass_call *p)
{
    merger m = {0};
    cfx_status st = merger_init(&m, p);
    for (cfx_node *n = st ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        note_writes(&m, n);
        if (may_merge(&m, n))
            st = merge(&m, n);
    }
    merger_release(&m);
    return st;
}

const cfx_pass cfx_pass__common_subexpressions = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "common_subexpressions()",
    .doc = "Merge nodes that compute the same value.",
    .run = common_subexpressions_run,
};
