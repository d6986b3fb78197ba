/*
 * random_model -- the text of a model, a node after the other, and the parts that
 * all kinds of models use.
 */
#include "tests/cases/random_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/cases/mutant.h"

int64_t random_below(random_model *m, int64_t n)
{
    return mutant_below(&m->state, n);
}

bool random_chance(random_model *m, int n)
{
    return mutant_chance(&m->state, n);
}

const char *random_word(random_model *m, const char *const *words, int n)
{
    return words[random_below(m, n)];
}

/* ---- Text ---- */

static void put_list(model_text *t, const char *format, va_list list)
{
    size_t room = sizeof(t->at) - t->len;
    int n = vsnprintf(t->at + t->len, room, format, list);
    if (n < 0 || (size_t)n >= room)
        t->full = true;
    else
        t->len += (size_t)n;
}

void model_put(model_text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_list(t, format, list);
    va_end(list);
}

static model_value named(random_model *m, int rank, const int64_t *shape)
{
    model_value v = {.rank = rank};
    snprintf(v.name, sizeof(v.name), "v%d", m->nnodes++);
    memcpy(v.shape, shape, (size_t)rank * sizeof(*shape));
    return v;
}

model_value model_input(random_model *m, int rank, const int64_t *shape,
                        int64_t below)
{
    model_value v = named(m, rank, shape);
    v.below = below;
    model_put(&m->graph, "    %%%s : [num_users=1] = placeholder[target=%s]\n",
              v.name, v.name);
    m->input[m->ninputs++] = v;
    return v;
}

model_value model_tensor(random_model *m, int rank, const int64_t *shape)
{
    model_value v = named(m, rank, shape);
    model_put(&m->tensors, "    t%d: f32[", m->ntensors);
    for (int i = 0; i < rank; i++)
        model_put(&m->tensors, "%s%lld", i ? ", " : "", (long long)shape[i]);
    model_put(&m->tensors, "]\n");
    model_put(&m->graph, "    %%%s : [num_users=1] = get_attr[target=t%d]\n",
              v.name, m->ntensors++);
    return v;
}

static model_value put_call(random_model *m, const model_value *like,
                            const char *op, const char *target,
                            const char *args, va_list list)
{
    model_value v = named(m, like->rank, like->shape);
    model_put(&m->graph, "    %%%s : [num_users=1] = %s[target=%s](args = (",
              v.name, op, target);
    put_list(&m->graph, args, list);
    /* A keyword stands behind the parenthesis that closes the arguments. */
    model_put(&m->graph,
              strstr(args, "kwargs = {") ? ")\n" : ",), kwargs = {})\n");
    return v;
}

model_value model_call(random_model *m, const model_value *like,
                       const char *target, const char *args, ...)
{
    va_list list;
    va_start(list, args);
    model_value v = put_call(m, like, "call_function", target, args, list);
    va_end(list);
    return v;
}

model_value model_method(random_model *m, const model_value *like,
                         const char *name, const char *args, ...)
{
    va_list list;
    va_start(list, args);
    model_value v = put_call(m, like, "call_method", name, args, list);
    va_end(list);
    return v;
}

model_value model_module(random_model *m, const model_value *x,
                         const char *module, ...)
{
    va_list list;
    model_value v = named(m, x->rank, x->shape);
    model_put(&m->modules, "  (m%d): ", m->nmodules);
    va_start(list, module);
    put_list(&m->modules, module, list);
    va_end(list);
    model_put(&m->modules, "\n");
    model_put(&m->graph,
              "    %%%s : [num_users=1] = call_module[target=m%d]"
              "(args = (%%%s,), kwargs = {})\n",
              v.name, m->nmodules++, x->name);
    return v;
}

/* ---- Values ---- */

void model_keep(random_model *m, const model_value *v)
{
    if (m->nvalues < MODEL_VALUES)
        m->value[m->nvalues++] = *v;
}

const model_value *model_any(random_model *m)
{
    return m->nvalues ? &m->value[random_below(m, m->nvalues)] : NULL;
}

const model_value *model_like(random_model *m, const model_value *x)
{
    const model_value *found = NULL;
    int n = 0;
    for (int i = 0; i < m->nvalues; i++)
        if (m->value[i].rank == x->rank && !m->value[i].below &&
            !memcmp(m->value[i].shape, x->shape,
                    (size_t)x->rank * sizeof(*x->shape)) &&
            random_below(m, ++n) == 0)
            found = &m->value[i];
    return found;
}

