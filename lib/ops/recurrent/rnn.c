/*
 * rnn -- recurrent layers: lstm, gru, rnn with tanh or relu.
 *
 * shape   input (T, N, I), or (N, T, I) with batch_first, or (T, I); a state
 *         (layers * directions, N, H), without N where the input has none. The
 *         result's last axis is H (of an LSTM with projections, P) for each
 *         direction.
 * cost    multiply-adds: of each step and direction the gates times H, I + H
 *         times each; and the steps of its formula for each element of a state.
 *
 * dynamic_lstm and dynamic_gru quantize a layer's input, and the state of each step,
 * to 0..127 and back before they multiply them, as torch.quantized_lstm and
 * quantized_gru do; their weights are floats.
 *
 * The weights are one flat list: of each layer and direction w_ih, w_hh, then
 * b_ih, b_hh where there are biases, then w_hr where there are projections. A
 * layer's own result is the next one's input, and the only thing kept.
 *
 * Those of packed_lstm and its like are packed, each gate filled up with zeros to
 * whole blocks of 16 rows: w_ih and w_hh as packed_weight.h has them, of float32 or
 * bfloat16, and biases of float32. They take no projections.
 */
#include "kernel/blocked/packed_rnn.h"
#include "kernel/rnn_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "ops/blocked/blocked_packed_weight.h"

/* hx is a list for an LSTM. */
CFX_PARAMS(params, INPUT, HX, PARAMS, HAS_BIASES, NUM_LAYERS, DROPOUT, TRAIN,
           BIDIRECTIONAL, BATCH_FIRST);

/* Bits of an operator's code, whose other bits are the mode. */
enum { DYNAMIC = 1 << 8, PACKED = 1 << 9 };

static cfx_rnn_mode mode_of(const cfx_call *call)
{
    return (cfx_rnn_mode)(call->op->code & ~(DYNAMIC | PACKED));
}

static bool is_packed(const cfx_call *call)
{
    return call->op->code & PACKED;
}

static bool is_dynamic(const cfx_call *call)
{
    return call->op->code & DYNAMIC;
}

/* The states: h, and c of an LSTM. */
static const cfx_tensor *state(const cfx_call *call, int i)
{
    return cfx_call_len(call, HX) ? cfx_call_item(call, HX, i).u.tensor
                                  : cfx_call_tensor(call, HX);
}

/* The state of a call. */
struct rnn {
    const cfx_tensor *x;
    bool lstm, batched, first, biases, proj;
    int layers, directions, each; /* each: weights of one direction */
    cfx_dim time, batch, hidden, out;
};

static const cfx_tensor *weight(const cfx_call *call, const struct rnn *r,
                                int layer, int direction, int i)
{
    int at = (layer * r->directions + direction) * r->each + i;
    return cfx_call_item(call, PARAMS, at).u.tensor;
}

/* The units, by the first weights. */
static cfx_status read_weight(const cfx_call *call, struct rnn *r)
{
    const cfx_tensor *w = weight(call, r, 0, 0, 0);
    if (w->rank != 2 || weight(call, r, 0, 0, 1)->rank != 2)
        return cfx_call_fail(call, CFX_ESHAPE, "a weight has rank %d, not 2",
                             w->rank);
    r->hidden = cfx_dim_floordiv(call->env, w->shape[0],
                                 cfx_dim_int(cfx_rnn_gates(mode_of(call))));
    r->out = weight(call, r, 0, 0, 1)->shape[1];
    return CFX_OK;
}

/* The units, which packed weights do not tell. */
static cfx_status read_state(const cfx_call *call, struct rnn *r)
{
    const cfx_tensor *h = r->lstm && !cfx_call_len(call, HX) ? NULL
                                                             : state(call, 0);
    if (!h || h->rank < 1 || r->proj)
        return cfx_call_fail(call, r->proj ? CFX_EUNSUPPORTED : CFX_ESHAPE,
                             r->proj ? "packed weights have no projections"
                                     : "expected a hidden state");
    r->hidden = r->out = h->shape[h->rank - 1];
    return CFX_OK;
}

