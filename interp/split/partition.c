/*
 * partition -- torch's CapabilityBasedPartitioner, on a graph that is kept in
 * topological order while its nodes are merged.
 *
 * Partitions are numbered as they are created, from the end of the graph. Those
 * that may still be joined form a list, ordered by the smallest number that
 * each has absorbed; joining is tried in this order.
 */
#include <cfx/partition.h>

#include <stdlib.h>

#include "interp/split/extract.h"
#include "interp/split/contract.h"

#define NONE UINT32_MAX

/* A set of pairs that can never be joined. */
typedef struct pair_set {
    uint64_t *key; /* 0: empty */
    size_t n, cap;
} pair_set;

/* One partition; named as in torch's tables. */
typedef struct part {
    uint32_t vertex;     /* representative; NONE if joined to another one */
    uint32_t next, prev; /* links of the list of joinable partitions */
    uint32_t size;
    uint32_t tried; /* 1 + the partition for which it was last tried */
} part;

typedef struct proposal {
    cfx_context *ctx;
    const cfx_graph *g;
    cfx_support support;
    cfx_partition_options o;
    cfx_error *err;
    cfx_arena arena;
    uint32_t n;
    cfx_node **node;  /* by number */
    uint32_t *number; /* by node id */
    bool *supported;  /* by number */
    contraction c;
    part *part; /* by id, which is the order of creation */
    uint32_t nparts;
    uint32_t *part_of;    /* by vertex; only for representatives */
    uint32_t first, last; /* of the list */
    uint32_t nlive;
    pair_set never;
    /* Used to find nodes between all earlier and all later partitions. */
    uint32_t *crossing;  /* by number: values whose use is after it */
    uint32_t *dead_ends; /* by number: values before it without users */
    bool *wanted;        /* by vertex: it may still be joined */
    bool any_retired;
    uint32_t try_at; /* joinable ones at which to retire again */
    /* The result. */
    uint32_t *assigned; /* by number: the partition, or NONE */
} proposal;


static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return ((uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)) + 1;
}

static size_t pair_slot(const pair_set *s, uint64_t key)
{
    size_t i = (size_t)cfx_mix64(key) & (s->cap - 1);
    while (s->key[i] && s->key[i] != key)
        i = (i + 1) & (s->cap - 1);
    return i;
}

static bool pair_has(const pair_set *s, uint64_t key)
{
    return s->cap && s->key[pair_slot(s, key)] == key;
}

static bool pair_add(cfx_context *ctx, pair_set *s, uint64_t key)
{
    if (2 * s->n >= s->cap) {
        pair_set more = {.cap = s->cap ? 2 * s->cap : 64, .n = s->n};
        more.key = cfx_calloc(ctx, more.cap, sizeof(*more.key));
        if (!more.key)
            return false;
        for (size_t i = 0; i < s->cap; i++)
            if (s->key[i])
                more.key[pair_slot(&more, s->key[i])] = s->key[i];
        cfx_free(ctx, s->key, s->cap * sizeof(*s->key));
        *s = more;
    }
    s->key[pair_slot(s, key)] = key;
    s->n++;
    return true;
}

/* ---- Precomputation ---- */

/* A value counts if it is computed by a supported node, directly or not. */
static cfx_status find_passages(proposal *s)
{
    cfx_arena *a = &s->arena;
    bool *matters = cfx_extract__scratch(a, s->n, sizeof(*matters), s->err);
    s->crossing = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    s->dead_ends = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    if (!matters || !s->crossing || !s->dead_ends)
        return s->err->code;
    for (uint32_t i = 0; i < s->n; i++) {
        const cfx_node *n = s->node[i];
        uint32_t end = i;
        matters[i] = s->supported[i];
        for (uint32_t k = 0; k < n->ninputs; k++)
            matters[i] |= matters[s->number[cfx_node_input(n, k)->id]];
        for (const cfx_use *u = n->first_user; u; u = u->next)
            if (s->number[u->user->id] > end)
                end = s->number[u->user->id];
        s->dead_ends[i + 1] = s->dead_ends[i] + (matters[i] && end == i);
        if (matters[i]) {
            s->crossing[i + 1]++;
            s->crossing[end > i ? end : i + 1]--;
        }
    }
    for (uint32_t i = 1; i < s->n; i++)
        s->crossing[i] += s->crossing[i - 1];
    return CFX_OK;
}

