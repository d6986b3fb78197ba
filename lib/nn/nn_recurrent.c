/*
 * nn_recurrent -- LSTM, GRU and RNN over sequences, and torch.ao's dynamic LSTM and
 * GRU, whose weights are integers.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/module.h>
#include <cfx/ops.h>

/* More layers are refused at once. */
enum { MAX_LAYERS = 1024 };

#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

enum { MAX_WEIGHTS = 5, NAME_SIZE = 48 };

static const char *const weight_names[] = {"weight_ih", "weight_hh", "bias_ih",
                                           "bias_hh", "weight_hr"};

/* weight_ih_l0, weight_hh_l0_reverse */
static void weight_name(char *buf, int i, int64_t layer, bool reverse)
{
    snprintf(buf, NAME_SIZE, "%s_l%lld%s", weight_names[i], (long long)layer,
             reverse ? "_reverse" : "");
}

static int64_t gates_of(const cfx_module *m)
{
    const char *name = cfx_module_schema(m)->name;
    return strstr(name, "LSTM") ? 4 : strstr(name, "GRU") ? 3 : 1;
}

/* The output width of one direction of a layer. */
static cfx_dim out_width(const cfx_module *m)
{
    int64_t proj = cfx_attr_int(m, "proj_size");
    return proj ? cfx_dim_int(proj) : cfx_attr_dim(m, "hidden_size");
}

static cfx_status declare(cfx_module *self, int64_t layer, bool reverse,
                          cfx_dim in, cfx_error *err)
{
    cfx_dim hidden = cfx_attr_dim(self, "hidden_size"), out = out_width(self);
    cfx_dim rows = cfx_dim_mul(NULL, hidden, cfx_dim_int(gates_of(self)));
    cfx_dim shape[MAX_WEIGHTS][2] = {
        {rows, in}, {rows, out}, {rows, rows}, {rows, rows}, {out, hidden}};
    char name[NAME_SIZE];
    cfx_status st = CFX_OK;
    for (int i = 0; i < MAX_WEIGHTS && !st; i++) {
        bool bias = i == 2 || i == 3;
        if ((bias && !cfx_attr_bool(self, "bias")) ||
            (i == 4 && !cfx_attr_int(self, "proj_size")))
            continue;
        weight_name(name, i, layer, reverse);
        st = cfx_module_param(self, name, CFX_F32, bias ? 1 : 2, shape[i],
                              err);
    }
    return st;
}

static cfx_status check(cfx_module *self, cfx_error *err)
{
    const char *kind = cfx_attr_str(self, "nonlinearity");
    int64_t proj = cfx_attr_int(self, "proj_size");
    if (kind && strcmp(kind, "tanh") && strcmp(kind, "relu"))
        return cfx_fail(
            err, CFX_EINVAL,
            "Unknown nonlinearity '%s'. Select from 'tanh' or 'relu'.", kind);
    if (cfx_attr_int(self, "num_layers") < 1)
        return cfx_fail(err, CFX_EINVAL,
                        "num_layers must be greater than zero");
    if (cfx_attr_int(self, "num_layers") > MAX_LAYERS)
        return cfx_fail(err, CFX_EINVAL, "%lld layers are more than %d",
                        (long long)cfx_attr_int(self, "num_layers"),
                        MAX_LAYERS);
    if (proj < 0 || (proj && proj >= cfx_attr_int(self, "hidden_size")))
        return cfx_fail(err, CFX_EINVAL,
                        "proj_size has to be smaller than hidden_size");
    return CFX_OK;
}

static cfx_status init(cfx_module *self, cfx_error *err)
{
    int64_t directions = cfx_attr_bool(self, "bidirectional") ? 2 : 1;
    cfx_dim in = cfx_attr_dim(self, "input_size");
    cfx_status st = check(self, err);
    for (int64_t l = 0; !st && l < cfx_attr_int(self, "num_layers"); l++) {
        for (int64_t d = 0; d < directions && !st; d++)
            st = declare(self, l, d == 1, in, err);
        in = cfx_dim_mul(NULL, out_width(self), cfx_dim_int(directions));
    }
    return st;
}

