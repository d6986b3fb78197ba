/*
 * pt2_write_graph -- a graph of calls of ATen as the Graph of an exported program.
 *
 * State becomes inputs; copy_ nodes at the end, which write it back, become
 * outputs; and getitem nodes become the names of a call's results. signature.c
 * and outputs.c do the opposite.
 */
#include <inttypes.h>
#include <stdio.h>

#include "format/pt2/pt2_write.h"
#include "op/op_impl.h"

/* ---- Nodes ---- */

cfx_value cfx_pt2__val(const cfx_node *n)
{
    return cfx_node_meta(n, "val");
}

static bool is_item(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION && n->nargs == 2 &&
           !strcmp(n->target->text, "operator.getitem") &&
           n->args[0].kind == CFX_NODE && n->args[1].kind == CFX_INT &&
           cfx_value_is_seq(cfx_pt2__val(n->args[0].u.node));
}

static bool is_copy(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION && n->nargs == 2 && !n->nkwargs &&
           !strcmp(n->target->text, "torch.ops.aten.copy_.default") &&
           n->args[0].kind == CFX_NODE && n->args[1].kind == CFX_NODE &&
           (n->args[0].u.node->op == CFX_GET_ATTR ||
            n->args[0].u.node->op == CFX_PLACEHOLDER);
}

/* Have two metas one type and shape? */
static bool is_alike(cfx_value a, cfx_value b)
{
    bool same = a.kind == CFX_TENSOR && b.kind == CFX_TENSOR &&
                a.u.tensor->dtype == b.u.tensor->dtype &&
                a.u.tensor->rank == b.u.tensor->rank;

    for (int i = 0; same && i < a.u.tensor->rank; i++)
        same = cfx_dim_same(a.u.tensor->shape[i], b.u.tensor->shape[i]);
    return same;
}

bool cfx_pt2__writes_back(const cfx_node *n)
{
    if (!is_copy(n) || !is_alike(cfx_pt2__val(n->args[0].u.node),
                                 cfx_pt2__val(n->args[1].u.node)))
        return false;
    for (const cfx_use *u = n->args[0].u.node->first_user; u; u = u->next)
        if (u->user->op == CFX_OUTPUT)
            return false;
    for (const cfx_node *at = cfx_node_next(n); at; at = cfx_node_next(at))
        if (cfx_node_is_call(at) && !is_copy(at))
            return false;
    return true;
}

/* The node whose value an output returns. */
static const cfx_node *returned(const cfx_node *n)
{
    return cfx_pt2__writes_back(n) ? n->args[1].u.node : n;
}

/* ---- Inputs of calls ---- */

/* Parameters that have the name of Python's function here, and another in
 * ATen. */
static const struct {
    const char *target, *ours, *atens;
} other_names[] = {
    {"torch.ops.aten.alpha_dropout_", "input", "self"},
    {"torch.ops.aten.alpha_dropout_", "training", "train"},
    {"torch.ops.aten.dropout_", "input", "self"},
    {"torch.ops.aten.dropout_", "training", "train"},
    {"torch.ops.aten.feature_alpha_dropout_", "input", "self"},
    {"torch.ops.aten.feature_alpha_dropout_", "training", "train"},
    {"torch.ops.aten.feature_dropout_", "input", "self"},
    {"torch.ops.aten.feature_dropout_", "training", "train"},
    {"torch.ops.aten.grid_sampler", "mode", "interpolation_mode"},
    {"torch.ops.aten.heaviside", "other", "values"},
    {"torch.ops.aten._assert_scalar", "condition", "self"},
    {"torch.ops.aten._assert_scalar", "message", "assert_msg"},
    {"torch.ops.aten.special_airy_ai", "self", "x"},
    {"torch.ops.aten.special_spherical_bessel_j0", "self", "x"},
};

static const char *atens_name(const cfx_node *n, const char *name)
{
    for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
        if (!strcmp(other_names[i].ours, name) &&
            !strncmp(other_names[i].target, n->target->text,
                     strlen(other_names[i].target)))
            return other_names[i].atens;
    return name;
}

static void begin_input(cfx_buf *b, const char *name)
{
    cfx_pt2__put_comma(b);
    cfx_buf_puts(b, "{\"name\": ");
    cfx_pt2__put_name(b, name);
    cfx_buf_puts(b, ", \"arg\": ");
}