static cfx_status number_nodes(proposal *s)
{
    cfx_arena *a = &s->arena;
    uint32_t ids = cfx_graph_ids(s->g), i = 0;
    s->n = (uint32_t)cfx_graph_len(s->g);
    s->node = cfx_extract__scratch(a, s->n, sizeof(cfx_node *), s->err);
    s->number = cfx_extract__scratch(a, ids, sizeof(uint32_t), s->err);
    s->supported = cfx_extract__scratch(a, s->n, sizeof(bool), s->err);
    s->part = cfx_extract__scratch(a, s->n, sizeof(part), s->err);
    s->part_of = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    s->assigned = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    if (!s->node || !s->number || !s->supported || !s->part || !s->part_of ||
        !s->assigned)
        return s->err->code;
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        s->number[n->id] = i;
        s->supported[i] = s->support.fn(s->support.user, n);
        s->part_of[i] = s->assigned[i] = NONE;
        s->node[i++] = n;
    }
    cfx_status st = cfx_contraction__init(&s->c, s->g, s->number, s->err);
    for (i = 0; !st && i < s->n; i++)
        s->c.v[i].fixed = !s->supported[i];
    return st ? st : find_passages(s);
}

/* ---- Joining ---- */

static void unlist(proposal *s, uint32_t id)
{
    part *p = &s->part[id];
    if (p->prev != NONE)
        s->part[p->prev].next = p->next;
    else
        s->first = p->next;
    if (p->next != NONE)
        s->part[p->next].prev = p->prev;
    else
        s->last = p->prev;
    s->nlive--;
}

static void enlist(proposal *s, uint32_t id)
{
    s->part[id].prev = s->last;
    s->part[id].next = NONE;
    if (s->last != NONE)
        s->part[s->last].next = id;
    else
        s->first = id;
    s->last = id;
    s->nlive++;
}

/* `id` replaces `old`, which is then no longer in the list. */
static void take_place(proposal *s, uint32_t id, uint32_t old)
{
    part *p = &s->part[id];
    p->next = s->part[old].next;
    p->prev = s->part[old].prev;
    if (p->prev != NONE)
        s->part[p->prev].next = id;
    else
        s->first = id;
    if (p->next != NONE)
        s->part[p->next].prev = id;
    else
        s->last = id;
}

/* Try to join two partitions. The larger one remains, at the earlier position
 * of the list; a new one has no position yet. *self is the remaining one. */
static cfx_status try_join(proposal *s, uint32_t *self, bool *listed,
                           uint32_t other, bool *done)
{
    part *a = &s->part[*self], *b = &s->part[other];
    uint64_t key = pair_key(a->vertex, b->vertex);
    uint32_t joined;
    bool never;
    *done = false;
    if (pair_has(&s->never, key))
        return CFX_OK;
    if (!cfx_contraction__merge(&s->c, a->vertex, b->vertex, &joined, &never))
        return !never || pair_add(s->ctx, &s->never, key)
                   ? CFX_OK
                   : cfx_no_memory(s->err);
    uint32_t stays = a->size < b->size ? other : *self;
    uint32_t goes = stays == other ? *self : other;
    if (*listed)
        unlist(s, other);
    if (stays != (*listed ? *self : other))
        take_place(s, stays, goes);
    s->part[stays].size += s->part[goes].size;
    s->part[stays].vertex = joined;
    s->part[goes].vertex = NONE;
    s->part_of[joined] = stays;
    *self = stays;
    *done = *listed = true;
    return CFX_OK;
}

/* Try to join one with all others, in the order of the list. A new partition
 * that joins none is appended. */
static cfx_status join_all(proposal *s, uint32_t self, bool listed, bool *any)
{
    uint32_t at = listed ? s->part[self].next : s->first;
    cfx_status st = CFX_OK;
    *any = false;
    for (uint32_t next; at != NONE && !st; at = next) {
        bool done;
        next = s->part[at].next;
        st = try_join(s, &self, &listed, at, &done);
        *any = *any || done;
    }
    if (!listed)
        enlist(s, self);
    return st;
}

/* Try only partitions of the node's users, each once, in torch's order. */
static cfx_status join_users(proposal *s, const cfx_node *n, uint32_t self)
{
    uint32_t born = self;
    bool listed = false, done;
    cfx_status st = CFX_OK;
    for (const cfx_use *u = n->first_user; u && !st; u = u->next) {
        uint32_t vertex = cfx_contraction__find(&s->c, s->number[u->user->id]);
        uint32_t other = s->part_of[vertex];
        if (other == NONE || other == self || s->part[other].tried == born + 1)
            continue;
        s->part[other].tried = born + 1;
        st = try_join(s, &self, &listed, other, &done);
    }
    if (!listed)
        enlist(s, self);
    return st;
}

/* ---- Retiring ---- */

/* If node i, which is not supported, separates all earlier nodes from the
 * joinable partitions, these need not be tried again. */
