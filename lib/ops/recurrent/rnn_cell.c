/*
 * rnn_cell -- one step of a recurrent layer: lstm_cell, gru_cell and the cells
 * with tanh and relu.
 *
 * shape   input (N, I) and states (N, H); the new states have theirs.
 * cost    that of the layer over a sequence of one step, which it is.
 */
#include "kernel/rnn_kernel.h"
#include "op/composite.h"
#include "op/infer.h"

enum { INPUT, HX, W_IH, W_HH, B_IH, B_HH };

static const char *const layers[] = {
    [CFX_RNN_LSTM] = "torch.lstm",
    [CFX_RNN_GRU] = "torch.gru",
    [CFX_RNN_TANH] = "torch.rnn_tanh",
    [CFX_RNN_RELU] = "torch.rnn_relu",
};

static cfx_value first(cfx_scope *s, cfx_value x)
{
    return CFX_CALL(s, "torch.squeeze", x, cfx_int(0));
}

/* (N, ...) as a sequence, or a layer, of one. */
static cfx_value one_of(cfx_scope *s, cfx_value x)
{
    return CFX_CALL(s, "torch.unsqueeze", x, cfx_int(0));
}

static cfx_value cell_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_value *in = call->in;
    bool lstm = call->op->code == CFX_RNN_LSTM;
    bool biases = in[B_IH].kind != CFX_NONE;
    cfx_value hx = in[HX];
    if (in[INPUT].u.tensor->rank != 2)
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "expected input of rank 2, but got %d",
                              in[INPUT].u.tensor->rank);
    if (biases != (in[B_HH].kind != CFX_NONE))
        return cfx_scope_fail(s, CFX_EINVAL, "expected two biases or none");
    if (lstm && hx.u.seq->len != 2)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "lstm_cell expects two hidden states");
    hx = lstm ? cfx_list(s, one_of(s, hx.u.seq->item[0]),
                         one_of(s, hx.u.seq->item[1]))
              : one_of(s, hx);
    cfx_value weights = cfx_list_of(s, CFX_LIST, biases ? 4 : 2, &in[W_IH]);
    cfx_value all = CFX_CALL(s, layers[call->op->code], one_of(s, in[INPUT]),
                             hx, weights, cfx_bool(biases), cfx_int(1),
                             cfx_float(0), cfx_bool(false), cfx_bool(false),
                             cfx_bool(false));
    cfx_value h = first(s, cfx_nth(s, all, 1));
    return lstm ? cfx_tuple(s, h, first(s, cfx_nth(s, all, 2))) : h;
}

CFX_COMPOSITE(cell)

#define CELL(name, state, mode, returns, doc_)                                \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name                                                       \
        "(Tensor input, " state " hx, Tensor w_ih, Tensor "                   \
        "w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> " returns,            \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .code = mode,                                                         \
        .infer = cell_infer,                                                  \
        .cost = cell_cost,                                                    \
        .run = cell_run,                                                      \
    };

CELL(lstm_cell, "Tensor[]", CFX_RNN_LSTM, "(Tensor, Tensor)",
     "One step of long short-term memory.")
CELL(gru_cell, "Tensor", CFX_RNN_GRU, "Tensor",
     "One step of a gated recurrent unit.")
CELL(rnn_tanh_cell, "Tensor", CFX_RNN_TANH, "Tensor",
     "One recurrent step with tanh.")
CELL(rnn_relu_cell, "Tensor", CFX_RNN_RELU, "Tensor",
     "One recurrent step with relu.")