/* ---- Parts ---- */

static model_value gelu_formula(random_model *m, const model_value *x)
{
    model_value a, b;
    if (random_chance(m, 2)) {
        a = model_call(m, x, "operator.truediv", "%%%s, 1.4142135623730951",
                       x->name);
        a = model_call(m, x, "torch.erf", "%%%s", a.name);
    } else {
        a = model_call(m, x, "torch.pow", "%%%s, 3.0", x->name);
        a = model_call(m, x, "operator.mul", "%%%s, 0.044715", a.name);
        a = model_call(m, x, "operator.add", "%%%s, %%%s", x->name, a.name);
        a = model_call(m, x, "operator.mul", "%%%s, 0.7978845608028654",
                       a.name);
        a = model_call(m, x, "torch.tanh", "%%%s", a.name);
    }
    a = model_call(m, x, "operator.add", "%%%s, 1.0", a.name);
    b = model_call(m, x, "operator.mul", "%%%s, 0.5", x->name);
    return model_call(m, x, "operator.mul", "%%%s, %%%s", b.name, a.name);
}

static model_value written_activation(random_model *m, const model_value *x)
{
    model_value a;
    switch (random_below(m, 4)) {
    case 0:
        a = model_call(m, x, "torch.sigmoid", "%%%s", x->name);
        return model_call(m, x, "operator.mul", "%%%s, %%%s", x->name, a.name);
    case 1:
        a = model_call(m, x, "operator.add", "%%%s, 3", x->name);
        a = model_call(m, x, "torch.clamp", "%%%s, 0, 6", a.name);
        a = model_call(m, x, "operator.truediv", "%%%s, 6", a.name);
        return model_call(m, x, "operator.mul", "%%%s, %%%s", x->name, a.name);
    default: return gelu_formula(m, x);
    }
}

model_value model_activation(random_model *m, model_value x)
{
    static const char *const modules[] = {
        "ReLU()",
        "ReLU(inplace=True)",
        "ReLU6()",
        "ReLU6(inplace=True)",
        "SiLU()",
        "SiLU(inplace=True)",
        "Hardswish()",
        "Hardswish(inplace=True)",
        "Hardsigmoid()",
        "LeakyReLU(negative_slope=0.1)",
        "LeakyReLU(negative_slope=0.2, inplace=True)",
        "ELU(alpha=1.0)",
        "GELU(approximate='none')",
        "GELU(approximate='tanh')",
        "Mish()",
        "Sigmoid()",
        "Tanh()",
        "PReLU(num_parameters=1)",
        "Hardtanh(min_val=-0.5, max_val=1.5)",
        "Softplus(beta=1, threshold=20)",
    };
    static const char *const functions[] = {
        "torch.relu",
        "torch.sigmoid",
        "torch.tanh",
        "torch.relu_",
        "torch.nn.functional.relu",
        "torch.nn.functional.relu6",
        "torch.nn.functional.silu",
        "torch.nn.functional.gelu",
        "torch.nn.functional.hardswish",
        "torch.nn.functional.leaky_relu",
        "torch.ops.aten.relu.default",
        "torch.ops.aten.relu_.default",
        "torch.ops.aten.hardtanh_.default",
        "torch.ops.aten.silu.default",
        "torch.ops.aten.gelu.default",
    };
    switch (random_below(m, 4)) {
    case 0: return written_activation(m, &x);
    case 1:
        return model_call(
            m, &x,
            functions[random_below(m, sizeof(functions) / sizeof(*functions))],
            "%%%s", x.name);
    case 2:
        return model_method(m, &x,
                            RANDOM_WORD(m, "relu", "relu_", "sigmoid", "tanh",
                                        "sigmoid_", "tanh_"),
                            "%%%s", x.name);
    default:
        return model_module(
            m, &x, "%s",
            modules[random_below(m, sizeof(modules) / sizeof(*modules))]);
    }
}

