/*
 * roofline_symbol -- floors along a symbol: crossovers and sweeps.
 */
#include "shapeprop/roofline/roofline_impl.h"
#include "shapeprop/shapes/symbols.h"

enum { EACH_UP_TO = 64, FOLLOW_UP_TO = 1 << 30, MOST_POINTS = 10000 };

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

cfx_status cfx_roofline_at(const cfx_roofline *r, cfx_roofline_floor *floor,
                           cfx_symbol_fn *value, void *user, cfx_error *err)
{
    if (!r->rates)
        return cfx_fail(err, CFX_EINVAL, "floors need a machine");
    return cfx_flow__find_floors(floor, &r->self->flow, r->rates, value, user,
                                 err);
}

/* ---- Symbols ---- */

/* Find the symbol of that name, or the only free one. */
static cfx_status find_symbol(cfx_symbol *out, const cfx_roofline *r,
                              const char *symbol, cfx_error *err)
{
    size_t all = r->env ? cfx_shape_env_symbols(r->env) : 0, n = 0;
    cfx_symbol s;
    for (size_t i = 0; i < all; i++) {
        cfx_shape_env_symbol(r->env, i, &s);
        if (symbol ? strcmp(s.name, symbol) != 0
                   : cfx_symbol__is_determined(&s))
            continue;
        *out = s;
        n++;
    }
    if (symbol && !n)
        return cfx_fail(err, CFX_EINVAL, "there is no symbol '%s'", symbol);
    return n == 1
               ? CFX_OK
               : cfx_fail(err, CFX_EINVAL,
                          "crossovers are along one symbol, and there are %zu",
                          n);
}

/* ---- Crossovers ---- */

typedef struct following {
    cfx_roofline *r;
    const char *symbol;
    size_t size;               /* of the bounds of all rows */
    cfx_roofline_floor *floor; /* scratch */
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

static cfx_status add_crossover(following *f, cfx_crossover t, cfx_error *err)
{
    cfx_roofline *r = f->r;
    if (cfx_grow(r->ctx, r->crossover, r->self->crossover_cap,
                 r->ncrossovers + 1, err))
        return CFX_ENOMEM;
    r->crossover[r->ncrossovers++] = t;
    return CFX_OK;
}

static cfx_status add_crossovers(following *f, int64_t at, const uint8_t *a,
                                 const uint8_t *b, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < f->r->nnodes && !st; i++)
        if (a[i] != b[i])
            st = add_crossover(
                f,
                (cfx_crossover){i, at, (cfx_bound_by)a[i], (cfx_bound_by)b[i]},
                err);
    return st;
}

