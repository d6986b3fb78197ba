/*
 * roofline_floor -- the least time of each row.
 *
 * The caches are modelled as one LRU stack of blocks. Data deeper in the stack
 * than a level's size must come from beyond that level. Freed memory stays in
 * the stack until a new value takes it, the last freed first. The walk is made
 * twice, and the second one counts, so that weights and inputs are where a
 * previous run leaves them.
 */
#include <math.h>

#include "shapeprop/roofline/roofline_impl.h"

/* ---- The LRU stack ---- */

/* Freed memory. */
typedef struct spare {
    size_t time; /* of its last use */
    int64_t bytes;
} spare;

/* Bytes by time of last use, as a Fenwick tree of sums. */
typedef struct stack {
    int64_t *sum;
    size_t len; /* number of times */
    size_t now;
    size_t *last;  /* by block: its time, 0: not in the stack */
    int64_t *held; /* by block: its bytes in the stack */
    spare *spare;  /* the last one is taken first */
    size_t nspare;
} stack;

static void add_at(stack *s, size_t time, int64_t bytes)
{
    for (size_t i = time; i <= s->len; i += i & (0 - i))
        s->sum[i] += bytes;
}

static int64_t sum_to(const stack *s, size_t time)
{
    int64_t sum = 0;
    for (size_t i = time; i; i -= i & (0 - i))
        sum += s->sum[i];
    return sum;
}

/* Return the bytes used since the block was; INT64_MAX if it never was. */
static int64_t depth(const stack *s, uint32_t block)
{
    if (!s->last[block])
        return INT64_MAX;
    return sum_to(s, s->now) - sum_to(s, s->last[block]);
}

static void use(stack *s, uint32_t block, int64_t bytes)
{
    if (s->last[block])
        add_at(s, s->last[block], -s->held[block]);
    s->last[block] = ++s->now;
    s->held[block] = bytes;
    add_at(s, s->now, bytes);
}

static void give_back(stack *s, uint32_t block)
{
    if (s->last[block])
        s->spare[s->nspare++] = (spare){s->last[block], s->held[block]};
    s->last[block] = 0;
}

/* A new value takes freed memory first. */
static void take(stack *s, int64_t bytes)
{
    while (bytes > 0 && s->nspare) {
        spare *last = &s->spare[s->nspare - 1];
        int64_t part = last->bytes < bytes ? last->bytes : bytes;
        add_at(s, last->time, -part);
        last->bytes -= part;
        bytes -= part;
        s->nspare -= !last->bytes;
    }
}

/* ---- Numbers ---- */

typedef struct finding {
    const cfx_flow *f;
    const cfx_machine_rates *rates;
    cfx_symbol_fn *value;
    void *user;
    stack stack;
    int64_t *bytes; /* by block; negative: not known */
    cfx_roofline_floor *floor;
} finding;

/* Return the value of a count, or -1. */
static int64_t number(const finding *g, cfx_dim d)
{
    int64_t v = -1;
    if (cfx_dim_is_bad(d))
        return -1;
    if (cfx_dim_is_int(d))
        return cfx_dim_value(d);
    if (!g->value || cfx_dim_eval(&v, d, g->value, g->user, NULL))
        return -1;
    return v;
}

/* ---- Levels ---- */

typedef struct traffic {
    /* Bytes that level i or a later one must supply, and must receive. */
    double read[CFX_MACHINE_LEVELS], written[CFX_MACHINE_LEVELS];
    bool in_place;
} traffic;

static int64_t capacity(const finding *g, int level)
{
    return cfx_machine_capacity(g->rates, &g->rates->level[level]);
}

static void read_from(const finding *g, traffic *t, int64_t bytes,
                      int64_t deep)
{
    t->read[0] += (double)bytes;
    for (int i = 0; i + 1 < g->rates->nlevels; i++) {
        int64_t holds = capacity(g, i);
        int64_t here = deep >= holds ? 0 : holds - deep;
        if (here < bytes)
            t->read[i + 1] += (double)(bytes - here);
    }
}

static void write_to(const finding *g, traffic *t, int64_t bytes)
{
    t->written[0] += (double)bytes;
    for (int i = 0; i + 1 < g->rates->nlevels; i++)
        if (capacity(g, i) < bytes)
            t->written[i + 1] += (double)(bytes - capacity(g, i));
}

