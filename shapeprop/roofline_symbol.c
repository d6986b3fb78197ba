/*
 * roofline_symbol -- floors along a symbol: turning points, curves.
 */
#include "shapeprop/roofline_impl.h"
#include "shapeprop/symbols.h"

enum { EACH_UP_TO = 64, FOLLOW_UP_TO = 4096, MOST_POINTS = 10000 };

typedef struct setting {
    const char *name;
    int64_t v;
} setting;

static bool value_of(void *user, const char *name, int64_t *v)
{
    const setting *s = user;
    *v = s->v;
    return !strcmp(s->name, name);
}

cfx_status cfx_roofline_at(const cfx_roofline *r, cfx_floor *floor,
                           cfx_symbol_fn *value, void *user, cfx_error *err)
{
    if (!r->rates)
        return cfx_fail(err, CFX_EINVAL, "floors need a machine");
    return cfx_floor__find(floor, &r->self->flow, r->rates, value, user, err);
}

/* ---- Turning points ---- */

typedef struct following {
    cfx_roofline *r;
    const char *symbol;
    size_t size;            /* of the bounds of all rows */
    size_t cap;
    cfx_floor *floor;       /* scratch */
} following;

static cfx_status bounds_at(const following *f, int64_t at, uint8_t *bounds,
                            cfx_error *err)
{
    setting s = {f->symbol, at};
    cfx_status st = cfx_roofline_at(f->r, f->floor, value_of, &s, err);
    for (size_t i = 0; i < f->r->nnodes && !st; i++)
        bounds[i] = (uint8_t)f->floor[i].bound;
    return st;
}

static cfx_status add_turn(following *f, cfx_turn t, cfx_error *err)
{
    cfx_roofline *r = f->r;
    if (r->nturns == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        void *p = cfx_realloc(r->ctx, r->turn, f->cap * sizeof(t),
                              cap * sizeof(t));
        if (!p)
            return cfx_no_memory(err);
        r->turn = p;
        r->self->turn_cap = f->cap = cap;
    }
    r->turn[r->nturns++] = t;
    return CFX_OK;
}

static cfx_status add_turns(following *f, int64_t at, const uint8_t *a,
                            const uint8_t *b, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < f->r->nnodes && !st; i++)
        if (a[i] != b[i])
            st = add_turn(f, (cfx_turn){i, at, (cfx_bound_by)a[i],
                                        (cfx_bound_by)b[i]}, err);
    return st;
}

/* All rows at once, by halves; no deeper than the bits of the gap. */
static cfx_status halve(following *f, int64_t from, int64_t to,
                        const uint8_t *a, const uint8_t *b, cfx_error *err)
{
    if (!memcmp(a, b, f->r->nnodes))
        return CFX_OK;
    if (to - from <= 1)
        return add_turns(f, to, a, b, err);
    int64_t middle = from + (to - from) / 2;
    uint8_t *m = cfx_alloc(f->r->ctx, f->size);
    if (!m)
        return cfx_no_memory(err);
    cfx_status st = bounds_at(f, middle, m, err);
    if (!st)
        st = halve(f, from, middle, a, m, err);
    if (!st)
        st = halve(f, middle, to, m, b, err);
    cfx_free(f->r->ctx, m, f->size);
    return st;
}

static int64_t step_from(int64_t v)
{
    return v < EACH_UP_TO ? 1 : v / 10;
}

static cfx_status follow(following *f, int64_t from, int64_t to, uint8_t *a,
                         uint8_t *b, cfx_error *err)
{
    cfx_status st = bounds_at(f, from, a, err);
    for (size_t i = 0; i < f->r->nnodes && !st; i++)
        f->r->node[i].first = (cfx_bound_by)a[i];
    for (int64_t v = from; v < to && !st;) {
        int64_t next = to - v < step_from(v) ? to : v + step_from(v);
        st = bounds_at(f, next, b, err);
        if (!st)
            st = halve(f, v, next, a, b, err);
        memcpy(a, b, f->r->nnodes);
        v = next;
    }
    return st;
}

static void set_symbol(char to[64], const char *symbol)
{
    size_t n = strlen(symbol);
    n = n < 63 ? n : 63;
    memcpy(to, symbol, n);
    to[n] = '\0';
}

/* In the order of rows: what is found comes by value. */
static void sort_turns(cfx_roofline *r)
{
    for (size_t i = 1; i < r->nturns; i++) {
        cfx_turn t = r->turn[i];
        size_t k = i;
        for (; k && r->turn[k - 1].row > t.row; k--)
            r->turn[k] = r->turn[k - 1];
        r->turn[k] = t;
    }
}

