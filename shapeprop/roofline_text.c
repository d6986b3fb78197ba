/*
 * roofline_text -- tables to read, and comma-separated values.
 */
#include "shapeprop/roofline_table.h"

#include <stdio.h>

enum { GAP = 2, LEAST = 12 };

/* ---- Cells as text ---- */

/* How many columns of a terminal UTF-8 takes, if each letter takes one. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void cell_text(const cfx_table *t, size_t row, size_t column, char *buf,
                      size_t size)
{
    cfx_cell cell = {.kind = CFX_CELL_NONE};
    t->column[column]->get(t->r, &t->row[row], &cell);
    cfx_cell__human(&cell, buf, size);
}

/* ---- Columns that fit ---- */

typedef struct layout {
    int width[64];
    bool empty[64];         /* nothing in it is known */
} layout;

static void measure(const cfx_table *t, layout *l)
{
    char text[512];
    for (size_t c = 0; c < t->ncolumns; c++) {
        l->width[c] = width_of(t->column[c]->title);
        l->empty[c] = true;
        for (size_t i = 0; i < t->nrows; i++) {
            cell_text(t, i, c, text, sizeof(text));
            int w = width_of(text);
            l->width[c] = w > l->width[c] ? w : l->width[c];
            l->empty[c] = l->empty[c] && !w;
        }
    }
}

static int total_width(const cfx_table *t, const layout *l)
{
    int sum = -GAP;
    for (size_t c = 0; c < t->ncolumns; c++)
        sum += l->empty[c] ? 0 : l->width[c] + GAP;
    return sum;
}

/* Make the widest column of text narrower, or leave out the least important
 * one. False: there is nothing more to be done. */
static bool squeeze(const cfx_table *t, layout *l, int over)
{
    size_t widest = 0, least = 0;
    for (size_t c = 0; c < t->ncolumns; c++) {
        if (l->empty[c])
            continue;
        if (t->column[c]->text && (!t->column[widest]->text ||
                                   l->empty[widest] ||
                                   l->width[c] > l->width[widest]))
            widest = c;
        if (t->column[c]->rank > t->column[least]->rank || l->empty[least])
            least = c;
    }
    int spare = t->column[widest]->text ? l->width[widest] - 2 * LEAST : 0;
    if (spare > 0) {
        l->width[widest] -= spare < over ? spare : over;
        return true;
    }
    if (t->column[least]->rank > 0) {
        l->empty[least] = true;
        return true;
    }
    spare = t->column[widest]->text ? l->width[widest] - LEAST : 0;
    l->width[widest] -= spare < over ? spare : over;
    return spare > 0;
}

static void fit(const cfx_table *t, layout *l, int room)
{
    bool more = room > 0;
    int over;
    while (more && (over = total_width(t, l) - room) > 0)
        more = squeeze(t, l, over);
}

/* ---- Lines ---- */

/* What is too long ends in "..". */
static void put_cell(cfx_buf *b, const char *text, int width, bool left,
                     bool last)
{
    int have = width_of(text), pad = have < width ? width - have : 0;
    if (!left)
        cfx_buf_repeat(b, ' ', (size_t)pad);
    if (have <= width) {
        cfx_buf_puts(b, text);
    } else {
        int n = 0;
        for (const char *s = text; *s; s++) {
            n += ((unsigned char)*s & 0xC0) != 0x80;
            if (n > width - 2)
                break;
            cfx_buf_putc(b, *s);
        }
        cfx_buf_puts(b, "..");
    }
    if (left && !last)
        cfx_buf_repeat(b, ' ', (size_t)pad);
    if (!last)
        cfx_buf_repeat(b, ' ', GAP);
}

static void put_line(cfx_buf *b, const cfx_table *t, const layout *l, size_t i)
{
    char text[512];
    size_t last = 0;
    for (size_t c = 0; c < t->ncolumns; c++)
        last = l->empty[c] ? last : c;
    for (size_t c = 0; c <= last && c < t->ncolumns; c++) {
        const cfx_column *col = t->column[c];
        if (l->empty[c])
            continue;
        if (i == SIZE_MAX)
            snprintf(text, sizeof(text), "%s", col->title);
        else
            cell_text(t, i, c, text, sizeof(text));
        put_cell(b, text, l->width[c], col->text, c == last);
    }
    while (b->len && b->s[b->len - 1] == ' ')
        b->s[--b->len] = '\0';
    cfx_buf_putc(b, '\n');
}

static void put_table(cfx_buf *b, const cfx_table *t)
{
    layout l;
    measure(t, &l);
    fit(t, &l, t->view->width);
    put_line(b, t, &l, SIZE_MAX);
    for (size_t i = 0; i < t->nrows; i++)
        put_line(b, t, &l, i);
    if (t->nrows < t->all)
        cfx_buf_printf(b, "(%zu of %zu)\n", t->nrows, t->all);
}

