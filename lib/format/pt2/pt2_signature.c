/*
 * pt2_signature -- from the form of torch.export, whose parameters are inputs and
 * whose mutated buffers are outputs, to a graph that runs: what
 * ExportedProgram.module() does.
 */
#include "format/pt2/pt2.h"

#include "graph/graph_impl.h"

struct unlifting {
    cfx_pt2_graph *g;
    cfx_module *gm;
    cfx_map state; /* full name -> its get_attr node */
    cfx_buf path;
};

/* ---- Inputs ---- */

/* The module that owns a state, and the state's name in it. */
static cfx_status find_owner(cfx_module **out, const char **last,
                             struct unlifting *u, const char *path,
                             cfx_error *err)
{
    cfx_module *made = NULL;
    const char *dot = strrchr(path, '.');

    *out = cfx_module__owner(u->gm, path, last);
    if (*out)
        return CFX_OK;
    cfx_buf_clear(&u->path);
    cfx_buf_add(&u->path, path, dot ? (size_t)(dot - path) : 0);
    if (u->path.failed)
        return cfx_no_memory(err);
    cfx_status st = cfx_module_new_container(&made, u->g->ctx, "Module", err);
    if (!st)
        st = cfx_module_add_submodule_take(u->gm, cfx_buf_str(&u->path), made,
                                           err);
    if (st)
        return st;
    *out = cfx_module__owner(u->gm, path, last);
    return *out ? CFX_OK
                : cfx_fail(err, CFX_EPARSE, "'%.200s' is not a name", path);
}

/* Declare a parameter or buffer of the type that the graph tells. */
static cfx_status declare(struct unlifting *u, const char *path,
                          const char *value, bool is_buffer, bool persistent,
                          cfx_error *err)
{
    const json_t *values = json_object_get(u->g->json, "tensor_values");
    const json_t *v = json_object_get(values, value);
    cfx_tensor *meta = NULL;
    cfx_module *owner;
    const char *last;
    cfx_status st = v ? cfx_pt2__meta(&meta, u->g->ctx, NULL, v, err)
                      : cfx_fail(err, CFX_EPARSE, "has no type");

    if (!st)
        st = find_owner(&owner, &last, u, path, err);
    if (!st) {
        const cfx_state state = {last, meta, is_buffer, persistent};
        st = cfx_module__add_state(owner, &state, err);
    }
    cfx_tensor_unref(meta);
    return st;
}

static cfx_status lift(struct unlifting *u, cfx_node *input, const char *path,
                       cfx_error *err)
{
    cfx_graph *g = u->g->graph;
    cfx_insert_point at = cfx_graph_inserting_after(g, input);
    cfx_node *n = cfx_graph_get_attr(g, path, err);
    cfx_status st = n ? CFX_OK : err->code;

    cfx_graph_restore(g, at);
    if (!st)
        st = cfx_node_replace_all_uses_with(input, n, NULL, NULL, err);
    if (!st)
        st = cfx_graph_erase_node(g, input, err);
    if (st)
        return st;
    cfx_map_entry *e = cfx_map_put(&u->state, path, strlen(path), NULL);
    if (!e)
        return cfx_no_memory(err);
    e->v.p = n;
    return CFX_OK;
}

static const struct {
    const char *kind, *name;
    bool is_buffer;
} states[] = {
    {"parameter", "parameter_name", false},
    {"buffer", "buffer_name", true},
    {"tensor_constant", "tensor_constant_name", true},
};

static cfx_status unlift_state(struct unlifting *u, cfx_node *input,
                               const json_t *spec, const char *key,
                               bool is_buffer, cfx_error *err)
{
    /* Constants are not in the state dict of a module. */
    bool persistent = !is_buffer ||
                      json_is_true(json_object_get(spec, "persistent"));
    const char *path, *value;
    cfx_status st = cfx_pt2__text(&path, spec, key, err);

    if (!st)
        st = cfx_pt2__text(&value, json_object_get(spec, "arg"), "name", err);
    if (st)
        return st;
    st = declare(u, path, value, is_buffer, persistent, err);
    if (!st)
        st = lift(u, input, path, err);
    if (st)
        cfx_fail_at(err, "%.200s", path);
    return st;
}

static cfx_status unlift_input(struct unlifting *u, cfx_node *input,
                               const json_t *spec, cfx_error *err)
{
    cfx_pt2_union in;
    const char *name;
    cfx_status st = cfx_pt2__read_union(&in, spec, "an input", err);

    if (st)
        return st;
    if (!strcmp(in.key, "user_input"))
        return CFX_OK;
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        if (!strcmp(in.key, states[i].kind))
            return unlift_state(u, input, in.value, states[i].name,
                                states[i].is_buffer, err);
    if (strcmp(in.key, "constant_input") != 0)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "an input of the kind '%.64s' is not supported",
                        in.key);
    st = cfx_pt2__text(&name, in.value, "name", err);
    if (!st)
        st = cfx_node_rename(input, name, err);
    return st ? st : cfx_node_set_target(input, name, err);
}

static cfx_status unlift_inputs(struct unlifting *u, const json_t *specs,
                                cfx_error *err)
{
    cfx_node *n = cfx_graph_first(u->g->graph), *next;
    cfx_status st = CFX_OK;
    size_t i = 0;

    for (; n && n->op == CFX_PLACEHOLDER && !st; n = next, i++) {
        next = cfx_node_next(n);
        st = unlift_input(u, n, json_array_get(specs, i), err);
        if (st)
            cfx_fail_at(err, "input %zu", i);
    }
    if (!st && i != json_array_size(specs))
        st = cfx_fail(err, CFX_EPARSE, "%zu inputs have %zu specifications", i,
                      json_array_size(specs));
    return st;
}