/* What a row reads; NULL: nothing. */
static const cfx_memory_part *parts_of(const cfx_flow *f,
                                       const cfx_flow_row *row)
{
    return row->count ? &f->reading[row->first] : NULL;
}

/* A row's cost gives the sum of its reads. If that is less than its blocks
 * hold, it reads a part of the largest one; if it is more, it reads the rest
 * from data that it wrote itself. */
static void read_all(const finding *g, traffic *t, const cfx_flow_row *row,
                     int64_t total)
{
    const cfx_memory_part *r = parts_of(g->f, row);
    int64_t sum = 0, most = 0, left;
    size_t largest = 0;
    for (size_t i = 0; i < row->count; i++) {
        int64_t bytes = number(g, r[i].bytes);
        bytes = bytes < 0 ? 0 : bytes;
        sum += bytes;
        if (bytes > most) {
            most = bytes;
            largest = i;
        }
    }
    left = sum - total;
    if (left < 0)
        read_from(g, t, -left, 0);
    for (size_t i = 0; i < row->count && sum > 0; i++) {
        int64_t bytes = number(g, r[i].bytes), deep;
        if (i == largest && left > 0)
            bytes = left < bytes ? bytes - left : 0;
        if (left > most) /* it reads less than the other blocks hold */
            bytes = (int64_t)((double)bytes * (double)total / (double)sum);
        deep = depth(&g->stack, r[i].block);
        if (bytes > 0)
            read_from(g, t, bytes, deep);
    }
}

/* Reads and writes may overlap; their sum is limited by the best rate measured
 * for the level. A triad reads two of three bytes, an update one of two, which
 * is the limit for work in place. */
static double level_seconds(const cfx_machine_level *l, double read,
                            double written, bool in_place)
{
    const double *rate = l->rate;
    double triad = rate[CFX_MACHINE_TRIAD];
    double update = in_place ? rate[CFX_MACHINE_UPDATE] : 0;
    double in = fmax(fmax(rate[CFX_MACHINE_READ], triad * 2 / 3), update / 2);
    double out = fmax(fmax(rate[CFX_MACHINE_WRITE], triad / 3), update / 2);
    in = in > 0 ? in : rate[CFX_MACHINE_WRITE];
    out = out > 0 ? out : in;
    double both = fmax(fmax(in, out), fmax(triad, update));
    return fmax(fmax(read / in, written / out), (read + written) / both);
}

static void find_memory(const finding *g, cfx_roofline_floor *floor,
                        const traffic *t)
{
    floor->level = -1;
    floor->memory = 0;
    for (int i = 0; i < g->rates->nlevels; i++) {
        double s = level_seconds(&g->rates->level[i], t->read[i],
                                 t->written[i], t->in_place);
        if (s > floor->memory) {
            floor->memory = s;
            floor->level = i;
        }
    }
}

/* ---- Rows ---- */

static void find_bound(cfx_roofline_floor *floor, double flops, double bytes,
                       double peak)
{
    floor->compute = flops / peak;
    floor->seconds = fmax(floor->compute, floor->memory);
    floor->ridge = bytes > 0 ? peak * floor->memory / bytes : 0;
    if (flops <= 0 && bytes <= 0)
        floor->bound = CFX_BOUND_FREE;
    else if (floor->compute >= floor->memory)
        floor->bound = CFX_BOUND_COMPUTE;
    else
        floor->bound = CFX_BOUND_MEMORY;
}

/* True if a row writes to a block that it reads. */
static bool in_place(const cfx_flow *f, const cfx_flow_row *row)
{
    for (size_t i = 0; i < row->nvalue; i++)
        for (size_t k = 0; k < row->count; k++)
            if (f->reading[row->first + k].block == row->value[i].block)
                return true;
    return false;
}