static void try_retire(proposal *s, uint32_t i)
{
    if (s->crossing[i] || s->dead_ends[i] || s->nlive < s->try_at || !s->nlive)
        return;
    uint32_t limit = 0;
    s->try_at = 2 * s->nlive;
    for (uint32_t id = s->first; id != NONE; id = s->part[id].next) {
        uint32_t place = s->c.v[s->part[id].vertex].place;
        limit = place > limit ? place : limit;
        s->wanted[s->part[id].vertex] = true;
    }
    uint32_t reached = cfx_contraction__reach(&s->c, i, limit, s->wanted);
    bool all = reached == s->nlive;
    for (uint32_t id = s->first; id != NONE; id = s->part[id].next)
        s->wanted[s->part[id].vertex] = false;
    if (!all)
        return;
    s->first = s->last = NONE;
    s->nlive = s->try_at = 0;
    s->any_retired = true;
}

/* ---- The walk ---- */

static cfx_status visit(proposal *s, uint32_t i)
{
    bool any = false;
    cfx_status st = CFX_OK;
    if (s->supported[i]) {
        uint32_t id = s->nparts++;
        s->part[id] = (part){.vertex = i, .size = 1};
        s->part_of[i] = id;
        return s->o.skip_horizontal ? join_users(s, s->node[i], id)
                                    : join_all(s, id, false, &any);
    }
    if (s->o.skip_horizontal)
        return CFX_OK;
    /* The first partition is tried with the others; once it has retired, no
     * joinable ones are left. */
    if (!s->any_retired && s->first != NONE)
        st = join_all(s, s->first, true, &any);
    if (!st && !any)
        try_retire(s, i);
    return st;
}

static cfx_status propose(proposal *s)
{
    cfx_status st = CFX_OK;
    s->first = s->last = NONE;
    s->wanted = cfx_extract__scratch(&s->arena, s->n, sizeof(bool), s->err);
    if (!s->wanted)
        return s->err->code;
    for (uint32_t i = s->n; i-- > 0 && !st;)
        st = visit(s, i);
    for (uint32_t i = 0; i < s->n && !st; i++)
        s->assigned[i] = s->part_of[cfx_contraction__find(&s->c, i)];
    return st;
}

/* ---- getitem stays with its producer ---- */

static bool is_named(const cfx_node *n, const char *name)
{
    const char *target = n->target->text;
    if (n->op != CFX_CALL_FUNCTION)
        return false;
    if (!strncmp(name, "_operator.", 10))
        name++;
    return !strcmp(*target == '_' && !strncmp(target, "_operator.", 10)
                       ? target + 1
                       : target,
                   name);
}

static bool is_one_of(const cfx_node *n, const char *const *names)
{
    for (; names && *names; names++)
        if (is_named(n, *names))
            return true;
    return false;
}

static bool is_item(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION && cfx_node_is(n, "getitem");
}

static bool only_items(const cfx_node *n)
{
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!is_item(u->user))
            return false;
    return true;
}

/* Collect the moves of one round: getitems of the n producers, in order and
 * once each, that are not in their producer's partition. `to` is the target. */
static uint32_t find_moves(proposal *s, const uint32_t *producer, uint32_t n,
                           uint32_t *moved, uint32_t *to, uint32_t *mark,
                           uint32_t round)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const cfx_node *from = s->node[producer[i]];
        uint32_t id = s->assigned[producer[i]];
        if (!only_items(from))
            continue;
        for (const cfx_use *u = from->first_user; u; u = u->next) {
            uint32_t user = s->number[u->user->id];
            if (s->assigned[user] == id)
                continue;
            to[user] = id;
            if (mark[user] != round)
                moved[count++] = user;
            mark[user] = round;
        }
    }
    return count;
}

/* `later` lists the moved nodes in the order of their last move. */
static cfx_status move_items(proposal *s, uint32_t *moves, uint32_t *nmoves)
{
    cfx_arena *a = &s->arena;
    uint32_t *producer = cfx_extract__scratch(a, s->n, sizeof(uint32_t),
                                              s->err);
    uint32_t *moved = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    uint32_t *to = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    uint32_t *mark = cfx_extract__scratch(a, s->n, sizeof(uint32_t), s->err);
    uint32_t n = s->n, count = 0;
    if (!producer || !moved || !to || !mark)
        return s->err->code;
    for (uint32_t i = 0; i < n; i++)
        producer[i] = i;
    for (uint32_t round = 1; n; round++) {
        n = find_moves(s, producer, n, moved, to, mark, round);
        for (uint32_t i = 0; i < n; i++) {
            s->assigned[moved[i]] = to[moved[i]];
            moves[moved[i]] = ++count;
            producer[i] = moved[i];
        }
        if (n > 1)
            qsort(producer, n, sizeof(*producer), cfx_contraction__by_number);
    }
    *nmoves = count;
    return CFX_OK;
}

