/*
 * print_readable -- graph_module.print_readable(): a class for the module and
 * one inside it for each child that is a GraphModule.
 *
 * A comment with the source location (meta "stack_trace") precedes a line
 * whose source differs from that of the line before.
 */
#include "format/drawing/drawing.h"
#include "format/print.h"
#include "base/unicode.h"

/* ---- Comments ---- */

typedef struct piece {
    const char *s;
    size_t len;
} piece;

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static piece strip(const char *s, size_t len)
{
    while (len && is_blank(s[len - 1]))
        len--;
    while (len && is_blank(*s)) {
        s++;
        len--;
    }
    return (piece){s, len};
}

/* Take the text apart that Python writes of a frame: `File "F", line L, in
 * NAME`. The quote that ends F is the last one that fits. */
static bool parse_frame(piece line, piece part[3])
{
    static const char head[] = "File \"", middle[] = "\", line ";
    const size_t nhead = sizeof(head) - 1, nmiddle = sizeof(middle) - 1;
    if (line.len < nhead || memcmp(line.s, head, nhead))
        return false;
    for (size_t i = line.len; i-- > nhead + 1;) {
        if (line.len - i < nmiddle || memcmp(line.s + i, middle, nmiddle))
            continue;
        size_t digits = i + nmiddle, end = digits;
        while (end < line.len && line.s[end] >= '0' && line.s[end] <= '9')
            end++;
        if (end == digits || line.len - end < 6 ||
            memcmp(line.s + end, ", in ", 5))
            continue;
        part[0] = (piece){line.s + nhead, i - nhead};
        part[1] = (piece){line.s + digits, end - digits};
        part[2] = (piece){line.s + end + 5, line.len - end - 5};
        return true;
    }
    return false;
}

/* The innermost frame is last; the line after it is its code. */
static bool find_frame(const cfx_string *trace, piece part[4])
{
    piece all = strip(trace->text, trace->len);
    size_t end = all.len;
    piece below = {NULL, 0};
    while (end > 0) {
        size_t begin = end;
        while (begin && all.s[begin - 1] != '\n')
            begin--;
        piece line = strip(all.s + begin, end - begin);
        if (below.s && parse_frame(line, part)) {
            part[3] = below;
            return true;
        }
        below = line;
        end = begin ? begin - 1 : 0;
    }
    return false;
}

static void put_place(cfx_out *o, const cfx_node *n)
{
    piece part[4];
    cfx_value trace = cfx_node_meta(n, "stack_trace");
    if (trace.kind != CFX_STR || !find_frame(trace.u.str, part)) {
        cfx_out_puts(o, "No stacktrace found for following nodes");
        return;
    }
    static const char *const before[] = {"File: ", ":", " in ", ", code: "};
    for (int i = 0; i < 4; i++) {
        cfx_out_puts(o, before[i]);
        cfx_out__visible(o, part[i].s, part[i].len);
    }
}

bool cfx_print__source(cfx_out *o, const cfx_node *n)
{
    piece part[4];
    cfx_value trace = cfx_node_meta(n, "stack_trace");
    if (trace.kind != CFX_STR || !find_frame(trace.u.str, part))
        return false;
    /* The folder and the file are enough: the whole path makes long boxes. */
    int slashes = 0;
    size_t i = part[0].len;
    while (i && (slashes += part[0].s[i - 1] == '/') < 2)
        i--;
    cfx_out__visible(o, part[0].s + i, part[0].len - i);
    cfx_out_putc(o, ':');
    cfx_out__visible(o, part[1].s, part[1].len);
    cfx_out_putc(o, ' ');
    cfx_out__visible(o, part[3].s, part[3].len);
    return true;
}

/* Print a value of meta "custom", cut after 40 characters. */
static void put_short(cfx_out *o, cfx_value v, cfx_buf *text, cfx_error *err)
{
    enum { SHORT = 40 };
    cfx_out out;
    cfx_values print = {.out = &out, .style = CFX_STYLE_STR, .err = err};
    cfx_buf_clear(text);
    cfx_out_init(&out, cfx_sink_buf(text));
    cfx_out__value(&print, v);
    cfx_out_fail(o, cfx_out_finish(&out, err));
    if (cfx_utf8_count(cfx_buf_str(text), text->len) <= SHORT) {
        print = (cfx_values){.out = o, .style = CFX_STYLE_REPR, .err = err};
        cfx_out__value(&print, v);
        return;
    }
    size_t keep = 0;
    for (int i = 0; i < SHORT; i++) {
        uint32_t c;
        size_t n = cfx_utf8_decode(&c, text->s + keep, text->len - keep);
        keep += n ? n : 1;
    }
    text->len = keep;
    cfx_buf_puts(text, "...");
    cfx_print__quoted(o, cfx_buf_str(text), text->len);
}

