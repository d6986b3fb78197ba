/*
 * random_cnn -- convolutional networks by chance: layers with norms and activations,
 * inverted residuals, squeeze and excitation, branches that are joined, pooling.
 */
#include <stdio.h>
#include <string.h>

#include "tests/cases/random_model.h"

/* Axes of images behind batch and channels: 2, rarely 1 or 3. */
static int spatial(const model_value *x)
{
    return x->rank - 2;
}

/* "(a, b)" for as many axes as images have. */
static const char *tuple(char *text, size_t size, const int64_t *v, int n)
{
    size_t len = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%lld",
                                i ? ", " : "", (long long)v[i]);
    snprintf(text + len, size - len, n == 1 ? ",)" : ")");
    return text;
}

typedef struct conv {
    int64_t out, groups;
    int64_t kernel[3], stride[3], pad[3], dilation[3];
    bool bias, transposed;
} conv;

static int64_t channels(random_model *m)
{
    static const int64_t some[] = {1,  2,  3,  4,  6,  8,  12,
                                   16, 16, 17, 24, 32, 33, 48};
    return some[random_below(m, sizeof(some) / sizeof(*some))];
}

/* A divisor of n, small ones first. */
static int64_t divisor(random_model *m, int64_t n)
{
    int64_t d = 1 + random_below(m, n < 8 ? n : 8);
    while (n % d)
        d--;
    return d;
}

static conv any_conv(random_model *m, const model_value *x, bool transposed)
{
    static const int64_t kernels[] = {1, 1, 1, 3, 3, 3, 3, 2, 5, 7};
    conv c = {.out = channels(m), .groups = 1, .transposed = transposed};
    int64_t k = kernels[random_below(m, 10)];
    bool same = !random_chance(m, 4);
    c.bias = random_chance(m, 2);
    for (int i = 0; i < 3; i++) {
        c.kernel[i] = random_chance(m, 8) ? 1 + random_below(m, 3) : k;
        c.stride[i] = 1;
        c.dilation[i] = 1;
    }
    if (random_chance(m, 4))
        c.stride[0] = c.stride[1] = c.stride[2] = 2;
    if (random_chance(m, 8))
        c.dilation[0] = c.dilation[1] = c.dilation[2] = 2;
    for (int i = 0; i < 3; i++)
        c.pad[i] = same ? c.dilation[i] * (c.kernel[i] - 1) / 2
                        : random_below(m, c.kernel[i] / 2 + 1);
    if (random_chance(m, 4) && !transposed)
        c.groups = c.out = x->shape[1];
    else if (random_chance(m, 8)) {
        c.groups = divisor(m, x->shape[1]);
        c.out = c.groups * (1 + random_below(m, 6));
    }
    return c;
}

static bool shape_of(model_value *y, const conv *c, const model_value *x)
{
    *y = *x;
    y->shape[1] = c->out;
    for (int i = 0; i < spatial(x); i++) {
        int64_t window = c->dilation[i] * (c->kernel[i] - 1) + 1;
        int64_t n = x->shape[i + 2];
        y->shape[i + 2] = c->transposed
                              ? (n - 1) * c->stride[i] - 2 * c->pad[i] + window
                              : (n + 2 * c->pad[i] - window) / c->stride[i] +
                                    1;
        if ((!c->transposed && n + 2 * c->pad[i] < window) ||
            y->shape[i + 2] < 1 || y->shape[i + 2] > 40)
            return false;
    }
    return true;
}

static const char *flag(bool yes)
{
    return yes ? "True" : "False";
}

static model_value conv_module(random_model *m, const model_value *y,
                               const conv *c, const model_value *x)
{
    char k[64], s[64], p[64], d[64];
    int n = spatial(x);
    model_value v = model_module(
        m, x,
        "Conv%s%dd(%lld, %lld, kernel_size=%s, stride=%s, padding=%s, "
        "dilation=%s, groups=%lld, bias=%s)",
        c->transposed ? "Transpose" : "", n, (long long)x->shape[1],
        (long long)c->out, tuple(k, sizeof(k), c->kernel, n),
        tuple(s, sizeof(s), c->stride, n), tuple(p, sizeof(p), c->pad, n),
        tuple(d, sizeof(d), c->dilation, n), (long long)c->groups,
        flag(c->bias));
    memcpy(v.shape, y->shape, sizeof(v.shape));
    return v;
}

