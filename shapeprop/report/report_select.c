/*
 * report_select -- select what a picture shows of a roofline: nodes, looks for
 * their operators, and ceilings.
 */
#include "shapeprop/report/report_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- Operators ---- */

static bool begins(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* "linear" of torch.nn.functional.linear, "conv2d" of aten.conv2d.default. */
static const char *short_target(const char *target, size_t *len)
{
    const char *end = target + strlen(target), *dot = strrchr(target, '.');
    if (dot && (begins(target, "aten.") || begins(target, "torch.ops."))) {
        end = dot;
        while (dot > target && dot[-1] != '.')
            dot--;
        *len = (size_t)(end - dot);
        return dot;
    }
    if (dot && dot[1])
        target = dot + 1;
    *len = (size_t)(end - target);
    return target;
}

static bool add_to_kind(cfx_report *r, cfx_map *kinds, cfx_report_node *n)
{
    bool added;
    cfx_map_entry *e = cfx_map_put(kinds, n->what, n->what_len, &added);
    if (!e)
        return false;
    if (added) {
        e->v.u = r->nkinds;
        r->kind[r->nkinds++] = (cfx_report_kind){.name = n->what,
                                                 .len = n->what_len};
    }
    r->kind[e->v.u].nodes++;
    r->kind[e->v.u].time += n->time;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const cfx_report_kind *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->name, y->name, len);
    return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* Sort kinds by falling time and merge the last ones. */
static void sort_kinds(cfx_report *r, cfx_map *kinds)
{
    if (r->nkinds > 1)
        qsort(r->kind, r->nkinds, sizeof(*r->kind), by_time);
    for (size_t i = 0; i < r->nkinds; i++)
        cfx_map_get(kinds, r->kind[i].name, r->kind[i].len)->v.u = i;
    for (size_t i = 0; i < r->nnodes; i++) {
        cfx_report_node *n = &r->node[i];
        uint64_t at = cfx_map_get(kinds, n->what, n->what_len)->v.u;
        n->kind = at < CFX_REPORT_LOOKS ? (uint32_t)at : CFX_REPORT_LOOKS - 1;
    }
    if (r->nkinds <= CFX_REPORT_LOOKS)
        return;
    cfx_report_kind *last = &r->kind[CFX_REPORT_LOOKS - 1];
    for (size_t i = CFX_REPORT_LOOKS; i < r->nkinds; i++) {
        last->nodes += r->kind[i].nodes;
        last->time += r->kind[i].time;
    }
    last->name = "others";
    last->len = strlen(last->name);
    r->nkinds = CFX_REPORT_LOOKS;
}

/* ---- Nodes ---- */

/* True if its numbers have logarithms. */
static bool place_node(cfx_report_node *n)
{
    const cfx_report_row *row = n->row;
    n->time = row->time;
    n->intensity = row->flops / row->bytes;
    n->rate = row->flops / row->time;
    return n->time > 0 && n->intensity > 0 && n->rate > 0 &&
           isfinite(n->intensity) && isfinite(n->rate) && isfinite(n->time);
}

/* False if a node cannot be drawn; it is then counted. */
static bool add_row(cfx_report *r, const cfx_report_row *row)
{
    cfx_report_node *n = &r->node[r->nnodes];
    *n = (cfx_report_node){.row = row};
    if (row->time > 0)
        r->time += row->time;
    r->symbolic = r->symbolic || row->formula;
    if (row->flops <= 0)
        r->no_flops++;
    else if (row->bytes <= 0)
        r->no_bytes++;
    else if (place_node(n))
        return true;
    else
        r->no_number++;
    return false;
}

static int by_falling_time(const void *a, const void *b)
{
    const cfx_report_node *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return strcmp(x->row->name, y->row->name);
}

static bool add_rows(cfx_report *r, cfx_map *kinds)
{
    const cfx_report_source *from = r->from;
    size_t cap = from->nrows + 1;
    r->node = cfx_arena_alloc(&r->arena, cap * sizeof(*r->node));
    r->kind = cfx_arena_alloc(&r->arena, cap * sizeof(*r->kind));
    if (!r->node || !r->kind)
        return false;
    for (size_t i = 0; i < from->nrows; i++) {
        cfx_report_node *n = &r->node[r->nnodes];
        if (!add_row(r, &from->row[i]))
            continue;
        n->what = short_target(n->row->op, &n->what_len);
        if (!add_to_kind(r, kinds, n))
            return false;
        r->nnodes++;
    }
    sort_kinds(r, kinds);
    if (r->nnodes > 1)
        qsort(r->node, r->nnodes, sizeof(*r->node), by_falling_time);
    return true;
}

/* ---- The machine ---- */

static int by_rate(const void *a, const void *b)
{
    const cfx_report_ceiling *x = a, *y = b;
    return x->rate != y->rate ? (x->rate < y->rate ? 1 : -1)
                              : strcmp(x->name, y->name);
}

static bool has_dtype(const cfx_report_source *from, const char *dtype)
{
    for (size_t i = 0; i < from->nrows; i++)
        if (from->row[i].dtype && !strcmp(from->row[i].dtype, dtype))
            return true;
    return false;
}

static size_t sort_ceilings(cfx_report_ceiling *c, size_t n)
{
    if (n > 1)
        qsort(c, n, sizeof(*c), by_rate);
    return n < CFX_REPORT_CEILINGS ? n : CFX_REPORT_CEILINGS;
}

/* Add the peaks of the data types that nodes compute in, or all peaks. */
static bool add_peaks(cfx_report *r, bool all)
{
    const cfx_report_source *from = r->from;
    size_t n = 0;
    r->peak = cfx_arena_alloc(&r->arena,
                              (from->npeaks + 1) * sizeof(*r->peak));
    if (!r->peak)
        return false;
    for (size_t i = 0; i < from->npeaks; i++)
        if (from->peak[i].rate > 0 &&
            (all || has_dtype(from, from->peak[i].name)))
            r->peak[n++] = from->peak[i];
    if (!n && !all)
        return add_peaks(r, true);
    r->npeaks = sort_ceilings(r->peak, n);
    return true;
}

/* Join levels of equal rate: "L1, L2". */
static bool join_levels(cfx_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nlevels; i++) {
        cfx_report_ceiling *last = &r->level[n ? n - 1 : 0];
        const cfx_report_ceiling *c = &r->level[i];
        if (!n || c->rate <= last->rate * 0.99) {
            r->level[n++] = *c;
            continue;
        }
        size_t a = strlen(last->name), b = strlen(c->name);
        char *name = cfx_arena_alloc(&r->arena, a + b + 3);
        if (!name)
            return false;
        memcpy(name, last->name, a);
        memcpy(name + a, ", ", 2);
        memcpy(name + a + 2, c->name, b + 1);
        last->name = name;
    }
    r->nlevels = n;
    return true;
}

static bool add_levels(cfx_report *r)
{
    const cfx_report_source *from = r->from;
    size_t n = 0;
    r->level = cfx_arena_alloc(&r->arena,
                               (from->nlevels + 1) * sizeof(*r->level));
    if (!r->level)
        return false;
    for (size_t i = 0; i < from->nlevels; i++)
        if (from->level[i].rate > 0)
            r->level[n++] = from->level[i];
    r->nlevels = sort_ceilings(r->level, n);
    return join_levels(r);
}

/* ---- Public function ---- */

cfx_status cfx_report__init(cfx_report *r, cfx_context *ctx,
                            const cfx_report_source *from, cfx_error *err)
{
    cfx_map kinds;
    *r = (cfx_report){.from = from};
    cfx_arena_init(&r->arena, ctx);
    cfx_map_init(&kinds, ctx);
    bool ok = add_peaks(r, false) && add_levels(r) && add_rows(r, &kinds);
    cfx_map_release(&kinds);
    return ok ? CFX_OK : cfx_no_memory(err);
}

void cfx_report__release(cfx_report *r)
{
    cfx_arena_release(&r->arena);
}