static cfx_status read_rnn(const cfx_call *call, struct rnn *r)
{
    int n = cfx_call_len(call, PARAMS);
    r->x = cfx_call_tensor(call, INPUT);
    r->lstm = mode_of(call) == CFX_RNN_LSTM;
    r->batched = r->x->rank == 3;
    r->first = r->batched && cfx_call_bool(call, BATCH_FIRST);
    r->biases = cfx_call_bool(call, HAS_BIASES);
    r->directions = cfx_call_bool(call, BIDIRECTIONAL) ? 2 : 1;
    r->layers = (int)cfx_call_int(call, NUM_LAYERS);
    if (r->x->rank != 2 && r->x->rank != 3)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Expected input to be 2D or 3D, got %dD instead",
                             r->x->rank);
    r->each = r->biases ? 4 : 2;
    if (r->layers < 1 || r->layers > 1 << 20 ||
        n % (r->layers * r->directions))
        return cfx_call_fail(call, CFX_EINVAL,
                             "%d weights do not make %d layers", n, r->layers);
    r->proj = n == r->layers * r->directions * (r->each + 1);
    r->each += r->proj;
    if (n != r->layers * r->directions * r->each || (r->proj && !r->lstm))
        return cfx_call_fail(call, CFX_EINVAL,
                             "%d weights do not make %d layers", n, r->layers);
    if (cfx_call_bool(call, TRAIN) && cfx_call_double(call, DROPOUT) > 0 &&
        r->layers > 1)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "dropout while training is not supported");
    r->time = r->x->shape[r->first];
    r->batch = r->batched ? r->x->shape[!r->first] : cfx_dim_int(1);
    return is_packed(call) ? read_state(call, r) : read_weight(call, r);
}

static cfx_status check(cfx_call *call, const struct rnn *r,
                        const cfx_tensor *t, int rank, const cfx_dim *shape,
                        const char *what)
{
    bool same = t->rank == rank;
    for (int i = 0; i < rank && same; i++)
        same = cfx_dim_eq(call->env, t->shape[i], shape[i]);
    if (same && t->dtype == r->x->dtype)
        return CFX_OK;
    char have[128];
    cfx_tensor_format_type(t, have, sizeof(have));
    return cfx_call_fail(call, same ? CFX_EDTYPE : CFX_ESHAPE,
                         "Expected %s of other size or type, got %s", what,
                         have);
}

/* Is the weight of this depth, of float32 or bfloat16? */
static cfx_status check_packed(cfx_call *call, const cfx_tensor *w,
                               cfx_dim rows, cfx_dim depth)
{
    cfx_status st = cfx_packed_check(call, w, rows);
    if (!st)
        st = cfx_packed_check_scale(call, w, NULL);
    if (!st && !cfx_dim_eq(call->env, cfx_packed_depth(call, w), depth))
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "a weight and what it multiplies differ in their features");
    return st;
}

static cfx_status check_packed_weights(cfx_call *call, const struct rnn *r)
{
    cfx_shape_env *env = call->env;
    cfx_dim block = cfx_dim_int(CFX_BLOCK);
    cfx_dim up = cfx_dim_add(env, r->hidden, cfx_dim_int(CFX_BLOCK - 1));
    cfx_dim rows = cfx_dim_mul(
        env, cfx_dim_mul(env, cfx_dim_floordiv(env, up, block), block),
        cfx_dim_int(cfx_rnn_gates(mode_of(call))));
    cfx_dim in = r->x->shape[r->x->rank - 1];
    cfx_status st = CFX_OK;
    for (int l = 0; l < r->layers && !st; l++) {
        for (int d = 0; d < r->directions && !st; d++)
            for (int i = 0; i < r->each && !st; i++) {
                const cfx_tensor *w = weight(call, r, l, d, i);
                st = i < 2 ? check_packed(call, w, rows, i ? r->out : in)
                           : check(call, r, w, 1, &rows, "a bias");
            }
        in = cfx_dim_mul(env, r->out, cfx_dim_int(r->directions));
    }
    return st;
}