static void put_custom(cfx_out *o, const cfx_node *n, cfx_context *ctx,
                       cfx_error *err)
{
    cfx_value d = cfx_node_meta(n, "custom");
    cfx_values repr = {.out = o, .style = CFX_STYLE_REPR, .err = err};
    cfx_buf text;
    if (d.kind != CFX_DICT || !d.u.seq->len)
        return;
    cfx_buf_init(&text, ctx);
    cfx_out_puts(o, " Annotation: {");
    for (uint32_t i = 0; i + 1 < d.u.seq->len; i += 2) {
        if (i)
            cfx_out_puts(o, ", ");
        cfx_out__value(&repr, d.u.seq->item[i]);
        cfx_out_puts(o, ": ");
        put_short(o, d.u.seq->item[i + 1], &text, err);
    }
    cfx_out_putc(o, '}');
    cfx_buf_release(&text);
}

static void put_recompute(cfx_out *o, const cfx_node *n, cfx_error *err)
{
    cfx_values str = {.out = o, .style = CFX_STYLE_STR, .err = err};
    cfx_value policy = cfx_node_meta(n, "recompute");
    cfx_value id = cfx_node_meta(n, "ac_graph_id");
    if (id.kind > CFX_NONE) {
        cfx_out_puts(o, " ac_graph_id: ");
        cfx_out__value(&str, id);
    }
    if (policy.kind > CFX_NONE) {
        cfx_out_puts(o, id.kind > CFX_NONE ? " - " : " recompute: ");
        cfx_out__value(&str, policy);
    }
}

/* `# KEY: VALUE, KEY: VALUE `, of the keys that the node has. */
static void put_additional(cfx_out *o, const cfx_node *n,
                           const cfx_code_options *how, cfx_error *err)
{
    cfx_values str = {.out = o, .style = CFX_STYLE_STR, .err = err};
    const char *before = "# ";
    for (size_t i = 0; i < how->nadditional_meta; i++) {
        cfx_value v = cfx_node_meta(n, how->additional_meta[i]);
        if (v.kind == CFX_ABSENT)
            continue;
        cfx_out_puts(o, before);
        cfx_out_puts(o, how->additional_meta[i]);
        cfx_out_puts(o, ": ");
        cfx_out__value(&str, v);
        before = ", ";
    }
    if (*before == ',')
        cfx_out_putc(o, ' ');
}

void cfx_print__summary(cfx_out *o, const cfx_node *n,
                        const cfx_code_options *how, cfx_error *err)
{
    put_additional(o, n, how, err);
    cfx_out_putc(o, '#');
    put_custom(o, n, cfx_graph_context(n->graph), err);
    put_recompute(o, n, err);
    cfx_out_putc(o, ' ');
    put_place(o, n);
}

/* ---- Modules ---- */

/* Its depth below gm, or -1 if a module that is not a GraphModule is between
 * them. */
static int depth_below(const cfx_module *m, const cfx_module *gm)
{
    int depth = 0;
    for (; cfx_graph_module_graph(m); m = cfx_module_parent(m), depth++)
        if (m == gm)
            return depth;
    return -1;
}

cfx_status cfx_print_readable_with(cfx_sink to, const cfx_module *gm,
                                   const cfx_code_options *options,
                                   cfx_error *err)
{
    cfx_out out;
    cfx_code_options how = *options;
    cfx_code_frame frame = {.lines = 0};
    how.verbose = true;
    cfx_out_init(&out, to);
    if (!cfx_graph_module_graph(gm))
        return cfx_fail(err, CFX_EINVAL, "%s has no graph",
                        cfx_module_class_name(gm));
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm)) {
        int depth = depth_below(m, gm);
        if (depth < 0)
            continue;
        frame.indent = 4 * (size_t)(depth + 1);
        frame.class_name = cfx_module_class_name(m);
        if (m != gm) {
            cfx_out_putc(&out, '\n');
            frame.lines++;
            frame.class_name = cfx_module_name(m);
            how.expanded_def = false;
            how.transform = NULL;
            how.codegen = NULL;
        }
        cfx_out__code(&out, cfx_graph_module_graph(m), &how, &frame, err);
    }
    return cfx_out_finish(&out, err);
}

cfx_status cfx_print_readable(cfx_sink to, const cfx_module *gm,
                              cfx_error *err)
{
    return cfx_print_readable_with(
        to, gm, &(cfx_code_options){.size = sizeof(cfx_code_options)}, err);
}