static cfx_status put_inputs(cfx_pt2_writer *w, const cfx_node *n,
                             const cfx_schema *schema, cfx_error *err)
{
    static const char *const python[] = {"a", "b", "c"};
    bool has_names = strncmp(n->target->text, "torch.ops.", 10) != 0;
    cfx_status st = CFX_OK;

    for (uint32_t i = 0; i < n->nargs && !st; i++) {
        const cfx_param *p = schema && (int)i < schema->nparams
                                 ? &schema->params[i]
                                 : NULL;
        begin_input(w->out, p           ? atens_name(n, p->name)
                            : has_names ? python[i % 3]
                                        : "");
        st = cfx_pt2__put_argument(w, n->args[i], p, err);
        cfx_buf_puts(w->out, ", \"kind\": 1}");
    }
    for (uint32_t i = 0; i < n->nkwargs && !st; i++) {
        const cfx_string *key = n->kwargs[2 * i].u.str;
        int k = schema ? cfx_param_find(schema, key->text, key->len) : -1;
        begin_input(w->out, atens_name(n, key->text));
        st = cfx_pt2__put_argument(w, n->kwargs[2 * i + 1],
                                   k < 0 ? NULL : &schema->params[k], err);
        cfx_buf_puts(w->out, ", \"kind\": 2}");
    }
    return st;
}

/* ---- Results of calls ---- */

const cfx_node *cfx_pt2__item_of(const cfx_node *n, uint32_t i)
{
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (is_item(u->user) && u->user->args[1].u.i == i)
            return u->user;
    return NULL;
}

static void put_item_name(cfx_buf *b, const cfx_node *n, uint32_t i)
{
    const cfx_node *item = cfx_pt2__item_of(n, i);

    if (item)
        cfx_pt2__put_name(b, item->name);
    else
        cfx_buf_printf(b, "\"%s_unused_%" PRIu32 "\"", n->name, i);
}

static cfx_status put_results(cfx_pt2_writer *w, const cfx_node *n,
                              bool is_list, cfx_error *err)
{
    const cfx_seq *val = cfx_pt2__val(n).u.seq;
    cfx_buf *b = w->out;

    if (is_list)
        cfx_buf_puts(b, "{\"as_tensors\": [");
    for (uint32_t i = 0; i < val->len; i++) {
        bool none = val->item[i].kind == CFX_NONE;
        if (!none && val->item[i].kind != CFX_TENSOR &&
            val->item[i].kind != CFX_INT && val->item[i].kind != CFX_SYMINT)
            return cfx_fail(err, CFX_EUNSUPPORTED,
                            "result %" PRIu32 " of %%%s is a %s", i, n->name,
                            cfx_kind_name((cfx_kind)val->item[i].kind));
        bool tensor = val->item[i].kind == CFX_TENSOR;
        cfx_pt2__put_comma(b);
        if (none) {
            cfx_buf_puts(b, "{\"as_none\": true}");
            continue;
        }
        cfx_buf_puts(b, is_list  ? "{\"name\": "
                        : tensor ? "{\"as_tensor\": {\"name\": "
                                 : "{\"as_sym_int\": {\"as_name\": ");
        put_item_name(b, n, i);
        cfx_buf_puts(b, is_list ? "}" : "}}");
    }
    if (is_list)
        cfx_buf_puts(b, "]}");
    return CFX_OK;
}

static cfx_status put_outputs(cfx_pt2_writer *w, const cfx_node *n,
                              const cfx_schema *schema, cfx_error *err)
{
    cfx_value val = cfx_pt2__val(n);

    if (cfx_value_is_seq(val))
        return put_results(w, n, schema && schema->nreturns < 0, err);
    return cfx_value_is_none(val) ? CFX_OK : cfx_pt2__put_node(w, n, err);
}

/* ---- Metadata ---- */

static void put_stack(cfx_buf *b, const cfx_seq *stack)
{
    cfx_buf text;

    cfx_buf_init(&text, b->ctx);
    for (uint32_t i = 0; i + 1 < stack->len; i += 2) {
        cfx_value key = stack->item[i], pair = stack->item[i + 1];
        if (key.kind != CFX_STR || pair.kind != CFX_TUPLE ||
            pair.u.seq->len != 2 || pair.u.seq->item[0].kind != CFX_STR ||
            pair.u.seq->item[1].kind != CFX_STR)
            continue;
        cfx_buf_printf(&text, "%s%s,%s,%s", text.len ? ";" : "",
                       key.u.str->text, pair.u.seq->item[0].u.str->text,
                       pair.u.seq->item[1].u.str->text);
    }
    cfx_pt2__put_comma(b);
    cfx_buf_puts(b, "\"nn_module_stack\": ");
    cfx_pt2__put_text(b, cfx_buf_str(&text), text.len);
    b->failed |= text.failed;
    cfx_buf_release(&text);
}

