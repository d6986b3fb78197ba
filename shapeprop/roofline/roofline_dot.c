/*
 * roofline_dot -- the graph for Graphviz; nodes with more time are darker.
 */
#include "shapeprop/roofline/roofline_table.h"

static void put_escaped(cfx_buf *b, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            cfx_buf_putc(b, '\\');
        cfx_buf_putc(b, *s == '\n' ? ' ' : *s);
    }
}

static void put_column(cfx_buf *b, const cfx_table *t, size_t row,
                       const char *name)
{
    const cfx_column *c = cfx_column__find(name, strlen(name));
    cfx_cell cell = {.kind = CFX_CELL_NONE};
    char text[512];
    c->get(t->r, &t->row[row], &cell);
    cfx_cell__human(&cell, text, sizeof(text));
    put_escaped(b, text);
}

/* "2.31ms of 100ms" if measured, else the floor alone. */
static void put_times(cfx_buf *b, const cfx_table *t, size_t row)
{
    const cfx_roofline *r = t->r;
    if (!r->runs && !r->rates)
        return;
    cfx_buf_puts(b, "\\n");
    put_column(b, t, row, r->runs ? "seconds" : "floor");
    cfx_buf_putc(b, ' ');
    put_column(b, t, row, "share");
    if (r->runs && r->rates && cfx_roofline_efficiency(&r->node[row]) >= 0) {
        cfx_buf_puts(b, "\\nefficiency ");
        put_column(b, t, row, "efficiency");
    }
}

/* From white to orange, deepest for the largest share: one hue, so that
 * lightness alone shows the value. */
static int saturation(const cfx_roofline *r, size_t i, double most)
{
    double share = cfx_roofline_share(r, &r->node[i]);
    return share > 0 && most > 0 ? (int)(999 * (share / most)) : 0;
}

static void put_node(cfx_buf *b, const cfx_table *t, size_t i, double most)
{
    const cfx_roofline_node *n = &t->r->node[i];
    int s = saturation(t->r, i, most);
    cfx_buf_puts(b, "    \"");
    put_escaped(b, n->cost->node->name);
    cfx_buf_puts(b, "\" [label=\"");
    put_escaped(b, n->cost->node->name);
    cfx_buf_puts(b, "\\n");
    put_column(b, t, i, "type");
    cfx_buf_puts(b, "\\n");
    put_column(b, t, i, "shape");
    if (n->cost->calls) {
        cfx_buf_puts(b, "\\n");
        put_column(b, t, i, "flops");
        cfx_buf_puts(b, " FLOPs, ");
        put_column(b, t, i, "bytes");
        put_times(b, t, i);
    }
    cfx_buf_printf(b, "\", fillcolor=\"0.080 0.%03d 1.000\"];\n", s);
}

static void put_edges(cfx_buf *b, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        cfx_buf_puts(b, "    \"");
        put_escaped(b, cfx_node_input(n, i)->name);
        cfx_buf_puts(b, "\" -> \"");
        put_escaped(b, n->name);
        cfx_buf_puts(b, "\";\n");
    }
}

cfx_status cfx_roofline_print_dot(cfx_sink to, const cfx_roofline *r,
                                  const cfx_roofline_view *view,
                                  cfx_error *err)
{
    cfx_roofline_view plain = {.size = sizeof(plain)};
    cfx_table t;
    cfx_buf b;
    double most = 0;
    (void)view;
    cfx_status st = cfx_table__make(&t, r, &plain, "name", true, err);
    cfx_buf_init(&b, r->ctx);
    for (size_t i = 0; i < r->nnodes; i++) {
        double share = cfx_roofline_share(r, &r->node[i]);
        most = share > most ? share : most;
    }
    cfx_buf_puts(
        &b,
        "digraph roofline {\n"
        "    node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\"];\n");
    for (size_t i = 0; i < r->nnodes && !st; i++)
        put_node(&b, &t, i, most);
    for (size_t i = 0; i < r->nnodes && !st; i++)
        put_edges(&b, r->node[i].cost->node);
    cfx_buf_puts(&b, "}\n");
    cfx_table__release(&t);
    return cfx_roofline__finish(&b, to, st, err);
}