/* ---- The result ---- */

static bool counts(const proposal *s, const cfx_node *n)
{
    return n->op != CFX_PLACEHOLDER && n->op != CFX_GET_ATTR &&
           n->op != CFX_OUTPUT && !is_item(n) &&
           !is_named(n, "torch.ops.aten.view") &&
           !is_one_of(n, s->o.non_compute);
}

/* List the nodes by partition: first those that were never moved, in graph
 * order, then the others in the order of their moves. */
static cfx_status collect(proposal *s, const uint32_t *moves, uint32_t nmoves,
                          cfx_partitions *out)
{
    cfx_arena *a = &s->arena;
    size_t total = (size_t)s->n + nmoves;
    uint32_t *order = cfx_extract__scratch(a, total, sizeof(uint32_t), s->err);
    uint32_t *key = cfx_extract__scratch(a, total, sizeof(uint32_t), s->err);
    uint32_t *item = cfx_extract__scratch(a, total, sizeof(uint32_t), s->err);
    uint32_t *start = cfx_extract__scratch(a, (size_t)s->nparts + 1,
                                           sizeof(uint32_t), s->err);
    uint32_t *compute = cfx_extract__scratch(a, s->nparts, sizeof(uint32_t),
                                             s->err);
    if (!order || !key || !item || !start || !compute)
        return s->err->code;
    for (size_t k = 0; k < total; k++)
        key[k] = NONE;
    for (uint32_t i = 0; i < s->n; i++) {
        size_t k = moves[i] ? s->n + moves[i] - 1 : i;
        order[k] = i;
        key[k] = s->assigned[i];
        if (key[k] != NONE)
            compute[key[k]] += counts(s, s->node[i]) +
                               is_one_of(s->node[i], s->o.allowed_single);
    }
    cfx_extract__bucket((uint32_t)total, key, s->nparts, start, item);
    out->ctx = s->ctx;
    out->cap = (size_t)s->n + 1;
    out->nodes = cfx_calloc(s->ctx, out->cap, sizeof(cfx_node *));
    out->item = cfx_calloc(s->ctx, out->cap, sizeof(*out->item));
    if (!out->nodes || !out->item)
        return cfx_no_memory(s->err);
    for (uint32_t id = 0; id < s->nparts; id++) {
        uint32_t n = start[id + 1] - start[id];
        if (!n || (!s->o.allow_single && compute[id] <= 1))
            continue;
        cfx_partition *p = &out->item[out->n++];
        *p = (cfx_partition){out->nodes + out->nnodes, n};
        for (uint32_t i = 0; i < n; i++)
            p->node[i] = s->node[order[item[start[id] + i]]];
        out->nnodes += n;
    }
    return CFX_OK;
}

void cfx_partitions_release(cfx_partitions *p)
{
    if (!p->ctx)
        return;
    cfx_free(p->ctx, p->nodes, p->cap * sizeof(cfx_node *));
    cfx_free(p->ctx, p->item, p->cap * sizeof(*p->item));
    *p = (cfx_partitions){0};
}

static cfx_status run(proposal *s, cfx_partitions *out)
{
    uint32_t nmoves = 0, *moves;
    cfx_status st = number_nodes(s);
    if (!st)
        st = propose(s);
    if (st)
        return st;
    moves = cfx_extract__scratch(&s->arena, s->n, sizeof(*moves), s->err);
    if (!moves)
        return s->err->code;
    st = move_items(s, moves, &nmoves);
    return st ? st : collect(s, moves, nmoves, out);
}

cfx_status cfx_propose_partitions(cfx_partitions *out, const cfx_module *gm,
                                  cfx_support support,
                                  const cfx_partition_options *options,
                                  cfx_error *err)
{
    cfx_error why;
    proposal s = {
        .g = cfx_graph_module_graph(gm), .support = support, .err = &why};
    why.code = CFX_OK;
    *out = (cfx_partitions){0};
    if (!s.g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    s.ctx = cfx_graph_context(s.g);
    if (options)
        memcpy(&s.o, options,
               options->size < sizeof(s.o) ? options->size : sizeof(s.o));
    cfx_arena_init(&s.arena, s.ctx);
    cfx_status st = run(&s, out);
    cfx_contraction__release(&s.c);
    cfx_free(s.ctx, s.never.key, s.never.cap * sizeof(*s.never.key));
    cfx_arena_release(&s.arena);
    if (st)
        cfx_partitions_release(out);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}
