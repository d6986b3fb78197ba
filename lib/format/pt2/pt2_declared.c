/*
 * pt2_declared -- what an exported program declares of its inputs.
 *
 * Types are among the values of the graph. Guards are Python over the arguments
 * of forward, "L['x'].size()[0] % 2 == 0"; each becomes a relation over the
 * symbols in the shapes of inputs, "s77 % 2 == 0". A signature with keywords,
 * lists or dicts is kept, so that a file that is written again has it.
 */
#include "format/pt2/pt2.h"

#include <ctype.h>
#include <strings.h>

/* ---- Types ---- */

/* The type of an input: absent if the graph does not tell it. */
static cfx_status read_declared(cfx_value *out, const cfx_pt2_graph *g,
                                cfx_shape_env *env, const cfx_node *n,
                                cfx_error *err)
{
    const char *name = n->target->text;
    const json_t *tensor = json_object_get(
        json_object_get(g->json, "tensor_values"), name);
    const json_t *number = json_object_get(
        json_object_get(g->json, "sym_int_values"), name);
    cfx_tensor *meta;
    cfx_dim d;
    cfx_status st = CFX_OK;

    *out = n->nargs ? cfx_value_ref(n->args[0]) : CFX_NOTHING;
    if (tensor && !(st = cfx_pt2__meta(&meta, g->ctx, env, tensor, err)))
        *out = cfx_value_of_tensor(meta);
    else if (number && !(st = cfx_pt2__extent(&d, env, number, err)))
        *out = cfx_value_of_dim(d);
    return st;
}

/* ---- Ranges ---- */

static cfx_value limit(const json_t *v)
{
    return json_is_integer(v) ? cfx_int(json_integer_value(v)) : cfx_none();
}

/* The ranges of symbols and expressions, {name: (least, most)}. */
static cfx_status make_ranges(cfx_value *out, cfx_context *ctx,
                              const json_t *ranges, cfx_error *err)
{
    cfx_pt2_values l = {.ctx = ctx};
    const char *name;
    json_t *range;
    cfx_status st = CFX_OK;

    json_object_foreach((json_t *)(uintptr_t)ranges, name, range)
    {
        cfx_value limits[] = {limit(json_object_get(range, "min_val")),
                              limit(json_object_get(range, "max_val"))};
        if (!st)
            st = cfx_pt2__add_str(&l, name, strlen(name), err);
        if (!st)
            st = cfx_pt2__add_take(&l, cfx_tuple_new(ctx, 2, limits), err);
    }
    return cfx_pt2__values_end(out, &l, CFX_DICT, st, err);
}

/* ---- Guards ---- */

/* An input in a guard: "L['d']['a'][0]" is the placeholder d_a_0, and
 * "L['flat_args'][1]" the second one. */
static const cfx_node *find_input(const cfx_graph *g, const char **text)
{
    static const char flat[] = "L['flat_args'][";
    char name[256];
    size_t len = 0;
    const char *s = *text + 1;
    long place = strncmp(*text, flat, sizeof(flat) - 1)
                     ? -1
                     : strtol(*text + sizeof(flat) - 1, NULL, 10);

    for (; *s == '['; s++) {
        for (s++; *s && *s != ']' && len + 2 < sizeof(name); s++)
            if (*s != '\'')
                name[len++] = isalnum((unsigned char)*s)
                                  ? (char)tolower((unsigned char)*s)
                                  : '_';
        if (*s != ']')
            return NULL;
        name[len++] = '_';
    }
    name[len ? len - 1 : 0] = '\0';
    *text = s;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER &&
            (place >= 0 ? !place-- : !strcasecmp(n->target->text, name)))
            return n;
    return NULL;
}

/* Write an extent of an input as it is declared; false if it is none. */
static bool put_extent(cfx_buf *out, const cfx_graph *g, const char **text)
{
    static const char size[] = ".size()[";
    const cfx_node *n = find_input(g, text);
    cfx_value v = n ? cfx_node_declared(n) : CFX_NOTHING;
    cfx_dim d = cfx_value_dim(v);
    char name[256], *end;

    if (!strncmp(*text, size, sizeof(size) - 1) && v.kind == CFX_TENSOR) {
        unsigned long axis = strtoul(*text + sizeof(size) - 1, &end, 10);
        if (*end != ']' || axis >= (unsigned long)v.u.tensor->rank)
            return false;
        d = v.u.tensor->shape[axis];
        *text = end + 1;
    }
    if (cfx_dim_is_bad(d) || **text == '.' || **text == '[' ||
        cfx_dim_format(d, name, sizeof(name)) >= sizeof(name))
        return false;
    cfx_buf_printf(out, cfx_dim_symbol_name(d) ? "%s" : "(%s)", name);
    return true;
}

/* Translate a relation; false if it is about something else than extents. */
static bool put_guard(cfx_buf *out, const cfx_graph *g, const char *s,
                      const char *end)
{
    char before = ' ';

    while (s < end) {
        bool word = isalnum((unsigned char)before) || before == '_';
        before = *s;
        if (!word && s[0] == 'L' && s[1] == '[') {
            if (!put_extent(out, g, &s))
                return false;
            before = ')';
        } else {
            cfx_buf_putc(out, *s++);
        }
    }
    return true;
}