static void put_metadata(cfx_buf *b, const cfx_node *n)
{
    cfx_value trace = cfx_node_meta(n, "stack_trace");
    cfx_value stack = cfx_node_meta(n, "nn_module_stack");

    cfx_buf_puts(b, "\"metadata\": {");
    if (trace.kind == CFX_STR) {
        cfx_buf_puts(b, "\"stack_trace\": ");
        cfx_pt2__put_text(b, trace.u.str->text, trace.u.str->len);
    }
    if (stack.kind == CFX_DICT && stack.u.seq->len)
        put_stack(b, stack.u.seq);
    cfx_buf_putc(b, '}');
}

/* ---- Calls ---- */

static void put_target(cfx_buf *b, const char *target)
{
    static const char python[] = "operator.";

    cfx_buf_puts(b, "\"target\": \"");
    if (!strncmp(target, python, sizeof(python) - 1))
        cfx_buf_putc(b, '_');
    cfx_buf_puts(b, target);
    cfx_buf_puts(b, "\", \"inputs\": [");
}

static cfx_status find_schema(const cfx_schema **out, const cfx_node *n,
                              bool higher, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(n->graph);
    const char *name = n->target->text;
    const cfx_target *target = NULL;

    *out = NULL;
    if (higher || strncmp(name, "torch.ops.", 10) != 0)
        return CFX_OK;
    cfx_target__find(&target, ctx, name, false, NULL);
    if (!target)
        return cfx_fail(err, CFX_EOPERATOR, "%s is unknown", name);
    *out = target->variant;
    return CFX_OK;
}

static cfx_status put_call(cfx_pt2_writer *w, const cfx_node *n,
                           cfx_error *err)
{
    bool higher = !strncmp(n->target->text, "torch.ops.higher_order.", 23);
    cfx_buf *b = w->out;
    const cfx_schema *schema;
    cfx_status st = find_schema(&schema, n, higher, err);

    if (st)
        return st;
    cfx_pt2__put_comma(b);
    cfx_buf_putc(b, '{');
    put_target(b, n->target->text);
    st = put_inputs(w, n, schema, err);
    cfx_buf_puts(b, "], \"outputs\": [");
    if (!st)
        st = put_outputs(w, n, schema, err);
    cfx_buf_puts(b, "], ");
    put_metadata(b, n);
    cfx_buf_printf(b, ", \"is_hop_single_tensor_return\": %s, \"name\": ",
                   !higher                             ? "null"
                   : cfx_value_is_seq(cfx_pt2__val(n)) ? "false"
                                                       : "true");
    cfx_pt2__put_name(b, n->name);
    cfx_buf_putc(b, '}');
    return st;
}

static cfx_status put_calls(cfx_pt2_writer *w, const cfx_graph *g,
                            cfx_error *err)
{
    cfx_status st = CFX_OK;

    cfx_buf_puts(w->out, "\"nodes\": [");
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        if (n->op == CFX_CALL_METHOD || n->op == CFX_CALL_MODULE)
            st = cfx_fail(
                err, CFX_EUNSUPPORTED,
                "%%%s is a %s, and such files have calls of ATen's operators only: cfx_to_aten makes them",
                n->name, cfx_opcode_names[n->op]);
        if (n->op != CFX_CALL_FUNCTION || is_item(n) ||
            (!w->depth && cfx_pt2__writes_back(n)))
            continue;
        st = put_call(w, n, err);
        if (st)
            cfx_fail_at(err, "%%%s", n->name);
    }
    cfx_buf_puts(w->out, "], ");
    return st;
}

/* ---- Inputs and outputs of the graph ---- */

static cfx_status put_placeholder(cfx_pt2_writer *w, const cfx_node *n,
                                  cfx_error *err)
{
    cfx_value v = cfx_pt2__val(n);

    if (!v.kind)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "the input %s has no type: cfx_to_aten gives it one",
                        n->name);
    return v.kind == CFX_TENSOR || v.kind == CFX_SYMINT
               ? cfx_pt2__put_node(w, n, err)
               : cfx_pt2__put_argument(w, v, NULL, err);
}

