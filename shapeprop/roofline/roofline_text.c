/*
 * roofline_text -- print reports as tables and as CSV.
 */
#include "shapeprop/roofline/roofline_table.h"
#include "shapeprop/text/grid.h"

/* ---- Tables ---- */

typedef void put_fn(cfx_buf *b, const cfx_grid *g, int width);

/* The name column is titled after what the rows are. */
static const char *title_of(const cfx_table *t, const cfx_column *c)
{
    static const char *const titles[] = {"name", "module", "operator", "bound",
                                         "at"};
    return strcmp(c->name, "name") ? c->title : titles[t->view->by];
}

static void add_cell(cfx_grid *g, const cfx_cell *c, bool plain)
{
    char text[512];
    bool extent = c->kind == CFX_CELL_WHOLE || c->kind == CFX_CELL_COUNT ||
                  c->kind == CFX_CELL_BYTES;
    if (extent && !cfx_dim_is_int(c->dim)) {
        cfx_grid_add_dim(g, c->dim);
        return;
    }
    if (plain)
        cfx_cell__plain(c, text, sizeof(text));
    else
        cfx_cell__human(c, text, sizeof(text));
    cfx_grid_add(g, text);
}

static bool make_grid(cfx_grid *g, const cfx_table *t, bool plain)
{
    for (size_t c = 0; c < t->ncolumns; c++)
        cfx_grid_add_column(
            g, (cfx_grid_column){title_of(t, t->column[c]), t->column[c]->key,
                                 t->column[c]->text, t->column[c]->rank});
    for (size_t i = 0; i < t->nrows * t->ncolumns; i++) {
        cfx_cell cell = {.kind = CFX_CELL_NONE};
        t->column[i % t->ncolumns]->get(t->r, &t->row[i / t->ncolumns], &cell);
        add_cell(g, &cell, plain);
    }
    return !g->failed;
}

/* A kernel that needs fewer operations than its floor counts, or finds its data
 * nearer, is faster than the floor. */
static bool beats_floor(const cfx_table *t)
{
    bool shown = false;
    for (size_t i = 0; i < t->ncolumns; i++)
        shown |= !strcmp(t->column[i]->name, "efficiency");
    for (size_t i = 0; shown && t->r->runs && i < t->nrows; i++)
        if (t->row[i].floor > t->row[i].seconds)
            return true;
    return false;
}

/* Put what the rows do not tell, below them. */
static void put_notes(cfx_buf *b, const cfx_table *t, bool markdown)
{
    const char *before = markdown ? "\n" : "";
    if (t->nrows < t->all)
        cfx_buf_printf(b, "%s(%zu of %zu)\n", before, t->nrows, t->all);
    if (t->left_out)
        cfx_buf_printf(b, "%s(without %zu get_attr nodes, which are free)\n",
                       before, t->left_out);
    if (beats_floor(t))
        cfx_buf_printf(
            b,
            "%s(efficiency above 100%%: fewer operations than the floor counts, as in Winograd's algorithm, or data in a nearer cache)\n",
            before);
}

static cfx_status put(cfx_buf *b, const cfx_roofline *r,
                      const cfx_roofline_view *view, const char *columns,
                      put_fn *fn, cfx_error *err)
{
    cfx_table t;
    cfx_grid g;
    bool csv = fn == cfx_grid_put_csv;
    cfx_status st = cfx_table__make(&t, r, view, columns, csv, err);
    cfx_grid_init(&g, r->ctx);
    if (!st && !make_grid(&g, &t, csv))
        st = cfx_no_memory(err);
    if (!st)
        fn(b, &g, view->width);
    if (!st && !csv)
        put_notes(b, &t, fn == cfx_grid_put_markdown);
    cfx_grid_release(&g);
    cfx_table__release(&t);
    return st;
}

