/*
 * rnn -- rules of LSTM, GRU and RNN.
 *
 * ONNX orders the gates i, o, f, c and z, r, h, and stacks the weights of the
 * directions; torch orders them i, f, g, o and r, z, n, and takes a list. Clips,
 * peepholes, other activations and sequences of different lengths have no
 * operator in torch.
 */
#include "format/onnx/onnx.h"

typedef struct cell {
    int gates;
    int order[4]; /* ONNX's gates in torch's order */
} cell;

static const cell lstm = {4, {0, 2, 3, 1}};
static const cell gru = {3, {1, 0, 2}};
static const cell rnn = {1, {0}};

/* Rows of a weight or bias in torch's order of the gates; `part` is of two, for
 * biases. */
static cfx_value reorder(onnx_node *n, cfx_value w, const cell *c,
                         int64_t hidden, int part)
{
    cfx_value rows[4];

    for (int g = 0; g < c->gates; g++) {
        int64_t from = (part * c->gates + c->order[g]) * hidden;
        rows[g] = cfx_slice(n->s, w, cfx_int(0), cfx_int(from),
                            cfx_int(from + hidden), cfx_int(1));
    }
    return c->gates == 1
               ? rows[0]
               : cfx_cat(n->s, onnx_arg(n->s, (size_t)c->gates, rows),
                         .dim = cfx_int(0));
}

/* W, R and the two halves of B of each direction. */
static cfx_value params_of(onnx_node *n, const cell *c, int directions,
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
static bool check_activations(onnx_node *n, const char *const *usual,
                              size_t count)
{
    const Onnx__AttributeProto *a = onnx_attr(n, "activations");

    for (size_t i = 0; a && i < a->n_strings; i++)
        if (!is_text(a, i, usual[i % count]))
            return onnx_fail(n, CFX_EUNSUPPORTED,
                             "its activations are not torch's"),
                   false;
    return true;
}

/* All sequences must be as long as the input. */
static bool check_lengths(onnx_node *n, cfx_value x, int time)
{
    const cfx_tensor *meta = onnx_has(n, 4) ? onnx_meta_tensor(n, x) : NULL;
    onnx_list lens;

    if (!meta)
        return !cfx_scope_failed(n->s);
    if (!onnx_ints(n, 4, &lens))
        return false;
    for (size_t i = 0; i < lens.n; i++)
        if (lens.item[i].kind != CFX_INT ||
            !cfx_dim_is(meta->shape[time], lens.item[i].u.i))
            return onnx_fail(n, CFX_EUNSUPPORTED,
                             "its sequences differ in length"),
                   false;
    return true;
}

typedef struct setup {
    cfx_value x, params;
    int64_t hidden;
    int directions;
    bool reverse, batch_first;
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
    cfx_value shape[] = {cfx_int(p->directions), onnx_size(n->s, p->x, 1),
                         cfx_int(p->hidden)};
    return cfx_zeros(n->s, onnx_arg(n->s, 3, shape),
                     .dtype = cfx_value_of_dtype(onnx_type_of(n, p->x)));
}

static bool set_up(onnx_node *n, const cell *c, setup *p)
{
    *p = (setup){.x = onnx_tensor(n, 0)};
    onnx_ignore(n, "hidden_size"); /* that of the weights */
    if (n->opset < 7)
        onnx_ignore(n, "output_sequence");
    p->batch_first = onnx_attr_int(n, "layout", 0);
    p->directions = onnx_attr_is(n, "direction", "bidirectional", "forward")
                        ? 2
                        : 1;
    p->reverse = onnx_attr_is(n, "direction", "reverse", "forward");
    p->hidden = onnx_known_size(n, onnx_tensor(n, 2), 2);
    if (cfx_scope_failed(n->s) || !check_lengths(n, p->x, p->batch_first))
        return false;
    if (onnx_attr(n, "clip") || onnx_attr_int(n, "input_forget", 0))
        return onnx_fail(n, CFX_EUNSUPPORTED, "it clips, or couples gates"),
               false;
    if (p->batch_first)
        p->x = cfx_transpose(n->s, p->x, cfx_int(0), cfx_int(1));
    if (p->reverse)
        p->x = flip_time(n, p->x);
    p->params = params_of(n, c, p->directions, p->hidden);
    return !cfx_scope_failed(n->s);
}

/* torch's [time, batch, directions * hidden] as ONNX has it. */
static void give_output(onnx_node *n, const setup *p, cfx_value y)
{
    static const int64_t by_time[] = {0, 2, 1, 3}, by_batch[] = {1, 0, 2, 3};
    cfx_value shape[] = {onnx_size(n->s, p->x, 0), onnx_size(n->s, p->x, 1),
                         cfx_int(p->directions), cfx_int(p->hidden)};

    if (p->reverse)
        y = flip_time(n, y);
    y = cfx_reshape(n->s, y, onnx_arg(n->s, 4, shape));
    n->out[0] = cfx_permute(
        n->s, y, onnx_int_arg(n->s, 4, p->batch_first ? by_batch : by_time));
}

static void give_state(onnx_node *n, const setup *p, size_t i, cfx_value h)
{
    n->out[i] = p->batch_first ? cfx_transpose(n->s, h, cfx_int(0), cfx_int(1))
                               : h;
}

static void results(onnx_node *n, const setup *p, cfx_value all)
{
    give_output(n, p, cfx_nth(n->s, all, 0));
    for (size_t i = 1; i < n->nout; i++)
        give_state(n, p, i, cfx_nth(n->s, all, (int64_t)i));
}

void onnx_lower_lstm(onnx_node *n)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    cfx_value no = cfx_bool(false), one = cfx_int(1);
    setup p;

    if (!check_activations(n, usual, 3) || !set_up(n, &lstm, &p))
        return;
    if (onnx_has(n, 7)) {
        onnx_fail(n, CFX_EUNSUPPORTED, "it has peepholes");
        return;
    }
    cfx_value hx[] = {state(n, 5, &p), state(n, 6, &p)};
    results(n, &p,
            cfx_lstm(n->s, p.x, onnx_arg(n->s, 2, hx), p.params,
                     cfx_bool(onnx_has(n, 3)), one, cfx_float(0), no,
                     cfx_bool(p.directions == 2), no));
}

