/*
 * matcher_search -- goals, bindings and backtracking.
 *
 * A goal compares a value of the pattern with one of the graph. The list of
 * goals is a chain of cells in an array. A choice records the length of each
 * array and the next cell; backtracking truncates the arrays and goes on with
 * the next alternative. An accepted match backtracks to the choice of the last
 * anchor's candidate. If overlapping matches are dropped, it backtracks to the
 * first anchor's, since every further match would share that node.
 */
#include "interp/match/matcher_impl.h"

#include <math.h>

void cfx_search__no_memory(cfx_search *s)
{
    if (!s->status)
        s->status = cfx_no_memory(s->err);
}

bool cfx_search_push(cfx_search *s, uint8_t what, cfx_value p, cfx_value g)
{
    if (!CFX_SEARCH_GROW(s, goal, ngoals, goals_cap))
        return false;
    s->goal[s->ngoals++] = (cfx_goal){
        .what = what,
        .p = p,
        .g = g,
        .next = s->goals,
    };
    s->goals = (uint32_t)s->ngoals;
    return true;
}

bool cfx_search_choose(cfx_search *s, cfx_choice choice)
{
    if (!CFX_SEARCH_GROW(s, choice, nchoices, choices_cap))
        return false;
    choice.goals = s->goals;
    choice.ngoals = (uint32_t)s->ngoals;
    choice.ntrail = (uint32_t)s->ntrail;
    choice.nbounds = (uint32_t)s->nbounds;
    s->choice[s->nchoices++] = choice;
    return true;
}

/* ---- Bindings ---- */

static bool bind(cfx_search *s, const cfx_node *pn, cfx_value v)
{
    if (!CFX_SEARCH_GROW(s, trail, ntrail, trail_cap))
        return false;
    s->trail[s->ntrail++] = pn->id;
    s->map[pn->id] = v;
    return true;
}

/* Bind a node that no other node of the pattern may stand for. */
static bool bind_node(cfx_search *s, const cfx_node *pn, cfx_node *gn)
{
    uint32_t *rev = &s->rev[gn->id];
    if (*rev & CFX_REV_MASK || !bind(s, pn, cfx_value_of_node(gn)))
        return false;
    *rev |= pn->id + 1;
    return true;
}

static void undo(cfx_search *s, const cfx_choice *to)
{
    while (s->ntrail > to->ntrail) {
        uint32_t id = s->trail[--s->ntrail];
        cfx_value v = s->map[id];
        if (v.kind == CFX_NODE &&
            (s->rev[v.u.node->id] & CFX_REV_MASK) == id + 1)
            s->rev[v.u.node->id] &= CFX_REV_TAKEN;
        s->map[id] = CFX_NOTHING;
    }
    while (s->nbounds > to->nbounds) {
        cfx_bound *b = s->bound[--s->nbounds];
        cfx_bound_release(b);
        cfx_free(s->m->ctx, b, sizeof(*b));
    }
    s->ngoals = to->ngoals;
    s->goals = to->goals;
}

/* ---- Nodes ---- */

static bool match_placeholder(cfx_search *s, const cfx_node *pn, cfx_value g)
{
    if (g.kind != CFX_NODE)
        return bind(s, pn, g);
    cfx_node *gn = g.u.node;
    if (s->m->o.match_placeholder ? gn->op != CFX_PLACEHOLDER
                                  : gn->op == CFX_OUTPUT)
        return false;
    return bind_node(s, pn, gn);
}

static bool match_plain(cfx_search *s, const cfx_node *pn, cfx_value g)
{
    cfx_node *gn = g.u.node;
    if (g.kind != CFX_NODE || s->rev[gn->id] ||
        !cfx_match_head(s->m, pn, gn) || !bind_node(s, pn, gn))
        return false;
    return cfx_match_call(s, pn, gn);
}

/* Take the first alternative and push a choice for the others. */
static bool match_alternative(cfx_search *s, const cfx_node *pn, cfx_value g,
                              uint32_t i)
{
    if (i + 1 < cfx_pattern_alternatives(pn) &&
        !cfx_search_choose(
            s, (cfx_choice){
                   .what = CFX_CHOICE_ONE_OF, .pn = pn, .g = g, .at = i + 1}))
        return false;
    return bind(s, pn, g) &&
           cfx_search_push(s, CFX_GOAL_MATCH, cfx_pattern_alternative(pn, i),
                           g);
}