/* ---- Outputs ---- */

/* The node of the state or input that an output is written back to; NULL: it
 * is a result of the model. */
static cfx_status find_mutated(cfx_node **out, struct unlifting *u,
                               const json_t *spec, cfx_error *err)
{
    cfx_pt2_union o;
    const char *name, *key;
    cfx_status st = cfx_pt2__read_union(&o, spec, "an output", err);

    *out = NULL;
    if (st || !strcmp(o.key, "user_output") || !strcmp(o.key, "loss_output"))
        return st;
    if (!strcmp(o.key, "user_input_mutation")) {
        st = cfx_pt2__text(&name, o.value, "user_input_name", err);
        return st ? st : cfx_pt2__node(out, u->g, name, err);
    }
    key = !strcmp(o.key, "buffer_mutation")      ? "buffer_name"
          : !strcmp(o.key, "parameter_mutation") ? "parameter_name"
                                                 : NULL;
    if (!key)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "an output of the kind '%.64s' is not supported",
                        o.key);
    st = cfx_pt2__text(&name, o.value, key, err);
    if (st)
        return st;
    const cfx_map_entry *e = cfx_map_get(&u->state, name, strlen(name));
    if (!e)
        return cfx_fail(err, CFX_EPARSE,
                        "writes to '%.200s', which is not an input", name);
    *out = e->v.p;
    return CFX_OK;
}

/* Keep the results of the model in `kept`, *n of them, and write the others
 * back; `copies` gets the copy_ node of each. */
static cfx_status write_back(struct unlifting *u, const cfx_value *items,
                             size_t many, const json_t *specs, cfx_value *kept,
                             size_t *n, cfx_node_map *copies, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_node *to, *copy;

    for (size_t i = 0; i < many && !st; i++) {
        st = find_mutated(&to, u, json_array_get(specs, i), err);
        if (!st && !to) {
            kept[(*n)++] = items[i];
        } else if (!st && items[i].kind != CFX_NODE) {
            st = cfx_fail(err, CFX_EPARSE, "writes what no node computes");
        } else if (!st) {
            copy = cfx_graph_call_function(
                u->g->graph, "torch.ops.aten.copy_.default",
                CFX_ARGS(cfx_value_of_node(to), items[i]), err);
            st = copy ? cfx_node_map_set(copies, items[i].u.node,
                                         cfx_value_of_node(copy), err)
                      : err->code;
        }
        if (st)
            cfx_fail_at(err, "output %zu", i);
    }
    return st;
}

/* Leave only the results of the model in the output node; one that is written
 * back, too, is returned as it was written. */
static cfx_status unlift_outputs(struct unlifting *u, const json_t *specs,
                                 cfx_error *err)
{
    cfx_graph *g = u->g->graph;
    cfx_node *output = cfx_graph_output_node(g);
    cfx_value result = output->args[0], tuple = CFX_NOTHING;
    size_t many = result.kind == CFX_TUPLE ? result.u.seq->len : 0, n = 0;
    cfx_node_map copies;

    if (many != json_array_size(specs))
        return cfx_fail(err, CFX_EPARSE, "%zu outputs have %zu specifications",
                        many, json_array_size(specs));
    if (!many)
        return CFX_OK;
    cfx_value *kept = cfx_calloc(u->g->ctx, many, sizeof(*kept));
    if (!kept)
        return cfx_no_memory(err);
    cfx_node_map_init(&copies, g);
    cfx_insert_point at = cfx_graph_inserting_before(g, output);
    cfx_status st = write_back(u, result.u.seq->item, many, specs, kept, &n,
                               &copies, err);
    cfx_graph_restore(g, at);
    for (size_t i = 0; i < n && !st; i++) {
        cfx_value copy = kept[i].kind == CFX_NODE
                             ? cfx_node_map_get(&copies, kept[i].u.node)
                             : CFX_NOTHING;
        kept[i] = copy.kind ? copy : kept[i];
    }
    if (!st && n < many) {
        tuple = cfx_tuple_new(u->g->ctx, n, kept);
        st = tuple.kind ? cfx_node_set_args(output, &tuple, 1, err)
                        : cfx_no_memory(err);
    }
    cfx_value_unref(tuple);
    cfx_node_map_release(&copies);
    cfx_free(u->g->ctx, kept, many * sizeof(*kept));
    return st;
}

cfx_status cfx_pt2__unlift(cfx_pt2_graph *g, cfx_module *gm,
                           const json_t *signature, cfx_error *err)
{
    struct unlifting u = {.g = g, .gm = gm};
    const json_t *inputs, *outputs;
    cfx_status st = cfx_pt2__member(&inputs, signature, "input_specs",
                                    JSON_ARRAY, err);

    if (!st)
        st = cfx_pt2__member(&outputs, signature, "output_specs", JSON_ARRAY,
                             err);
    if (st)
        return st;
    cfx_map_init(&u.state, g->ctx);
    cfx_buf_init(&u.path, g->ctx);
    st = unlift_inputs(&u, inputs, err);
    if (!st)
        st = unlift_outputs(&u, outputs, err);
    cfx_buf_release(&u.path);
    cfx_map_release(&u.state);
    return st;
}
