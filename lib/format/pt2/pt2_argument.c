/*
 * pt2_argument -- the arguments of calls as values.
 *
 * An argument is a union of some thirty kinds: one row of a table for each that
 * a graph can hold. Lists hold items of one kind.
 */
#include "format/pt2/pt2.h"

typedef cfx_status read_fn(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                           cfx_error *err);

/* ---- Plain values ---- */

static cfx_status read_none(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                            cfx_error *err)
{
    (void)g;
    (void)v;
    (void)err;
    *out = cfx_none();
    return CFX_OK;
}

static cfx_status read_int(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                           cfx_error *err)
{
    (void)g;
    if (!json_is_integer(v))
        return cfx_fail(err, CFX_EPARSE, "an integer should stand here");
    *out = cfx_int(json_integer_value(v));
    return CFX_OK;
}

static cfx_status read_float(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                             cfx_error *err)
{
    double f = 0;
    cfx_status st = cfx_pt2__float(&f, v, err);

    (void)g;
    *out = cfx_float(f);
    return st;
}

static cfx_status read_bool(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                            cfx_error *err)
{
    (void)g;
    if (!json_is_boolean(v))
        return cfx_fail(err, CFX_EPARSE, "true or false should stand here");
    *out = cfx_bool(json_is_true(v));
    return CFX_OK;
}

/* A string of a kind: str, device or layout. */
static cfx_status make_text(cfx_value *out, cfx_pt2_graph *g, cfx_kind kind,
                            const char *text, size_t len, cfx_error *err)
{
    cfx_value v = cfx_str_new(g->ctx, text, len);

    if (!v.kind)
        return cfx_no_memory(err);
    v.kind = (uint8_t)kind;
    *out = v;
    return CFX_OK;
}

static cfx_status read_str(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                           cfx_error *err)
{
    return json_is_string(v)
               ? make_text(out, g, CFX_STR, json_string_value(v),
                           json_string_length(v), err)
               : cfx_fail(err, CFX_EPARSE, "a string should stand here");
}

static cfx_status read_complex(cfx_value *out, cfx_pt2_graph *g,
                               const json_t *v, cfx_error *err)
{
    cfx_value parts[2] = {cfx_float(0), cfx_float(0)};
    cfx_status st = read_float(&parts[0], g, json_object_get(v, "real"), err);

    if (!st)
        st = read_float(&parts[1], g, json_object_get(v, "imag"), err);
    if (st)
        return st;
    *out = cfx_seq_new(g->ctx, CFX_COMPLEX, 2, parts, NULL);
    return out->kind ? CFX_OK : cfx_no_memory(err);
}

/* ---- Types ---- */

static cfx_status read_dtype(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                             cfx_error *err)
{
    cfx_dtype t = CFX_F32;
    cfx_status st = cfx_pt2__dtype(&t, v, err);

    (void)g;
    *out = cfx_value_of_dtype(t);
    return st;
}

static cfx_status read_format(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *v, cfx_error *err)
{
    cfx_memory_format f = CFX_CONTIGUOUS_FORMAT;
    cfx_status st = cfx_pt2__format(&f, v, err);

    (void)g;
    *out = cfx_value_of_format(f);
    return st;
}

static cfx_status read_layout(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *v, cfx_error *err)
{
    const char *name;
    cfx_status st = cfx_pt2__layout(&name, v, err);

    return st ? st : make_text(out, g, CFX_LAYOUT, name, strlen(name), err);
}

static cfx_status read_device(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *v, cfx_error *err)
{
    char name[64];
    cfx_status st = cfx_pt2__device(name, sizeof(name), v, err);

    return st ? st : make_text(out, g, CFX_DEVICE, name, strlen(name), err);
}

/* ---- Nodes ---- */

static cfx_status read_node_of(cfx_value *out, cfx_pt2_graph *g,
                               const json_t *v, const char *key,
                               cfx_error *err)
{
    const char *name;
    cfx_node *n = NULL;
    cfx_status st = cfx_pt2__text(&name, v, key, err);

    if (!st)
        st = cfx_pt2__node(&n, g, name, err);
    if (!st)
        *out = cfx_value_of_node(n);
    return st;
}

static cfx_status read_tensor(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *v, cfx_error *err)
{
    return read_node_of(out, g, v, "name", err);
}

/* A symbol's node, or a number: a union of its own. */
static cfx_status read_sym(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                           cfx_error *err)
{
    cfx_pt2_union u;
    cfx_status st = cfx_pt2__read_union(&u, v, "a symbolic number", err);

    if (st)
        return st;
    if (!strcmp(u.key, "as_name"))
        return read_node_of(out, g, v, "as_name", err);
    return !strcmp(u.key, "as_int")     ? read_int(out, g, u.value, err)
           : !strcmp(u.key, "as_float") ? read_float(out, g, u.value, err)
           : !strcmp(u.key, "as_bool")
               ? read_bool(out, g, u.value, err)
               : cfx_fail(err, CFX_EPARSE, "'%.64s' is not a symbolic number",
                          u.key);
}