static bool match_where(cfx_search *s, const cfx_node *pn, cfx_value g)
{
    cfx_value self = CFX_NOTHING;
    self.kind = CFX_NODE;
    self.u.node = (cfx_node *)pn;
    return bind(s, pn, g) && cfx_search_push(s, CFX_GOAL_TEST, self, g) &&
           cfx_search_push(s, CFX_GOAL_MATCH, pn->args[0], g);
}

static bool match_number(cfx_search *s, const cfx_node *pn, cfx_value g)
{
    double c = cfx_value_number(pn->args[0]);
    double rtol = cfx_value_number(pn->args[1]);
    return cfx_pattern_is_number(g) &&
           fabs(cfx_value_number(g) - c) <= rtol * fabs(c) && bind(s, pn, g);
}

static bool match_node(cfx_search *s, const cfx_node *pn, cfx_value g)
{
    cfx_value bound = s->map[pn->id];
    uint8_t kind = s->m->node[pn->id].kind;
    if (bound.kind)
        return cfx_value_equal(bound, g) ||
               (s->m->o.ignore_literals && kind == CFX_PAT_PLACEHOLDER &&
                g.kind != CFX_NODE);
    switch ((cfx_pattern_kind)kind) {
    case CFX_PAT_PLACEHOLDER: return match_placeholder(s, pn, g);
    case CFX_PAT_ANY: return bind(s, pn, g);
    case CFX_PAT_ONE_OF: return match_alternative(s, pn, g, 0);
    case CFX_PAT_WHERE: return match_where(s, pn, g);
    case CFX_PAT_NUMBER: return match_number(s, pn, g);
    default: return match_plain(s, pn, g);
    }
}

/* ---- Values ---- */

static bool match_items(cfx_search *s, const cfx_seq *p, const cfx_seq *g)
{
    if (p->len != g->len)
        return false;
    for (uint32_t i = p->len; i-- > 0;)
        if (!cfx_search_push(s, CFX_GOAL_MATCH, p->item[i], g->item[i]))
            return false;
    return true;
}

static bool is_parted(cfx_value v)
{
    return v.kind == CFX_SLICE || v.kind == CFX_DICT || v.kind == CFX_RANGE;
}

static bool match_value(cfx_search *s, cfx_value p, cfx_value g)
{
    if (p.kind == CFX_NODE)
        return match_node(s, p.u.node, g);
    if (cfx_value_is_seq(p) && cfx_value_is_seq(g))
        return match_items(s, p.u.seq, g.u.seq);
    if (p.kind == g.kind && is_parted(p) && cfx_pattern_has_nodes(p))
        return match_items(s, p.u.seq, g.u.seq);
    if (g.kind != CFX_NODE && cfx_value_equal(p, g))
        return true;
    return s->m->o.ignore_literals && !cfx_pattern_has_nodes(p);
}

static bool test(const cfx_search *s, const cfx_node *pn, cfx_value g)
{
    const cfx_match_predicate *p = s->m->node[pn->id].test;
    return p->holds(p->user, g);
}

/* ---- Anchors ---- */

