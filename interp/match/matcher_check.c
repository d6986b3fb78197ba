/*
 * matcher_check -- conditions on a match beyond equality, and recording it.
 */
#include "interp/match/matcher_impl.h"

/* ---- Containment ---- */

static uint32_t pattern_id(const cfx_search *s, const cfx_node *gn)
{
    return s->rev[gn->id] & CFX_REV_MASK;
}

/* Mark the nodes of the pattern whose partners may have users outside. */
static void mark_returned(cfx_search *s)
{
    s->epoch++;
    for (size_t i = 0; i < s->m->nreturning; i++) {
        cfx_value v = s->map[s->m->returning[i]->id];
        uint32_t id = v.kind == CFX_NODE ? pattern_id(s, v.u.node) : 0;
        if (id)
            s->ok[id - 1] = s->epoch;
    }
}

static bool is_inside(const cfx_search *s, const cfx_node *gn)
{
    uint32_t id = pattern_id(s, gn);
    return id && cfx_pattern_is_plain(s->m->node[id - 1].kind);
}

static bool leaks(const cfx_search *s, const cfx_node *gn)
{
    for (const cfx_use *u = gn->first_user; u; u = u->next)
        if (!is_inside(s, u->user))
            return true;
    return false;
}

/* Return the partner of the i-th last plain node that was bound, or NULL. */
static cfx_node *computed(const cfx_search *s, size_t i)
{
    uint32_t id = s->trail[i];
    return cfx_pattern_is_plain(s->m->node[id].kind) ? s->map[id].u.node
                                                     : NULL;
}

static bool is_contained(cfx_search *s)
{
    mark_returned(s);
    for (size_t i = 0; i < s->ntrail; i++) {
        cfx_node *gn = computed(s, i);
        if (gn && s->ok[s->trail[i]] != s->epoch && leaks(s, gn))
            return false;
    }
    return true;
}

/* ---- Cycles ---- */

/* Push the users of a node that are outside of the match and not after its last
 * node. */
static bool follow(cfx_search *s, const cfx_node *gn, uint64_t last)
{
    for (const cfx_use *u = gn->first_user; u; u = u->next) {
        cfx_node *user = u->user;
        if (user->order > last || s->seen[user->id] == s->epoch ||
            user->op == CFX_OUTPUT)
            continue;
        s->seen[user->id] = s->epoch;
        if (!CFX_SEARCH_GROW(s, nodes, nnodes, nodes_cap))
            return false;
        s->nodes[s->nnodes++] = user;
    }
    return true;
}

/* Search from every user outside of the match for a path back into it. Only
 * nodes before the match's last node can lead back, so most matches need no
 * search. */
static bool is_acyclic(cfx_search *s)
{
    uint64_t last = 0;
    size_t base = s->nnodes;
    bool none = true;
    for (size_t i = 0; i < s->ntrail; i++) {
        cfx_node *gn = computed(s, i);
        if (gn && gn->op != CFX_OUTPUT && gn->order > last)
            last = gn->order;
    }
    s->epoch++;
    for (size_t i = 0; i < s->ntrail; i++)
        if (computed(s, i))
            s->seen[computed(s, i)->id] = s->epoch;
    for (size_t i = 0; i < s->ntrail && none; i++)
        if (computed(s, i))
            none = follow(s, computed(s, i), last);
    /* Marked nodes are not visited; an edge into the match is a cycle. */
    while (none && s->nnodes > base) {
        cfx_node *n = s->nodes[--s->nnodes];
        for (const cfx_use *u = n->first_user; u && none; u = u->next)
            none = !(is_inside(s, u->user) && u->user->op != CFX_OUTPUT);
        none = none && follow(s, n, last);
    }
    s->nnodes = base;
    return none;
}

bool cfx_match_is_valid(cfx_search *s)
{
    return is_contained(s) && is_acyclic(s);
}

/* ---- Recording ---- */

/* Copy a value with references of its own, since the graph's value may be freed
 * with its node. Depth is bounded by CFX_MAX_DEPTH. */
