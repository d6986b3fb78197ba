/*
 * pt2_write_in_spec -- how the program is called: in_spec, a pytree of (args,
 * kwargs) whose leaves are the inputs.
 *
 * The tree of a file that was read is meta of the first input (pt2.h), and is
 * written as it stands while it has a leaf for each input. Otherwise all inputs
 * are positional.
 */
#include "format/pt2/pt2_write.h"

#include "format/print.h"

/* ---- The tree that was read ---- */

static const json_t *children_of(const json_t *spec)
{
    return json_object_get(spec, "children_spec");
}

static bool has_type(const json_t *spec, const char *type)
{
    const char *have = json_string_value(json_object_get(spec, "type"));

    return have && !strcmp(have, type);
}

/* Count the leaves; false if it is no tree. */
static bool count_leaves(size_t *n, const json_t *spec, int depth)
{
    const json_t *children = children_of(spec);
    bool ok = json_is_array(children) && depth <= CFX_MAX_DEPTH;

    *n += ok && json_is_null(json_object_get(spec, "type"));
    for (size_t i = 0; ok && i < json_array_size(children); i++)
        ok = count_leaves(n, json_array_get(children, i), depth + 1);
    return ok;
}

static size_t count_inputs(const cfx_graph *g)
{
    const cfx_node *at = NULL;
    size_t n = 0;

    while ((at = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, at)))
        n++;
    return n;
}

cfx_status cfx_pt2__find_in_spec(cfx_pt2_in_spec *s, const cfx_graph *g,
                                 cfx_error *err)
{
    const cfx_node *first = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL,
                                                 NULL);
    cfx_value text = first ? cfx_node_meta(first, "in_spec") : CFX_NOTHING;
    size_t n = 0;

    if (text.kind != CFX_STR)
        return CFX_OK;
    cfx_status st = cfx_json_parse(&s->parsed, cfx_graph_context(g),
                                   text.u.str->text, text.u.str->len, 0, 0,
                                   err);
    if (st)
        return cfx_fail_at(err, "in_spec");
    const json_t *spec = json_array_get(s->parsed.root, 1);
    const json_t *pair = children_of(spec);
    if (count_leaves(&n, spec, 0) && n == count_inputs(g) &&
        json_array_size(pair) == 2 &&
        has_type(json_array_get(pair, 0), "builtins.tuple") &&
        has_type(json_array_get(pair, 1), "builtins.dict")) {
        s->text = text.u.str;
        s->tree = spec;
        s->names = cfx_node_meta(first, "forward_arg_names");
    }
    return CFX_OK;
}

void cfx_pt2__in_spec_release(cfx_pt2_in_spec *s)
{
    if (s->parsed.root)
        cfx_json_release(&s->parsed);
}

/* ---- Writing ---- */

/* ([inputs], {}), all positional. */
static void put_positional(cfx_buf *b, const cfx_graph *g)
{
    cfx_buf_puts(
        b,
        "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [");
    for (size_t i = count_inputs(g); i > 0; i--) {
        cfx_pt2__put_comma(b);
        cfx_buf_puts(b, cfx_pt2__leaf);
    }
    cfx_buf_puts(
        b,
        "]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]");
}

void cfx_pt2__put_in_spec(cfx_buf *b, const cfx_pt2_in_spec *s,
                          const cfx_graph *g)
{
    if (s->text)
        cfx_buf_add(b, s->text->text, s->text->len);
    else
        put_positional(b, g);
}

void cfx_pt2__put_forward_names(const cfx_pt2_writer *w)
{
    const cfx_graph *g = cfx_graph_module_graph(w->gm);
    cfx_value names = w->in_spec.names;
    cfx_buf *b = w->out;

    if (w->in_spec.text && !cfx_value_is_seq(names)) {
        cfx_buf_puts(b, "null");
        return;
    }
    cfx_buf_putc(b, '[');
    if (w->in_spec.text) {
        for (uint32_t i = 0; i < names.u.seq->len; i++) {
            cfx_value name = names.u.seq->item[i];
            cfx_pt2__put_comma(b);
            cfx_pt2__put_name(b, name.kind == CFX_STR ? name.u.str->text : "");
        }
    } else {
        for (const cfx_node *n = NULL;
             (n = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, n));) {
            cfx_pt2__put_comma(b);
            cfx_pt2__put_name(b, cfx_pt2__name_of(w, n));
        }
    }
    cfx_buf_putc(b, ']');
}