static cfx_status put_graph_inputs(cfx_pt2_writer *w, const cfx_graph *g,
                                   bool top, cfx_error *err)
{
    cfx_status st = CFX_OK;

    cfx_buf_puts(w->out, "\"inputs\": [");
    for (size_t i = 0; top && i < w->states.n; i++) {
        cfx_pt2__put_comma(w->out);
        cfx_buf_puts(w->out, "{\"as_tensor\": {\"name\": ");
        cfx_pt2__put_name(w->out, w->states.item[i].input);
        cfx_buf_puts(w->out, "}}");
    }
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        cfx_pt2__put_comma(w->out);
        st = put_placeholder(w, n, err);
    }
    cfx_buf_puts(w->out, "], ");
    return st;
}

/* Call `put` for each leaf of a result. */
typedef cfx_status put_leaf(cfx_pt2_writer *w, cfx_value leaf, cfx_error *err);

static cfx_status put_leaves(cfx_pt2_writer *w, cfx_value v, put_leaf *put,
                             cfx_error *err)
{
    bool dict = v.kind == CFX_DICT;
    cfx_status st = CFX_OK;

    if (!dict && !cfx_value_is_seq(v)) {
        cfx_pt2__put_comma(w->out);
        return put(w, v, err);
    }
    for (uint32_t i = dict; i < v.u.seq->len && !st; i += dict ? 2 : 1)
        st = put_leaves(w, v.u.seq->item[i], put, err);
    return st;
}

static cfx_status put_output(cfx_pt2_writer *w, cfx_value leaf, cfx_error *err)
{
    return leaf.kind == CFX_NODE
               ? cfx_pt2__put_node(w, returned(leaf.u.node), err)
               : cfx_pt2__put_argument(w, leaf, NULL, err);
}

static cfx_value result_of(const cfx_graph *g)
{
    const cfx_node *n = cfx_graph_output_node(g);

    return n && n->nargs ? n->args[0] : cfx_none();
}

static cfx_status put_graph_outputs(cfx_pt2_writer *w, const cfx_graph *g,
                                    bool top, cfx_error *err)
{
    cfx_value result = result_of(g);
    cfx_status st = CFX_OK;

    cfx_buf_puts(w->out, "\"outputs\": [");
    for (const cfx_node *n = cfx_graph_first(g); n && !st && top;
         n = cfx_node_next(n)) {
        if (!cfx_pt2__writes_back(n))
            continue;
        cfx_pt2__put_comma(w->out);
        st = cfx_pt2__put_node(w, n->args[1].u.node, err);
    }
    if (!st)
        st = put_leaves(w, result, put_output, err);
    cfx_buf_printf(w->out, "], \"is_single_tensor_return\": %s, ",
                   !top && result.kind == CFX_NODE ? "true" : "false");
    return st;
}

/* ---- Values ---- */

static void put_tensor_value(cfx_pt2_writer *w, const char *name, size_t item,
                             cfx_value v, bool grad)
{
    char device[32];

    cfx_device_format(v.u.tensor->device, device, sizeof(device));
    cfx_pt2__put_comma(w->out);
    if (item)
        cfx_buf_printf(w->out, "\"%s_unused_%zu\"", name, item - 1);
    else
        cfx_pt2__put_name(w->out, name);
    cfx_buf_puts(w->out, ": ");
    cfx_pt2__put_meta(w->out, &w->symbols, v.u.tensor, device, 0, grad);
}

static void put_tensor_values(cfx_pt2_writer *w, const cfx_graph *g, bool top)
{
    cfx_buf_puts(w->out, "\"tensor_values\": {");
    for (size_t i = 0; top && i < w->states.n; i++) {
        const cfx_pt2_state *s = &w->states.item[i];
        cfx_dtype t = (cfx_dtype)s->state->tensor->dtype;
        put_tensor_value(w, s->input, 0, cfx_value_of_tensor(s->state->tensor),
                         !s->state->is_buffer && cfx_dtype_is_float(t));
    }
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        cfx_value v = cfx_pt2__val(n);
        if (n->op == CFX_GET_ATTR || n->op == CFX_OUTPUT)
            continue;
        if (v.kind == CFX_TENSOR)
            put_tensor_value(w, cfx_pt2__name_of(w, n), 0, v, false);
        for (uint32_t i = 0; cfx_value_is_seq(v) && i < v.u.seq->len; i++)
            if (v.u.seq->item[i].kind == CFX_TENSOR && !cfx_pt2__item_of(n, i))
                put_tensor_value(w, n->name, i + 1, v.u.seq->item[i], false);
    }
    cfx_buf_puts(w->out, "}, ");
}