/* ---- Weights of integers ---- */

enum { SCALED_NAME_SIZE = NAME_SIZE + 16 };

static void scaled_name(char *buf, const char *name, const char *what)
{
    snprintf(buf, SCALED_NAME_SIZE, "%.*s_%s", NAME_SIZE - 1, name, what);
}

/* Let a weight be of int8, with a scale for each row. */
static cfx_status quantize_weight(cfx_module *self, const char *name,
                                  cfx_error *err)
{
    const cfx_tensor *w = cfx_module_state(self, name)->tensor;
    const cfx_dim rows = w->shape[0];
    char scale[SCALED_NAME_SIZE], zero[SCALED_NAME_SIZE];
    cfx_tensor *t;
    cfx_status st = cfx_tensor_meta(&t, cfx_module_context(self), CFX_I8,
                                    w->rank, w->shape, NULL, err);
    if (st)
        return st;
    st = cfx_module_set(self, name, t, err);
    cfx_tensor_unref(t);
    scaled_name(scale, name, "scale");
    scaled_name(zero, name, "zero_point");
    if (!st)
        st = cfx_module_buffer(self, scale, CFX_F32, 1, &rows, err);
    return st ? st : cfx_module_buffer(self, zero, CFX_I64, 1, &rows, err);
}

static cfx_status init_dynamic(cfx_module *self, cfx_error *err)
{
    char name[NAME_SIZE];
    cfx_status st = init(self, err);
    int n = cfx_attr_bool(self, "bidirectional") ? 4 : 2;
    for (int64_t l = 0; !st && l < cfx_attr_int(self, "num_layers"); l++)
        for (int i = 0; !st && i < n; i++) {
            weight_name(name, i % 2, l, i >= 2);
            st = quantize_weight(self, name, err);
        }
    return st;
}

/* A parameter, as floats if it is of integers. */
static cfx_value floats_of(cfx_scope *s, cfx_module *self, const char *name)
{
    char scale[SCALED_NAME_SIZE], zero[SCALED_NAME_SIZE];
    const cfx_tensor *w = cfx_module_state(self, name)->tensor;
    if (!w || w->dtype != CFX_I8)
        return P(name);
    scaled_name(scale, name, "scale");
    scaled_name(zero, name, "zero_point");
    return cfx_dequantize_per_channel(s, P(name), P(scale), P(zero),
                                      cfx_int(0), cfx_int(-128), cfx_int(127),
                                      cfx_value_of_dtype(CFX_I8));
}

/* ---- Forward ---- */

static bool is_dynamic(const cfx_module *self)
{
    return cfx_module_schema(self)->name[0] == 'D';
}

/* All weights in the order of declaration. */
static cfx_value weights_of(cfx_scope *s, cfx_module *self)
{
    cfx_value chunk[256], all = cfx_none();
    size_t n = cfx_module_nstate(self);
    if (n > sizeof(chunk) / sizeof(*chunk))
        return cfx_scope_fail(s, CFX_EUNSUPPORTED, "%zu weights are too many",
                              n);
    if (is_dynamic(self)) /* scales and zero points come last */
        n = n * (cfx_attr_bool(self, "bias") ? 4 : 2) /
            (cfx_attr_bool(self, "bias") ? 8 : 6);
    for (size_t i = 0; i < n; i++)
        chunk[i] = floats_of(s, self, cfx_module_state_at(self, i)->name);
    all = cfx_list_of(s, CFX_LIST, n, chunk);
    return all;
}

static cfx_value zeros(cfx_scope *s, cfx_module *self, cfx_value x,
                       cfx_dim width)
{
    bool batched = cfx_rank(s, x) == 3;
    int64_t n = cfx_attr_int(self, "num_layers") *
                (cfx_attr_bool(self, "bidirectional") ? 2 : 1);
    cfx_value shape[3] = {cfx_int(n)};
    if (batched)
        shape[1] = cfx_size(s, x, !cfx_attr_bool(self, "batch_first"));
    shape[1 + batched] = cfx_value_of_dim(width);
    cfx_value args[] = {x,
                        cfx_list_of(s, CFX_TUPLE, (size_t)2 + batched, shape)};
    return cfx_call_method(s, "new_zeros", cfx_args_of(args, 2));
}