static void put_markdown(cfx_buf *b, const cfx_table *t)
{
    char text[512];
    for (size_t c = 0; c < t->ncolumns; c++)
        cfx_buf_printf(b, "| %s ", t->column[c]->title);
    cfx_buf_puts(b, "|\n");
    for (size_t c = 0; c < t->ncolumns; c++)
        cfx_buf_puts(b, t->column[c]->text ? "|---" : "|---:");
    cfx_buf_puts(b, "|\n");
    for (size_t i = 0; i < t->nrows; i++) {
        for (size_t c = 0; c < t->ncolumns; c++) {
            cell_text(t, i, c, text, sizeof(text));
            cfx_buf_puts(b, "| ");
            for (const char *s = text; *s; s++) {
                if (*s == '|' || *s == '*' || *s == '_' || *s == '<')
                    cfx_buf_putc(b, '\\');
                cfx_buf_putc(b, *s);
            }
            cfx_buf_putc(b, ' ');
        }
        cfx_buf_puts(b, "|\n");
    }
}

static void put_quoted(cfx_buf *b, const char *text)
{
    bool quote = text[strcspn(text, ",\"\n\r")] != '\0';
    if (!quote) {
        cfx_buf_puts(b, text);
        return;
    }
    cfx_buf_putc(b, '"');
    for (; *text; text++) {
        if (*text == '"')
            cfx_buf_putc(b, '"');
        cfx_buf_putc(b, *text);
    }
    cfx_buf_putc(b, '"');
}

static void put_csv(cfx_buf *b, const cfx_table *t)
{
    char text[512];
    for (size_t c = 0; c < t->ncolumns; c++)
        cfx_buf_printf(b, "%s%s", c ? "," : "", t->column[c]->key);
    cfx_buf_putc(b, '\n');
    for (size_t i = 0; i < t->nrows; i++) {
        for (size_t c = 0; c < t->ncolumns; c++) {
            cfx_cell cell = {.kind = CFX_CELL_NONE};
            t->column[c]->get(t->r, &t->row[i], &cell);
            cfx_cell__plain(&cell, text, sizeof(text));
            if (c)
                cfx_buf_putc(b, ',');
            put_quoted(b, text);
        }
        cfx_buf_putc(b, '\n');
    }
}

/* ---- The whole ---- */

typedef void put_fn(cfx_buf *b, const cfx_table *t);

static cfx_status put(cfx_buf *b, const cfx_roofline *r,
                      const cfx_roofline_view *view, const char *columns,
                      put_fn *fn, cfx_error *err)
{
    cfx_table t;
    cfx_status st = cfx_table__make(&t, r, view, columns, err);
    if (!st)
        fn(b, &t);
    cfx_table__release(&t);
    return st;
}

static const char *usual_columns(const cfx_roofline *r,
                                 const cfx_roofline_view *v)
{
    if (v->columns)
        return v->columns;
    if (v->by == CFX_BY_NODE)
        return r->runs ? "name,type,shape,macs,flops,bytes,intensity,bound,"
                         "level,floor,seconds,gflops,bandwidth,efficiency,"
                         "share"
                       : "name,type,shape,macs,flops,bytes,intensity,bound,"
                         "level,floor,share";
    return v->by == CFX_BY_MODULE
               ? "name,type,nodes,parameters,macs,flops,bytes,intensity,floor,"
                 "seconds,gflops,efficiency,share"
               : "name,nodes,macs,flops,bytes,intensity,floor,seconds,gflops,"
                 "efficiency,share";
}

static cfx_status finish(cfx_buf *b, cfx_sink to, cfx_status st,
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

/* The table asked for, then those of its parts. */
static cfx_status put_tables(cfx_buf *b, const cfx_roofline *r,
                             const cfx_roofline_view *view, put_fn *fn,
                             cfx_error *err)
{
    cfx_roofline_view v = *view;
    cfx_status st = put(b, r, view, usual_columns(r, view), fn, err);
    v.columns = v.sort = NULL;
    v.top = 0;
    for (v.by = CFX_BY_OPERATOR; !st && v.parts && v.by <= CFX_BY_BOUND;
         v.by++) {
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
    cfx_status st = put_tables(&b, r, view, put_table, err);
    cfx_buf_putc(&b, '\n');
    cfx_roofline__put_totals(&b, r);
    return finish(&b, to, st, err);
}

cfx_status cfx_roofline_print_markdown(cfx_sink to, const cfx_roofline *r,
                                       const cfx_roofline_view *view,
                                       cfx_error *err)
{
    cfx_buf b;
    cfx_buf_init(&b, r->ctx);
    return finish(&b, to, put_tables(&b, r, view, put_markdown, err), err);
}

cfx_status cfx_roofline_print_csv(cfx_sink to, const cfx_roofline *r,
                                  const cfx_roofline_view *view,
                                  cfx_error *err)
{
    static const char all[] =
        "name,op,target,module,type,dtype,shape,macs,flops,ops,transcendental,"
        "read,written,bytes,parameters,weights,intensity,ridge,bound,level,"
        "algorithm,floor,seconds,gflops,bandwidth,efficiency,share,live";
    static const char sums[] =
        "name,type,nodes,macs,flops,ops,transcendental,read,written,bytes,"
        "parameters,weights,intensity,floor,seconds,gflops,bandwidth,"
        "efficiency,share";
    const char *columns = view->columns ? view->columns
                          : view->by == CFX_BY_NODE ? all : sums;
    cfx_buf b;
    cfx_buf_init(&b, r->ctx);
    return finish(&b, to, put(&b, r, view, columns, put_csv, err), err);
}