static void put_value_names(cfx_pt2_writer *w, const cfx_graph *g,
                            const char *key, uint32_t kinds)
{
    cfx_buf *b = w->out;

    cfx_buf_printf(b, "\"%s\": {", key);
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        cfx_value v = cfx_pt2__val(n);
        if (!(1u << v.kind & kinds) ||
            (n->op != CFX_CALL_FUNCTION && v.kind != CFX_SYMINT))
            continue;
        cfx_pt2__put_comma(b);
        cfx_pt2__put_name(b, cfx_pt2__name_of(w, n));
        cfx_buf_puts(b, ": ");
        if (v.kind == CFX_FLOAT) {
            cfx_buf_puts(b, "{\"as_float\": ");
            cfx_pt2__put_float(b, v.u.f);
            cfx_buf_putc(b, '}');
        } else if (v.kind == CFX_BOOL_VALUE) {
            cfx_buf_printf(b, "{\"as_bool\": %s}", v.u.i ? "true" : "false");
        } else {
            cfx_pt2__put_extent(b, &w->symbols, cfx_value_dim(v));
        }
    }
    cfx_buf_puts(b, "}, ");
}

cfx_status cfx_pt2__put_graph(cfx_pt2_writer *w, const cfx_module *gm,
                              bool top, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);

    w->gm = gm;
    cfx_buf_putc(w->out, '{');
    cfx_status st = put_graph_inputs(w, g, top, err);
    if (!st)
        st = put_graph_outputs(w, g, top, err);
    if (!st)
        st = put_calls(w, g, err);
    if (st)
        return st;
    put_tensor_values(w, g, top);
    put_value_names(w, g, "sym_int_values", 1u << CFX_INT | 1u << CFX_SYMINT);
    put_value_names(w, g, "sym_bool_values", 1u << CFX_BOOL_VALUE);
    put_value_names(w, g, "sym_float_values", 1u << CFX_FLOAT);
    cfx_buf_puts(w->out, "\"custom_obj_values\": {}}");
    return cfx_context_check(w->ctx, err);
}

/* ---- The signature ---- */

static void put_state_specs(cfx_pt2_writer *w)
{
    static const char *const kinds[] = {"parameter", "buffer",
                                        "tensor_constant"};

    for (size_t i = 0; i < w->states.n; i++) {
        const cfx_pt2_state *s = &w->states.item[i];
        const char *kind = kinds[s->order];
        cfx_pt2__put_comma(w->out);
        cfx_buf_printf(w->out, "{\"%s\": {\"arg\": {\"name\": ", kind);
        cfx_pt2__put_name(w->out, s->input);
        cfx_buf_printf(w->out, "}, \"%s_name\": ", kind);
        cfx_pt2__put_name(w->out, s->path);
        if (s->order == 1)
            cfx_buf_printf(w->out, ", \"persistent\": %s",
                           s->state->persistent ? "true" : "false");
        cfx_buf_puts(w->out, "}}");
    }
}

static cfx_status put_input_spec(cfx_pt2_writer *w, const cfx_node *n,
                                 cfx_error *err)
{
    cfx_value v = cfx_pt2__val(n);
    bool constant = v.kind != CFX_TENSOR && v.kind != CFX_SYMINT;

    cfx_pt2__put_comma(w->out);
    if (constant) {
        cfx_buf_puts(w->out, "{\"constant_input\": {\"name\": ");
        cfx_pt2__put_name(w->out, cfx_pt2__name_of(w, n));
        cfx_buf_puts(w->out, ", \"value\": ");
    } else {
        cfx_buf_puts(w->out, "{\"user_input\": {\"arg\": ");
    }
    cfx_status st = put_placeholder(w, n, err);
    cfx_buf_puts(w->out, "}}");
    return st;
}

static cfx_status put_output_spec(cfx_pt2_writer *w, cfx_value leaf,
                                  cfx_error *err)
{
    cfx_buf_puts(w->out, "{\"user_output\": {\"arg\": ");
    cfx_status st = put_output(w, leaf, err);
    cfx_buf_puts(w->out, "}}");
    return st;
}

