/*
 * onnx_rnn -- rules of LSTM, GRU and RNN.
 *
 * ONNX orders the gates otherwise (rnn.h), and stacks the weights of the
 * directions; torch takes a list. What torch has no operator for, as peepholes,
 * other activations and sequences of different lengths, has its steps one after
 * the other in the graph.
 */
#include "format/onnx/onnx.h"
#include "format/onnx/onnx_rnn.h"

const onnx_cell onnx_lstm_cell = {
    4, {0, 2, 3, 1}, 2, "torch.lstm", 3, {"Sigmoid", "Tanh", "Tanh"}};
const onnx_cell onnx_gru_cell = {3,           {1, 0, 2}, 1,
                                 "torch.gru", 2,         {"Sigmoid", "Tanh"}};
const onnx_cell onnx_rnn_cell = {1, {0}, 1, "torch.rnn_tanh", 1, {"Tanh"}};

/* Rows of a weight or bias in torch's order of the gates; `part` is of two, for
 * biases. */
static cfx_value reorder(onnx_node *n, cfx_value w, const onnx_cell *c,
                         int64_t hidden, int part)
{
    cfx_value rows[ONNX_MAX_GATES];

    for (int g = 0; g < c->gates; g++) {
        int64_t from = (part * c->gates + c->order[g]) * hidden;
        rows[g] = onnx_slice(n->s, w, 0, from, from + hidden);
    }
    return c->gates == 1
               ? rows[0]
               : cfx_cat(n->s, onnx_arg(n->s, (size_t)c->gates, rows),
                         .dim = cfx_int(0));
}

/* W, R and the two halves of B of each direction. */
static cfx_value params_of(onnx_node *n, const onnx_cell *c, int directions,
                           int64_t hidden)
{
    cfx_value v[8];
    size_t count = 0;

    for (int d = 0; d < directions; d++) {
        for (size_t i = 1; i < 3; i++)
            v[count++] = reorder(
                n, cfx_select(n->s, onnx_tensor(n, i), cfx_int(0), cfx_int(d)),
                c, hidden, 0);
        if (!onnx_has(n, 3))
            continue;
        cfx_value b = cfx_select(n->s, onnx_tensor(n, 3), cfx_int(0),
                                 cfx_int(d));
        v[count++] = reorder(n, b, c, hidden, 0);
        v[count++] = reorder(n, b, c, hidden, 1);
    }
    return onnx_arg(n->s, count, v);
}

static bool is_text(const Onnx__AttributeProto *a, size_t i, const char *word)
{
    const ProtobufCBinaryData *s = &a->strings[i];

    return s->len == strlen(word) && !memcmp(s->data, word, s->len);
}

/* Are the activations those of torch's operator? */
static bool are_usual(onnx_node *n, const onnx_cell *c)
{
    const Onnx__AttributeProto *a = onnx_attr(n, "activations");
    bool same = true;

    for (size_t i = 0; a && i < a->n_strings && same; i++)
        same = is_text(a, i, c->usual[i % c->activations]);
    return same;
}

/* Are all sequences as long as the input? */
static bool are_whole(onnx_node *n, cfx_value x, int time)
{
    const cfx_tensor *meta = onnx_has(n, 4) ? onnx_meta_tensor(n, x) : NULL;
    onnx_list lens;
    bool whole = true;

    if (!meta)
        return true;
    if (!onnx_ints_known(n, n->in[4], &lens))
        return false;
    for (size_t i = 0; i < lens.n && whole; i++)
        whole = lens.item[i].kind == CFX_INT &&
                cfx_dim_is(meta->shape[time], lens.item[i].u.i);
    return whole;
}

typedef struct setup {
    cfx_value x, params;
    int64_t hidden;
    int directions;
    bool reverse, batch_first;
    bool steps; /* torch has no operator for it */
} setup;

static cfx_value flip_time(onnx_node *n, cfx_value x)
{
    return cfx_flip(n->s, x, onnx_int_arg(n->s, 1, (int64_t[]){0}));
}

/* [directions, batch, hidden] from the input, or zeros. */
static cfx_value state(onnx_node *n, size_t i, const setup *p)
{
    if (onnx_has(n, i))
        return p->batch_first ? cfx_transpose(n->s, onnx_tensor(n, i),
                                              cfx_int(0), cfx_int(1))
                              : onnx_tensor(n, i);
    return cfx_zeros(n->s,
                     cfx_list(n->s, cfx_int(p->directions),
                              onnx_size(n->s, p->x, 1), cfx_int(p->hidden)),
                     .dtype = cfx_value_of_dtype(onnx_type_of(n, p->x)));
}

