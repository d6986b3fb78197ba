/*
 * print_dot -- Graphviz's text of a graph, as torch.fx's graph drawer has it.
 *
 * A label is built first: its own record syntax (`{`, `|` and `\n`) is printed
 * as it is, and text from the graph is escaped.
 */
#include "dim/dim_text.h"
#include "format/drawing/drawing.h"

enum { MAX_ITEMS = 8 };

typedef struct dot {
    cfx_drawing d;
    cfx_out *out;
    cfx_buf text; /* one value */
    cfx_error *err;
} dot;

static const char *const colors[CFX_NOPCODES] = {
    [CFX_PLACEHOLDER] = "AliceBlue",
    [CFX_GET_ATTR] = "LightGrey",
    [CFX_CALL_MODULE] = "LemonChiffon1",
    [CFX_OUTPUT] = "PowderBlue"};

/* Colours of functions and methods, by a hash of the target, so that all
 * drawings agree. */
static const char *const hash_colors[] = {
    "CadetBlue1", "Coral",      "DarkOliveGreen1", "DarkSeaGreen1",
    "GhostWhite", "Khaki1",     "LavenderBlush1",  "LightSkyBlue",
    "MistyRose1", "MistyRose2", "PaleTurquoise2",  "PeachPuff1",
    "Salmon",     "Thistle1",   "Thistle3",        "Wheat1"};

static const char *color_of(const cfx_node *n)
{
    enum { NCOLORS = sizeof(hash_colors) / sizeof(hash_colors[0]) };
    const char *target = cfx_print__target(n);
    if (colors[n->op])
        return colors[n->op];
    return hash_colors[cfx_hash(target, strlen(target)) % NCOLORS];
}

/* ---- Text ---- */

/* Text inside of a string in quotes. */
static void put_quoted(dot *p, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"' || s[i] == '\\')
            cfx_out_putc(p->out, '\\');
        cfx_out_putc(p->out, s[i] ? s[i] : ' ');
    }
}

/* Text in a record. */
static void put_text(dot *p, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] && strchr("{}|<>\"\\", s[i]))
            cfx_out_putc(p->out, '\\');
        if (s[i] == '\n')
            cfx_out_puts(p->out, "\\n");
        else
            cfx_out_putc(p->out, s[i] ? s[i] : ' ');
    }
}

static void put_name(dot *p, const char *name)
{
    cfx_out_putc(p->out, '"');
    put_quoted(p, name, strlen(name));
    cfx_out_putc(p->out, '"');
}

/* A value's text, into p->text. */
static void format(dot *p, cfx_value v, int style)
{
    cfx_out out;
    cfx_buf_clear(&p->text);
    cfx_out_init(&out, cfx_sink_buf(&p->text));
    cfx_out__value(&(cfx_values){.out = &out,
                                 .style = style,
                                 .max_items = MAX_ITEMS,
                                 .err = p->err},
                   v);
    cfx_out_fail(p->out, cfx_out_finish(&out, p->err));
}

static void put_formatted(dot *p)
{
    put_text(p, cfx_buf_str(&p->text), p->text.len);
}

/* ---- Columns ---- */

/* Is this argument shown? Then its text is in p->text. */
static bool choose(dot *p, cfx_value v)
{
    format(p, v, CFX_STYLE_ARGUMENT);
    return p->d.how.node_names_in_args || !strchr(cfx_buf_str(&p->text), '%');
}

static const cfx_value *value_at(const cfx_node *n, bool kwargs, uint32_t i)
{
    return kwargs ? &n->kwargs[2 * i + 1] : &n->args[i];
}

/* `|args=(1,)`; several stand one below the other. */
static void put_args(dot *p, const cfx_node *n, bool kwargs)
{
    uint32_t count = kwargs ? n->nkwargs : n->nargs, shown = 0;
    for (uint32_t i = 0; i < count; i++)
        shown += choose(p, *value_at(n, kwargs, i));
    if (!shown)
        return;
    cfx_out_puts(p->out, kwargs ? "|kwargs=\\{" : "|args=(");
    for (uint32_t i = 0; i < count; i++) {
        if (!choose(p, *value_at(n, kwargs, i)))
            continue;
        if (shown > 1)
            cfx_out_puts(p->out, "\\l");
        if (kwargs) {
            const cfx_string *key = n->kwargs[2 * i].u.str;
            put_text(p, key->text, key->len);
            cfx_out_puts(p->out, ": ");
        }
        put_formatted(p);
        cfx_out_putc(p->out, ',');
    }
    cfx_out_puts(p->out, shown > 1 ? "\\l" : "");
    cfx_out_puts(p->out, kwargs ? "\\}" : ")");
    cfx_out_puts(p->out, shown > 1 ? "\\l" : "");
}