/* Bisect for all rows at once; the depth is that of the interval's bits. */
static cfx_status halve(following *f, int64_t from, int64_t to,
                        const uint8_t *a, const uint8_t *b, cfx_error *err)
{
    if (!memcmp(a, b, f->r->nnodes))
        return CFX_OK;
    if (to - from <= 1)
        return add_crossovers(f, to, a, b, err);
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

/* Counts that overflow from here on end the search; they are no crossover. */
static bool overflows(const following *f, const uint8_t *a, const uint8_t *b)
{
    for (size_t i = 0; i < f->r->nnodes; i++)
        if (a[i] != CFX_BOUND_UNKNOWN && b[i] == CFX_BOUND_UNKNOWN)
            return true;
    return false;
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
        if (!st && overflows(f, a, b))
            break;
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

/* Sort by row; the search finds crossovers by value. */
static void sort_crossovers(cfx_roofline *r)
{
    for (size_t i = 1; i < r->ncrossovers; i++) {
        cfx_crossover t = r->crossover[i];
        size_t k = i;
        for (; k && r->crossover[k - 1].row > t.row; k--)
            r->crossover[k] = r->crossover[k - 1];
        r->crossover[k] = t;
    }
}

static cfx_status follow_range(cfx_roofline *r, const char *symbol,
                               int64_t from, int64_t to, cfx_error *err)
{
    following f = {.r = r, .symbol = symbol, .size = r->nnodes + 1};
    uint8_t *a = cfx_alloc(r->ctx, f.size), *b = cfx_alloc(r->ctx, f.size);
    f.floor = cfx_alloc(r->ctx, f.size * sizeof(*f.floor));
    r->ncrossovers = 0;
    set_symbol(r->symbol, symbol);
    cfx_status st = a && b && f.floor ? follow(&f, from, to, a, b, err)
                                      : cfx_no_memory(err);
    if (!st)
        sort_crossovers(r);
    cfx_free(r->ctx, f.floor, f.size * sizeof(*f.floor));
    cfx_free(r->ctx, a, f.size);
    cfx_free(r->ctx, b, f.size);
    return st;
}

cfx_status cfx_roofline_crossovers(cfx_roofline *r, const char *symbol,
                                   int64_t from, int64_t to, cfx_error *err)
{
    cfx_symbol s = {.name = ""};
    cfx_status st = find_symbol(&s, r, symbol, err);
    if (st)
        return st;
    if (!from)
        from = s.min > 1 ? s.min : 1;
    if (!to)
        to = s.max != CFX_DIM_NO_MAX ? s.max
             : from < FOLLOW_UP_TO   ? FOLLOW_UP_TO
                                     : from;
    return follow_range(r, s.name, from, to, err);
}

/* ---- Guards ---- */

static const char *const relations[] = {" == ", " != ", " <= ", " < "};
enum { RELATIONS = 4 };

/* A guard, "A == B", parsed in an environment of its own. */
typedef struct guard {
    const char *text;
    int relation;
    cfx_dim left, right;
} guard;

typedef struct guards {
    cfx_shape_env *env;
    guard *item;
    size_t n, cap;
} guards;

/* *read is false for sides that cannot be parsed here. */
static cfx_status read_guard(guard *g, cfx_shape_env *env, const char *text,
                             bool *read, cfx_error *err)
{
    char left[1024];
    const char *at = NULL;
    *read = false;
    *g = (guard){.text = text};
    while (g->relation < RELATIONS &&
           !(at = strstr(text, relations[g->relation])))
        g->relation++;
    size_t n = at ? (size_t)(at - text) : sizeof(left);
    if (n >= sizeof(left))
        return CFX_OK;
    memcpy(left, text, n);
    left[n] = '\0';
    cfx_status st = cfx_dim_parse(&g->left, env, left, err);
    if (!st)
        st = cfx_dim_parse(&g->right, env, at + strlen(relations[g->relation]),
                           err);
    *read = !st;
    return st == CFX_ENOMEM ? st : CFX_OK;
}

/* Release them, also on failure. */
static cfx_status read_guards(guards *g, const cfx_roofline *r, cfx_error *err)
{
    bool read;
    *g = (guards){.cap = cfx_shape_env_guards(r->env)};
    cfx_status st = cfx_shape_env_new(&g->env, r->ctx, err);
    if (st)
        return st;
    g->item = cfx_calloc(r->ctx, g->cap + 1, sizeof(*g->item));
    if (!g->item)
        return cfx_no_memory(err);
    for (size_t i = 0; i < g->cap && !st; i++) {
        st = read_guard(&g->item[g->n], g->env, cfx_shape_env_guard(r->env, i),
                        &read, err);
        g->n += read;
    }
    return st;
}

static void release_guards(guards *g, const cfx_roofline *r)
{
    cfx_free(r->ctx, g->item, (g->cap + 1) * sizeof(*g->item));
    cfx_shape_env_free(g->env);
}

/* Guards with other symbols are assumed to hold. */
static bool guard_holds(const guard *g, setting *s)
{
    int64_t x, y;
    if (cfx_dim_eval(&x, g->left, value_of, s, NULL) ||
        cfx_dim_eval(&y, g->right, value_of, s, NULL))
        return true;
    return g->relation == 0   ? x == y
           : g->relation == 1 ? x != y
           : g->relation == 2 ? x <= y
                              : x < y;
}

/* Return the first guard that a value violates, including the range of its
 * symbol; NULL if there is none. */
static const char *find_broken(const guards *g, const cfx_symbol *symbol,
                               int64_t at)
{
    setting s = {symbol->name, at};
    for (size_t i = 0; i < g->n; i++)
        if (!guard_holds(&g->item[i], &s))
            return g->item[i].text;
    return at < symbol->min || at > symbol->max ? "its range" : NULL;
}

/* ---- Sweeps ---- */

static double number(cfx_dim d, setting *s)
{
    int64_t v;
    return cfx_dim_is_bad(d) || cfx_dim_eval(&v, d, value_of, s, NULL)
               ? -1
               : (double)v;
}

/* Evaluate the counts, which are known at every point. */
static cfx_status find_counts(const cfx_roofline *r, cfx_roofline_point *p,
                              setting *s, cfx_error *err)
{
    const cfx_cost *c = &r->total.cost.cost;
    p->macs = number(c->macs, s);
    p->flops = number(cfx_cost_flops(r->env, c), s);
    p->bytes = number(cfx_cost_bytes(r->env, c), s);
    p->peak_bytes = number(r->peak_bytes, s);
    if (p->macs >= 0 && p->flops >= 0 && p->bytes >= 0)
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL, "the counts for %s=%lld are too large",
                    s->name, (long long)s->v);
}

static cfx_status find_point(const cfx_roofline *r, cfx_roofline_point *p,
                             const char *symbol, cfx_roofline_floor *floor,
                             cfx_error *err)
{
    setting s = {symbol, p->at};
    cfx_status st = find_counts(r, p, &s, err);
    p->floor = r->rates ? 0 : -1;
    if (st || !r->rates)
        return st;
    st = cfx_roofline_at(r, floor, value_of, &s, err);
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
    for (int64_t v = from;
         n && n <= MOST_POINTS && next_value(&v, to, step, factor);)
        n++;
    return n;
}

/* Check that points depend on no other symbol. */
static cfx_status check_free(const cfx_roofline *r, const char *symbol,
                             cfx_error *err)
{
    const cfx_cost *c = &r->total.cost.cost;
    const cfx_dim dims[] = {cfx_cost_flops(r->env, c),
                            cfx_cost_bytes(r->env, c)};
    for (int i = 0; i < 2; i++) {
        cfx_dim in[8];
        if (cfx_dim_is_bad(dims[i]) || cfx_dim_is_int(dims[i]))
            continue;
        size_t n = cfx_dim_free_symbols(dims[i], in, 8);
        for (size_t k = 0; k < n && k < 8; k++) {
            const char *name = cfx_dim_symbol_name(in[k]);
            if (name && strcmp(name, symbol))
                return cfx_fail(err, CFX_EINVAL, "symbol %s has no value",
                                name);
        }
    }
    return CFX_OK;
}

typedef struct sweeping {
    cfx_roofline *r;
    cfx_symbol symbol;
    int64_t from, to, step, factor;
    size_t all;                /* number of values, including excluded ones */
    cfx_roofline_floor *floor; /* scratch */
} sweeping;

static cfx_status sweep_all(sweeping *s, const guards *g, cfx_error *err)
{
    cfx_roofline *r = s->r;
    const char *first = NULL;
    int64_t at = s->from, broken = 0;
    size_t n = 0;
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < s->all && !st; i++) {
        const char *why = find_broken(g, &s->symbol, at);
        if (why && !first)
            broken = at;
        first = first ? first : why;
        if (!why) {
            r->point[n].at = at;
            st = find_point(r, &r->point[n], s->symbol.name, s->floor, err);
            n++;
        }
        next_value(&at, s->to, s->step, s->factor);
    }
    r->npoints = st ? 0 : n;
    if (!st && !n)
        return cfx_fail(err, CFX_EINVAL,
                        "%s=%lld violates %s, and so do all others",
                        s->symbol.name, (long long)broken, first);
    if (!st && first)
        cfx_message(
            r->ctx, CFX_NOTE,
            "%zu of %zu values of %s are left out: %s=%lld violates %s",
            s->all - n, s->all, s->symbol.name, s->symbol.name,
            (long long)broken, first);
    return st;
}