static int by_order(const cfx_node *a, const cfx_node *b)
{
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Sort in place by heapsort: no memory, no recursion, n log n. */
static void sort_nodes(cfx_node **v, size_t n)
{
    for (size_t start = n / 2, end = n; end > 1;) {
        if (start) {
            start--;
        } else {
            cfx_node *last = v[--end];
            v[end] = v[0];
            v[0] = last;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end;
             root = child) {
            if (child + 1 < end && by_order(v[child], v[child + 1]) < 0)
                child++;
            if (by_order(v[root], v[child]) >= 0)
                break;
            cfx_node *swap = v[root];
            v[root] = v[child];
            v[child] = swap;
        }
    }
}

/* Append the users of the nodes from index `at` on that may equal pn. False on
 * lack of memory, or if there are too many users to check: then the anchor's
 * candidate list is faster. */
static bool step_to_users(cfx_search *s, const cfx_node *pn, size_t at,
                          size_t end, size_t *left)
{
    s->epoch++;
    for (size_t i = at; i < end; i++) {
        if (s->nodes[i]->nusers > *left)
            return false;
        *left -= s->nodes[i]->nusers;
        for (const cfx_use *u = s->nodes[i]->first_user; u; u = u->next) {
            if (s->seen[u->user->id] == s->epoch ||
                !cfx_match_head(s->m, pn, u->user))
                continue;
            s->seen[u->user->id] = s->epoch;
            if (!CFX_SEARCH_GROW(s, nodes, nnodes, nodes_cap))
                return false;
            s->nodes[s->nnodes++] = u->user;
        }
    }
    return true;
}

enum { NEAR_USERS = 1024 };

/* Collect the users of bound nodes that are candidates for an anchor, in graph
 * order, in s->nodes from *begin on. False: use the candidate list. */
static bool find_near(cfx_search *s, const cfx_anchor *a, size_t *begin)
{
    size_t at = s->nnodes;
    cfx_value v = a->npath ? s->map[a->path[0]->id] : CFX_NOTHING;
    if (v.kind != CFX_NODE || !CFX_SEARCH_GROW(s, nodes, nnodes, nodes_cap))
        return false;
    s->nodes[s->nnodes++] = v.u.node;
    size_t left = NEAR_USERS;
    *begin = at;
    for (uint32_t i = 1; i < a->npath; i++) {
        size_t end = s->nnodes;
        if (!step_to_users(s, a->path[i], at, end, &left)) {
            s->nnodes = *begin;
            return false;
        }
        at = end;
    }
    size_t n = s->nnodes - at;
    memmove(s->nodes + *begin, s->nodes + at, n * sizeof(*s->nodes));
    s->nnodes = *begin + n;
    sort_nodes(s->nodes + *begin, n);
    return true;
}

static bool begin_anchor(cfx_search *s, uint32_t k)
{
    cfx_anchor *a = &s->m->anchor[k];
    cfx_candidates *list = &s->list[k];
    cfx_choice c = {.what = CFX_CHOICE_ANCHOR, .anchor = k};
    size_t begin;
    c.nnodes = (uint32_t)s->nnodes;
    if (k && find_near(s, a, &begin)) {
        c.at = (uint32_t)begin;
        c.end = (uint32_t)s->nnodes;
    } else {
        while (list->first < list->n &&
               s->rev[list->node[list->first]->id] & CFX_REV_TAKEN)
            list->first++;
        c.listed = true;
        c.at = (uint32_t)list->first;
        c.end = (uint32_t)list->n;
    }
    return !s->status && cfx_search_choose(s, c);
}

/* ---- The search loop ---- */

/* Try the next alternative of a choice; the last one removes the choice. False
 * if there is none, or if it cannot match. */
static bool try_next(cfx_search *s)
{
    size_t i = s->nchoices - 1;
    cfx_choice c = s->choice[i];
    undo(s, &c);
    switch (c.what) {
    case CFX_CHOICE_ONE_OF:
        s->nchoices--;
        return match_alternative(s, c.pn, c.g, c.at);
    case CFX_CHOICE_SWAP:
        s->nchoices--;
        return cfx_match_bound(s, c.pb, c.gb, true);
    default: break;
    }
    if (c.at == c.end) {
        s->nchoices--;
        s->nnodes = c.nnodes;
        return false;
    }
    s->choice[i].at++;
    cfx_node *gn = c.listed ? s->list[c.anchor].node[c.at] : s->nodes[c.at];
    return match_node(s, s->m->anchor[c.anchor].node, cfx_value_of_node(gn));
}

/* Drop the choices made since an anchor's candidate was chosen. */
static void cut(cfx_search *s, bool to_first)
{
    while (s->nchoices) {
        const cfx_choice *c = &s->choice[s->nchoices - 1];
        if (c->what == CFX_CHOICE_ANCHOR && (!to_first || !c->anchor))
            return;
        if (c->what == CFX_CHOICE_ANCHOR)
            s->nnodes = c->nnodes;
        s->nchoices--;
    }
}

static bool solved(cfx_search *s)
{
    if (!cfx_match_is_valid(s))
        return false;
    cfx_match_record(s);
    cut(s, !s->m->o.keep_overlapping);
    return false;
}

static bool do_goal(cfx_search *s)
{
    if (!s->goals)
        return solved(s);
    cfx_goal goal = s->goal[s->goals - 1];
    s->goals = goal.next;
    switch (goal.what) {
    case CFX_GOAL_ANCHOR:
        /* The first candidate is handled like the others. */
        begin_anchor(s, (uint32_t)goal.p.u.i);
        return false;
    case CFX_GOAL_TEST: return test(s, goal.p.u.node, goal.g);
    default: return match_value(s, goal.p, goal.g);
    }
}

void cfx_search_run(cfx_search *s)
{
    for (size_t k = s->m->nanchors; k-- > 0;)
        if (!cfx_search_push(s, CFX_GOAL_ANCHOR, cfx_int((int64_t)k),
                             CFX_NOTHING))
            return;
    bool going = s->m->nanchors > 0 && do_goal(s);
    while (!s->status) {
        if (!going && !s->nchoices)
            return;
        going = going ? do_goal(s) : try_next(s);
        if ((++s->steps & 0xFFFF) == 0)
            s->status = cfx_context_check(s->m->ctx, s->err);
    }
}
