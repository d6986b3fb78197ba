/*
 * shape_table -- print shapes as a table and as CSV.
 */
#include "format/print.h"
#include "shapeprop/shapes/shape_rows.h"
#include "shapeprop/shapes/symbols.h"

/* ---- Text ---- */

enum { NCOLUMNS = 3 };

static void columns_of(const cfx_shape_row *r, const char *text[NCOLUMNS],
                       size_t len[NCOLUMNS])
{
    text[0] = r->name;
    len[0] = r->name_len;
    text[1] = r->op;
    len[1] = strlen(r->op);
    text[2] = r->target;
    len[2] = strlen(r->target);
}

static void put_cell(cfx_out *o, const char *s, size_t len, size_t width)
{
    cfx_out_add(o, s, len);
    cfx_out_repeat(o, ' ', width + 2 - len);
}

static void put_symbols(cfx_out *o, const cfx_shape_env *env)
{
    size_t n = env ? cfx_shape_env_symbols(env) : 0;
    size_t guards = env ? cfx_shape_env_guards(env) : 0;
    for (size_t i = 0; i < n; i++) {
        cfx_symbol s;
        cfx_shape_env_symbol(env, i, &s);
        cfx_out_puts(o, i ? ", " : "\nsymbols: ");
        cfx_symbol__put(o, &s);
    }
    cfx_out_puts(o, n || guards ? "\n" : "");
    for (size_t i = 0; i < guards; i++) {
        cfx_out_puts(o, i ? "         " : "guards:  ");
        cfx_out_puts(o, cfx_shape_env_guard(env, i));
        cfx_out_putc(o, '\n');
    }
}

static void put_table(cfx_out *o, const cfx_shape_rows *r,
                      const cfx_shape_env *env, cfx_error *err)
{
    static const char *const head[] = {"name", "op", "target"};
    size_t width[NCOLUMNS] = {4, 2, 6}, len[NCOLUMNS];
    const char *text[NCOLUMNS];
    for (size_t i = 0; i < r->n; i++) {
        columns_of(&r->row[i], text, len);
        for (int c = 0; c < NCOLUMNS; c++)
            width[c] = len[c] > width[c] ? len[c] : width[c];
    }
    for (int c = 0; c < NCOLUMNS; c++)
        put_cell(o, head[c], strlen(head[c]), width[c]);
    cfx_out_puts(o, "result\n");
    for (size_t i = 0; i < r->n && !o->status; i++) {
        columns_of(&r->row[i], text, len);
        for (int c = 0; c < NCOLUMNS; c++)
            put_cell(o, text[c], len[c], width[c]);
        cfx_out__shape(o, r->row[i].value, false, err);
        cfx_out_putc(o, '\n');
    }
    put_symbols(o, env);
}

/* ---- CSV ---- */

/* Quote a field if necessary. */
static void put_field(cfx_out *o, const char *s, size_t len)
{
    bool quoted = false;
    for (size_t i = 0; i < len; i++)
        quoted |= s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
    if (!quoted) {
        cfx_out_add(o, s, len);
        return;
    }
    cfx_out_putc(o, '"');
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"')
            cfx_out_putc(o, '"');
        cfx_out_putc(o, s[i]);
    }
    cfx_out_putc(o, '"');
}

static void put_extents(cfx_out *o, cfx_buf *b, int rank, const cfx_dim *d)
{
    cfx_out inner;
    cfx_buf_clear(b);
    cfx_out_init(&inner, cfx_sink_buf(b));
    cfx_print__extents(&inner, rank, d);
    if (cfx_out_finish(&inner, NULL))
        cfx_out_fail(o, CFX_ENOMEM);
    put_field(o, cfx_buf_str(b), b->len);
}

/* A tensor has a type, a shape and strides; other values are printed in the
 * column of the shape. */
static void put_value(cfx_out *o, cfx_buf *b, cfx_value v, cfx_error *err)
{
    if (v.kind == CFX_TENSOR) {
        const cfx_tensor *t = v.u.tensor;
        cfx_out_puts(o, cfx_dtypes[t->dtype].name);
        cfx_out_putc(o, ',');
        put_extents(o, b, t->rank, t->shape);
        cfx_out_putc(o, ',');
        put_extents(o, b, t->rank, t->stride);
        return;
    }
    cfx_buf_clear(b);
    if (cfx_print_shape(cfx_sink_buf(b), v, false, err))
        cfx_out_fail(o, CFX_ENOMEM);
    cfx_out_putc(o, ',');
    put_field(o, cfx_buf_str(b), b->len);
    cfx_out_putc(o, ',');
}

static void put_csv(cfx_out *o, const cfx_shape_rows *r, cfx_error *err)
{
    cfx_buf b;
    cfx_buf_init(&b, r->ctx);
    cfx_out_puts(o, "name,op,target,module_path,dtype,shape,stride\n");
    for (size_t i = 0; i < r->n && !o->status; i++) {
        const cfx_shape_row *row = &r->row[i];
        put_field(o, row->name, row->name_len);
        cfx_out_putc(o, ',');
        put_field(o, row->op, strlen(row->op));
        cfx_out_putc(o, ',');
        put_field(o, row->target, strlen(row->target));
        cfx_out_putc(o, ',');
        put_field(o, row->path.path, row->path.len);
        cfx_out_putc(o, ',');
        put_value(o, &b, row->value, err);
        cfx_out_putc(o, '\n');
    }
    cfx_buf_release(&b);
}

/* ---- Public functions ---- */

cfx_status cfx_print_shapes(cfx_sink to, const cfx_shape_prop *p,
                            cfx_shapes_format format, int depth,
                            cfx_error *err)
{
    cfx_shape_rows rows;
    cfx_out o;
    cfx_status st = cfx_shape_rows__make(&rows, p, depth, err);
    if (!st && format == CFX_SHAPES_JSON) {
        st = cfx_shape_rows__json(to, &rows, p, err);
    } else if (!st) {
        cfx_out_init(&o, to);
        if (format == CFX_SHAPES_CSV)
            put_csv(&o, &rows, err);
        else
            put_table(&o, &rows, p->env, err);
        st = cfx_out_finish(&o, err);
    }
    cfx_shape_rows__release(&rows);
    return st;
}