static void drop_points(cfx_roofline *r)
{
    cfx_free(r->ctx, r->point, r->self->point_cap * sizeof(*r->point));
    r->point = NULL;
    r->npoints = r->self->point_cap = 0;
}

cfx_status cfx_roofline_sweep(cfx_roofline *r, const char *symbol,
                              int64_t from, int64_t to, int64_t step,
                              int64_t factor, cfx_error *err)
{
    sweeping s = {
        .r = r, .from = from, .to = to, .step = step, .factor = factor};
    size_t size = (r->nnodes + 1) * sizeof(cfx_roofline_floor);
    cfx_status st = find_symbol(&s.symbol, r, symbol, err);
    if (!st)
        st = check_free(r, s.symbol.name, err);
    if (st)
        return st;
    s.all = from < 1 || step < 1 ? 0 : count_points(from, to, step, factor);
    if (!s.all || s.all > MOST_POINTS)
        return cfx_fail(err, CFX_EINVAL, "a sweep has 1 to %d points",
                        MOST_POINTS);
    drop_points(r);
    s.floor = cfx_alloc(r->ctx, size);
    r->point = cfx_calloc(r->ctx, s.all, sizeof(*r->point));
    r->self->point_cap = r->point ? s.all : 0;
    set_symbol(r->swept, s.symbol.name);
    guards g;
    st = read_guards(&g, r, err);
    if (!st)
        st = s.floor && r->point ? sweep_all(&s, &g, err) : cfx_no_memory(err);
    release_guards(&g, r);
    cfx_free(r->ctx, s.floor, size);
    if (st)
        drop_points(r);
    return st;
}