static void put_module(dot *p, const cfx_module *m)
{
    const cfx_schema *schema = m ? cfx_module_schema(m) : NULL;
    const cfx_value *attr = m ? cfx_module_attrs(m) : NULL;
    if (!m)
        return;
    put_text(p, cfx_module_class_name(m), strlen(cfx_module_class_name(m)));
    cfx_out_puts(p->out, "\\n|");
    for (int i = 0; schema && attr && i < schema->nparams; i++) {
        cfx_out_puts(p->out, i ? "\\n" : "");
        cfx_out_puts(p->out, schema->params[i].name);
        cfx_out_puts(p->out, ": ");
        format(p, attr[i], CFX_STYLE_STR);
        put_formatted(p);
    }
    cfx_out_puts(p->out, "\\n");
}

static void put_extents(dot *p, const char *name, int rank, const cfx_dim *d)
{
    char text[256];
    cfx_out_puts(p->out, name);
    cfx_out_putc(p->out, '(');
    for (int i = 0; i < rank; i++) {
        size_t at = 0;
        cfx_out_puts(p->out, i ? ", " : "");
        while (cfx_dim__format_from(d[i], at, text, sizeof(text))) {
            put_text(p, text, strlen(text));
            at += strlen(text);
        }
    }
    cfx_out_puts(p->out, rank == 1 ? ",)\\n" : ")\\n");
}

static cfx_status put_tensor(void *user, cfx_value v)
{
    dot *p = user;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_tensor *t = v.u.tensor;
    cfx_out_puts(p->out, "|dtype=torch.");
    cfx_out_puts(p->out, cfx_dtypes[t->dtype].name);
    put_extents(p, "\\n|shape=", t->rank, t->shape);
    cfx_out_puts(p->out, "|requires_grad=False\\n");
    put_extents(p, "|stride=", t->rank, t->stride);
    return CFX_OK;
}

static void put_source(dot *p, const cfx_node *n)
{
    cfx_out out;
    cfx_buf_clear(&p->text);
    cfx_out_init(&out, cfx_sink_buf(&p->text));
    bool known = p->d.how.parse_stack_trace && cfx_print__source(&out, n);
    cfx_out_fail(p->out, cfx_out_finish(&out, p->err));
    if (!known)
        return;
    cfx_out_puts(p->out, "|file=");
    put_formatted(p);
    cfx_out_puts(p->out, "\\n");
}

static void put_label(dot *p, const cfx_node *n)
{
    const char *target = cfx_print__target(n);
    cfx_out_puts(p->out, "{name=%");
    put_text(p, n->name, strlen(n->name));
    cfx_out_puts(p->out, "|op_code=");
    cfx_out_puts(p->out, cfx_opcode_names[n->op]);
    cfx_out_puts(p->out, "\\n");
    cfx_out_puts(p->out, n->op == CFX_CALL_MODULE ? "" : "|target=");
    if (n->op == CFX_CALL_MODULE) {
        put_module(p, cfx_module_at(p->d.gm, target));
    } else {
        put_text(p, target, strlen(target));
        cfx_out_puts(p->out, "\\n");
        put_args(p, n, false);
        put_args(p, n, true);
        cfx_out_puts(p->out, "|num_users=");
        cfx_out_int(p->out, n->nusers);
        cfx_out_puts(p->out, "\\n");
    }
    cfx_value_visit(cfx_print__meta_value(n), put_tensor, p);
    put_source(p, n);
    cfx_out_putc(p->out, '}');
}

/* ---- Statements ---- */

static void put_margin(dot *p, uint32_t depth)
{
    cfx_out_repeat(p->out, ' ', 4 * ((size_t)depth + 1));
}

static void begin_attributes(dot *p)
{
    cfx_out_puts(p->out, " [label=\"");
}

static void end_attributes(dot *p, const char *fill)
{
    cfx_out_puts(p->out, "\", shape=");
    cfx_out_puts(p->out, p->d.how.shape ? p->d.how.shape : "record");
    cfx_out_puts(p->out, ", fillcolor=");
    cfx_out_puts(p->out, fill);
    cfx_out_puts(p->out,
                 ", style=\"filled,rounded\", fontcolor=\"#000000\"];\n");
}

static void put_node(dot *p, const cfx_node *n, uint32_t depth)
{
    put_margin(p, depth);
    put_name(p, n->name);
    begin_attributes(p);
    put_label(p, n);
    end_attributes(p, color_of(n));
}