static model_value by_number(random_model *m, const model_value *x)
{
    static const char *const functions[] = {
        "operator.add",  "operator.mul",  "operator.sub",  "operator.truediv",
        "operator.iadd", "operator.imul", "torch.maximum", "torch.add",
        "torch.mul",     "torch.sub",     "torch.rsub",
    };
    const char *f =
        functions[random_below(m, sizeof(functions) / sizeof(*functions))];
    const char *number = RANDOM_WORD(m, "0.5", "2", "1.25", "-1", "1");
    if (!strcmp(f, "torch.maximum"))
        return model_call(m, x, "torch.clamp_min", "%%%s, %s", x->name,
                          number);
    if (random_chance(m, 4) && !strncmp(f, "operator", 8) && f[9] != 'i' &&
        f[9] != 't')
        return model_call(m, x, f, "%s, %%%s", number, x->name);
    return model_call(m, x, f, "%%%s, %s", x->name, number);
}

static model_value by_tensor(random_model *m, const model_value *x)
{
    const model_value *found = model_like(m, x);
    model_value y;
    if (found && !random_chance(m, 5)) {
        y = *found;
    } else {
        int64_t shape[MODEL_RANK];
        for (int i = 0; i < x->rank; i++)
            shape[i] = i && random_chance(m, 2) ? x->shape[i] : 1;
        int cut = x->rank ? (int)random_below(m, x->rank) : 0;
        y = model_tensor(m, x->rank - cut, shape + cut);
    }
    return random_chance(m, 5)
               ? model_method(
                     m, x,
                     RANDOM_WORD(m, "add_", "mul_", "sub_", "add", "mul"),
                     "%%%s, %%%s", x->name, y.name)
           : random_chance(m, 8)
               ? model_call(m, x, "torch.add",
                            "%%%s, %%%s), kwargs = {alpha: 0.5}", x->name,
                            y.name)
               : model_call(m, x,
                            RANDOM_WORD(m, "operator.add", "operator.mul",
                                        "operator.sub", "torch.add",
                                        "torch.maximum", "torch.minimum",
                                        "operator.iadd",
                                        "torch.ops.aten.add.Tensor",
                                        "torch.ops.aten.add_.Tensor",
                                        "torch.ops.aten.mul.Tensor"),
                            "%%%s, %%%s", x->name, y.name);
}

model_value model_pointwise(random_model *m, model_value x)
{
    switch (random_below(m, 5)) {
    case 0: return by_number(m, &x);
    case 1:
        return model_call(m, &x,
                          RANDOM_WORD(m, "torch.sin", "torch.cos", "torch.abs",
                                      "torch.neg", "torch.exp2",
                                      "torch.square", "torch.erf",
                                      "operator.neg", "torch.atan",
                                      "torch.clone", "torch.expm1"),
                          "%%%s", x.name);
    case 2: return model_activation(m, x);
    default: return by_tensor(m, &x);
    }
}

static const char *flag(bool yes)
{
    return yes ? "True" : "False";
}

model_value model_linear(random_model *m, model_value x, int64_t features)
{
    model_value y = x;
    int64_t in = x.shape[x.rank - 1];
    bool bias = !random_chance(m, 3);
    y.shape[y.rank - 1] = features;
    if (!random_chance(m, 3))
        return y = model_module(m, &x,
                                "Linear(in_features=%lld, "
                                "out_features=%lld, bias=%s)",
                                (long long)in, (long long)features,
                                flag(bias)),
               y.shape[y.rank - 1] = features, y;
    bool transposed = random_chance(m, 2);
    model_value w = model_tensor(m, 2,
                                 transposed ? (int64_t[]){in, features}
                                            : (int64_t[]){features, in});
    model_value b = model_tensor(m, 1, &features);
    if (!transposed)
        return bias ? model_call(m, &y, "torch.nn.functional.linear",
                                 "%%%s, %%%s, %%%s", x.name, w.name, b.name)
                    : model_call(m, &y, "torch.ops.aten.linear.default",
                                 "%%%s, %%%s", x.name, w.name);
    if (bias && x.rank == 2 && random_chance(m, 2))
        return model_call(m, &y, "torch.addmm", "%%%s, %%%s, %%%s", b.name,
                          x.name, w.name);
    y = model_call(m, &y, RANDOM_WORD(m, "torch.matmul", "operator.matmul"),
                   "%%%s, %%%s", x.name, w.name);
    return bias ? model_call(m, &y, "operator.add", "%%%s, %%%s", y.name,
                             b.name)
                : y;
}

