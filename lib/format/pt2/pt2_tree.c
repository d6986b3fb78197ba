/*
 * pt2_tree -- the structure of a program's result.
 *
 * The graph in the file returns a flat tuple. What the program makes of it stands
 * in out_spec, a pytree: a node for each tuple, list and dict, and a leaf for each
 * item of the flat tuple, in order. The graph that is read returns that structure.
 * Objects whose fields have names (namedtuples, dataclasses, the outputs of
 * transformers) become dicts.
 */
#include "format/pt2/pt2.h"

struct tree {
    cfx_context *ctx;
    const json_t *fields;  /* of namedtuples: {name: {"field_names": [...]}} */
    const cfx_value *leaf; /* borrowed */
    size_t n, at;
};

static cfx_status build(cfx_value *out, struct tree *t, const json_t *spec,
                        int depth, cfx_error *err);

/* ---- The names of children ---- */

static bool is_key(const json_t *v)
{
    return json_is_string(v) || json_is_integer(v);
}

/* Is it a list of n keys? */
static bool are_keys(const json_t *v, size_t n)
{
    size_t i = 0;

    if (!json_is_array(v) || json_array_size(v) != n)
        return false;
    while (i < n && is_key(json_array_get(v, i)))
        i++;
    return i == n;
}

/* The names of a node's n children, or NULL. A context is a list of them, or,
 * of a dataclass, begins with that list. */
static const json_t *find_keys(const struct tree *t, const char *type,
                               const json_t *context, size_t n)
{
    if (!n || !strcmp(type, "builtins.tuple") ||
        !strcmp(type, "builtins.list"))
        return NULL;
    if (!strcmp(type, "collections.namedtuple")) {
        const char *name = json_string_value(context);
        context = json_object_get(
            name ? json_object_get(t->fields, name) : NULL, "field_names");
    }
    if (json_is_object(context))
        context = json_object_get(context, "dict_context");
    if (are_keys(context, n))
        return context;
    context = json_array_get(context, 0);
    return are_keys(context, n) ? context : NULL;
}

static cfx_value make_key(cfx_context *ctx, const json_t *key)
{
    return json_is_string(key) ? cfx_str_new(ctx, json_string_value(key),
                                             json_string_length(key))
                               : cfx_int(json_integer_value(key));
}

/* ---- Nodes ---- */

/* Build a node of its children, each after its key where `keys` are given. */
static cfx_status build_node(cfx_value *out, struct tree *t, const char *type,
                             const json_t *children, const json_t *keys,
                             int depth, cfx_error *err)
{
    cfx_pt2_values l = {.ctx = t->ctx};
    cfx_kind kind = keys                             ? CFX_DICT
                    : !strcmp(type, "builtins.list") ? CFX_LIST
                                                     : CFX_TUPLE;
    cfx_value v;
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < json_array_size(children) && !st; i++) {
        if (keys)
            st = cfx_pt2__add_take(
                &l, make_key(t->ctx, json_array_get(keys, i)), err);
        if (!st)
            st = build(&v, t, json_array_get(children, i), depth + 1, err);
        if (!st)
            st = cfx_pt2__add_take(&l, v, err);
    }
    return cfx_pt2__values_end(out, &l, kind, st, err);
}

static cfx_status build(cfx_value *out, struct tree *t, const json_t *spec,
                        int depth, cfx_error *err)
{
    const char *type = json_string_value(json_object_get(spec, "type"));
    const json_t *context = json_object_get(spec, "context"), *children;
    cfx_json parsed = {0};

    if (depth > CFX_MAX_DEPTH)
        return cfx_fail(err, CFX_ELIMIT, "it nests deeper than %d",
                        CFX_MAX_DEPTH);
    if (!type && t->at == t->n)
        return cfx_fail(err, CFX_EPARSE,
                        "it has more leaves than the %zu results", t->n);
    if (!type) {
        *out = cfx_value_ref(t->leaf[t->at++]);
        return CFX_OK;
    }
    cfx_status st = cfx_pt2__member(&children, spec, "children_spec",
                                    JSON_ARRAY, err);
    if (st)
        return st;
    /* A context that is no JSON tells no names. */
    const char *text = json_string_value(context);
    if (text && strcmp(type, "collections.namedtuple") != 0 &&
        cfx_json_parse(&parsed, t->ctx, text, strlen(text), JSON_DECODE_ANY, 0,
                       NULL) == CFX_ENOMEM)
        return cfx_no_memory(err);
    const json_t *keys = find_keys(t, type,
                                   parsed.root ? parsed.root : context,
                                   json_array_size(children));
    st = build_node(out, t, type, children, keys, depth, err);
    if (parsed.root)
        cfx_json_release(&parsed);
    return st;
}

/* ---- The result ---- */

/* The out_spec of the program, without the number of its version; NULL: the
 * file has none. */
static cfx_status find_spec(const json_t **out, cfx_json *parsed,
                            cfx_context *ctx, const json_t *module,
                            cfx_error *err)
{
    const json_t *calls = json_object_get(module, "module_call_graph");
    const json_t *call = json_array_get(calls, 0);
    const json_t *text = json_object_get(json_object_get(call, "signature"),
                                         "out_spec");

    *out = NULL;
    if (!json_is_string(text))
        return CFX_OK;
    cfx_status st = cfx_json_parse(parsed, ctx, json_string_value(text),
                                   json_string_length(text), 0, 0, err);
    if (st)
        return st;
    *out = json_array_get(parsed->root, 1);
    return json_is_object(*out)
               ? CFX_OK
               : cfx_fail(err, CFX_EPARSE, "it is not a tree");
}

cfx_status cfx_pt2__shape_result(cfx_pt2_graph *g, const json_t *module,
                                 cfx_error *err)
{
    cfx_node *output = cfx_graph_output_node(g->graph);
    cfx_value flat = output->args[0], result = CFX_NOTHING;
    struct tree t = {
        .ctx = g->ctx,
        .fields = json_object_get(module, "treespec_namedtuple_fields")};
    cfx_json parsed = {0};
    const json_t *spec;
    cfx_status st = find_spec(&spec, &parsed, g->ctx, module, err);

    if (!st && spec && flat.kind == CFX_TUPLE) {
        t.leaf = flat.u.seq->item;
        t.n = flat.u.seq->len;
        st = build(&result, &t, spec, 0, err);
        if (!st && t.at < t.n)
            st = cfx_fail(err, CFX_EPARSE, "it has %zu leaves, not %zu", t.at,
                          t.n);
        if (!st)
            st = cfx_node_set_args(output, &result, 1, err);
    }
    cfx_value_unref(result);
    if (parsed.root)
        cfx_json_release(&parsed);
    if (st && st != CFX_ENOMEM)
        cfx_fail_at(err, "out_spec");
    return st;
}
