/*
 * acc_group -- torch's fusion groups: calls that must run together on an
 * accelerator. If groups are contracted, a path that leaves a group and returns
 * to it becomes a cycle. So a group and all such paths are one strongly
 * connected component (Tarjan's algorithm), which also joins groups that depend
 * on each other. Linear time.
 */
#include "interp/split/acc_group.h"

/* ---- Units ---- */

static cfx_status list_calls(cfx_acc_units *u, const cfx_graph *g,
                             cfx_arena *a, cfx_error *err)
{
    u->start = cfx_extract__scratch(a, u->n + (size_t)2, sizeof(*u->start),
                                    err);
    u->call = cfx_extract__scratch(a, cfx_graph_len(g), sizeof(*u->call), err);
    if (!u->start || !u->call)
        return err->code;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (cfx_node_is_call(n))
            u->start[u->of[n->id] + 2]++;
    for (uint32_t i = 2; i < u->n + 2; i++)
        u->start[i] += u->start[i - 1];
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (cfx_node_is_call(n))
            u->call[u->start[u->of[n->id] + 1]++] = n;
    return CFX_OK;
}

cfx_status cfx_acc_units__init(cfx_acc_units *u, const cfx_graph *g,
                               cfx_arena *a, cfx_error *err)
{
    u->n = 0;
    u->of = cfx_extract__scratch(a, cfx_graph_ids(g), sizeof(*u->of), err);
    if (!u->of)
        return err->code;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (cfx_node_is_call(n))
            u->of[n->id] = u->n++;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (!cfx_node_is_call(n))
            u->of[n->id] = u->n;
    return list_calls(u, g, a, err);
}

/* ---- Exchanged values that are not tensors ---- */

static bool is_tensor(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR;
}

/* True if the node's value is known to contain no tensor. */
static bool has_no_tensor(const cfx_node *n)
{
    cfx_value v = cfx_node__known(n);
    return v.kind && !cfx_value_any(v, is_tensor, NULL);
}

static uint32_t root_of(uint32_t *up, uint32_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

typedef struct grouping {
    cfx_acc_units *u;
    bool *on_acc;
    const cfx_graph *g;
    cfx_arena *a;
    cfx_error *err;
    uint32_t *up;   /* by unit: the parent in a union-find */
    bool *is_group; /* by unit */
    bool any;
} grouping;

static cfx_status join_exchanges(grouping *s)
{
    cfx_acc_units *u = s->u;
    s->up = cfx_extract__scratch(s->a, u->n, sizeof(*s->up), s->err);
    s->is_group = cfx_extract__scratch(s->a, u->n, sizeof(*s->is_group),
                                       s->err);
    if (!s->up || !s->is_group)
        return s->err->code;
    for (uint32_t i = 0; i < u->n; i++)
        s->up[i] = i;
    for (uint32_t i = 0; i < u->n; i++) {
        if (!has_no_tensor(u->call[i]))
            continue;
        for (const cfx_use *k = u->call[i]->first_user; k; k = k->next)
            if (cfx_node_is_call(k->user))
                s->up[root_of(s->up, u->of[k->user->id])] = root_of(s->up, i);
        s->any = s->any || s->on_acc[u->call[i]->id];
    }
    for (uint32_t i = 0; i < u->n && s->any; i++)
        if (s->on_acc[u->call[i]->id] && has_no_tensor(u->call[i]))
            s->is_group[root_of(s->up, i)] = true;
    return CFX_OK;
}

/* Renumber the units, groups and single calls, in the order of the graph. */
static cfx_status renumber_units(grouping *s)
{
    cfx_acc_units *u = s->u;
    uint32_t n = 0;
    uint32_t *number = cfx_extract__scratch(s->a, u->n, sizeof(*number),
                                            s->err);
    bool *group = cfx_extract__scratch(s->a, u->n, sizeof(*group), s->err);
    if (!number || !group)
        return s->err->code;
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t root = root_of(s->up, i);
        bool is = s->is_group[root];
        uint32_t *at = &number[root];
        if (!is || !*at) {
            group[n++] = is;
            *at = n;
        }
        u->of[u->call[i]->id] = *at - 1;
    }
    u->n = n;
    s->is_group = group;
    return list_calls(u, s->g, s->a, s->err);
}

/* ---- Strongly connected components ---- */

typedef struct visit {
    uint32_t unit, at; /* at: index into the unit's calls */
    const cfx_use *next;
} visit;

typedef struct tarjan {
    grouping *s;
    uint32_t *index, *low; /* by unit; index 0: not seen */
    uint32_t *component;   /* by unit, from 1; 0: not known yet */
    uint32_t *open, nopen; /* units without a component yet */
    visit *way;            /* from the search's first unit to the current
                                one */
    uint32_t depth, seen, ncomponents;
} tarjan;