static bool set_up(onnx_node *n, const onnx_cell *c, setup *p)
{
    *p = (setup){.x = onnx_tensor(n, 0), .steps = !are_usual(n, c)};
    onnx_ignore(n, "hidden_size"); /* that of the weights */
    if (n->opset < 7)
        onnx_ignore(n, "output_sequence");
    p->batch_first = onnx_attr_int(n, "layout", 0);
    p->directions = onnx_attr_is(n, "direction", "bidirectional", "forward")
                        ? 2
                        : 1;
    p->reverse = onnx_attr_is(n, "direction", "reverse", "forward");
    p->hidden = onnx_known_size(n, onnx_tensor(n, 2), 2);
    if (cfx_scope_failed(n->s))
        return false;
    p->steps = p->steps || !are_whole(n, p->x, p->batch_first) ||
               onnx_attr(n, "clip") || onnx_attr_int(n, "input_forget", 0) ||
               onnx_has(n, 7) ||
               (c == &onnx_gru_cell &&
                !onnx_attr_int(n, "linear_before_reset", 0));
    if (p->batch_first)
        p->x = cfx_transpose(n->s, p->x, cfx_int(0), cfx_int(1));
    if (p->steps)
        return !cfx_scope_failed(n->s);
    if (p->reverse)
        p->x = flip_time(n, p->x);
    p->params = params_of(n, c, p->directions, p->hidden);
    return !cfx_scope_failed(n->s);
}

/* torch's [time, batch, directions * hidden] as ONNX has it. */
static cfx_value output(onnx_node *n, const setup *p, cfx_value y)
{
    static const int64_t by_time[] = {0, 2, 1, 3}, by_batch[] = {1, 0, 2, 3};
    cfx_value shape[] = {onnx_size(n->s, p->x, 0), onnx_size(n->s, p->x, 1),
                         cfx_int(p->directions), cfx_int(p->hidden)};

    if (p->reverse && !p->steps)
        y = flip_time(n, y);
    y = cfx_reshape(n->s, y, onnx_arg(n->s, 4, shape));
    return cfx_permute(
        n->s, y, onnx_int_arg(n->s, 4, p->batch_first ? by_batch : by_time));
}

static cfx_value last_state(onnx_node *n, const setup *p, cfx_value h)
{
    return p->batch_first ? cfx_transpose(n->s, h, cfx_int(0), cfx_int(1)) : h;
}

static cfx_value results(onnx_node *n, const setup *p, cfx_value all)
{
    cfx_value y = output(n, p, cfx_nth(n->s, all, 0));

    for (size_t i = 1; i < n->nout; i++)
        n->out[i] = last_state(n, p, cfx_nth(n->s, all, (int64_t)i));
    return y;
}

/* ---- Steps ---- */

/* One direction: weights transposed, gates in ONNX's order. */
typedef struct direction {
    const setup *p;
    int which;
    cfx_value x;    /* of each step, the products of the input, with biases */
    cfx_value r;    /* recurrent weights */
    cfx_value bias; /* of the last gate's product; absent if it is in x */
    cfx_value peep; /* peepholes, or absent */
    cfx_value h, c; /* c: of an LSTM */
} direction;

typedef void step_fn(onnx_node *n, direction *d, cfx_value x);

/* Columns of one gate. */
static cfx_value gate(onnx_node *n, const direction *d, cfx_value x, int which)
{
    return onnx_slice(n->s, x, -1, which * d->p->hidden,
                      (which + 1) * d->p->hidden);
}

/* Activation k of a direction, of `count`. Its input is clipped; as in ONNX
 * Runtime, not that of an LSTM's output. */