/* The state or input that a copy_ at the end writes. */
static void put_mutation(cfx_pt2_writer *w, const cfx_node *n)
{
    const cfx_node *to = n->args[0].u.node;
    const cfx_pt2_state *s = to->op == CFX_GET_ATTR
                                 ? cfx_pt2__state_of(&w->states, to)
                                 : NULL;
    const char *kind = !s                    ? "user_input"
                       : s->state->is_buffer ? "buffer"
                                             : "parameter";

    cfx_pt2__put_comma(w->out);
    cfx_buf_printf(w->out, "{\"%s_mutation\": {\"arg\": {\"name\": ", kind);
    cfx_pt2__put_name(w->out, cfx_pt2__name_of(w, n->args[1].u.node));
    cfx_buf_printf(w->out, "}, \"%s_name\": ", kind);
    cfx_pt2__put_name(w->out, s ? s->path : cfx_pt2__name_of(w, to));
    cfx_buf_puts(w->out, "}}");
}

static cfx_status put_specs(cfx_pt2_writer *w, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(w->gm);
    cfx_status st = CFX_OK;

    cfx_buf_puts(w->out, "\"signature\": {\"input_specs\": [");
    put_state_specs(w);
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER)
            st = put_input_spec(w, n, err);
    cfx_buf_puts(w->out, "], \"output_specs\": [");
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (cfx_pt2__writes_back(n))
            put_mutation(w, n);
    if (!st)
        st = put_leaves(w, result_of(g), put_output_spec, err);
    cfx_buf_puts(w->out, "]}, ");
    return st;
}

/* ---- Trees of values ---- */

const char cfx_pt2__leaf[] =
    "{\"type\": null, \"context\": null, \"children_spec\": []}";

static void put_tree(cfx_buf *b, cfx_value v)
{
    bool dict = v.kind == CFX_DICT;
    cfx_buf keys;

    if (!dict && !cfx_value_is_seq(v)) {
        cfx_buf_puts(b, cfx_pt2__leaf);
        return;
    }
    cfx_buf_init(&keys, b->ctx);
    cfx_buf_putc(&keys, '[');
    for (uint32_t i = 0; dict && i < v.u.seq->len; i += 2) {
        cfx_pt2__put_comma(&keys);
        if (v.u.seq->item[i].kind == CFX_STR)
            cfx_pt2__put_name(&keys, v.u.seq->item[i].u.str->text);
        else
            cfx_buf_printf(&keys, "%" PRId64, v.u.seq->item[i].u.i);
    }
    cfx_buf_putc(&keys, ']');
    cfx_buf_printf(b, "{\"type\": \"builtins.%s\", \"context\": ",
                   dict                 ? "dict"
                   : v.kind == CFX_LIST ? "list"
                                        : "tuple");
    cfx_pt2__put_name(b, dict ? cfx_buf_str(&keys) : "null");
    cfx_buf_puts(b, ", \"children_spec\": [");
    for (uint32_t i = dict; i < v.u.seq->len; i += dict ? 2 : 1) {
        cfx_pt2__put_comma(b);
        put_tree(b, v.u.seq->item[i]);
    }
    cfx_buf_puts(b, "]}");
    b->failed |= keys.failed;
    cfx_buf_release(&keys);
}

static void put_spec(cfx_pt2_writer *w, const char *key, const cfx_buf *spec)
{
    cfx_buf_printf(w->out, "\"%s\": ", key);
    cfx_pt2__put_text(w->out, cfx_buf_str(spec), spec->len);
    w->out->failed |= spec->failed;
}

static void put_calls_of_modules(cfx_pt2_writer *w)
{
    const cfx_graph *g = cfx_graph_module_graph(w->gm);
    cfx_buf spec;

    cfx_buf_puts(
        w->out,
        "\"module_call_graph\": [{\"fqn\": \"\", \"signature\": {\"inputs\": [], \"outputs\": [], ");
    cfx_buf_init(&spec, w->ctx);
    cfx_pt2__put_in_spec(&spec, &w->in_spec, g);
    put_spec(w, "in_spec", &spec);
    cfx_buf_puts(w->out, ", ");
    cfx_buf_clear(&spec);
    cfx_buf_puts(&spec, "[1, ");
    put_tree(&spec, result_of(g));
    cfx_buf_putc(&spec, ']');
    put_spec(w, "out_spec", &spec);
    cfx_buf_release(&spec);
    cfx_buf_puts(w->out, ", \"forward_arg_names\": ");
    cfx_pt2__put_forward_names(w);
    cfx_buf_puts(w->out, "}}]");
}

cfx_status cfx_pt2__put_signature(cfx_pt2_writer *w, cfx_error *err)
{
    cfx_status st = put_specs(w, err);

    if (!st)
        put_calls_of_modules(w);
    return st;
}