/* ---- A GRU that applies the reset gate before the product ---- */

/* One direction of such a GRU: weights transposed, gates z, r, h. */
typedef struct direction {
    cfx_value x; /* of each step, the products of the input, with all biases */
    cfx_value gates, candidate; /* recurrent weights of z and r, and of h */
    cfx_value h;
} direction;

static cfx_value columns(onnx_node *n, cfx_value x, int64_t from, int64_t to)
{
    return cfx_slice(n->s, x, cfx_int(-1), cfx_int(from), cfx_int(to),
                     cfx_int(1));
}

static direction direction_of(onnx_node *n, const setup *p, int which,
                              cfx_value h)
{
    cfx_scope *s = n->s;
    cfx_value at = cfx_int(which), zero = cfx_int(0);
    cfx_value w = cfx_t(s, cfx_select(s, onnx_tensor(n, 1), zero, at));
    cfx_value r = cfx_t(s, cfx_select(s, onnx_tensor(n, 2), zero, at));
    int64_t many = p->hidden;
    direction d = {.x = cfx_matmul(s, p->x, w)};

    if (onnx_has(n, 3)) {
        cfx_value b = cfx_select(s, onnx_tensor(n, 3), zero, at);
        b = cfx_add(s, columns(n, b, 0, 3 * many),
                    columns(n, b, 3 * many, 6 * many));
        d.x = cfx_add(s, d.x, b);
    }
    d.gates = columns(n, r, 0, 2 * many);
    d.candidate = columns(n, r, 2 * many, 3 * many);
    d.h = cfx_select(s, h, zero, at);
    return d;
}