static cfx_value activation(onnx_node *n, const direction *d, size_t k,
                            size_t count, const char *usual, cfx_value x)
{
    static const struct {
        const char *name, *target;
    } known[] = {{"Sigmoid", "torch.sigmoid"},
                 {"Tanh", "torch.tanh"},
                 {"Relu", "torch.relu"},
                 {"Softsign", "torch.nn.functional.softsign"},
                 {"Softplus", "torch.nn.functional.softplus"}};
    const Onnx__AttributeProto *a = onnx_attr(n, "activations");
    size_t at = k + (size_t)d->which * count;
    bool own = a && at < a->n_strings;
    cfx_scope *s = n->s;

    if (onnx_attr(n, "clip") && k < 2) {
        double most = onnx_attr_float(n, "clip", 0);
        x = cfx_clamp(s, x, .min = cfx_float(-most), .max = cfx_float(most));
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (own ? is_text(a, at, known[i].name)
                : !strcmp(known[i].name, usual))
            return CFX_CALL(s, known[i].target, x);
    if (is_text(a, at, "HardSigmoid"))
        return cfx_clamp(
            s, cfx_add(s, cfx_mul(s, x, cfx_float(0.2)), cfx_float(0.5)),
            .min = cfx_float(0), .max = cfx_float(1));
    return onnx_fail(n, CFX_EUNSUPPORTED,
                     "its activation %zu is not supported", at);
}

static cfx_value recurrent(onnx_node *n, const direction *d, int from, int to)
{
    return cfx_matmul(
        n->s, d->h,
        onnx_slice(n->s, d->r, -1, from * d->p->hidden, to * d->p->hidden));
}

static void rnn_step(onnx_node *n, direction *d, cfx_value x)
{
    d->h = activation(n, d, 0, 1, "Tanh",
                      cfx_add(n->s, x, recurrent(n, d, 0, 1)));
}

/* z h + (1 - z) g(x + (r h) R), or g(x + r (h R + b)). */
static void gru_step(onnx_node *n, direction *d, cfx_value x)
{
    cfx_scope *s = n->s;
    cfx_value both = cfx_add(s, onnx_slice(n->s, x, -1, 0, 2 * d->p->hidden),
                             recurrent(n, d, 0, 2));
    both = activation(n, d, 0, 2, "Sigmoid", both);
    cfx_value z = gate(n, d, both, 0), r = gate(n, d, both, 1), h;

    if (d->bias.kind) {
        h = cfx_mul(s, r, cfx_add(s, recurrent(n, d, 2, 3), d->bias));
    } else {
        direction reset = *d;
        reset.h = cfx_mul(s, r, d->h);
        h = recurrent(n, &reset, 2, 3);
    }
    h = activation(n, d, 1, 2, "Tanh", cfx_add(s, gate(n, d, x, 2), h));
    d->h = cfx_add(s, h, cfx_mul(s, z, cfx_sub(s, d->h, h)));
}

/* A gate of an LSTM, with peephole `peep` of a cell. */
static cfx_value lstm_gate(onnx_node *n, const direction *d, cfx_value x,
                           int which, cfx_value c)
{
    x = gate(n, d, x, which);
    if (d->peep.kind)
        x = cfx_add(n->s, x, cfx_mul(n->s, gate(n, d, d->peep, which), c));
    return activation(n, d, 0, 3, "Sigmoid", x);
}

static void lstm_step(onnx_node *n, direction *d, cfx_value x)
{
    cfx_scope *s = n->s;

    x = cfx_add(s, x, recurrent(n, d, 0, 4));
    cfx_value i = lstm_gate(n, d, x, 0, d->c);
    cfx_value f = onnx_attr_int(n, "input_forget", 0)
                      ? cfx_rsub(s, i, cfx_int(1))
                      : lstm_gate(n, d, x, 2, d->c);
    cfx_value c = activation(n, d, 1, 3, "Tanh", gate(n, d, x, 3));
    d->c = cfx_add(s, cfx_mul(s, f, d->c), cfx_mul(s, i, c));
    cfx_value o = lstm_gate(n, d, x, 1, d->c);
    d->h = cfx_mul(s, o, activation(n, d, 2, 3, "Tanh", d->c));
}

static direction direction_of(onnx_node *n, const setup *p,
                              const onnx_cell *kind, int which, cfx_value h,
                              cfx_value c)
{
    cfx_scope *s = n->s;
    cfx_value at = cfx_int(which), zero = cfx_int(0);
    cfx_value w = cfx_t(s, cfx_select(s, onnx_tensor(n, 1), zero, at));
    int64_t all = kind->gates * p->hidden;
    direction d = {.p = p, .which = which, .x = cfx_matmul(s, p->x, w)};

    d.r = cfx_t(s, cfx_select(s, onnx_tensor(n, 2), zero, at));
    bool after = kind == &onnx_gru_cell &&
                 onnx_attr_int(n, "linear_before_reset", 0);
    if (after)
        d.bias = cfx_float(0);
    if (onnx_has(n, 3)) {
        cfx_value b = cfx_select(s, onnx_tensor(n, 3), zero, at);
        cfx_value own = onnx_slice(n->s, b, -1, all, 2 * all);
        b = onnx_slice(n->s, b, -1, 0, all);
        if (after) {
            int64_t two = 2 * p->hidden;
            d.bias = onnx_slice(n->s, own, -1, two, all);
            own = cfx_pad(s, onnx_slice(n->s, own, -1, 0, two),
                          onnx_int_arg(s, 2, (int64_t[]){0, p->hidden}));
        }
        d.x = cfx_add(s, d.x, cfx_add(s, b, own));
    }
    if (onnx_has(n, 7))
        d.peep = cfx_select(s, onnx_tensor(n, 7), zero, at);
    d.h = cfx_select(s, h, zero, at);
    if (c.kind)
        d.c = cfx_select(s, c, zero, at);
    return d;
}

/* Step t of a direction, by which sequences that have ended do not change; what
 * it gives for each. */
static cfx_value masked_step(onnx_node *n, direction *d, step_fn *step,
                             int64_t t)
{
    cfx_scope *s = n->s;
    cfx_value h = d->h, c = d->c;

    step(n, d, cfx_select(s, d->x, cfx_int(0), cfx_int(t)));
    if (!onnx_has(n, 4))
        return d->h;
    cfx_value goes = cfx_unsqueeze(s, cfx_gt(s, onnx_tensor(n, 4), cfx_int(t)),
                                   cfx_int(1));
    cfx_value y = cfx_where(s, goes, d->h, cfx_zeros_like(s, d->h));
    d->h = cfx_where(s, goes, d->h, h);
    if (c.kind)
        d->c = cfx_where(s, goes, d->c, c);
    return y;
}

static cfx_value unroll(onnx_node *n, const setup *p, const onnx_cell *kind,
                        step_fn *step)
{
    cfx_scope *s = n->s;
    cfx_value h = state(n, 5, p), c = {0}, y[2], last[2], cells[2];
    int64_t steps = onnx_known_size(n, p->x, 0);
    cfx_value *rows = onnx_alloc(s, ONNX_MAX_UNROLLED, sizeof(*rows));
    size_t count = (size_t)p->directions;

    if (kind->states == 2)
        c = state(n, 6, p);
    if (steps < 1 || steps > ONNX_MAX_UNROLLED)
        onnx_fail(
            n, CFX_EUNSUPPORTED,
            "torch has no such operator, and it has %lld steps, not 1 to %d",
            (long long)steps, ONNX_MAX_UNROLLED);
    for (int k = 0; rows && k < p->directions && !cfx_scope_failed(s); k++) {
        direction d = direction_of(n, p, kind, k, h, c);
        for (int64_t i = 0; i < steps && !cfx_scope_failed(s); i++) {
            int64_t t = k || p->reverse ? steps - 1 - i : i;
            rows[t] = masked_step(n, &d, step, t);
        }
        y[k] = cfx_stack(s, onnx_arg(s, (size_t)steps, rows));
        last[k] = d.h;
        cells[k] = d.c;
    }
    if (cfx_scope_failed(s))
        return CFX_NOTHING;
    if (count > 1)
        y[0] = cfx_cat(s, onnx_arg(s, count, y), .dim = cfx_int(-1));
    y[0] = output(n, p, y[0]);
    if (n->nout > 1)
        n->out[1] = last_state(n, p, cfx_stack(s, onnx_arg(s, count, last)));
    if (n->nout > 2)
        n->out[2] = last_state(n, p, cfx_stack(s, onnx_arg(s, count, cells)));
    return y[0];
}

/* ---- Rules ---- */

static cfx_value layer(onnx_node *n, const onnx_cell *c, step_fn *step)
{
    cfx_value no = cfx_bool(false);
    setup p;

    if (!set_up(n, c, &p))
        return CFX_NOTHING;
    if (p.steps)
        return unroll(n, &p, c, step);
    cfx_value h = state(n, 5, &p);
    if (c->states == 2)
        h = cfx_list(n->s, h, state(n, 6, &p));
    return results(n, &p,
                   CFX_CALL(n->s, c->target, p.x, h, p.params,
                            cfx_bool(onnx_has(n, 3)), cfx_int(1), cfx_float(0),
                            no, cfx_bool(p.directions == 2), no));
}

cfx_value onnx_import_lstm(onnx_node *n)
{
    return layer(n, &onnx_lstm_cell, lstm_step);
}

cfx_value onnx_import_gru(onnx_node *n)
{
    return layer(n, &onnx_gru_cell, gru_step);
}

cfx_value onnx_import_rnn(onnx_node *n)
{
    return layer(n, &onnx_rnn_cell, rnn_step);
}