/* The weight is a tensor of the model, as in what torch.export writes. */
static model_value conv_function(random_model *m, const model_value *y,
                                 const conv *c, const model_value *x)
{
    char s[64], p[64], d[64], bias[MODEL_NAME + 1] = "None";
    int n = spatial(x);
    int64_t shape[MODEL_RANK] = {c->out, x->shape[1] / c->groups};
    if (c->transposed) {
        shape[0] = x->shape[1];
        shape[1] = c->out / c->groups;
    }
    memcpy(shape + 2, c->kernel, (size_t)n * sizeof(*shape));
    model_value w = model_tensor(m, n + 2, shape);
    if (c->bias)
        snprintf(bias, sizeof(bias), "%%%s", model_tensor(m, 1, &c->out).name);
    tuple(s, sizeof(s), c->stride, n);
    tuple(p, sizeof(p), c->pad, n);
    tuple(d, sizeof(d), c->dilation, n);
    if (c->transposed || random_chance(m, 2))
        return model_call(m, y, "torch.ops.aten.convolution.default",
                          "%%%s, %%%s, %s, %s, %s, %s, %s, [0], %lld", x->name,
                          w.name, bias, s, p, d, flag(c->transposed),
                          (long long)c->groups);
    char name[64];
    snprintf(name, sizeof(name), "torch.ops.aten.conv%dd.default", n);
    return model_call(m, y, name, "%%%s, %%%s, %s, %s, %s, %s, %lld", x->name,
                      w.name, bias, s, p, d, (long long)c->groups);
}

static model_value add_conv(random_model *m, const model_value *x, conv c)
{
    model_value y;
    if (!shape_of(&y, &c, x))
        return *x;
    return random_chance(m, 3) ? conv_function(m, &y, &c, x)
                               : conv_module(m, &y, &c, x);
}

static model_value batch_norm(random_model *m, model_value x)
{
    model_value w, v;
    if (!random_chance(m, 4))
        return model_module(m, &x,
                            "BatchNorm%dd(%lld, eps=1e-05, momentum=0.1, "
                            "affine=%s, track_running_stats=True)",
                            spatial(&x), (long long)x.shape[1],
                            flag(!random_chance(m, 6)));
    w = model_tensor(m, 1, &x.shape[1]);
    v = model_call(m, &w, "torch.square", "%%%s", w.name);
    if (random_chance(m, 2))
        return model_call(m, &x, "torch.nn.functional.batch_norm",
                          "%%%s, %%%s, %%%s, %%%s, %%%s, False, 0.1, 1e-05",
                          x.name, w.name, v.name, w.name, w.name);
    x = model_call(
        m, &x, "torch.ops.aten._native_batch_norm_legit_no_training.default",
        "%%%s, %%%s, %%%s, %%%s, %%%s, 0.1, 1e-05", x.name, w.name, w.name,
        w.name, v.name);
    return model_call(m, &x, "operator.getitem", "%%%s, 0", x.name);
}

/* A convolution with what mostly follows one. */
static model_value layer(random_model *m, model_value x, const conv *c)
{
    x = add_conv(m, &x, *c);
    if (!random_chance(m, 3))
        x = batch_norm(m, x);
    return random_chance(m, 4) ? x : model_activation(m, x);
}

static conv pointwise_conv(random_model *m, int64_t out)
{
    return (conv){.out = out,
                  .groups = 1,
                  .kernel = {1, 1, 1},
                  .stride = {1, 1, 1},
                  .dilation = {1, 1, 1},
                  .bias = random_chance(m, 2)};
}

static model_value add_residual(random_model *m, model_value x)
{
    const model_value *found = model_like(m, &x);
    if (!found)
        return x;
    model_value y = *found;
    x = model_call(m, &x,
                   RANDOM_WORD(m, "operator.add", "torch.add", "operator.iadd",
                               "torch.ops.aten.add.Tensor",
                               "torch.ops.aten.add_.Tensor", "operator.mul"),
                   "%%%s, %%%s", x.name, y.name);
    return random_chance(m, 2) ? model_activation(m, x) : x;
}

/* ---- Blocks ---- */

static model_value squeeze(random_model *m, model_value x)
{
    model_value s = x, one;
    conv down = pointwise_conv(m, 1 + random_below(m, 8));
    conv up = pointwise_conv(m, x.shape[1]);
    for (int i = 2; i < x.rank; i++)
        s.shape[i] = 1;
    one = s;
    if (spatial(&x) == 2 && random_chance(m, 2)) {
        s = model_call(m, &one, "torch.mean",
                       "%%%s, [2, 3]), kwargs = {keepdim: True}", x.name);
    } else {
        s = model_module(m, &x, "AdaptiveAvgPool%dd(output_size=1)",
                         spatial(&x));
        memcpy(s.shape, one.shape, sizeof(s.shape));
    }
    s = add_conv(m, &s, down);
    s = model_activation(m, s);
    s = add_conv(m, &s, up);
    s = model_call(
        m, &s,
        RANDOM_WORD(m, "torch.sigmoid", "torch.nn.functional.hardsigmoid"),
        "%%%s", s.name);
    return random_chance(m, 2) ? model_call(m, &x, "operator.mul",
                                            "%%%s, %%%s", x.name, s.name)
                               : model_call(m, &x, "operator.mul",
                                            "%%%s, %%%s", s.name, x.name);
}