static cfx_status follow_range(cfx_roofline *r, const char *symbol,
                               int64_t from, int64_t to, cfx_error *err)
{
    following f = {.r = r, .symbol = symbol, .size = r->nnodes + 1,
                   .cap = r->self->turn_cap};
    uint8_t *a = cfx_alloc(r->ctx, f.size), *b = cfx_alloc(r->ctx, f.size);
    f.floor = cfx_alloc(r->ctx, f.size * sizeof(*f.floor));
    r->nturns = 0;
    set_symbol(r->symbol, symbol);
    cfx_status st = a && b && f.floor ? follow(&f, from, to, a, b, err)
                                      : cfx_no_memory(err);
    if (!st)
        sort_turns(r);
    cfx_free(r->ctx, f.floor, f.size * sizeof(*f.floor));
    cfx_free(r->ctx, a, f.size);
    cfx_free(r->ctx, b, f.size);
    return st;
}

/* The symbol of that name, or the only one. */
static cfx_status find_symbol(cfx_symbol_facts *out, const cfx_roofline *r,
                              const char *symbol, cfx_error *err)
{
    cfx_symbol_facts f;
    size_t at = 0, n = 0;
    while (r->env && cfx_symbols__next(r->env, &at, &f)) {
        if (symbol && strcmp(f.name, symbol))
            continue;
        *out = f;
        n++;
    }
    if (symbol && !n)
        return cfx_fail(err, CFX_EINVAL, "there is no symbol '%s'", symbol);
    return n == 1 ? CFX_OK
                  : cfx_fail(err, CFX_EINVAL, "turning points are along one "
                             "symbol, and there are %zu", n);
}

cfx_status cfx_roofline_follow(cfx_roofline *r, const char *symbol,
                               int64_t from, int64_t to, cfx_error *err)
{
    cfx_symbol_facts s = {.name = ""};
    cfx_status st = find_symbol(&s, r, symbol, err);
    if (st)
        return st;
    if (!from)
        from = s.has_min && s.min > 1 ? s.min : 1;
    if (!to)
        to = s.has_max && s.max < FOLLOW_UP_TO ? s.max
             : from < FOLLOW_UP_TO ? FOLLOW_UP_TO : from;
    return follow_range(r, s.name, from, to, err);
}

/* ---- Curves ---- */

static double number(cfx_dim d, setting *s)
{
    int64_t v;
    return cfx_dim_is_bad(d) || cfx_dim_eval(&v, d, value_of, s, NULL)
               ? -1 : (double)v;
}

static cfx_status find_point(const cfx_roofline *r, cfx_roofline_point *p,
                             const char *symbol, cfx_floor *floor,
                             cfx_error *err)
{
    const cfx_cost *c = &r->total.cost.cost;
    setting s = {symbol, p->at};
    p->macs = number(c->macs, &s);
    p->flops = number(cfx_cost_flops(r->env, c), &s);
    p->bytes = number(cfx_cost_bytes(r->env, c), &s);
    p->peak_bytes = number(r->peak_bytes, &s);
    p->floor = r->rates ? 0 : -1;
    if (!r->rates)
        return CFX_OK;
    cfx_status st = cfx_roofline_at(r, floor, value_of, &s, err);
    for (size_t i = 0; i < r->nnodes && !st; i++) {
        p->floor_of[floor[i].bound] += floor[i].seconds;
        if (floor[i].bound == CFX_BOUND_UNKNOWN)
            p->floor = -1;
        else if (p->floor >= 0)
            p->floor += floor[i].seconds;
    }
    return st;
}

static bool next_value(int64_t *v, int64_t to, int64_t step, int64_t factor)
{
    if (factor > 1)
        step = *v > to / factor ? to : *v * (factor - 1);
    if (*v > to - step)
        return false;
    *v += step;
    return true;
}

static size_t count_points(int64_t from, int64_t to, int64_t step,
                           int64_t factor)
{
    size_t n = from <= to;
    for (int64_t v = from; n && n <= MOST_POINTS &&
                           next_value(&v, to, step, factor);)
        n++;
    return n;
}

cfx_status cfx_roofline_sweep(cfx_roofline *r, const char *symbol,
                              int64_t from, int64_t to, int64_t step,
                              int64_t factor, cfx_error *err)
{
    size_t n = from < 1 || step < 1 ? 0 : count_points(from, to, step, factor);
    size_t size = (r->nnodes + 1) * sizeof(cfx_floor);
    cfx_symbol_facts facts;
    cfx_status st = find_symbol(&facts, r, symbol, err);
    if (st)
        return st;
    if (!n || n > MOST_POINTS)
        return cfx_fail(err, CFX_EINVAL, "a sweep has 1 to %d points",
                        MOST_POINTS);
    cfx_floor *floor = cfx_alloc(r->ctx, size);
    cfx_free(r->ctx, r->point, r->npoints * sizeof(*r->point));
    r->npoints = 0;
    r->point = cfx_calloc(r->ctx, n, sizeof(*r->point));
    st = floor && r->point ? CFX_OK : cfx_no_memory(err);
    r->npoints = r->point ? n : 0;
    set_symbol(r->swept, symbol);
    for (size_t i = 0; i < n && !st; i++) {
        r->point[i].at = from;
        st = find_point(r, &r->point[i], symbol, floor, err);
        next_value(&from, to, step, factor);
    }
    cfx_free(r->ctx, floor, size);
    return st;
}
