/*
 * place_cost -- parts that give the whole graph a low latency: joined two by
 * two, or by moving and swapping calls. Each try takes time linear in the
 * graph's edges times devices; there are as many tries as pairs, again and
 * again.
 */
#include "interp/placing.h"

#include <math.h>

/* The latency of a layout, devices found anew; infinite where its parts make a
 * cycle or do not fit. */
static double try_out(placing *s, layout *l)
{
    cfx_layout__weigh(s, l);
    cfx_layout__forget_devices(l);
    if (!cfx_layout__connect(s, l) || !cfx_layout__find_devices(s, l))
        return INFINITY;
    return cfx_layout__latency(s, l);
}

static cfx_status check_costs(placing *s)
{
    if (!s->time)
        return cfx_fail(s->err, CFX_EINVAL, "the latencies of nodes are not "
                        "known");
    if (!(s->o.transfer_rate > 0))
        return cfx_fail(s->err, CFX_EINVAL, "the transfer rate must be "
                        "greater than 0");
    return CFX_OK;
}

/* ---- Joining ---- */

/* `to` is `from` with parts i < j as one, the last. They may be the same. */
static void join(const placing *s, layout *to, const layout *from, uint32_t i,
                 uint32_t j)
{
    uint32_t last = from->nparts - 2;
    for (uint32_t c = 0; c < s->ncalls; c++) {
        uint32_t p = from->part[c];
        to->part[c] = p == i || p == j ? last : p - (p > i) - (p > j);
    }
    to->nparts = last + 1;
}

/* Which parts exchange something with part p. */
static void mark_neighbours(const layout *l, uint32_t p, bool *near)
{
    memset(near, 0, l->nparts * sizeof(*near));
    for (uint32_t e = 0; e < l->nedges; e++) {
        if (l->edge[e].from == p)
            near[l->edge[e].to] = true;
        if (l->edge[e].to == p)
            near[l->edge[e].from] = true;
    }
}

static bool may_join(const layout *l, uint32_t i, uint32_t j, const bool *near)
{
    uint32_t a = l->level[i], b = l->level[j];
    return near[j] || (a > b ? a - b : b - a) <= 1;
}

/* Try all pairs; of the best that do not raise the cost, the last is joined. */
static cfx_status join_best(placing *s, layout *now, layout *trial, bool *near,
                            double *cost, bool *joined)
{
    uint32_t best[2] = {0};
    *joined = false;
    for (uint32_t i = 0; i < now->nparts; i++) {
        mark_neighbours(now, i, near);
        cfx_status st = cfx_context_check(s->ctx, s->err);
        if (st)
            return st;
        for (uint32_t j = i + 1; j < now->nparts; j++) {
            if (!may_join(now, i, j, near))
                continue;
            join(s, trial, now, i, j);
            double t = try_out(s, trial);
            if (isinf(t) || t > *cost)
                continue;
            *cost = t;
            best[0] = i;
            best[1] = j;
            *joined = true;
        }
    }
    if (*joined) {
        join(s, now, now, best[0], best[1]);
        try_out(s, now);
    }
    return CFX_OK;
}

cfx_status cfx_place__by_cost(placing *s, layout *l)
{
    layout trial;
    bool joined = true;
    cfx_status st = check_costs(s);
    if (st)
        return st;
    bool *near = cfx_carve__scratch(&s->arena, s->ncalls, sizeof(*near),
                                    s->err);
    if (!near || cfx_layout__init(s, &trial, s->ncalls))
        return s->err->code;
    for (uint32_t c = 0; c < s->ncalls; c++)
        l->part[c] = c;
    l->nparts = s->ncalls;
    cfx_layout__weigh(s, l);
    cfx_layout__connect(s, l);
    double cost = cfx_layout__latency(s, l);
    while (joined && l->nparts > 1 && !st)
        st = join_best(s, l, &trial, near, &cost, &joined);
    if (st)
        return st;
    cfx_layout__forget_devices(l);
    cfx_layout__weigh(s, l);
    return cfx_layout__find_devices(s, l) ? CFX_OK : cfx_place__no_mapping(s);
}

/* ---- Swapping ---- */

typedef struct swap {
    double cost;
    uint32_t to, other;      /* a part, a call of it or NOWHERE */
} swap;

/* Move call c to part q, and call d of q, unless NOWHERE, to the part of c. */
static void move(layout *l, uint32_t c, uint32_t q, uint32_t d)
{
    if (d != NOWHERE)
        l->part[d] = l->part[c];
    l->part[c] = q;
}

static double try_swap(placing *s, const layout *now, layout *trial,
                       uint32_t c, uint32_t q, uint32_t d)
{
    memcpy(trial->part, now->part, s->ncalls * sizeof(*now->part));
    trial->nparts = now->nparts;
    move(trial, c, q, d);
    return try_out(s, trial);
}

/* The best that can be done with call c. */
static cfx_status find_swap(placing *s, const layout *now, layout *trial,
                            uint32_t c, swap *best)
{
    for (uint32_t q = 0; q < now->nparts; q++) {
        cfx_status st = cfx_context_check(s->ctx, s->err);
        if (st)
            return st;
        if (q == now->part[c])
            continue;
        for (uint32_t i = now->start[q]; i <= now->start[q + 1]; i++) {
            uint32_t d = i < now->start[q + 1] ? now->call[i] : NOWHERE;
            double t = try_swap(s, now, trial, c, q, d);
            if (t < best->cost)
                *best = (swap){.cost = t, .to = q, .other = d};
        }
    }
    return CFX_OK;
}

cfx_status cfx_place__swap(placing *s, layout *l)
{
    layout trial;
    cfx_status st = check_costs(s);
    if (!st)
        st = cfx_layout__init(s, &trial, s->ncalls);
    if (st)
        return st;
    cfx_layout__weigh(s, l);
    cfx_layout__connect(s, l);
    double cost = cfx_layout__latency(s, l);
    for (uint32_t c = 0; c < s->ncalls && !st; c++) {
        swap best = {.cost = cost};
        st = find_swap(s, l, &trial, c, &best);
        if (st || !(best.cost < cost))
            continue;
        move(l, c, best.to, best.other);
        try_out(s, l);
        cost = best.cost;
    }
    return st;
}
