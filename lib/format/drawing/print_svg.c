/*
 * print_svg -- draw a graph as SVG.
 *
 * Text is monospaced, so that widths can be computed. The style sheet has a
 * part for dark screens. Nodes have a box around them for their module, if it
 * would contain no other node.
 */
#include "format/drawing/drawing.h"
#include "base/unicode.h"

enum { MAX_TEXT = 40, MAX_LINES = 3 };
static const double char_width = 6.8, line_height = 15, pad = 9;
static const double gap = 30, title = 18, edge = 8;

/* A cluster's box. Its top and bottom need room in the gaps they stand in. */
typedef struct frame {
    uint32_t first, last; /* layers */
    double left, right, top, bottom;
    double above, below; /* room that it and those in it need */
    bool used, spoiled;
    bool placed; /* has it left, right, top and bottom? */
} frame;

typedef struct svg {
    cfx_drawing d;
    cfx_layout l;
    cfx_out *out;
    frame *frame;
    cfx_buf text;
    cfx_error *err;
} svg;

static const char style[] =
    "<style>\n"
    "svg { background: #fff }\n"
    "text { font: 11px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, "
    "monospace; fill: #1c2733 }\n"
    ".name { font-weight: bold }\n"
    ".more { fill: #46566a }\n"
    ".node rect { stroke: #6b7a8c; fill: #dcebfa }\n"
    ".placeholder rect { fill: #cdeede; rx: 12px }\n"
    ".output rect { fill: #cdeede; rx: 12px }\n"
    ".get_attr rect { fill: #e6e8eb }\n"
    ".call_module rect { fill: #fdf3d0 }\n"
    ".call_method rect { fill: #e9e1f8 }\n"
    ".edge { fill: none; stroke: #6b7a8c; stroke-width: 1.2 }\n"
    ".tip { fill: #6b7a8c }\n"
    ".cluster rect { fill: #3a6ea5; fill-opacity: .06; stroke: #3a6ea5; "
    "stroke-opacity: .45 }\n"
    ".cluster text { fill: #3a6ea5 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "svg { background: #12161c }\n"
    "text { fill: #e8edf2 }\n"
    ".more { fill: #a9b6c4 }\n"
    ".node rect { stroke: #7f8fa3; fill: #1d3550 }\n"
    ".placeholder rect { fill: #1b4433 }\n"
    ".output rect { fill: #1b4433 }\n"
    ".get_attr rect { fill: #333a43 }\n"
    ".call_module rect { fill: #4a3f16 }\n"
    ".call_method rect { fill: #3a2f57 }\n"
    ".edge { stroke: #8d9cb0 }\n"
    ".tip { fill: #8d9cb0 }\n"
    ".cluster rect { fill: #7fb2e8; stroke: #7fb2e8 }\n"
    ".cluster text { fill: #7fb2e8 }\n"
    "}\n"
    "</style>\n";

/* ---- Text ---- */

/* XML has no control characters, and text is UTF-8. */
static void put_text(cfx_out *o, const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t n = cfx_utf8_decode(&c, s + i, len - i);
        if (!n || (c < ' ' && c != '\n') || c == 127 || c == 0xfffe ||
            c == 0xffff)
            cfx_out_putc(o, '?');
        else if (c == '&' || c == '<' || c == '>' || c == '"')
            cfx_out_puts(o, c == '&'   ? "&amp;"
                            : c == '<' ? "&lt;"
                            : c == '>' ? "&gt;"
                                       : "&quot;");
        else
            cfx_out_add(o, s + i, n);
        i += n ? n : 1;
    }
}

/* The bytes of the first `max` characters. */
static size_t cut(const char *s, size_t len, size_t max)
{
    size_t i = 0;
    while (i < len && max--) {
        uint32_t c;
        size_t n = cfx_utf8_decode(&c, s + i, len - i);
        i += n ? n : 1;
    }
    return i;
}