/* The operators' arguments after the weights. */
#define TAIL                                                                  \
    A("bias"), A("num_layers"), cfx_float(cfx_attr_double(self, "dropout")),  \
        cfx_bool(cfx_module_training(self)), A("bidirectional"),              \
        A("batch_first")

static cfx_value LSTM_forward(cfx_scope *s, cfx_module *self,
                              const cfx_value *in)
{
    cfx_value hx = in[1];
    if (cfx_value_is_none(hx))
        hx = cfx_list(
            s, zeros(s, self, in[0], out_width(self)),
            zeros(s, self, in[0], cfx_attr_dim(self, "hidden_size")));
    cfx_value w = weights_of(s, self);
    cfx_value all = is_dynamic(self) ? cfx_dynamic_lstm(s, in[0], hx, w, TAIL)
                                     : cfx_lstm(s, in[0], hx, w, TAIL);
    return cfx_tuple(s, cfx_nth(s, all, 0),
                     cfx_tuple(s, cfx_nth(s, all, 1), cfx_nth(s, all, 2)));
}

static cfx_value GRU_forward(cfx_scope *s, cfx_module *self,
                             const cfx_value *in)
{
    cfx_value hx = in[1];
    if (cfx_value_is_none(hx))
        hx = zeros(s, self, in[0], out_width(self));
    cfx_value w = weights_of(s, self);
    return is_dynamic(self) ? cfx_dynamic_gru(s, in[0], hx, w, TAIL)
                            : cfx_gru(s, in[0], hx, w, TAIL);
}

static cfx_value RNN_forward(cfx_scope *s, cfx_module *self,
                             const cfx_value *in)
{
    cfx_value hx = in[1];
    bool relu = !strcmp(cfx_attr_str(self, "nonlinearity"), "relu");
    if (cfx_value_is_none(hx))
        hx = zeros(s, self, in[0], out_width(self));
    cfx_value w = weights_of(s, self);
    return relu ? cfx_rnn_relu(s, in[0], hx, w, TAIL)
                : cfx_rnn_tanh(s, in[0], hx, w, TAIL);
}

#define RECURRENT(type, of, init_, kind, proj, shown, hx, doc_)               \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(SymInt input_size, SymInt hidden_size, int "        \
                        "num_layers=1, " kind "bool bias=True, bool "         \
                        "batch_first=False, Scalar dropout=0.0, bool "        \
                        "bidirectional=False" proj ")",                       \
        .repr = "$input_size $hidden_size " shown "?num_layers ?bias "        \
                "?batch_first ?dropout ?bidirectional",                       \
        .numeric = "nonlinearity",                                            \
        .doc = doc_,                                                          \
        .init = init_,                                                        \
        .forward_schema = "forward(Tensor input, " hx " hx=None) -> "         \
                          "(Tensor, any)",                                    \
        .forward = of##_forward,                                              \
    };

RECURRENT(LSTM, LSTM, init, "", ", int proj_size=0", "?proj_size ",
          "Tensor[]?", "Layers of long short-term memory.")
RECURRENT(GRU, GRU, init, "", "", "", "Tensor?",
          "Layers of gated recurrent units.")
RECURRENT(RNN, RNN, init, "str nonlinearity='tanh', ", "", "", "Tensor?",
          "Recurrent layers with tanh or relu.")
RECURRENT(DynamicQuantizedLSTM, LSTM, init_dynamic, "", "", "", "Tensor[]?",
          "As LSTM, of inputs that are quantized and back.")
RECURRENT(DynamicQuantizedGRU, GRU, init_dynamic, "", "", "", "Tensor?",
          "As GRU, of inputs that are quantized and back.")