static cfx_value copy_value(cfx_context *ctx, cfx_value v)
{
    cfx_value small[8], *item = small, out = CFX_NOTHING;
    if (v.kind == CFX_STR || v.kind == CFX_NAME || v.kind == CFX_DEVICE ||
        v.kind == CFX_LAYOUT) {
        out = cfx_str_new(ctx, v.u.str->text, v.u.str->len);
        if (out.kind)
            out.kind = v.kind;
        return out;
    }
    bool parted = cfx_value_is_seq(v) || v.kind == CFX_DICT ||
                  v.kind == CFX_SLICE || v.kind == CFX_RANGE ||
                  v.kind == CFX_COMPLEX;
    if (!parted)
        return cfx_value_ref(v);
    uint32_t n = v.u.seq->len, done = 0;
    if (n > 8)
        item = cfx_alloc(ctx, n * sizeof(*item));
    while (item && done < n) {
        item[done] = copy_value(ctx, v.u.seq->item[done]);
        if (!item[done].kind && v.u.seq->item[done].kind)
            break;
        done++;
    }
    if (item && done == n)
        out = cfx_seq_new(ctx, (cfx_kind)v.kind, n, item, v.u.seq->type);
    while (item && done > 0)
        cfx_value_unref(item[--done]);
    if (item != small)
        cfx_free(ctx, item, n * sizeof(*item));
    return out;
}

/* All arrays of a match are allocated as one block. */
static size_t block_size(const cfx_match *m)
{
    return (m->nmap + m->nplaceholders + m->nreturning) * sizeof(cfx_value) +
           m->nanchors * sizeof(cfx_node *);
}

static bool allocate(cfx_search *s, cfx_match *to)
{
    const cfx_matcher *m = s->m;
    *to = (cfx_match){
        .pattern = m->pattern,
        .nmap = m->ids,
        .nplaceholders = m->nplaceholders,
        .nreturning = m->nreturning,
        .nanchors = m->nanchors,
        .names = m->o.name_node_map,
    };
    to->map = cfx_calloc(m->ctx, 1, block_size(to));
    if (!to->map)
        return false;
    to->placeholders = to->map + to->nmap;
    to->returning = to->placeholders + to->nplaceholders;
    to->anchors = (cfx_node **)(void *)(to->returning + to->nreturning);
    return true;
}

void cfx_match__release(cfx_context *ctx, cfx_match *m)
{
    for (uint32_t i = 0; i < m->nmap && m->map; i++)
        cfx_value_unref(m->map[i]);
    if (m->map)
        cfx_free(ctx, m->map, block_size(m));
    cfx_free(ctx, m->replacements,
             m->nreplacements * sizeof(*m->replacements));
}

/* Mark the computed nodes as used by this match. */
static void take_nodes(cfx_search *s)
{
    for (size_t i = 0; i < s->ntrail; i++) {
        cfx_node *gn = computed(s, i);
        if (gn && gn->op != CFX_OUTPUT)
            s->rev[gn->id] |= CFX_REV_TAKEN;
    }
}

void cfx_match_record(cfx_search *s)
{
    const cfx_matcher *m = s->m;
    cfx_matches *f = s->found;
    cfx_match *to;
    if (cfx_grow(m->ctx, f->item, f->cap, f->n + 1, NULL) ||
        !allocate(s, to = &f->item[f->n])) {
        cfx_search__no_memory(s);
        return;
    }
    f->n++;
    for (size_t i = 0; i < s->ntrail; i++) {
        uint32_t id = s->trail[i];
        to->map[id] = copy_value(m->ctx, s->map[id]);
        if (!to->map[id].kind && s->map[id].kind)
            cfx_search__no_memory(s);
    }
    for (size_t i = 0; i < m->nplaceholders; i++)
        to->placeholders[i] = to->map[m->placeholder[i]->id];
    for (size_t i = 0; i < m->nreturning; i++)
        to->returning[i] = to->map[m->returning[i]->id];
    for (size_t i = 0; i < m->nanchors; i++)
        to->anchors[i] = to->map[m->anchor[i].node->id].u.node;
    to->anchor = to->anchors[0];
    if (!m->o.keep_overlapping)
        take_nodes(s);
}

void cfx_matches_release(cfx_matches *found)
{
    if (!found)
        return;
    for (size_t i = 0; i < found->n; i++)
        cfx_match__release(found->ctx, &found->item[i]);
    if (found->ctx)
        cfx_free(found->ctx, found->item, found->cap * sizeof(*found->item));
    cfx_module_unref(found->pattern);
    *found = (cfx_matches){0};
}

cfx_value cfx_match_of(const cfx_match *m, const cfx_node *pattern)
{
    return pattern->graph == m->pattern && pattern->id < m->nmap
               ? m->map[pattern->id]
               : CFX_NOTHING;
}