/* The parameters and buffers of one module, and their edges to its node. */
static void put_state_of(dot *p, const cfx_node *n, const cfx_module *m,
                         const char *path)
{
    for (size_t i = 0; i < cfx_module_nstate(m); i++) {
        const cfx_state *s = cfx_module_state_at(m, i);
        if (!s->tensor)
            continue;
        cfx_buf_clear(&p->text);
        cfx_buf_printf(&p->text, "%s%s%s.%s", n->name, *path ? "." : "", path,
                       s->name);
        put_margin(p, 0);
        put_name(p, cfx_buf_str(&p->text));
        begin_attributes(p);
        cfx_out_puts(p->out, "{");
        put_formatted(p);
        cfx_out_puts(p->out, s->is_buffer ? "|op_code=get_buffer\\n|"
                                          : "|op_code=get_parameter\\n|");
        cfx_out_puts(p->out, "torch.");
        cfx_out_puts(p->out, cfx_dtypes[s->tensor->dtype].name);
        cfx_print__extents(p->out, s->tensor->rank, s->tensor->shape);
        cfx_out_puts(p->out, "\\n}");
        end_attributes(p, "Salmon");
        put_margin(p, 0);
        put_name(p, cfx_buf_str(&p->text));
        cfx_out_puts(p->out, " -> ");
        put_name(p, n->name);
        cfx_out_puts(p->out, ";\n");
        if (p->text.failed)
            cfx_out_fail(p->out, CFX_ENOMEM);
    }
}

static void put_state(dot *p, const cfx_node *n)
{
    const cfx_module *root = cfx_module_at(p->d.gm, n->target->text);
    char top[512], path[1024];
    if (n->op != CFX_CALL_MODULE || !root || cfx_graph_module_graph(root))
        return;
    size_t skip = cfx_module_path(root, top, sizeof(top)) + 1;
    for (const cfx_module *m = root; m; m = cfx_module_next(m, root)) {
        size_t len = cfx_module_path(m, path, sizeof(path));
        if (len < sizeof(path))
            put_state_of(p, n, m, m == root ? "" : path + skip);
    }
}

static void open_cluster(dot *p, uint32_t i)
{
    const cfx_cluster *c = &p->d.clusters[i];
    put_margin(p, c->depth - 1);
    cfx_out_puts(p->out, "subgraph \"cluster_");
    put_quoted(p, c->path, strlen(c->path));
    cfx_out_puts(p->out, "\" {\n");
    put_margin(p, c->depth);
    cfx_out_puts(p->out, "label=\"");
    put_quoted(p, c->name, strlen(c->name));
    if (c->module) {
        cfx_out_puts(p->out, " (");
        put_quoted(p, cfx_module_class_name(c->module),
                   strlen(cfx_module_class_name(c->module)));
        cfx_out_putc(p->out, ')');
    }
    cfx_out_puts(p->out, "\"; labeljust=l; color=royalblue; style=rounded;\n");
}

/* Leave clusters until `to` is in the open one, then enter down to it. Dot
 * joins what several subgraphs of one name hold. */
static void move_to(dot *p, uint32_t *at, uint32_t to)
{
    const cfx_cluster *c = p->d.clusters;
    uint32_t way[16], depth = 0;
    for (uint32_t i = to; c[i].depth > c[*at].depth; i = c[i].parent)
        way[depth++] = i;
    uint32_t above = depth ? c[way[depth - 1]].parent : to;
    while (*at != above) {
        put_margin(p, c[*at].depth - 1);
        cfx_out_puts(p->out, "}\n");
        *at = c[*at].parent;
        if (c[above].depth > c[*at].depth) {
            way[depth++] = above;
            above = c[above].parent;
        }
    }
    while (depth)
        open_cluster(p, way[--depth]);
    *at = to;
}

static void put_edges(dot *p, const cfx_node *n)
{
    for (const cfx_use *u = n->first_user; u; u = u->next) {
        put_margin(p, 0);
        put_name(p, n->name);
        cfx_out_puts(p->out, " -> ");
        put_name(p, u->user->name);
        cfx_out_puts(p->out, ";\n");
    }
}

static void put_graph(dot *p)
{
    uint32_t at = 0;
    cfx_out_puts(p->out, "digraph ");
    put_name(p, cfx_module_class_name(p->d.gm));
    cfx_out_puts(p->out, " {\n    rankdir=TB;\n");
    for (size_t i = 0; i < p->d.n && !p->out->status; i++) {
        move_to(p, &at, p->d.cluster[i]);
        put_node(p, p->d.node[i], p->d.clusters[at].depth);
    }
    move_to(p, &at, 0);
    for (size_t i = 0; i < p->d.n && !p->out->status; i++) {
        if (!p->d.how.ignore_parameters_and_buffers)
            put_state(p, p->d.node[i]);
        put_edges(p, p->d.node[i]);
    }
    cfx_out_puts(p->out, "}\n");
}

cfx_status cfx_print_dot(cfx_sink to, const cfx_module *gm,
                         const cfx_picture_options *options, cfx_error *err)
{
    cfx_out out;
    dot p = {.out = &out, .err = err};
    cfx_status st = cfx_drawing_init(&p.d, gm, options, err);
    cfx_buf_init(&p.text, p.d.ctx);
    cfx_out_init(&out, to);
    if (!st) {
        put_graph(&p);
        st = cfx_out_finish(&out, err);
    }
    cfx_buf_release(&p.text);
    cfx_drawing_release(&p.d);
    return st;
}
