/*
 * onnx_control -- rules of graphs within nodes: If and Scan. Loop is in loop.c.
 *
 * A condition that is known when the model is read is followed at once.
 * Otherwise it becomes cond, whose graphs take the values around them as
 * operands.
 */
#include "format/onnx/onnx.h"

const Onnx__GraphProto *onnx_attr_graph(onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    if (!a || !a->g)
        onnx_fail(n, CFX_EGRAPH, "it has no graph %s", name);
    return a ? a->g : NULL;
}

/* Values as operands of a graph, and their metas. */
void onnx_as_operands(onnx_node *n, cfx_value *v, cfx_value *metas,
                      size_t count)
{
    for (size_t i = 0; i < count && !cfx_scope_failed(n->s); i++) {
        if (!onnx_is_symint(n->s, v[i]) && !onnx_is_texts(n->s, v[i]))
            v[i] = onnx_output_value(n->s, onnx_as_tensor(n->s, v[i]));
        metas[i] = onnx_meta(n->s, v[i]);
    }
}

static void unpack(onnx_node *n, cfx_value all, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        n->out[i] = cfx_nth(n->s, all, (int64_t)(first + i));
}

/* ---- If ---- */

/* A branch as a module: a get_attr node. */
static cfx_value branch(onnx_node *n, const Onnx__GraphProto *g,
                        const cfx_value *metas, const char *const *captured,
                        size_t count, const char *name)
{
    cfx_value *out = onnx_alloc(n->s, g->n_output + 1, sizeof(*out));
    onnx_branch b;

    if (!out || !onnx_branch_open(n, &b))
        return cfx_none();
    onnx_branch_capture(n, count, captured, metas);
    if (onnx_inline(n, g, NULL, 0, out, g->n_output))
        onnx_branch_results(n, g->n_output, out, false);
    return onnx_branch_close(n, &b, name);
}

cfx_value onnx_import_if(onnx_node *n)
{
    const Onnx__GraphProto *yes = onnx_attr_graph(n, "then_branch");
    const Onnx__GraphProto *no = onnx_attr_graph(n, "else_branch");
    const char *name[ONNX_MAX_CAPTURED];
    cfx_value *v, *metas;
    size_t count = 0;
    double known;

    if (cfx_scope_failed(n->s) || !onnx_has(n, 0))
        return CFX_NOTHING;
    if (n->in[0].kind == CFX_TENSOR) {
        if (onnx_number(n, 0, &known))
            onnx_inline(n, known != 0 ? yes : no, NULL, 0, n->out, n->nout);
        return n->out[0];
    }
    v = onnx_alloc(n->s, ONNX_MAX_CAPTURED, sizeof(*v));
    metas = onnx_alloc(n->s, ONNX_MAX_CAPTURED, sizeof(*metas));
    if (!v || !metas ||
        !onnx_captures(n, yes, name, &count, ONNX_MAX_CAPTURED) ||
        !onnx_captures(n, no, name, &count, ONNX_MAX_CAPTURED))
        return CFX_NOTHING;
    for (size_t i = 0; i < count; i++)
        v[i] = onnx_value_of(n, name[i]);
    onnx_as_operands(n, v, metas, count);
    cfx_value t = branch(n, yes, metas, name, count, "true_graph");
    cfx_value f = branch(n, no, metas, name, count, "false_graph");
    cfx_value all = CFX_CALL(n->s, "torch.ops.higher_order.cond",
                             onnx_tensor(n, 0), t, f,
                             onnx_arg(n->s, count, v));
    unpack(n, all, 0, n->nout);
    return n->out[0];
}

/* ---- Scan ---- */

cfx_value onnx_stacked(onnx_node *n, const cfx_value *rows, size_t rounds,
                       int64_t axis)
{
    return rounds ? cfx_stack(n->s, onnx_arg(n->s, rounds, rows),
                              .dim = cfx_int(axis))
                  : onnx_fail(n, CFX_EUNSUPPORTED, "it scans no round");
}


typedef struct scan {
    const Onnx__GraphProto *body;
    size_t states, inputs, outputs;
    int64_t rounds;
} scan;

/* Item i of a list of ints, or 0 where it is left out. */
static int64_t item_of(const onnx_node *n, const char *name, size_t i)
{
    const int64_t *items;

    return i < onnx_attr_ints(n, name, &items) ? items[i] : 0;
}

/* Item `round` of each input, along its axis, in its direction. */
static void scan_items(onnx_node *n, const scan *c, int64_t round,
                       cfx_value *to)
{
    for (size_t i = 0; i < c->inputs; i++) {
        bool back = item_of(n, "scan_input_directions", i);
        to[i] = cfx_select(n->s, onnx_stored_tensor(n, c->states + i),
                           cfx_int(item_of(n, "scan_input_axes", i)),
                           cfx_int(back ? c->rounds - 1 - round : round));
    }
}

static bool read_scan(onnx_node *n, scan *c)
{
    int64_t inputs = onnx_attr_int(n, "num_scan_inputs", 0);

    *c = (scan){.body = onnx_attr_graph(n, "body")};
    if (cfx_scope_failed(n->s))
        return false;
    if (inputs < 1 || inputs > (int64_t)n->nin ||
        n->nin - (size_t)inputs > n->nout)
        return onnx_refuse(n, CFX_EGRAPH, "it has %zu inputs for %lld scans",
                           n->nin, (long long)inputs);
    c->inputs = (size_t)inputs;
    c->states = n->nin - c->inputs;
    c->outputs = n->nout - c->states;
    cfx_value first = onnx_stored_tensor(n, c->states);
    int rank = onnx_rank(n, first);
    int axis = rank < 0 ? 0
                        : onnx_axis(n, item_of(n, "scan_input_axes", 0), rank);
    c->rounds = onnx_known_size(n, first, axis);
    if (c->rounds > ONNX_MAX_UNROLLED)
        onnx_fail(n, CFX_EUNSUPPORTED, "it has %lld rounds, more than %d",
                  (long long)c->rounds, ONNX_MAX_UNROLLED);
    return !cfx_scope_failed(n->s);
}

/* Each round in turn, as those of a Loop. */
cfx_value onnx_import_scan(onnx_node *n)
{
    scan c;

    if (!read_scan(n, &c))
        return CFX_NOTHING;
    size_t rounds = (size_t)c.rounds;
    cfx_value *in = onnx_alloc(n->s, n->nin + 1, sizeof(*in));
    cfx_value *out = onnx_alloc(n->s, n->nout + 1, sizeof(*out));
    cfx_value *rows = onnx_alloc(n->s, c.outputs * rounds + 1, sizeof(*rows));
    if (!in || !out || !rows)
        return CFX_NOTHING;
    memcpy(in, n->in, c.states * sizeof(*in));
    for (size_t k = 0; k < rounds && !cfx_scope_failed(n->s); k++) {
        scan_items(n, &c, (int64_t)k, in + c.states);
        if (!onnx_inline(n, c.body, in, n->nin, out, n->nout))
            return CFX_NOTHING;
        memcpy(in, out, c.states * sizeof(*in));
        for (size_t i = 0; i < c.outputs; i++) {
            bool back = item_of(n, "scan_output_directions", i);
            rows[i * rounds + (back ? rounds - 1 - k : k)] = onnx_as_tensor(
                n->s, out[c.states + i]);
        }
    }
    memcpy(n->out, in, c.states * sizeof(*in));
    for (size_t i = 0; i < c.outputs; i++)
        n->out[c.states + i] = onnx_stacked(n, rows + i * rounds, rounds,
                                            item_of(n, "scan_output_axes", i));
    return n->out[0];
}