static const char *usual_columns(const cfx_roofline *r,
                                 const cfx_roofline_view *v)
{
    if (v->columns)
        return v->columns;
    if (v->by == CFX_BY_POINT)
        return "name,macs,flops,bytes,intensity,floor,computing,live";
    if (v->by == CFX_BY_NODE && !r->known)
        return "name,type,shape,macs,flops,bytes,bound";
    if (v->by == CFX_BY_NODE)
        return r->runs
                   ? "name,type,shape,macs,flops,bytes,intensity,bound,level,floor,seconds,gflops,bandwidth,efficiency,share"
                   : "name,type,shape,macs,flops,bytes,intensity,bound,level,floor,share";
    if (!r->known)
        return "name,type,nodes,macs,flops,bytes";
    return v->by == CFX_BY_MODULE
               ? "name,type,nodes,parameters,macs,flops,bytes,intensity,floor,seconds,gflops,efficiency,share"
               : "name,nodes,macs,flops,bytes,intensity,floor,seconds,gflops,efficiency,share";
}

cfx_status cfx_roofline__finish(cfx_buf *b, cfx_sink to, cfx_status st,
                                cfx_error *err)
{
    if (!st && b->failed)
        st = cfx_no_memory(err);
    if (!st && b->len) {
        st = to.write(to.user, b->s, b->len);
        if (st)
            cfx_fail(err, st, "the text cannot be written");
    }
    cfx_buf_release(b);
    return st;
}

/* Put the requested table, then those of the parts. */
static cfx_status put_tables(cfx_buf *b, const cfx_roofline *r,
                             const cfx_roofline_view *view, put_fn *fn,
                             cfx_error *err)
{
    cfx_roofline_view v = *view;
    cfx_status st = put(b, r, view, usual_columns(r, view), fn, err);
    v.columns = v.sort = NULL;
    v.top = 0;
    cfx_roofline_by last = r->known ? CFX_BY_BOUND : CFX_BY_OPERATOR;
    for (v.by = CFX_BY_OPERATOR; !st && v.parts && v.by <= last; v.by++) {
        cfx_buf_putc(b, '\n');
        st = put(b, r, &v, usual_columns(r, &v), fn, err);
    }
    return st;
}

cfx_status cfx_roofline_print(cfx_sink to, const cfx_roofline *r,
                              const cfx_roofline_view *view, cfx_error *err)
{
    cfx_buf b;
    cfx_buf_init(&b, r->ctx);
    cfx_roofline__put_machine(&b, r, view);
    cfx_status st = put_tables(&b, r, view, cfx_grid_put_text, err);
    cfx_roofline__put_symbols(&b, r, false);
    cfx_roofline__put_crossovers(&b, r);
    cfx_buf_putc(&b, '\n');
    cfx_roofline__put_totals(&b, r);
    return cfx_roofline__finish(&b, to, st, err);
}

cfx_status cfx_roofline_print_markdown(cfx_sink to, const cfx_roofline *r,
                                       const cfx_roofline_view *view,
                                       cfx_error *err)
{
    cfx_buf b;
    cfx_buf_init(&b, r->ctx);
    cfx_status st = put_tables(&b, r, view, cfx_grid_put_markdown, err);
    cfx_roofline__put_symbols(&b, r, true);
    return cfx_roofline__finish(&b, to, st, err);
}

cfx_status cfx_roofline_print_csv(cfx_sink to, const cfx_roofline *r,
                                  const cfx_roofline_view *view,
                                  cfx_error *err)
{
    static const char all[] =
        "name,op,target,module,type,dtype,shape,macs,flops,ops,transcendental,read,written,bytes,parameters,weights,intensity,ridge,bound,level,algorithm,floor,seconds,gflops,bandwidth,efficiency,share,live";
    static const char sums[] =
        "name,type,nodes,macs,flops,ops,transcendental,read,written,bytes,parameters,weights,intensity,floor,seconds,gflops,bandwidth,efficiency,share";
    const char *columns = view->by == CFX_BY_NODE    ? all
                          : view->by == CFX_BY_POINT ? usual_columns(r, view)
                                                     : sums;
    cfx_buf b;
    cfx_buf_init(&b, r->ctx);
    columns = view->columns ? view->columns : columns;
    cfx_status st = put(&b, r, view, columns, cfx_grid_put_csv, err);
    return cfx_roofline__finish(&b, to, st, err);
}
