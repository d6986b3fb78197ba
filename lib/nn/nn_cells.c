/*
 * nn_cells -- one step of an LSTM, a GRU and an RNN.
 */
#include <string.h>

#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

static cfx_status init(cfx_module *self, int64_t gates, cfx_error *err)
{
    static const char *const name[] = {"weight_ih", "weight_hh", "bias_ih",
                                       "bias_hh"};
    cfx_dim hidden = cfx_attr_dim(self, "hidden_size");
    cfx_dim rows = cfx_dim_mul(NULL, hidden, cfx_dim_int(gates));
    cfx_dim shape[2][2] = {{rows, cfx_attr_dim(self, "input_size")},
                           {rows, hidden}};
    bool bias = cfx_attr_bool(self, "bias");
    const char *kind = cfx_attr_str(self, "nonlinearity");
    cfx_status st = CFX_OK;
    if (kind && strcmp(kind, "tanh") && strcmp(kind, "relu"))
        return cfx_fail(err, CFX_EINVAL, "Unknown nonlinearity: %s", kind);
    for (int i = 0; i < 4 && !st; i++)
        st = i < 2 || bias ? cfx_module_param(self, name[i], CFX_F32,
                                              i < 2 ? 2 : 1, shape[i % 2], err)
                           : cfx_module_no_param(self, name[i], err);
    return st;
}

/* Make a vector x a batch of one. */
static cfx_value batched(cfx_scope *s, cfx_value x, bool vector)
{
    return vector ? cfx_unsqueeze(s, x, cfx_int(0)) : x;
}

static cfx_value unbatched(cfx_scope *s, cfx_value x, bool vector)
{
    return vector ? cfx_squeeze(s, x, .dim = cfx_int(0)) : x;
}

/* False, after failing the scope, unless x is a vector or a matrix. */
static bool read_rank(cfx_scope *s, cfx_value x, bool *vector)
{
    int rank = cfx_rank(s, x);
    *vector = rank == 1;
    if (rank != 1 && rank != 2)
        cfx_scope_fail(s, CFX_ESHAPE,
                       "Expected input to be 1D or 2D, got %dD instead", rank);
    return !cfx_scope_failed(s);
}

static cfx_value zeros(cfx_scope *s, cfx_module *self, cfx_value x)
{
    return cfx_new_zeros(s, x,
                         cfx_tuple(s, cfx_size(s, x, 0), A("hidden_size")));
}

#define WEIGHTS                                                               \
    P("weight_ih"), P("weight_hh"), .b_ih = P("bias_ih"), .b_hh = P("bias_hh")

static cfx_value LSTMCell_forward(cfx_scope *s, cfx_module *self,
                                  const cfx_value *in)
{
    cfx_value x = in[0], state[2] = {cfx_none(), cfx_none()};
    bool vector;
    if (!read_rank(s, x, &vector))
        return cfx_none();
    x = batched(s, x, vector);
    for (int i = 0; i < 2; i++)
        state[i] = cfx_value_is_none(in[1])
                       ? zeros(s, self, x)
                       : batched(s, cfx_nth(s, in[1], i), vector);
    cfx_value y = cfx_lstm_cell(s, x, cfx_list(s, state[0], state[1]),
                                WEIGHTS);
    return cfx_tuple(s, unbatched(s, cfx_nth(s, y, 0), vector),
                     unbatched(s, cfx_nth(s, y, 1), vector));
}

/* One step of a cell with a single state. */
static cfx_value step(cfx_scope *s, cfx_module *self, const cfx_value *in,
                      const char *kind)
{
    cfx_value x = in[0], h = in[1];
    bool vector;
    if (!read_rank(s, x, &vector))
        return cfx_none();
    x = batched(s, x, vector);
    h = cfx_value_is_none(h) ? zeros(s, self, x) : batched(s, h, vector);
    h = !kind                   ? cfx_gru_cell(s, x, h, WEIGHTS)
        : !strcmp(kind, "relu") ? cfx_rnn_relu_cell(s, x, h, WEIGHTS)
                                : cfx_rnn_tanh_cell(s, x, h, WEIGHTS);
    return unbatched(s, h, vector);
}

static cfx_value GRUCell_forward(cfx_scope *s, cfx_module *self,
                                 const cfx_value *in)
{
    return step(s, self, in, NULL);
}

static cfx_value RNNCell_forward(cfx_scope *s, cfx_module *self,
                                 const cfx_value *in)
{
    return step(s, self, in, cfx_attr_str(self, "nonlinearity"));
}

#define CELL(type, gates, kind, shown, hx, returns, doc_)                     \
    static cfx_status type##_init(cfx_module *self, cfx_error *err)           \
    {                                                                         \
        return init(self, gates, err);                                        \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(SymInt input_size, SymInt hidden_size, bool "       \
                        "bias=True" kind ")",                                 \
        .repr = "$input_size $hidden_size ?bias" shown,                       \
        .doc = doc_,                                                          \
        .init = type##_init,                                                  \
        .forward_schema = "forward(Tensor input, " hx                         \
                          " hx=None) -> " returns,                            \
        .forward = type##_forward,                                            \
    };

CELL(LSTMCell, 4, "", "", "Tensor[]?", "(Tensor, Tensor)",
     "One step of long short-term memory.")
CELL(GRUCell, 3, "", "", "Tensor?", "Tensor",
     "One step of a gated recurrent unit.")
CELL(RNNCell, 1, ", str nonlinearity='tanh'", " ?=nonlinearity", "Tensor?",
     "Tensor", "One recurrent step with tanh or relu.")