static cfx_status check_weights(cfx_call *call, const struct rnn *r)
{
    cfx_dim rows = cfx_dim_mul(call->env, r->hidden,
                               cfx_dim_int(cfx_rnn_gates(mode_of(call))));
    cfx_dim in = r->x->shape[r->x->rank - 1];
    cfx_status st = CFX_OK;
    if (!r->proj && !cfx_dim_eq(call->env, r->hidden, r->out)) {
        char h[64], w[64];
        cfx_dim_format(r->hidden, h, sizeof(h));
        cfx_dim_format(r->out, w, sizeof(w));
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "w_ih has gates of %s rows, w_hh has %s columns", h,
                           w);
    }
    for (int l = 0; l < r->layers && !st; l++) {
        cfx_dim ih[] = {rows, in}, hh[] = {rows, r->out};
        cfx_dim hr[] = {r->out, r->hidden};
        for (int d = 0; d < r->directions && !st; d++)
            for (int i = 0; i < r->each && !st; i++) {
                bool last = r->proj && i == r->each - 1;
                st = check(call, r, weight(call, r, l, d, i),
                           i < 2 || last ? 2 : 1,
                           last     ? hr
                           : i == 0 ? ih
                           : i == 1 ? hh
                                    : &rows,
                           i ? "a weight" : "w_ih (or the input)");
            }
        in = cfx_dim_mul(call->env, r->out, cfx_dim_int(r->directions));
    }
    return st;
}

static int state_shape(const struct rnn *r, int i, cfx_dim *shape)
{
    int rank = 0;
    shape[rank++] = cfx_dim_int(r->layers * r->directions);
    if (r->batched)
        shape[rank++] = r->batch;
    shape[rank++] = i ? r->hidden : r->out;
    return rank;
}

static cfx_status rnn_infer(cfx_call *call)
{
    struct rnn *r = call->state;
    cfx_dim shape[3];
    cfx_status st = read_rnn(call, r);
    if (!st && r->x->dtype != CFX_F32 &&
        (r->x->dtype != CFX_F64 || is_dynamic(call) || is_packed(call)))
        st = cfx_infer_refuse(call, (cfx_dtype)r->x->dtype);
    if (!st && !cfx_dim_le(call->env, cfx_dim_int(1), r->time))
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected sequence length to be larger than 0 in RNN");
    if (!st && r->lstm && cfx_call_len(call, HX) != 2)
        st = cfx_call_fail(call, CFX_EINVAL, "lstm expects two hidden states");
    if (!st)
        st = is_packed(call) ? check_packed_weights(call, r)
                             : check_weights(call, r);
    for (int i = 0; i <= r->lstm && !st; i++)
        st = check(call, r, state(call, i), state_shape(r, i, shape), shape,
                   "a hidden state");
    if (st)
        return st;
    for (int i = 0; i < r->x->rank; i++)
        shape[i] = r->x->shape[i];
    shape[r->x->rank - 1] = cfx_dim_mul(call->env, r->out,
                                        cfx_dim_int(r->directions));
    cfx_dim stride[3];
    cfx_strides_of(call->env, CFX_CONTIGUOUS_FORMAT, r->x->rank, shape,
                   stride);
    /* Time is outermost in memory also where the batch comes first. */
    if (r->first) {
        stride[0] = shape[2];
        stride[1] = cfx_dim_mul(call->env, shape[0], shape[2]);
    }
    st = cfx_call_out_strided(call, (cfx_dtype)r->x->dtype, r->x->rank, shape,
                              stride);
    for (int i = 0; i <= r->lstm && !st; i++) {
        int rank = state_shape(r, i, shape);
        st = cfx_call_out(call, (cfx_dtype)r->x->dtype, rank, shape);
    }
    return st;
}

/* Steps for each element of a state. A gate is the sum of two products and of
 * their biases; sigmoid is 4 steps, of which 2 are transcendental. */
struct steps {
    int ops, transcendental;
};

static struct steps steps_of(int mode, bool biases)
{
    int sum = biases ? 3 : 1;
    switch (mode) {
    case CFX_RNN_LSTM: /* c = f c + i g, h = o tanh(c) */
        return (struct steps){4 * sum + 3 * 4 + 1 + 3 + 2, 3 * 2 + 1 + 1};
    case CFX_RNN_GRU: /* n = tanh(x + r h'), h = (1 - z) n + z h */
        return (struct steps){3 * sum + 2 * 4 + 1 + 1 + 4, 2 * 2 + 1};
    case CFX_RNN_TANH: return (struct steps){sum + 1, 1};
    default: /* relu */ return (struct steps){sum, 0};
    }
}