static size_t shown_length(const char *s, size_t len)
{
    size_t n = cfx_utf8_count(s, len);
    return n > MAX_TEXT ? MAX_TEXT : n;
}

static void put_short(cfx_out *o, const char *s, size_t len)
{
    if (cfx_utf8_count(s, len) <= MAX_TEXT) {
        put_text(o, s, len);
    } else {
        put_text(o, s, cut(s, len, MAX_TEXT - 1));
        cfx_out_puts(o, "…");
    }
}

/* Coordinates have one decimal: integers print the same in every locale. */
static void put_number(cfx_out *o, double v)
{
    int64_t tenths = (int64_t)(v * 10 + (v < 0 ? -0.5 : 0.5));
    if (tenths < 0)
        cfx_out_putc(o, '-');
    tenths = tenths < 0 ? -tenths : tenths;
    cfx_out_int(o, tenths / 10);
    if (tenths % 10) {
        cfx_out_putc(o, '.');
        cfx_out_int(o, tenths % 10);
    }
}

static void put_attr(cfx_out *o, const char *name, double v)
{
    cfx_out_putc(o, ' ');
    cfx_out_puts(o, name);
    cfx_out_puts(o, "=\"");
    put_number(o, v);
    cfx_out_putc(o, '"');
}

/* ---- What stands in a box ---- */

/* Line 1 or 2 below the name, into p->text; false if there is none. */
static bool make_line(svg *p, const cfx_node *n, int line)
{
    const cfx_module *m;
    cfx_out out;
    cfx_value v = cfx_print__meta_value(n);
    cfx_buf_clear(&p->text);
    cfx_out_init(&out, cfx_sink_buf(&p->text));
    if (line == 2) {
        if (v.kind == CFX_TENSOR)
            cfx_print__type(&out, v.u.tensor, false);
    } else if (n->op == CFX_CALL_MODULE &&
               (m = cfx_module_at(p->d.gm, n->target->text))) {
        if (cfx_module_nchildren(m))
            cfx_out_puts(&out, cfx_module_class_name(m));
        else
            cfx_print__tree(&out, m, false, p->err);
    } else if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT) {
        cfx_out_puts(&out, n->op == CFX_OUTPUT ? "" : "placeholder");
    } else {
        cfx_out_puts(&out, n->op == CFX_CALL_METHOD ? "." : "");
        cfx_out_puts(&out, cfx_print__target(n));
    }
    cfx_status st = cfx_out_finish(&out, p->err);
    if (st)
        cfx_out_fail(p->out, st);
    return p->text.len > 0;
}

static void measure(svg *p)
{
    for (size_t i = 0; i < p->d.n; i++) {
        const cfx_node *n = p->d.node[i];
        size_t most = shown_length(n->name, strlen(n->name));
        int lines = 1;
        for (int line = 1; line < MAX_LINES; line++) {
            if (!make_line(p, n, line))
                continue;
            size_t len = shown_length(cfx_buf_str(&p->text), p->text.len);
            most = len > most ? len : most;
            lines++;
        }
        p->l.box[i].width = (double)most * char_width + 2 * pad;
        p->l.box[i].height = lines * line_height + pad;
    }
}

static void put_node(svg *p, size_t i)
{
    const cfx_node *n = p->d.node[i];
    const cfx_box *b = &p->l.box[i];
    double y = b->y + line_height;
    cfx_out_puts(p->out, "<g class=\"node ");
    cfx_out_puts(p->out, cfx_opcode_names[n->op]);
    cfx_out_puts(p->out, "\"><title>");
    cfx_buf_clear(&p->text);
    if (!cfx_print_node(cfx_sink_buf(&p->text), n, true, p->err))
        put_text(p->out, cfx_buf_str(&p->text), p->text.len);
    cfx_out_puts(p->out, "</title><rect");
    put_attr(p->out, "x", b->x - b->width / 2);
    put_attr(p->out, "y", b->y);
    put_attr(p->out, "width", b->width);
    put_attr(p->out, "height", b->height);
    cfx_out_puts(p->out, " rx=\"4\"/><text class=\"name\"");
    put_attr(p->out, "x", b->x - b->width / 2 + pad);
    put_attr(p->out, "y", y);
    cfx_out_putc(p->out, '>');
    put_short(p->out, n->name, strlen(n->name));
    cfx_out_puts(p->out, "</text>");
    for (int line = 1; line < MAX_LINES; line++) {
        if (!make_line(p, n, line))
            continue;
        cfx_out_puts(p->out, "<text class=\"more\"");
        put_attr(p->out, "x", b->x - b->width / 2 + pad);
        put_attr(p->out, "y", y += line_height);
        cfx_out_putc(p->out, '>');
        put_short(p->out, cfx_buf_str(&p->text), p->text.len);
        cfx_out_puts(p->out, "</text>");
    }
    cfx_out_puts(p->out, "</g>\n");
}

