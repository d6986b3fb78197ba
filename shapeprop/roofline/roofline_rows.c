/*
 * roofline_rows -- the rows and columns of a view.
 */
#include "shapeprop/roofline/roofline_table.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Rows ---- */

static cfx_table_row node_row(const cfx_roofline *r, size_t i)
{
    const cfx_roofline_node *n = &r->node[i];
    cfx_dim zero = cfx_dim_int(0);
    cfx_table_row row = {
        .name = n->cost->node->name,
        .type = cfx_cost_operator(n->cost->node, r->gm),
        .nodes = 1,
        .cost = &n->cost->cost,
        .flops = n->flops,
        .bytes = n->bytes,
        .parameters = zero,
        .parameter_bytes = zero,
        .floor = n->floor.bound == CFX_BOUND_UNKNOWN ? -1 : n->floor.seconds,
        .seconds = n->seconds,
        .share = cfx_roofline_share(r, n),
        .computing = -1,
        .live = n->live_bytes,
        .node = n};
    for (size_t k = 0; k < n->cost->nweights; k++) {
        cfx_cost_sum sum = cfx_cost__no_sum();
        cfx_cost__add_tensor(r->env, &sum, &n->cost->weight[k]);
        row.parameters = cfx_dim_add(r->env, row.parameters, sum.parameters);
        row.parameter_bytes = cfx_dim_add(r->env, row.parameter_bytes,
                                          sum.parameter_bytes);
    }
    return row;
}

static double share_of(const cfx_roofline *r, const cfx_roofline_sum *s)
{
    if (r->runs)
        return r->total.seconds > 0 ? s->seconds / r->total.seconds : 0;
    if (!r->rates || r->total.floor < 0)
        return -1;
    return r->total.floor > 0 ? s->floor / r->total.floor : 0;
}

static cfx_table_row sum_row(const cfx_roofline *r, const cfx_roofline_sum *s,
                             const char *name)
{
    return (cfx_table_row){.name = name,
                           .nodes = s->cost.nodes,
                           .cost = &s->cost.cost,
                           .flops = cfx_cost_flops(r->env, &s->cost.cost),
                           .bytes = cfx_cost_bytes(r->env, &s->cost.cost),
                           .parameters = s->cost.parameters,
                           .parameter_bytes = s->cost.parameter_bytes,
                           .floor = s->floor,
                           .seconds = s->seconds,
                           .share = share_of(r, s),
                           .computing = -1,
                           .live = CFX_DIM_BAD};
}

static void add_row(cfx_table *t, cfx_table_row row)
{
    row.order = t->all;
    t->row[t->all++] = row;
}

/* Mark the modules with other nodes than reads of their state. */
static void mark_working(const cfx_roofline *r, bool *working)
{
    for (size_t i = 0; i < r->nnodes; i++) {
        if (r->node[i].cost->node->op == CFX_GET_ATTR)
            continue;
        for (int64_t k = r->modules.of[i]; k >= 0 && !working[k];
             k = r->modules.group[k].parent)
            working[k] = true;
    }
}

static bool add_modules(cfx_table *t)
{
    const cfx_roofline *r = t->r;
    bool *working = cfx_arena_alloc(&t->arena, r->modules.n + 1);
    if (!working)
        return false;
    memset(working, 0, r->modules.n + 1);
    mark_working(r, working);
    for (size_t i = 0; i < r->modules.n; i++) {
        const cfx_cost_group *g = &r->modules.group[i];
        if ((t->view->depth && g->depth > t->view->depth) ||
            !(working[i] || t->has_state))
            continue;
        cfx_table_row row = sum_row(r, &r->module_sum[i],
                                    *g->key ? g->key : "(model)");
        row.type = g->type;
        row.depth = t->view->sort ? 0 : g->depth;
        add_row(t, row);
    }
    return true;
}

/* Counts are whole numbers stored as doubles; unknown ones become bad. */
static cfx_dim count(double x)
{
    return x < 0 || x > (double)CFX_DIM_MAX ? CFX_DIM_BAD
                                            : cfx_dim_int((int64_t)x);
}

static bool add_point(cfx_table *t, const cfx_roofline_point *p)
{
    char name[96];
    int len = snprintf(name, sizeof(name), "%s=%lld", t->r->swept,
                       (long long)p->at);
    char *kept = cfx_arena_strdup(&t->arena, name, (size_t)len);
    cfx_cost *cost = cfx_arena_alloc(&t->arena, sizeof(*cost));
    if (!kept || !cost)
        return false;
    *cost = (cfx_cost){.macs = count(p->macs),
                       .ops = CFX_DIM_BAD,
                       .transcendental = CFX_DIM_BAD,
                       .bytes_read = CFX_DIM_BAD,
                       .bytes_written = CFX_DIM_BAD};
    add_row(t, (cfx_table_row){
                   .name = kept,
                   .nodes = t->r->nnodes,
                   .cost = cost,
                   .flops = count(p->flops),
                   .bytes = count(p->bytes),
                   .parameters = t->r->total.cost.parameters,
                   .parameter_bytes = t->r->total.cost.parameter_bytes,
                   .floor = p->floor,
                   .share = -1,
                   .computing = p->floor > 0
                                    ? p->floor_of[CFX_BOUND_COMPUTE] / p->floor
                                    : -1,
                   .live = count(p->peak_bytes)});
    return true;
}