static model_value inverted_residual(random_model *m, model_value x)
{
    int64_t wide = x.shape[1] * (1 + random_below(m, 3));
    conv deep = any_conv(m, &x, false), up = pointwise_conv(m, wide);
    conv down = pointwise_conv(m,
                               random_chance(m, 2) ? x.shape[1] : channels(m));
    model_value y = layer(m, x, &up);
    if (y.shape[1] != wide)
        return y;
    deep.groups = deep.out = wide;
    y = layer(m, y, &deep);
    if (random_chance(m, 3))
        y = squeeze(m, y);
    y = add_conv(m, &y, down);
    y = batch_norm(m, y);
    return add_residual(m, y);
}

static model_value pool(random_model *m, model_value x)
{
    model_value y = x;
    int n = spatial(&x);
    bool max = random_chance(m, 2), even = random_chance(m, 2);
    int64_t k = even ? 2 : 3;
    int64_t s = random_chance(m, 2) ? 2 : 1, p = even ? 0 : 1;
    if (random_chance(m, 6) && n == 2) {
        y.shape[2] = 1 + random_below(m, 4);
        y.shape[3] = 1 + random_below(m, 4);
        return model_call(m, &y, "torch.nn.functional.adaptive_avg_pool2d",
                          "%%%s, [%lld, %lld]", x.name, (long long)y.shape[2],
                          (long long)y.shape[3]);
    }
    for (int i = 2; i < x.rank; i++) {
        if (x.shape[i] + 2 * p < k)
            return x;
        y.shape[i] = (x.shape[i] + 2 * p - k) / s + 1;
    }
    model_value v =
        max ? model_module(m, &x,
                           "MaxPool%dd(kernel_size=%lld, stride=%lld, "
                           "padding=%lld, dilation=1, ceil_mode=False)",
                           n, (long long)k, (long long)s, (long long)p)
            : model_module(m, &x,
                           "AvgPool%dd(kernel_size=%lld, stride=%lld, "
                           "padding=%lld)",
                           n, (long long)k, (long long)s, (long long)p);
    memcpy(v.shape, y.shape, sizeof(v.shape));
    return v;
}

/* Join x with others of as many pixels, of the channels of a branch. */
static model_value join(random_model *m, model_value x)
{
    char list[8 * MODEL_NAME] = "";
    size_t len = 0;
    int64_t sum = 0;
    int n = 1 + (int)random_below(m, 3);
    for (int i = 0; i <= n; i++) {
        conv c = any_conv(m, &x, false);
        model_value y = x;
        if (i && random_chance(m, 2) && model_like(m, &x))
            y = *model_like(m, &x);
        else if (i)
            y = layer(m, x, &c);
        if (memcmp(y.shape + 2, x.shape + 2,
                   (size_t)spatial(&x) * sizeof(*x.shape)) != 0)
            y = x;
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%%%s",
                                i ? ", " : "", y.name);
        sum += y.shape[1];
    }
    x.shape[1] = sum;
    return model_call(m, &x, "torch.cat", "[%s], 1", list);
}

static model_value split(random_model *m, model_value x)
{
    model_value y = x;
    if (x.shape[1] % 2)
        return x;
    y.shape[1] /= 2;
    y = model_call(m, &y, "torch.chunk", "%%%s, 2, 1", x.name);
    model_value a = model_call(m, &y, "operator.getitem", "%%%s, 0", y.name);
    model_value b = model_call(m, &y, "operator.getitem", "%%%s, 1", y.name);
    model_keep(m, &a);
    return b;
}

/* Channels of groups are mixed, as ShuffleNet does. */
static model_value shuffle(random_model *m, model_value x)
{
    model_value y = x;
    long long g = divisor(m, x.shape[1]), n = x.shape[0], c = x.shape[1] / g;
    long long h = x.shape[2], w = x.shape[3];
    if (x.rank != 4)
        return x;
    n = random_chance(m, 2) ? n : -1;
    y = model_method(m, &y, "view", "%%%s, %lld, %lld, %lld, %lld, %lld",
                     x.name, n, g, c, h, w);
    y = model_call(m, &y, "torch.transpose", "%%%s, 1, 2", y.name);
    y = model_method(m, &y, "contiguous", "%%%s", y.name);
    return model_method(m, &x, "view", "%%%s, %lld, %lld, %lld, %lld", y.name,
                        n, g * c, h, w);
}