/* The numbers of a weight, without those that fill up blocks. */
static cfx_dim numbers_of(const cfx_call *call, const struct rnn *r,
                          const cfx_tensor *w)
{
    cfx_dim gates = cfx_dim_int(cfx_rnn_gates(mode_of(call)));
    return w->rank == 2
               ? cfx_cost_numel(call, w)
               : cfx_dim_mul(call->env, cfx_packed_depth(call, w),
                             cfx_dim_mul(call->env, gates, r->hidden));
}

static void rnn_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct rnn *r = call->state;
    cfx_shape_env *env = call->env;
    cfx_dim steps = cfx_dim_mul(env, r->time, r->batch);
    int n = r->layers * r->directions * r->each;
    for (int i = 0; i < n; i++) {
        const cfx_tensor *w = cfx_call_item(call, PARAMS, i).u.tensor;
        if (w->rank >= 2)
            cost->macs = cfx_dim_add(
                env, cost->macs,
                cfx_dim_mul(env, steps, numbers_of(call, r, w)));
    }
    if (weight(call, r, 0, 0, 1)->dtype == CFX_BF16)
        cost->dtype = CFX_BF16;
    cfx_dim states = cfx_dim_mul(env, cfx_dim_mul(env, steps, r->hidden),
                                 cfx_dim_int(r->layers * r->directions));
    struct steps k = steps_of(mode_of(call), r->biases);
    cost->ops = cfx_dim_mul(env, states, cfx_dim_int(k.ops));
    cost->transcendental = cfx_dim_mul(env, states,
                                       cfx_dim_int(k.transcendental));
    /* Two products, rounding, a sum and a difference. */
    for (int i = 0; i < n && is_dynamic(call); i++) {
        const cfx_tensor *w = cfx_call_item(call, PARAMS, i).u.tensor;
        if (w->rank == 2)
            cost->ops = cfx_dim_add(
                env, cost->ops,
                cfx_dim_mul(env, cfx_dim_mul(env, steps, w->shape[1]),
                            cfx_dim_int(5)));
    }
}

/* ---- Running ---- */

/* Fill in the geometry of one direction of one layer. */
static void plan(const cfx_call *call, const struct rnn *r, int layer,
                 cfx_rnn *k)
{
    *k = (cfx_rnn){
        .dtype = (cfx_dtype)r->x->dtype,
        .mode = mode_of(call),
        .dynamic = is_dynamic(call),
        .time = cfx_dim_value(r->time),
        .batch = cfx_dim_value(r->batch),
        .input = layer ? cfx_dim_value(r->out) * r->directions
                       : cfx_tensor_size(r->x, r->x->rank - 1),
        .hidden = cfx_dim_value(r->hidden),
        .proj = r->proj ? cfx_dim_value(r->out) : 0,
    };
}