/* ---- Edges ---- */

static void put_point(cfx_out *o, const char *before, double x, double y)
{
    cfx_out_puts(o, before);
    put_number(o, x);
    cfx_out_putc(o, ' ');
    put_number(o, y);
}

/* The lower end of a layer: edges leave from there, so that they pass beside
 * no box of it that is higher than their own. */
static double floor_of(const svg *p, const cfx_box *b)
{
    const cfx_layer *y = &p->l.layer[b->layer];
    return y->y + y->height;
}

static void put_tip(svg *p, const cfx_box *b)
{
    if (b->node == CFX_NO_INDEX)
        return;
    cfx_out_puts(p->out, "<path class=\"tip\" d=\"");
    put_point(p->out, "M", b->x, b->y);
    cfx_out_puts(p->out, "l-3.5 -6h7z\"/>");
}

static void put_link(svg *p, const cfx_link *k)
{
    const cfx_box *a = &p->l.box[k->from], *b = &p->l.box[k->to];
    double y = floor_of(p, a), end = b->y;
    cfx_out_puts(p->out, "<path class=\"edge\" d=\"");
    put_point(p->out, "M", a->x,
              a->node == CFX_NO_INDEX ? a->y : a->y + a->height);
    put_point(p->out, "L", a->x, y);
    put_point(p->out, "C", a->x, (y + end) / 2);
    put_point(p->out, ",", b->x, (y + end) / 2);
    put_point(p->out, ",", b->x, end);
    cfx_out_puts(p->out, "\"/>");
    put_tip(p, b);
    cfx_out_putc(p->out, '\n');
}

/* To the side, down, and back. */
static void put_lane(svg *p, const cfx_lane *k)
{
    const cfx_box *a = &p->l.box[k->from], *b = &p->l.box[k->to];
    double x = p->l.width - 24 - 8 * (double)k->lane;
    double high = floor_of(p, a) + 6 + (double)(k->lane % 4) * 2;
    double low = p->l.layer[b->layer].y - 8 - (double)(k->lane % 4) * 2;
    cfx_out_puts(p->out, "<path class=\"edge\" d=\"");
    put_point(p->out, "M", a->x, a->y + a->height);
    put_point(p->out, "L", a->x, high);
    put_point(p->out, "L", x, high);
    put_point(p->out, "L", x, low);
    put_point(p->out, "L", b->x, low);
    put_point(p->out, "L", b->x, b->y);
    cfx_out_puts(p->out, "\"/>");
    put_tip(p, b);
    cfx_out_putc(p->out, '\n');
}

/* ---- Clusters ---- */

static void widen(frame *f, uint32_t first, uint32_t last)
{
    if (!f->used || first < f->first)
        f->first = first;
    if (!f->used || last > f->last)
        f->last = last;
    f->used = true;
}

/* Find the layers of each cluster, and the space that its edges need in the
 * gaps. Children come after their parents, so the walk is backwards. */