static model_value resize(random_model *m, model_value x)
{
    model_value y = x;
    if (x.rank != 4 || x.shape[2] > 12 || x.shape[3] > 12)
        return x;
    switch (random_below(m, 4)) {
    case 0:
        if (x.shape[1] % 4)
            return x;
        y.shape[1] /= 4;
        y.shape[2] *= 2;
        y.shape[3] *= 2;
        return model_call(m, &y, "torch.nn.functional.pixel_shuffle",
                          "%%%s, 2", x.name);
    case 1:
        y.shape[2] += 2;
        y.shape[3] += 1;
        return model_call(m, &y, "torch.nn.functional.pad",
                          "%%%s, [0, 1, 1, 1]", x.name);
    default:
        y.shape[2] *= 2;
        y.shape[3] *= 2;
        return model_call(m, &y, "torch.nn.functional.interpolate",
                          "%%%s,), kwargs = {scale_factor: 2.0, mode: '%s'}",
                          x.name, RANDOM_WORD(m, "nearest", "bilinear"));
    }
}

/* A norm of each pixel's channels, as ConvNeXt has it. */
static model_value norm_of_channels(random_model *m, model_value x)
{
    model_value y = x;
    if (x.rank != 4)
        return x;
    if (random_chance(m, 2))
        return model_module(
            m, &x, "GroupNorm(%lld, %lld, eps=1e-05, affine=True)",
            (long long)divisor(m, x.shape[1]), (long long)x.shape[1]);
    y.shape[1] = x.shape[2];
    y.shape[2] = x.shape[3];
    y.shape[3] = x.shape[1];
    y = model_method(m, &y, "permute", "%%%s, 0, 2, 3, 1", x.name);
    y = model_norm(m, y);
    if (random_chance(m, 2)) {
        y = model_linear(m, y, x.shape[1]);
        y = model_activation(m, y);
    }
    return model_method(m, &x, "permute", "%%%s, 0, 3, 1, 2", y.name);
}

/* ---- Networks ---- */

static model_value block(random_model *m, model_value x)
{
    conv c = any_conv(m, &x, random_chance(m, 16));
    switch (random_below(m, 16)) {
    case 0:
    case 1:
    case 2: return inverted_residual(m, x);
    case 3: return pool(m, x);
    case 4: return join(m, x);
    case 5: return squeeze(m, x);
    case 6: return split(m, x);
    case 7: return shuffle(m, x);
    case 8: return resize(m, x);
    case 9: return norm_of_channels(m, x);
    case 10: return model_pointwise(m, x);
    case 11: return add_residual(m, x);
    case 12:
        return model_module(m, &x, "Dropout(p=0.5, inplace=%s)",
                            flag(random_chance(m, 2)));
    default: return layer(m, x, &c);
    }
}

static model_value head(random_model *m, model_value x)
{
    model_value y = x;
    y.rank = 2;
    if (random_chance(m, 2) && spatial(&x) == 2) {
        y = model_module(m, &x, "AdaptiveAvgPool2d(output_size=(1, 1))");
        y.rank = 2;
    } else {
        for (int i = 2; i < x.rank; i++)
            y.shape[1] *= x.shape[i];
    }
    y = random_chance(m, 2)
            ? model_call(m, &y, "torch.flatten", "%%%s, 1", y.name)
            : model_method(m, &y, "reshape", "%%%s, %lld, %lld", y.name,
                           random_chance(m, 2) ? -1 : (long long)y.shape[0],
                           (long long)y.shape[1]);
    y = model_linear(m, y, 1 + random_below(m, 20));
    if (random_chance(m, 4))
        y = model_module(m, &y,
                         "BatchNorm1d(%lld, eps=1e-05, momentum=0.1, "
                         "affine=True, track_running_stats=True)",
                         (long long)y.shape[1]);
    return random_chance(m, 2) ? y : model_activation(m, y);
}

void random_model_cnn(random_model *m)
{
    int rank = random_chance(m, 8) ? 3 : random_chance(m, 12) ? 5 : 4;
    int64_t shape[MODEL_RANK] = {1 + random_below(m, 3), channels(m)};
    for (int i = 2; i < rank; i++)
        shape[i] = 1 + random_below(m, rank == 5 ? 6 : 16);
    model_value x = model_input(m, rank, shape, 0);
    model_keep(m, &x);
    for (int n = 2 + (int)random_below(m, 9); n > 0; n--) {
        x = block(m, x);
        model_keep(m, &x);
        if (random_chance(m, 8)) {
            const model_value *back = model_any(m);
            if (back->rank == x.rank)
                x = *back;
        }
    }
    if (random_chance(m, 2)) {
        x = head(m, x);
        model_keep(m, &x);
    }
}