static cfx_packed_rnn plan_packed(const cfx_call *call, const struct rnn *r,
                                  int layer)
{
    cfx_packed_rnn p = {
        .directions = r->directions,
        .input = cfx_packed_type(call, weight(call, r, layer, 0, 0)),
        .state = cfx_packed_type(call, weight(call, r, layer, 0, 1))};
    for (int d = 0; d < r->directions; d++)
        plan(call, r, layer, &p.of[d]);
    return p;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t rnn_workspace(const cfx_call *call)
{
    const struct rnn *r = call->state;
    size_t most = 0;
    for (int l = 0; l < r->layers && is_packed(call); l++) {
        cfx_packed_rnn p = plan_packed(call, r, l);
        most = max_size(most, cfx_packed_rnn_workspace(&p));
    }
    /* A layer's input may have time or the batch outermost. */
    for (int i = 0; i < 2 * (r->layers < 2 ? 1 : 2) && !is_packed(call); i++) {
        cfx_rnn k;
        plan(call, r, i / 2, &k);
        k.x_stride[0] = k.input * (i % 2 ? 1 : k.batch);
        k.x_stride[1] = k.input * (i % 2 ? k.time : 1);
        most = max_size(most, cfx_rnn_workspace(call->ctx, &k));
    }
    return most;
}

/* Elements of one slice of a state. */
static char *slice(const cfx_tensor *t, int i, int64_t elements)
{
    return (char *)t->data +
           (int64_t)cfx_dtype_size((cfx_dtype)t->dtype) * elements * i;
}

/* Point k to the weights w, the states and the results of direction `at`, which are
 * counted layer after layer. */
static void point(const cfx_call *call, const struct rnn *r, int at,
                  cfx_tensor *const *w, cfx_tensor *const h0[2], cfx_rnn *k)
{
    int64_t out = cfx_dim_value(r->out), hidden = cfx_dim_value(r->hidden);
    k->w_ih = w[0]->data;
    k->w_hh = w[1]->data;
    k->b_ih = r->biases ? w[2]->data : NULL;
    k->b_hh = r->biases ? w[3]->data : NULL;
    k->w_hr = r->proj ? w[r->each - 1]->data : NULL;
    k->h0 = slice(h0[0], at, k->batch * out);
    k->c0 = r->lstm ? slice(h0[1], at, k->batch * hidden) : NULL;
    k->y_stride[1] = out * r->directions;
    k->y_stride[0] = k->y_stride[1] * k->batch;
    k->h = slice(call->out[1], at, k->batch * out);
    k->c = r->lstm ? slice(call->out[2], at, k->batch * hidden) : NULL;
}

/* One layer, both directions; x is (time, batch, input) by its strides, y is
 * row-major in that order. */
static cfx_status run_layer(cfx_call *call, const struct rnn *r, int layer,
                            const void *x, const int64_t *x_stride, void *y,
                            cfx_tensor *const h0[2])
{
    enum { WEIGHTS = 5 };
    cfx_tensor *w[2 * WEIGHTS] = {NULL};
    cfx_packed_rnn p = plan_packed(call, r, layer);
    cfx_status st = CFX_OK;
    for (int d = 0; d < r->directions && !st; d++) {
        cfx_tensor **own = w + d * WEIGHTS;
        cfx_rnn *k = &p.of[d];
        for (int i = 0; i < r->each && !st; i++)
            if (!(own[i] = cfx_loop_contiguous(call,
                                               weight(call, r, layer, d, i))))
                st = CFX_ENOMEM;
        if (st)
            break;
        point(call, r, layer * r->directions + d, own, h0, k);
        k->reverse = d == 1;
        k->x = x;
        k->x_stride[0] = x_stride[0];
        k->x_stride[1] = x_stride[1];
        k->y = y ? (char *)y + (int64_t)cfx_dtype_size(k->dtype) *
                                   cfx_dim_value(r->out) * d
                 : NULL; /* without elements */
    }
    if (!st && is_packed(call))
        cfx_packed_rnn_run(call->ctx, &p, call->work);
    for (int d = 0; d < r->directions && !st && !is_packed(call); d++)
        cfx_rnn_run(call->ctx, &p.of[d], call->work);
    for (int i = 0; i < 2 * WEIGHTS; i++)
        cfx_tensor_unref(w[i]);
    return st;
}

/* Layers write by turns to a buffer and to the result, the last to the
 * result. */
static cfx_status run_layers(cfx_call *call, const struct rnn *r,
                             const cfx_tensor *x, cfx_tensor *const h0[2])
{
    cfx_tensor *y = call->out[0];
    int64_t batch = cfx_dim_value(r->batch);
    int64_t width = cfx_dim_value(r->out) * r->directions;
    int64_t in = cfx_tensor_size(x, x->rank - 1), stride[2];
    size_t bytes = (size_t)(cfx_dim_value(r->time) * batch * width) *
                   cfx_dtype_size((cfx_dtype)y->dtype);
    void *spare = r->layers > 1 && bytes ? cfx_block_alloc(call->ctx, bytes)
                                         : NULL;
    const void *from = x->data;
    cfx_status st = CFX_OK;
    if (r->layers > 1 && bytes && !spare)
        return cfx_no_memory(call->err);
    stride[0] = r->first ? in : batch * in;
    stride[1] = r->first ? cfx_dim_value(r->time) * in : in;
    for (int l = 0; l < r->layers && !st; l++) {
        void *to = (r->layers - 1 - l) % 2 ? spare : y->data;
        st = run_layer(call, r, l, from, stride, to, h0);
        from = to;
        stride[0] = batch * width;
        stride[1] = width;
    }
    if (spare)
        cfx_block_free(call->ctx, spare, bytes);
    return st;
}

static cfx_status rnn_run(cfx_call *call)
{
    const struct rnn *r = call->state;
    cfx_tensor *h0[2] = {NULL}, *x = NULL;
    cfx_status st = CFX_OK;
    if (!(x = cfx_loop_contiguous(call, r->x)))
        st = CFX_ENOMEM;
    for (int i = 0; i <= r->lstm && !st; i++)
        if (!(h0[i] = cfx_loop_contiguous(call, state(call, i))))
            st = CFX_ENOMEM;
    if (!st)
        st = run_layers(call, r, x, h0);
    cfx_tensor_unref(x);
    cfx_tensor_unref(h0[0]);
    cfx_tensor_unref(h0[1]);
    return st;
}

/* ---- Descriptors ---- */

#define RNN(name, overload, space, state_, mode, returns, doc_)               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name overload                                              \
        "(Tensor input, " state_ " hx, Tensor[] params, bool has_biases, "    \
        "int num_layers, float dropout, bool train, bool bidirectional, "     \
        "bool batch_first) -> " returns,                                      \
        .params = params,                                                     \
        .aliases = space #name overload,                                      \
        .doc = doc_,                                                          \
        .code = mode,                                                         \
        .state_size = sizeof(struct rnn),                                     \
        .infer = rnn_infer,                                                   \
        .cost = rnn_cost,                                                     \
        .workspace = rnn_workspace,                                           \
        .run = rnn_run,                                                       \
    };