/* The end of the first operand of `and`. */
static const char *end_of_operand(const char *s)
{
    const char *end = strstr(s, " and ");

    return end ? end : s + strlen(s);
}

/* Add the relations of a guard, which may be joined by `and`. */
static cfx_status add_guards(cfx_pt2_values *to, const cfx_graph *g,
                             const char *text, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_buf b;

    cfx_buf_init(&b, to->ctx);
    for (const char *end; *text && !st; text = end) {
        text += !strncmp(text, " and ", 5) ? 5 : 0;
        end = end_of_operand(text);
        cfx_buf_clear(&b);
        if (put_guard(&b, g, text, end))
            st = b.failed ? cfx_no_memory(err)
                          : cfx_pt2__add_str(to, cfx_buf_str(&b), b.len, err);
    }
    cfx_buf_release(&b);
    return st;
}

static cfx_status make_guards(cfx_value *out, const cfx_graph *g,
                              const json_t *codes, cfx_error *err)
{
    cfx_pt2_values l = {.ctx = cfx_graph_context(g)};
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < json_array_size(codes) && !st; i++) {
        const char *code = json_string_value(json_array_get(codes, i));
        if (code)
            st = add_guards(&l, g, code, err);
    }
    return cfx_pt2__values_end(out, &l, CFX_LIST, st, err);
}

/* ---- Meta ---- */

static cfx_status set_take(cfx_node *n, const char *key, cfx_value v,
                           cfx_error *err)
{
    cfx_status st = cfx_node_set_meta(n, key, v, err);

    cfx_value_unref(v);
    return st;
}

/* Ranges and guards of all inputs are meta of the first. */
static cfx_status declare_conditions(cfx_graph *g, cfx_node *first,
                                     const json_t *program, cfx_error *err)
{
    const json_t *ranges = json_object_get(program, "range_constraints");
    const json_t *guards = json_object_get(program, "guards_code");
    cfx_value v;
    cfx_status st = CFX_OK;

    if (json_object_size(ranges) &&
        !(st = make_ranges(&v, cfx_graph_context(g), ranges, err)))
        st = set_take(first, "range_constraints", v, err);
    if (!st && json_array_size(guards) &&
        !(st = make_guards(&v, g, guards, err)))
        st = set_take(first, "guards", v, err);
    return st;
}

/* ---- The signature ---- */

static cfx_status make_names(cfx_value *out, cfx_context *ctx,
                             const json_t *names, cfx_error *err)
{
    cfx_pt2_values l = {.ctx = ctx};
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < json_array_size(names) && !st; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        st = cfx_pt2__add_str(&l, name ? name : "", name ? strlen(name) : 0,
                              err);
    }
    return cfx_pt2__values_end(out, &l, CFX_LIST, st, err);
}

/* Are all arguments positional, and leaves? Inputs without a signature are. */
static bool is_plain(const json_t *spec)
{
    const json_t *pair = json_object_get(json_array_get(spec, 1),
                                         "children_spec");
    const json_t *args = json_object_get(json_array_get(pair, 0),
                                         "children_spec");
    const json_t *kwargs = json_object_get(json_array_get(pair, 1),
                                           "children_spec");
    size_t i = 0, n = json_array_size(args);

    while (i < n &&
           json_is_null(json_object_get(json_array_get(args, i), "type")))
        i++;
    return i == n && !json_array_size(kwargs);
}

static cfx_status declare_signature(cfx_node *first, const json_t *program,
                                    cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(first->graph);
    const json_t *module = json_object_get(program, "graph_module");
    const json_t *calls = json_object_get(module, "module_call_graph");
    const json_t *signature = json_object_get(json_array_get(calls, 0),
                                              "signature");
    const json_t *text = json_object_get(signature, "in_spec");
    const json_t *names = json_object_get(signature, "forward_arg_names");
    cfx_json spec = {0};
    cfx_value v = CFX_NOTHING;

    if (!json_is_string(text))
        return CFX_OK;
    cfx_status st = cfx_json_parse(&spec, ctx, json_string_value(text),
                                   json_string_length(text), 0, 0, err);
    if (st)
        return st == CFX_ENOMEM ? st : cfx_fail_at(err, "in_spec");
    bool plain = is_plain(spec.root);
    cfx_json_release(&spec);
    if (plain)
        return CFX_OK;
    v = cfx_str_new(ctx, json_string_value(text), json_string_length(text));
    st = v.kind ? set_take(first, "in_spec", v, err) : cfx_no_memory(err);
    if (!st && json_is_array(names) && !(st = make_names(&v, ctx, names, err)))
        st = set_take(first, "forward_arg_names", v, err);
    return st;
}

/* ---- The program ---- */

cfx_status cfx_pt2__declare(const cfx_pt2_graph *g, const json_t *program,
                            cfx_error *err)
{
    cfx_node *first = NULL;
    cfx_shape_env *env;
    cfx_value v;
    cfx_status st = cfx_shape_env_new(&env, g->ctx, err);

    for (cfx_node *n = cfx_graph_first(g->graph); n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        first = first ? first : n;
        st = read_declared(&v, g, env, n, err);
        if (!st)
            st = set_take(n, "val", v, err);
        if (st)
            cfx_fail_at(err, "input %s", n->name);
    }
    cfx_shape_env_free(env);
    if (!st && first)
        st = declare_conditions(g->graph, first, program, err);
    return st || !first ? st : declare_signature(first, program, err);
}