static void find_row(const finding *g, size_t i)
{
    const cfx_cost_node *c = &g->f->costs->node[i];
    int64_t flops = number(g, cfx_cost_flops(g->f->env, &c->cost));
    int64_t read = number(g, c->cost.bytes_read);
    int64_t written = number(g, c->cost.bytes_written);
    cfx_roofline_floor *floor = &g->floor[i];
    traffic t = {.in_place = in_place(g->f, &g->f->row[i])};
    *floor = (cfx_roofline_floor){.level = -1};
    if (flops < 0 || read < 0 || written < 0)
        return;
    read_all(g, &t, &g->f->row[i], read);
    write_to(g, &t, written);
    find_memory(g, floor, &t);
    find_bound(floor, (double)flops, (double)read + (double)written,
               cfx_machine_peak(g->rates, c->dtype));
}

static void end_parts(finding *g, const cfx_memory_part *part, size_t n,
                      size_t row)
{
    for (size_t k = 0; k < n; k++)
        if (g->f->end[part[k].block] == row &&
            !cfx_flow__is_kept(g->f, part[k].block))
            give_back(&g->stack, part[k].block);
}

/* Update the stack for a row that has run. Views, and rows that only pass on
 * values, use no memory. */
static void use_row(finding *g, size_t i)
{
    const cfx_flow_row *row = &g->f->row[i];
    const cfx_memory_part *r = parts_of(g->f, row);
    const cfx_cost *c = &g->f->costs->node[i].cost;
    bool touches = !cfx_dim_is(c->bytes_read, 0) ||
                   !cfx_dim_is(c->bytes_written, 0);
    for (size_t k = 0; k < row->count && touches; k++)
        if (g->bytes[r[k].block] > 0)
            use(&g->stack, r[k].block, g->bytes[r[k].block]);
    for (size_t k = 0; k < row->nvalue && touches; k++) {
        uint32_t block = row->value[k].block;
        if (g->bytes[block] <= 0)
            continue;
        if (!g->stack.last[block])
            take(&g->stack, g->bytes[block]);
        use(&g->stack, block, g->bytes[block]);
    }
    end_parts(g, r, row->count, i);
    end_parts(g, row->value, row->nvalue, i);
}

static bool make_stack(stack *s, const cfx_flow *f)
{
    size_t nblocks = f->plan->nblocks;
    s->len = 2 * (f->nreadings + f->plan->nparts) + 1;
    s->sum = cfx_calloc(f->ctx, s->len + 1, sizeof(*s->sum));
    s->last = cfx_calloc(f->ctx, nblocks + 1, sizeof(*s->last));
    s->held = cfx_calloc(f->ctx, nblocks + 1, sizeof(*s->held));
    s->spare = cfx_calloc(f->ctx, s->len + 1, sizeof(*s->spare));
    return s->sum && s->last && s->held && s->spare;
}

static void free_stack(stack *s, const cfx_flow *f)
{
    size_t nblocks = f->plan->nblocks;
    cfx_free(f->ctx, s->sum, (s->len + 1) * sizeof(*s->sum));
    cfx_free(f->ctx, s->last, (nblocks + 1) * sizeof(*s->last));
    cfx_free(f->ctx, s->held, (nblocks + 1) * sizeof(*s->held));
    cfx_free(f->ctx, s->spare, (s->len + 1) * sizeof(*s->spare));
}

cfx_status cfx_flow__find_floors(cfx_roofline_floor *floor, const cfx_flow *f,
                                 const cfx_machine_rates *rates,
                                 cfx_symbol_fn *value, void *user,
                                 cfx_error *err)
{
    finding g = {
        .f = f, .rates = rates, .value = value, .user = user, .floor = floor};
    size_t nblocks = f->plan->nblocks;
    size_t size = (nblocks + 1) * sizeof(*g.bytes);
    bool ok = make_stack(&g.stack, f) && (g.bytes = cfx_alloc(f->ctx, size));
    for (size_t i = 0; ok && i < nblocks; i++)
        g.bytes[i] = number(&g, f->plan->block[i].bytes);
    for (size_t i = 0; ok && i < f->nrows; i++)
        use_row(&g, i);
    for (size_t i = 0; ok && i < f->nrows; i++) {
        find_row(&g, i);
        use_row(&g, i);
    }
    cfx_free(f->ctx, g.bytes, size);
    free_stack(&g.stack, f);
    return ok ? CFX_OK : cfx_no_memory(err);
}