RNN(lstm, ".input", "torch.lstm aten.", "Tensor[]", CFX_RNN_LSTM,
    "(Tensor, Tensor, Tensor)", "Layers of long short-term memory.")
RNN(gru, ".input", "torch.gru aten.", "Tensor", CFX_RNN_GRU,
    "(Tensor, Tensor)", "Layers of gated recurrent units.")
RNN(rnn_tanh, ".input", "torch.rnn_tanh aten.", "Tensor", CFX_RNN_TANH,
    "(Tensor, Tensor)", "Recurrent layers with tanh.")
RNN(rnn_relu, ".input", "torch.rnn_relu aten.", "Tensor", CFX_RNN_RELU,
    "(Tensor, Tensor)", "Recurrent layers with relu.")
RNN(dynamic_lstm, "", "torch.ops.cfx.dynamic_lstm.default torch.ops.cfx.",
    "Tensor[]", CFX_RNN_LSTM | DYNAMIC, "(Tensor, Tensor, Tensor)",
    "Layers of long short-term memory, of inputs that are quantized and back.")
RNN(dynamic_gru, "", "torch.ops.cfx.dynamic_gru.default torch.ops.cfx.",
    "Tensor", CFX_RNN_GRU | DYNAMIC, "(Tensor, Tensor)",
    "Layers of gated recurrent units, of inputs that are quantized and back.")
RNN(packed_lstm, "", "torch.ops.cfx.packed_lstm.default torch.ops.cfx.",
    "Tensor[]", CFX_RNN_LSTM | PACKED, "(Tensor, Tensor, Tensor)",
    "Layers of long short-term memory, with packed weights.")
RNN(packed_gru, "", "torch.ops.cfx.packed_gru.default torch.ops.cfx.",
    "Tensor", CFX_RNN_GRU | PACKED, "(Tensor, Tensor)",
    "Layers of gated recurrent units, with packed weights.")
RNN(packed_rnn_tanh, "",
    "torch.ops.cfx.packed_rnn_tanh.default torch.ops.cfx.", "Tensor",
    CFX_RNN_TANH | PACKED, "(Tensor, Tensor)",
    "Recurrent layers with tanh and packed weights.")
RNN(packed_rnn_relu, "",
    "torch.ops.cfx.packed_rnn_relu.default torch.ops.cfx.", "Tensor",
    CFX_RNN_RELU | PACKED, "(Tensor, Tensor)",
    "Recurrent layers with relu and packed weights.")