static void find_frames(svg *p)
{
    for (size_t i = 0; i < p->d.n; i++)
        widen(&p->frame[p->d.cluster[i]], p->l.box[i].layer,
              p->l.box[i].layer);
    for (size_t c = p->d.nclusters; c-- > 1;) {
        frame *f = &p->frame[c], *up = &p->frame[p->d.clusters[c].parent];
        if (f->used)
            widen(up, f->first, f->last);
    }
    for (size_t c = p->d.nclusters; c-- > 1;) {
        frame *f = &p->frame[c], *up = &p->frame[p->d.clusters[c].parent];
        if (!f->used)
            continue;
        f->above += title;
        f->below += edge;
        if (f->first == up->first && f->above > up->above)
            up->above = f->above;
        if (f->last == up->last && f->below > up->below)
            up->below = f->below;
    }
}

/* Each gap has room for what ends above it and what begins below it. */
static bool make_gaps(svg *p)
{
    size_t n = p->l.nlayers;
    double *above = cfx_arena_alloc(&p->d.arena, (n + 1) * sizeof(*above));
    double *below = cfx_arena_alloc(&p->d.arena, (n + 1) * sizeof(*below));
    if (!above || !below)
        return false;
    for (size_t y = 0; y <= n; y++)
        above[y] = below[y] = 0;
    for (size_t c = 1; c < p->d.nclusters; c++) {
        const frame *f = &p->frame[c];
        if (f->used && f->above > above[f->first])
            above[f->first] = f->above;
        if (f->used && f->below > below[f->last])
            below[f->last] = f->below;
    }
    for (size_t y = 0; y < n; y++)
        p->l.layer[y].gap = (y ? gap + below[y - 1] : 0) + above[y];
    return true;
}

static void include(frame *f, double left, double right, double top,
                    double bottom)
{
    if (!f->placed || left < f->left)
        f->left = left;
    if (!f->placed || top < f->top)
        f->top = top;
    if (right > f->right)
        f->right = right;
    if (bottom > f->bottom)
        f->bottom = bottom;
    f->placed = true;
}

static void find_boxes(svg *p)
{
    for (size_t i = 0; i < p->d.n; i++) {
        const cfx_box *b = &p->l.box[i];
        include(&p->frame[p->d.cluster[i]], b->x - b->width / 2,
                b->x + b->width / 2, b->y, b->y + b->height);
    }
    for (size_t c = p->d.nclusters; c-- > 1;) {
        frame *f = &p->frame[c];
        if (!f->used)
            continue;
        /* The name needs room, too. */
        double least = (double)shown_length(p->d.clusters[c].name,
                                            strlen(p->d.clusters[c].name)) *
                       char_width;
        f->left -= edge;
        f->right += edge;
        if (f->right - f->left < least + 2 * edge)
            f->right = f->left + least + 2 * edge;
        f->top -= title;
        f->bottom += edge;
        include(&p->frame[p->d.clusters[c].parent], f->left, f->right, f->top,
                f->bottom);
    }
}

/* Is `at` the cluster `c`, or in it? */
static bool is_within(const cfx_drawing *d, uint32_t at, uint32_t c)
{
    while (d->clusters[at].depth > d->clusters[c].depth)
        at = d->clusters[at].parent;
    return at == c;
}

/* A box that would hold foreign nodes is not drawn. At most MAX_DEPTH boxes
 * cover a layer of the nodes that own it, but others may lie across, so only
 * so much is looked at. */
static void find_spoiled(svg *p)
{
    size_t budget = 64 * (p->d.n + 16);
    for (uint32_t c = 1; c < p->d.nclusters; c++) {
        frame *f = &p->frame[c];
        for (uint32_t y = f->first; f->used && y <= f->last; y++) {
            const cfx_layer *row = &p->l.layer[y];
            for (uint32_t k = 0; k < row->count && !f->spoiled; k++) {
                const cfx_box *b = &p->l.box[p->l.order[row->first + k]];
                double half = b->width / 2;
                f->spoiled = !budget ||
                             (b->node != CFX_NO_INDEX &&
                              b->x + half > f->left &&
                              b->x - half < f->right &&
                              !is_within(&p->d, p->d.cluster[b->node], c));
                budget -= budget > 0;
            }
        }
    }
}