static cfx_status read_optional(cfx_value *out, cfx_pt2_graph *g,
                                const json_t *v, cfx_error *err)
{
    cfx_pt2_union u;
    cfx_status st = cfx_pt2__read_union(&u, v, "an optional tensor", err);

    if (st)
        return st;
    return !strcmp(u.key, "as_tensor") ? read_tensor(out, g, u.value, err)
           : !strcmp(u.key, "as_none")
               ? read_none(out, g, u.value, err)
               : cfx_fail(err, CFX_EPARSE, "'%.64s' is not an optional tensor",
                          u.key);
}

static cfx_status read_graph(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                             cfx_error *err)
{
    cfx_node *n = NULL;
    cfx_status st = cfx_pt2__nested(&n, g, v, err);

    if (!st)
        *out = cfx_value_of_node(n);
    return st;
}

/* ---- Lists ---- */

static cfx_status read_list(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                            read_fn *item, cfx_kind kind, cfx_error *err)
{
    cfx_pt2_values l = {.ctx = g->ctx};
    cfx_status st = CFX_OK;

    if (!json_is_array(v))
        return cfx_fail(err, CFX_EPARSE, "a list should stand here");
    for (size_t i = 0; i < json_array_size(v) && !st; i++) {
        cfx_value one = CFX_NOTHING;
        st = item(&one, g, json_array_get(v, i), err);
        if (!st)
            st = cfx_pt2__add_take(&l, one, err);
    }
    return cfx_pt2__values_end(out, &l, kind, st, err);
}

/* A list in a list. */
static cfx_status read_tensors(cfx_value *out, cfx_pt2_graph *g,
                               const json_t *v, cfx_error *err)
{
    return read_list(out, g, v, read_tensor, CFX_LIST, err);
}

static cfx_status read_ints(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                            cfx_error *err)
{
    return read_list(out, g, v, read_int, CFX_TUPLE, err);
}

static cfx_status read_floats(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *v, cfx_error *err)
{
    return read_list(out, g, v, read_float, CFX_LIST, err);
}

/* A dict of arguments; jansson bounds their depth. */
static cfx_status read_dict(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                            cfx_error *err)
{
    cfx_pt2_values l = {.ctx = g->ctx};
    cfx_status st = CFX_OK;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        cfx_value one;
        if (!st)
            st = cfx_pt2__add_str(&l, key, strlen(key), err);
        if (!st)
            st = cfx_pt2__argument(&one, g, value, err);
        if (!st)
            st = cfx_pt2__add_take(&l, one, err);
    }
    return cfx_pt2__values_end(out, &l, CFX_DICT, st, err);
}

/* ---- The union ---- */

cfx_status cfx_pt2__arguments(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *list, cfx_error *err)
{
    return read_list(out, g, list, cfx_pt2__argument, CFX_TUPLE, err);
}

static const struct {
    const char *key;
    read_fn *read;
    bool list; /* of what `read` reads */
} kinds[] = {
    {"as_tensor", read_tensor, false},
    {"as_tensors", read_tensor, true},
    {"as_int", read_int, false},
    {"as_ints", read_int, true},
    {"as_none", read_none, false},
    {"as_float", read_float, false},
    {"as_floats", read_float, true},
    {"as_bool", read_bool, false},
    {"as_bools", read_bool, true},
    {"as_string", read_str, false},
    {"as_strings", read_str, true},
    {"as_sym_int", read_sym, false},
    {"as_sym_ints", read_sym, true},
    {"as_sym_float", read_sym, false},
    {"as_sym_floats", read_sym, true},
    {"as_sym_bool", read_sym, false},
    {"as_sym_bools", read_sym, true},
    {"as_scalar_type", read_dtype, false},
    {"as_memory_format", read_format, false},
    {"as_layout", read_layout, false},
    {"as_device", read_device, false},
    {"as_complex", read_complex, false},
    {"as_graph", read_graph, false},
    {"as_optional_tensor", read_optional, false},
    {"as_optional_tensors", read_optional, true},
    {"as_nested_tensors", read_tensors, true},
    {"as_int_lists", read_ints, true},
    {"as_float_lists", read_floats, true},
    {"as_string_to_argument", read_dict, false},
};

cfx_status cfx_pt2__argument(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                             cfx_error *err)
{
    cfx_pt2_union u;
    cfx_status st = cfx_pt2__read_union(&u, v, "an argument", err);

    *out = CFX_NOTHING;
    if (st)
        return st;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].key, u.key) != 0)
            continue;
        return kinds[i].list
                   ? read_list(out, g, u.value, kinds[i].read, CFX_LIST, err)
                   : kinds[i].read(out, g, u.value, err);
    }
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "an argument of the kind '%.64s' is not supported", u.key);
}
