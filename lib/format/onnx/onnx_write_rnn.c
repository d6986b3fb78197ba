/*
 * onnx_write_rnn -- LSTM, GRU and RNN layers as ONNX.
 *
 * torch has all layers in one call, ONNX one each, whose directions share a
 * node: the weights of both directions are joined, with the gates in ONNX's
 * order (rnn.h).
 */
#include "format/onnx/onnx_rnn.h"
#include "format/onnx/onnx_write.h"

typedef struct stack {
    const onnx_cell *cell;
    const char *op;
    const char *activation; /* NULL: the usual ones */
    int64_t layers, hidden;
    int directions;
    int each; /* parameters of a direction: 4 with biases, or 2 */
    cfx_value params;
    const char *first[2]; /* h and c before the first step, of all layers */
} stack;

/* The rows of a parameter, with its gates in ONNX's order. */
static const char *put_gates(onnx_writer *w, const stack *s, const char *x)
{
    size_t n = (size_t)(s->cell->gates * s->hidden);
    int64_t *rows = onnx_put_alloc(w, n, sizeof(*rows));

    if (s->cell->gates == 1 || !rows)
        return x;
    for (int g = 0; g < s->cell->gates; g++)
        for (int64_t i = 0; i < s->hidden; i++)
            rows[s->cell->order[g] * s->hidden + i] = g * s->hidden + i;
    return ONNX_PUT(w, "Gather", NULL, x, onnx_put_ints(w, n, rows));
}

static const char *put_param(onnx_writer *w, const stack *s, int64_t layer,
                             int direction, int k)
{
    int64_t at = (layer * s->directions + direction) * s->each + k;

    return put_gates(w, s, onnx_put_value(w, s->params.u.seq->item[at]));
}

/* Values joined along axis 0. */
static const char *put_joined(onnx_writer *w, size_t n, const char *const *x)
{
    char **in = onnx_put_alloc(w, n, sizeof(*in));

    if (!in || n == 1)
        return x[0];
    for (size_t i = 0; i < n; i++)
        in[i] = (char *)(uintptr_t)x[i];
    return onnx_put_concat(w, NULL, in, n, 0);
}

/* Parameter k of the directions of a layer, stacked; of biases (k == 2), both. */
static const char *put_params(onnx_writer *w, const stack *s, int64_t layer,
                              int k)
{
    const char *in[2] = {0};

    if (k >= s->each)
        return "";
    for (int d = 0; d < s->directions; d++) {
        const char *x[2] = {put_param(w, s, layer, d, k)};
        if (k == 2) {
            x[1] = put_param(w, s, layer, d, 3);
            x[0] = put_joined(w, 2, x);
        }
        in[d] = ONNX_PUT(w, "Unsqueeze", NULL, x[0], onnx_put_one(w, 0));
    }
    return put_joined(w, (size_t)s->directions, in);
}

/* The first states of a layer. */
static const char *put_first(onnx_writer *w, const stack *s, int64_t layer,
                             int which)
{
    int64_t from = layer * s->directions;

    if (s->layers == 1 || which >= s->cell->states)
        return which < s->cell->states ? s->first[which] : NULL;
    return ONNX_PUT(w, "Slice", NULL, s->first[which], onnx_put_one(w, from),
                    onnx_put_one(w, from + s->directions), onnx_put_one(w, 0));
}