static bool add_points(cfx_table *t)
{
    for (size_t i = 0; i < t->r->npoints; i++)
        if (!add_point(t, &t->r->point[i]))
            return false;
    return true;
}

/* Reads of state cost nothing, and exported programs begin with all of them. */
static void add_nodes(cfx_table *t)
{
    for (size_t i = 0; i < t->r->nnodes; i++)
        if (t->has_state || t->r->node[i].cost->node->op != CFX_GET_ATTR)
            add_row(t, node_row(t->r, i));
        else
            t->left_out++;
}

static bool add_rows(cfx_table *t)
{
    const cfx_roofline *r = t->r;
    switch (t->view->by) {
    case CFX_BY_NODE: add_nodes(t); break;
    case CFX_BY_MODULE: return add_modules(t);
    case CFX_BY_OPERATOR:
        for (size_t i = 0; i < r->operators.n; i++)
            add_row(
                t, sum_row(r, &r->operator_sum[i], r->operators.group[i].key));
        break;
    case CFX_BY_BOUND:
        for (int i = 0; i < CFX_NBOUNDS; i++)
            if (r->bound_sum[i].cost.nodes)
                add_row(t, sum_row(r, &r->bound_sum[i], cfx_bound_names[i]));
        break;
    case CFX_BY_POINT: return add_points(t);
    }
    return true;
}

static size_t count_rows(const cfx_table *t)
{
    size_t n = CFX_NBOUNDS;
    n = t->r->nnodes > n ? t->r->nnodes : n;
    n = t->r->npoints > n ? t->r->npoints : n;
    return t->r->modules.n > n ? t->r->modules.n : n;
}

/* ---- Sorting ---- */

/* A sort key: numbers descend, names ascend, unknown ones come last, and equal
 * ones keep their order. */
typedef struct sortable {
    cfx_table_row row;
    cfx_cell cell;
} sortable;

static int by_cell(const void *a, const void *b)
{
    const sortable *x = a, *y = b;
    bool has_x = x->cell.kind != CFX_CELL_NONE;
    bool has_y = y->cell.kind != CFX_CELL_NONE;
    int c = has_y - has_x;
    if (!c && x->cell.kind == CFX_CELL_TEXT)
        c = strcmp(x->cell.text, y->cell.text);
    else if (!c)
        c = (y->cell.x > x->cell.x) - (y->cell.x < x->cell.x);
    return c ? c : x->row.order < y->row.order ? -1 : 1;
}

static cfx_status sort_rows(cfx_table *t, cfx_error *err)
{
    const char *name = t->view->sort;
    const cfx_column *c = cfx_column__find(name, strlen(name));
    size_t size = (t->all + 1) * sizeof(sortable);
    if (!c)
        return cfx_fail(err, CFX_EINVAL, "there is no column '%s'", name);
    sortable *s = cfx_alloc(t->r->ctx, size);
    if (!s)
        return cfx_no_memory(err);
    for (size_t i = 0; i < t->all; i++) {
        s[i].row = t->row[i];
        s[i].cell = (cfx_cell){.kind = CFX_CELL_NONE};
        c->get(t->r, &s[i].row, &s[i].cell);
    }
    qsort(s, t->all, sizeof(*s), by_cell);
    for (size_t i = 0; i < t->all; i++)
        t->row[i] = s[i].row;
    cfx_free(t->r->ctx, s, size);
    return CFX_OK;
}

/* ---- Columns ---- */

static cfx_status choose_columns(cfx_table *t, const char *names,
                                 cfx_error *err)
{
    size_t cap = sizeof(t->column) / sizeof(*t->column);
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, ",");
        const cfx_column *c = cfx_column__find(p, n);
        if (!c)
            return cfx_fail(err, CFX_EINVAL, "there is no column '%.*s'",
                            (int)n, p);
        if (t->ncolumns == cap)
            return cfx_fail(err, CFX_EINVAL, "more than %zu columns", cap);
        t->column[t->ncolumns++] = c;
        p += n + (p[n] == ',');
    }
    return CFX_OK;
}

cfx_status cfx_table__make(cfx_table *t, const cfx_roofline *r,
                           const cfx_roofline_view *view, const char *columns,
                           bool has_state, cfx_error *err)
{
    *t = (cfx_table){.r = r, .view = view, .has_state = has_state};
    cfx_arena_init(&t->arena, r->ctx);
    cfx_status st = choose_columns(t, columns, err);
    if (st)
        return st;
    t->cap = count_rows(t) + 1;
    t->row = cfx_calloc(r->ctx, t->cap, sizeof(*t->row));
    if (!t->row || !add_rows(t))
        return cfx_no_memory(err);
    if (view->sort)
        st = sort_rows(t, err);
    t->nrows = view->top && view->top < t->all ? view->top : t->all;
    return st;
}

void cfx_table__release(cfx_table *t)
{
    if (t->row)
        cfx_free(t->r->ctx, t->row, t->cap * sizeof(*t->row));
    cfx_arena_release(&t->arena);
    t->row = NULL;
}