static void enter(tarjan *t, uint32_t unit)
{
    const cfx_acc_units *u = t->s->u;
    uint32_t first = u->start[unit];
    t->index[unit] = t->low[unit] = ++t->seen;
    t->open[t->nopen++] = unit;
    t->way[t->depth++] = (visit){unit, first, u->call[first]->first_user};
}

/* Find the next unit that uses this one; false if there is none. */
static bool next_user(tarjan *t, visit *v, uint32_t *unit)
{
    const cfx_acc_units *u = t->s->u;
    for (;;) {
        for (; v->next; v->next = v->next->next) {
            *unit = u->of[v->next->user->id];
            if (cfx_node_is_call(v->next->user) && *unit != v->unit) {
                v->next = v->next->next;
                return true;
            }
        }
        if (++v->at == u->start[v->unit + 1])
            return false;
        v->next = u->call[v->at]->first_user;
    }
}

static void leave_unit(tarjan *t)
{
    uint32_t unit = t->way[--t->depth].unit;
    if (t->depth) {
        uint32_t *low = &t->low[t->way[t->depth - 1].unit];
        *low = t->low[unit] < *low ? t->low[unit] : *low;
    }
    if (t->low[unit] != t->index[unit])
        return;
    t->ncomponents++;
    uint32_t last;
    do {
        last = t->open[--t->nopen];
        t->component[last] = t->ncomponents;
    } while (last != unit);
}

static void walk_from(tarjan *t, uint32_t unit)
{
    enter(t, unit);
    while (t->depth) {
        visit *v = &t->way[t->depth - 1];
        uint32_t user;
        if (!next_user(t, v, &user))
            leave_unit(t);
        else if (!t->index[user])
            enter(t, user);
        else if (!t->component[user] && t->index[user] < t->low[v->unit])
            t->low[v->unit] = t->index[user];
    }
}

static cfx_status find_components(tarjan *t)
{
    grouping *s = t->s;
    uint32_t n = s->u->n;
    t->index = cfx_extract__scratch(s->a, n, sizeof(*t->index), s->err);
    t->low = cfx_extract__scratch(s->a, n, sizeof(*t->low), s->err);
    t->component = cfx_extract__scratch(s->a, n, sizeof(*t->component),
                                        s->err);
    t->open = cfx_extract__scratch(s->a, n, sizeof(*t->open), s->err);
    t->way = cfx_extract__scratch(s->a, n, sizeof(*t->way), s->err);
    if (!t->index || !t->low || !t->component || !t->open || !t->way)
        return s->err->code;
    for (uint32_t i = 0; i < n; i++)
        if (!t->index[i])
            walk_from(t, i);
    return CFX_OK;
}

/* ---- From components to units ---- */

/* Make each component a unit. If a group contains a call that the host must
 * run, all calls of the group run on the host, each a unit by itself. */
static cfx_status take_components(grouping *s, const tarjan *t)
{
    cfx_acc_units *u = s->u;
    uint32_t n = 0, most = t->ncomponents + 1;
    uint32_t *number = cfx_extract__scratch(s->a, most, sizeof(*number),
                                            s->err);
    bool *group = cfx_extract__scratch(s->a, most, sizeof(*group), s->err);
    bool *host = cfx_extract__scratch(s->a, most, sizeof(*host), s->err);
    if (!number || !group || !host)
        return s->err->code;
    for (uint32_t i = 0; i < u->n; i++)
        group[t->component[i]] |= s->is_group[i];
    for (uint32_t i = 0; i < u->start[u->n]; i++) {
        const cfx_node *c = u->call[i];
        host[t->component[u->of[c->id]]] |= !s->on_acc[c->id];
    }
    for (uint32_t i = 0; i < u->start[u->n]; i++) {
        const cfx_node *c = u->call[i];
        uint32_t k = t->component[u->of[c->id]];
        if (host[k])
            s->on_acc[c->id] = false;
        if (!group[k] || host[k] || !number[k])
            number[k] = ++n;
        u->of[c->id] = number[k] - 1;
    }
    u->n = n;
    for (const cfx_node *c = cfx_graph_first(s->g); c; c = cfx_node_next(c))
        if (!cfx_node_is_call(c))
            u->of[c->id] = n;
    return list_calls(u, s->g, s->a, s->err);
}

cfx_status cfx_acc_units__group(cfx_acc_units *u, bool *on_acc,
                                const cfx_graph *g, cfx_arena *a,
                                cfx_error *err)
{
    grouping s = {.u = u, .on_acc = on_acc, .g = g, .a = a, .err = err};
    tarjan t = {.s = &s};
    cfx_status st = join_exchanges(&s);
    if (st || !s.any)
        return st;
    st = renumber_units(&s);
    if (!st)
        st = find_components(&t);
    return st ? st : take_components(&s, &t);
}