/* One layer of x; `last` gets its last states. */
static const char *put_layer(onnx_writer *w, const stack *s, int64_t layer,
                             const char *x, const char *last[2])
{
    static const int64_t swap[] = {0, 2, 1, 3}, joined[] = {0, 0, -1};
    Onnx__NodeProto *n = ONNX_NODE(
        w, s->op, NULL, x, put_params(w, s, layer, 0),
        put_params(w, s, layer, 1), put_params(w, s, layer, 2), "",
        put_first(w, s, layer, 0), put_first(w, s, layer, 1));

    onnx_put_attr_int(w, n, "hidden_size", s->hidden);
    if (s->directions == 2)
        onnx_put_attr_text(w, n, "direction", "bidirectional");
    if (s->cell == &onnx_gru_cell)
        onnx_put_attr_int(w, n, "linear_before_reset", 1);
    if (s->activation)
        onnx_put_attr_texts(w, n, "activations", (size_t)s->directions,
                            s->activation);
    for (int i = 0; i < s->cell->states; i++)
        last[i] = onnx_put_more(w, n);
    x = onnx_put_permuted(w, NULL, onnx_put_out(n), 4, swap);
    return ONNX_PUT(w, "Reshape", NULL, x, onnx_put_ints(w, 3, joined));
}

static void set_up(onnx_writer *w, stack *s)
{
    cfx_value hx = onnx_put_arg(w, "hx");
    const cfx_tensor *x = onnx_put_self(w, "input");
    bool biases = onnx_put_int(w, "has_biases", 1);

    s->params = onnx_put_arg(w, "params");
    s->layers = onnx_put_int(w, "num_layers", 1);
    s->directions = onnx_put_int(w, "bidirectional", 0) ? 2 : 1;
    s->each = biases ? 4 : 2;
    bool train = onnx_put_int(w, "train", 0);
    if (onnx_put_number(w, "dropout", 0) != 0 && train)
        onnx_put_fail(w, "it drops elements");
    if (!x || x->rank != 3 || !cfx_value_is_seq(s->params)) {
        onnx_put_fail(w, "its input is not one of three axes");
        return;
    }
    if ((int64_t)s->params.u.seq->len != s->layers * s->directions * s->each) {
        onnx_put_fail(w, "ONNX has no projections of the state");
        return;
    }
    const cfx_tensor *r = onnx_put_meta(w, s->params.u.seq->item[1]);
    if (!r || r->rank != 2)
        onnx_put_fail(w, "its weights have no known shape");
    else
        s->hidden = onnx_put_extent(w, r, 1);
    for (int i = 0; i < s->cell->states && !w->st; i++)
        s->first[i] = onnx_put_value(
            w, cfx_value_is_seq(hx) ? hx.u.seq->item[i] : hx);
}

static void put_stack(onnx_writer *w, stack *s)
{
    static const int64_t swap[] = {1, 0, 2};
    bool batch_first = onnx_put_int(w, "batch_first", 0);
    const char *x = onnx_put_input(w, "input");
    const char **last[2];

    set_up(w, s);
    if (w->st)
        return;
    for (int i = 0; i < s->cell->states; i++)
        last[i] = onnx_put_alloc(w, (size_t)s->layers, sizeof(**last));
    if (batch_first)
        x = onnx_put_permuted(w, NULL, x, 3, swap);
    for (int64_t k = 0; k < s->layers && !w->st; k++) {
        const char *states[2] = {0};
        x = put_layer(w, s, k, x, states);
        for (int i = 0; i < s->cell->states && !w->st; i++)
            last[i][k] = states[i];
    }
    if (batch_first)
        x = onnx_put_permuted(w, NULL, x, 3, swap);
    onnx_put_part(w, 0, x);
    for (int i = 0; i < s->cell->states && !w->st; i++)
        onnx_put_part(w, 1 + (uint32_t)i,
                      put_joined(w, (size_t)s->layers, last[i]));
}

void onnx_write_lstm(onnx_writer *w)
{
    put_stack(w, &(stack){.cell = &onnx_lstm_cell, .op = w->onnx});
}

void onnx_write_gru(onnx_writer *w)
{
    put_stack(w, &(stack){.cell = &onnx_gru_cell, .op = w->onnx});
}

void onnx_write_rnn(onnx_writer *w)
{
    put_stack(
        w,
        &(stack){.cell = &onnx_rnn_cell, .op = "RNN", .activation = w->onnx});
}