model_value model_norm(random_model *m, model_value x)
{
    long long n = x.shape[x.rank - 1];
    model_value a, w;
    switch (random_below(m, 4)) {
    case 0:
        w = model_tensor(m, 1, &x.shape[x.rank - 1]);
        return model_call(m, &x, "torch.nn.functional.layer_norm",
                          "%%%s, [%lld], %%%s, %%%s", x.name, n, w.name,
                          w.name);
    case 1: /* RMS norm, as models write it */
        w = model_tensor(m, 1, &x.shape[x.rank - 1]);
        a = model_method(m, &x, "pow", "%%%s, 2", x.name);
        a.shape[a.rank - 1] = 1;
        a = model_method(m, &a, "mean", "%%%s, -1), kwargs = {keepdim: True}",
                         a.name);
        a = model_call(m, &a, "operator.add", "%%%s, 1e-05", a.name);
        a = model_call(m, &a, "torch.rsqrt", "%%%s", a.name);
        a = model_call(m, &x, "operator.mul", "%%%s, %%%s", x.name, a.name);
        return model_call(m, &x, "operator.mul", "%%%s, %%%s", w.name, a.name);
    default:
        return model_module(m, &x,
                            "LayerNorm((%lld,), eps=1e-05, "
                            "elementwise_affine=True)",
                            n);
    }
}

/* A view, or a copy, of the same elements in another order or a part of them. */
model_value model_view(random_model *m, model_value x)
{
    model_value y = x;
    int a = (int)random_below(m, x.rank), b = (int)random_below(m, x.rank);
    if (x.rank < 2)
        return model_method(m, &x, "clone", "%%%s", x.name);
    switch (random_below(m, 4)) {
    case 0:
        y.shape[a] = x.shape[b];
        y.shape[b] = x.shape[a];
        return model_call(m, &y, "torch.transpose", "%%%s, %d, %d", x.name, a,
                          b);
    case 1:
        if (x.shape[a] < 2)
            return model_method(m, &x, "contiguous", "%%%s", x.name);
        y.shape[a] = 1 + random_below(m, x.shape[a] - 1);
        return model_call(
            m, &y, "torch.narrow", "%%%s, %d, %lld, %lld", x.name, a,
            (long long)random_below(m, x.shape[a] - y.shape[a] + 1),
            (long long)y.shape[a]);
    case 2:
        y.shape[a] *= 2;
        return model_call(m, &y, "torch.cat", "[%%%s, %%%s], %d", x.name,
                          x.name, a);
    default:
        y.shape[x.rank - 2] *= y.shape[x.rank - 1];
        y.rank--;
        return model_method(m, &y, "flatten", "%%%s, -2", x.name);
    }
}

/* ---- The whole ---- */

/* Return the last value, and some of the others. */
static void put_output(random_model *m)
{
    const model_value *last = &m->value[m->nvalues - 1];
    model_put(&m->graph, "    return (%%%s", last->name);
    for (int i = random_chance(m, 2) ? (int)random_below(m, 3) : 0; i > 0; i--)
        model_put(&m->graph, ", %%%s", model_any(m)->name);
    model_put(&m->graph, ",)\n");
}

bool random_model_make(random_model *m, uint64_t seed)
{
    static const struct {
        const char *kind;
        void (*make)(random_model *m);
    } kinds[] = {
        {"cnn", random_model_cnn},
        {"transformer", random_model_transformer},
        {"chain", random_model_chain},
    };
    size_t kind = seed % (sizeof(kinds) / sizeof(*kinds));
    memset(m, 0, sizeof(*m));
    m->state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    m->kind = kinds[kind].kind;
    kinds[kind].make(m);
    put_output(m);
    int n = snprintf(m->text, sizeof(m->text),
                     "# cfx 1\nNet(\n%s)\n\n%s%s%sgraph():\n%s", m->modules.at,
                     m->ntensors ? "state:\n" : "", m->tensors.at,
                     m->ntensors ? "\n" : "", m->graph.at);
    return !m->modules.full && !m->tensors.full && !m->graph.full && n > 0 &&
           (size_t)n < sizeof(m->text);
}