static void put_cluster(svg *p, size_t c)
{
    const frame *f = &p->frame[c];
    const cfx_cluster *k = &p->d.clusters[c];
    if (!f->used || f->spoiled)
        return;
    cfx_out_puts(p->out, "<g class=\"cluster\"><title>");
    put_text(p->out, k->path, strlen(k->path));
    if (k->module) {
        const char *name = cfx_module_class_name(k->module);
        cfx_out_puts(p->out, ": ");
        put_text(p->out, name, strlen(name));
    }
    cfx_out_puts(p->out, "</title><rect");
    put_attr(p->out, "x", f->left);
    put_attr(p->out, "y", f->top);
    put_attr(p->out, "width", f->right - f->left);
    put_attr(p->out, "height", f->bottom - f->top);
    cfx_out_puts(p->out, " rx=\"8\"/><text");
    put_attr(p->out, "x", f->left + edge);
    put_attr(p->out, "y", f->top + 12);
    cfx_out_putc(p->out, '>');
    put_short(p->out, k->name, strlen(k->name));
    cfx_out_puts(p->out, "</text></g>\n");
}

/* ---- The whole ---- */

static bool lay_out(svg *p)
{
    size_t n = p->d.nclusters;
    p->l.d = &p->d;
    p->l.box = cfx_arena_alloc(&p->d.arena, (p->d.n + 1) * sizeof(*p->l.box));
    p->frame = cfx_arena_alloc(&p->d.arena, n * sizeof(*p->frame));
    if (!p->l.box || !p->frame)
        return false;
    memset(p->l.box, 0, (p->d.n + 1) * sizeof(*p->l.box));
    memset(p->frame, 0, n * sizeof(*p->frame));
    measure(p);
    if (!cfx_layout_layers(&p->l))
        return false;
    find_frames(p);
    if (!make_gaps(p) || !cfx_layout_place(&p->l))
        return false;
    find_boxes(p);
    find_spoiled(p);
    return true;
}

static void put_picture(svg *p)
{
    const char *name = cfx_module_class_name(p->d.gm);
    cfx_out_puts(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_attr(p->out, "width", p->l.width);
    put_attr(p->out, "height", p->l.height);
    cfx_out_puts(p->out, " viewBox=\"0 0 ");
    put_point(p->out, "", p->l.width, p->l.height);
    cfx_out_puts(p->out, "\">\n<title>");
    put_text(p->out, name, strlen(name));
    cfx_out_puts(p->out, "</title>\n");
    cfx_out_puts(p->out, style);
    for (size_t c = 1; c < p->d.nclusters; c++)
        put_cluster(p, c);
    for (size_t i = 0; i < p->l.nlinks; i++)
        put_link(p, &p->l.link[i]);
    for (size_t i = 0; i < p->l.nlanes; i++)
        put_lane(p, &p->l.lane[i]);
    for (size_t i = 0; i < p->d.n; i++)
        put_node(p, i);
    cfx_out_puts(p->out, "</svg>\n");
}

cfx_status cfx_print_svg(cfx_sink to, const cfx_module *gm,
                         const cfx_picture_options *options, cfx_error *err)
{
    cfx_out out;
    svg p = {.out = &out, .err = err};
    cfx_status st = cfx_drawing_init(&p.d, gm, options, err);
    cfx_buf_init(&p.text, p.d.ctx);
    cfx_out_init(&out, to);
    if (!st && !lay_out(&p))
        st = cfx_no_memory(err);
    if (!st && p.text.failed)
        st = cfx_no_memory(err);
    if (!st && !out.status)
        put_picture(&p);
    if (p.text.failed)
        cfx_out_fail(&out, CFX_ENOMEM);
    if (!st)
        st = cfx_out_finish(&out, err);
    cfx_buf_release(&p.text);
    cfx_drawing_release(&p.d);
    return st;
}