/* h of the next step: z h + (1 - z) tanh(x + (r h) R). */
static cfx_value next_state(onnx_node *n, const direction *d, int64_t step,
                            int64_t many)
{
    cfx_scope *s = n->s;
    cfx_value x = cfx_select(s, d->x, cfx_int(0), cfx_int(step));
    cfx_value gates = cfx_sigmoid(s, cfx_add(s, columns(n, x, 0, 2 * many),
                                             cfx_matmul(s, d->h, d->gates)));
    cfx_value z = columns(n, gates, 0, many);
    cfx_value reset = cfx_mul(s, columns(n, gates, many, 2 * many), d->h);
    cfx_value y = cfx_tanh(s, cfx_add(s, columns(n, x, 2 * many, 3 * many),
                                      cfx_matmul(s, reset, d->candidate)));

    return cfx_add(s, y, cfx_mul(s, z, cfx_sub(s, d->h, y)));
}

/* torch has no such GRU: its steps stand one after the other in the graph. */
static void unroll_gru(onnx_node *n, const setup *p)
{
    cfx_scope *s = n->s;
    cfx_value h = state(n, 5, p), y[2], last[2];
    int64_t steps = onnx_known_size(n, p->x, 0);
    cfx_value *rows = onnx_alloc(s, ONNX_MAX_UNROLLED, sizeof(*rows));

    if (steps < 1 || steps > ONNX_MAX_UNROLLED)
        onnx_fail(n, CFX_EUNSUPPORTED,
                  "linear_before_reset is 0, and it has %lld steps, not 1 to "
                  "%d",
                  (long long)steps, ONNX_MAX_UNROLLED);
    for (int k = 0; rows && k < p->directions && !cfx_scope_failed(s); k++) {
        direction d = direction_of(n, p, k, h);
        for (int64_t i = 0; i < steps && !cfx_scope_failed(s); i++) {
            int64_t step = k ? steps - 1 - i : i;
            d.h = rows[step] = next_state(n, &d, step, p->hidden);
        }
        y[k] = cfx_stack(s, onnx_arg(s, (size_t)steps, rows));
        last[k] = d.h;
    }
    if (cfx_scope_failed(s))
        return;
    size_t count = (size_t)p->directions;
    give_output(n, p,
                count == 1
                    ? y[0]
                    : cfx_cat(s, onnx_arg(s, count, y), .dim = cfx_int(-1)));
    if (n->nout > 1)
        give_state(n, p, 1, cfx_stack(s, onnx_arg(s, count, last)));
}

void onnx_lower_gru(onnx_node *n)
{
    static const char *const usual[] = {"Sigmoid", "Tanh"};
    cfx_value no = cfx_bool(false), one = cfx_int(1);
    setup p;

    if (!check_activations(n, usual, 2))
        return;
    bool after = onnx_attr_int(n, "linear_before_reset", 0);
    if (!set_up(n, &gru, &p))
        return;
    if (!after)
        unroll_gru(n, &p);
    else
        results(n, &p,
                cfx_gru(n->s, p.x, state(n, 5, &p), p.params,
                        cfx_bool(onnx_has(n, 3)), one, cfx_float(0), no,
                        cfx_bool(p.directions == 2), no));
}

void onnx_lower_rnn(onnx_node *n)
{
    static const char *const usual[] = {"Tanh"};
    cfx_value no = cfx_bool(false), one = cfx_int(1);
    setup p;

    if (check_activations(n, usual, 1) && set_up(n, &rnn, &p))
        results(n, &p,
                cfx_rnn_tanh(n->s, p.x, state(n, 5, &p), p.params,
                             cfx_bool(onnx_has(n, 3)), one, cfx_float(0), no,
                             cfx_bool(p.directions == 2), no));
}