cfx_value cfx_match_named(const cfx_match *m, const char *name)
{
    const cfx_node *n = NULL;
    if (m->names) {
        const cfx_seq *out = cfx_graph_output_node(m->pattern)->args[0].u.seq;
        cfx_value v = cfx_dict_get(out->item[out->len - 1], name);
        n = v.kind == CFX_NODE ? v.u.node : NULL;
    } else {
        n = cfx_graph_find(m->pattern, name);
    }
    return n ? cfx_match_of(m, n) : CFX_NOTHING;
}

const cfx_node *cfx_match_next(const cfx_match *m, const cfx_node *after,
                               cfx_value *partner)
{
    const cfx_node *p = after ? cfx_node_next(after)
                              : cfx_graph_first(m->pattern);
    while (p && cfx_value_is_absent(*partner = cfx_match_of(m, p)))
        p = cfx_node_next(p);
    return p;
}

/* ---- A search ---- */

static bool is_candidate(cfx_matcher *m, const cfx_anchor *a,
                         const cfx_node *gn)
{
    if (a->any_node)
        return true;
    for (uint32_t i = 0; i < a->nheads; i++)
        if (cfx_match_head(m, a->heads[i], gn))
            return true;
    return false;
}

static void list_candidates(cfx_search *s)
{
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        cfx_node__prefetch_near(n, CFX_NODES_FOLLOW);
        for (size_t k = 0; k < s->m->nanchors; k++) {
            cfx_candidates *c = &s->list[k];
            if (!is_candidate(s->m, &s->m->anchor[k], n))
                continue;
            if (cfx_grow(s->m->ctx, c->node, c->cap, c->n + 1, NULL)) {
                cfx_search__no_memory(s);
                return;
            }
            c->node[c->n++] = n;
        }
    }
}

static void allocate_search(cfx_search *s)
{
    cfx_context *ctx = s->m->ctx;
    s->map = cfx_calloc(ctx, s->m->ids, sizeof(*s->map));
    s->ok = cfx_calloc(ctx, s->m->ids, sizeof(*s->ok));
    s->rev = cfx_calloc(ctx, s->ids, sizeof(*s->rev));
    s->seen = cfx_calloc(ctx, s->ids, sizeof(*s->seen));
    s->list = cfx_calloc(ctx, s->m->nanchors + 1, sizeof(*s->list));
    if (!s->map || !s->ok || !s->rev || !s->seen || !s->list)
        cfx_search__no_memory(s);
}

static void release_search(cfx_search *s)
{
    cfx_context *ctx = s->m->ctx;
    while (s->nbounds > 0) {
        cfx_bound *b = s->bound[--s->nbounds];
        cfx_bound_release(b);
        cfx_free(ctx, b, sizeof(*b));
    }
    for (size_t k = 0; k < s->m->nanchors && s->list; k++)
        cfx_free(ctx, s->list[k].node,
                 s->list[k].cap * sizeof(*s->list[k].node));
    cfx_free(ctx, s->list, (s->m->nanchors + 1) * sizeof(*s->list));
    cfx_free(ctx, s->map, s->m->ids * sizeof(*s->map));
    cfx_free(ctx, s->ok, s->m->ids * sizeof(*s->ok));
    cfx_free(ctx, s->rev, s->ids * sizeof(*s->rev));
    cfx_free(ctx, s->seen, s->ids * sizeof(*s->seen));
    cfx_free(ctx, s->goal, s->goals_cap * sizeof(*s->goal));
    cfx_free(ctx, s->trail, s->trail_cap * sizeof(*s->trail));
    cfx_free(ctx, s->choice, s->choices_cap * sizeof(*s->choice));
    cfx_free(ctx, s->bound, s->bounds_cap * sizeof(*s->bound));
    cfx_free(ctx, s->nodes, s->nodes_cap * sizeof(*s->nodes));
}

cfx_status cfx_matcher_match(cfx_matcher *m, const cfx_graph *graph,
                             cfx_matches *out, cfx_error *err)
{
    *out = (cfx_matches){.ctx = m->ctx};
    cfx_search s = {
        .m = m,
        .g = graph,
        .found = out,
        .err = err,
        .ids = cfx_graph_ids(graph),
    };
    if (!s.ids)
        return CFX_OK;
    m->lacks_memory = false;
    allocate_search(&s);
    if (!s.status)
        list_candidates(&s);
    if (!s.status)
        cfx_search_run(&s);
    if (!s.status && m->lacks_memory)
        cfx_search__no_memory(&s);
    release_search(&s);
    return s.status;
}
