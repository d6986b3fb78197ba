/*
 * onnx_signal -- rules of Fourier transforms and windows.
 *
 * A transform is a product with the matrix of its cosines and sines, since its
 * length is known when the model is read, in float64: lines of a spectrum that
 * cancel out come close to zero. Complex numbers are pairs of the last
 * axis, as in ONNX.
 */
#include <math.h>

#include "format/onnx/onnx.h"

/* The matrix of a longer transform would take more memory than the signal is
 * worth. */
enum { MAX_LENGTH = 2048, MAX_WINDOW = 1 << 24 };

static const double pi = 3.14159265358979323846;

/* A tensor of float64 that a rule fills, or NULL after failure. */
static double *new_tensor(onnx_node *n, int rank, const int64_t *shape,
                          cfx_value *out)
{
    cfx_tensor *t;

    *out = cfx_none();
    if (cfx_scope_failed(n->s) ||
        cfx_tensor_new(&t, n->s->ctx, CFX_F64, rank, shape, &n->s->error))
        return NULL;
    *out = cfx_scope_take(n->s, cfx_value_of_tensor(t));
    return t->data;
}

/* ---- Windows ---- */

/* a - b cos(2 pi i / size) + c cos(4 pi i / size) */
static cfx_value window(onnx_node *n, double a, double b, double c)
{
    int64_t code = onnx_attr_int(n, "output_datatype", 1), count;
    bool periodic = onnx_attr_int(n, "periodic", 1);
    cfx_dtype type;
    onnx_list size;
    cfx_value v;

    if (!onnx_ints(n, 0, &size))
        return CFX_NOTHING;
    if (size.n != 1 || size.item[0].kind != CFX_INT || size.item[0].u.i < 0 ||
        size.item[0].u.i > MAX_WINDOW || !onnx_dtype(&type, code))
        return onnx_fail(
            n, CFX_EUNDECIDED,
            "its size is not a number up to %d, or its type is %s", MAX_WINDOW,
            onnx_type_name(code));
    count = size.item[0].u.i;
    double *to = new_tensor(n, 1, &count, &v);
    double turn = 2 * pi / (double)(periodic ? count : count - 1);
    for (int64_t i = 0; to && i < count; i++)
        to[i] = a - b * cos(turn * (double)i) + c * cos(2 * turn * (double)i);
    return cfx_to(n->s, v, cfx_value_of_dtype(type));
}

cfx_value onnx_import_hann_window(onnx_node *n)
{
    return window(n, 0.5, 0.5, 0);
}

cfx_value onnx_import_hamming_window(onnx_node *n)
{
    return window(n, 25 / 46.0, 21 / 46.0, 0);
}

cfx_value onnx_import_blackman_window(onnx_node *n)
{
    return window(n, 0.42, 0.5, 0.08);
}

/* ---- Mel filters ---- */

enum { MAX_MEL = 1 << 14 };

/* A triangle over the bins from `low` to `high`, with 1 at `top`. */
static double triangle(double low, double top, double high, double at)
{
    return at == top               ? 1
           : at > low && at < top  ? (at - low) / (top - low)
           : at > top && at < high ? (high - at) / (high - top)
                                   : 0;
}

/* Bins of the spectrum where the filters begin and end: evenly spaced on the mel
 * scale. */
static double mel_bin(double k, const double edge[2], double filters,
                      double length, double rate)
{
    double low = log10(1 + edge[0] / 700), high = log10(1 + edge[1] / 700);
    double mel = low + k * (high - low) / (filters + 2);

    return floor((length + 1) * 700 * (pow(10, mel) - 1) / rate);
}

cfx_value onnx_import_mel_weight_matrix(onnx_node *n)
{
    int64_t code = onnx_attr_int(n, "output_datatype", 1);
    double filters, length, rate, edge[2];
    cfx_dtype type;
    cfx_value v;

    if (!onnx_number(n, 0, &filters) || !onnx_number(n, 1, &length) ||
        !onnx_number(n, 2, &rate) || !onnx_number(n, 3, &edge[0]) ||
        !onnx_number(n, 4, &edge[1]))
        return CFX_NOTHING;
    if (!(filters >= 0 && filters <= MAX_MEL && length >= 0 &&
          length <= MAX_MEL && rate > 0) ||
        !onnx_dtype(&type, code))
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "its sizes are not numbers up to %d, or its type is %s", MAX_MEL,
            onnx_type_name(code));
    int64_t columns = (int64_t)filters, rows = (int64_t)length / 2 + 1;
    double *to = new_tensor(n, 2, (int64_t[]){rows, columns}, &v);
    for (int64_t k = 0; to && k < columns; k++) {
        double at[3];
        for (int i = 0; i < 3; i++)
            at[i] = mel_bin((double)(k + i), edge, filters, length, rate);
        for (int64_t i = 0; i < rows; i++)
            to[i * columns + k] = triangle(at[0], at[1], at[2], (double)i);
    }
    return cfx_to(n->s, v, cfx_value_of_dtype(type));
}

/* ---- Transforms ---- */

typedef struct transform {
    cfx_value re, im; /* the signal along the last axis; im may be absent */
    cfx_dtype type;   /* of the signal, and of the result */
    int64_t length;
    int64_t in, out; /* elements of the last axis, before and after */
    bool inverse;
    bool half; /* the inverse of half a spectrum is real */
} transform;

/* The matrix [in, out] of cosines, or of sines. An inverse of half a spectrum
 * counts each line but the first and the middle one twice. */
static cfx_value matrix(onnx_node *n, const transform *t, bool sines)
{
    int64_t shape[] = {t->in, t->out};
    cfx_value v;
    double *to = new_tensor(n, 2, shape, &v);

    for (int64_t i = 0; to && i < t->in; i++) {
        double scale = t->inverse ? 1 / (double)t->length : 1;
        if (t->half && i && 2 * i != t->length)
            scale *= 2;
        for (int64_t k = 0; k < t->out; k++) {
            double at = 2 * pi * (double)(i * k % t->length) /
                        (double)t->length;
            to[i * t->out + k] = scale * (sines ? sin(at) : cos(at));
        }
    }
    return v;
}

/* The last axis cut, or filled with zeros, to as many elements. */
static cfx_value resize(onnx_node *n, cfx_value x, int64_t many)
{
    int64_t pads[] = {0, many};
    int rank = onnx_rank(n, x);

    if (rank < 1)
        return cfx_none();
    pads[1] -= onnx_known_size(n, x, rank - 1);
    return pads[1] ? cfx_pad(n->s, x, onnx_int_arg(n->s, 2, pads)) : x;
}

/* The transform along the last axis: pairs in a last axis, or real numbers. */
static cfx_value apply(onnx_node *n, const transform *t)
{
    cfx_scope *s = n->s;
    cfx_value c = matrix(n, t, false), d = matrix(n, t, true);
    cfx_value re = resize(n, t->re, t->in), im = t->im, both[2];

    both[0] = cfx_matmul(s, re, c);
    both[1] = cfx_matmul(s, re, d);
    if (!t->inverse)
        both[1] = cfx_neg(s, both[1]);
    if (im.kind) {
        im = resize(n, im, t->in);
        cfx_value cross = cfx_matmul(s, im, d);
        both[0] = t->inverse ? cfx_sub(s, both[0], cross)
                             : cfx_add(s, both[0], cross);
        both[1] = cfx_add(s, both[1], cfx_matmul(s, im, c));
    }
    cfx_value y = t->half
                      ? cfx_unsqueeze(s, both[0], cfx_int(-1))
                      : cfx_stack(s, onnx_arg(s, 2, both), .dim = cfx_int(-1));
    return t->type == CFX_F64 ? y : cfx_to(s, y, cfx_value_of_dtype(t->type));
}

/* The parts of a signal whose last axis has 1 or 2 items. */
static bool take_parts(onnx_node *n, transform *t, cfx_value x)
{
    int rank = onnx_rank(n, x);
    int64_t parts = rank < 2 ? 0 : onnx_known_size(n, x, rank - 1);

    if (parts != 1 && parts != 2)
        return onnx_refuse(
            n, CFX_ESHAPE,
            "the last axis of its input has neither 1 nor 2 items");
    t->type = onnx_type_of(n, x);
    if (t->type != CFX_F64)
        x = cfx_to(n->s, x, cfx_value_of_dtype(CFX_F64));
    t->re = cfx_select(n->s, x, cfx_int(-1), cfx_int(0));
    if (parts == 2)
        t->im = cfx_select(n->s, x, cfx_int(-1), cfx_int(1));
    return !cfx_scope_failed(n->s);
}

static bool check_length(onnx_node *n, int64_t length)
{
    if (length < 1 || length > MAX_LENGTH)
        onnx_fail(n, CFX_EUNSUPPORTED,
                  "its transform has a length of %lld, not 1 to %d",
                  (long long)length, MAX_LENGTH);
    return !cfx_scope_failed(n->s);
}

/* A number of input i, which decides shapes; `otherwise` if it is left out. */
static bool known_int(onnx_node *n, size_t i, int64_t otherwise, int64_t *out)
{
    onnx_int_list v = onnx_plain_ints(n, i, NULL);

    if (v.given && v.ok && v.n != 1)
        return onnx_refuse(n, CFX_EINVAL, "its input %zu is not one number",
                           i);
    *out = v.given && v.ok ? v.item[0] : otherwise;
    return v.ok;
}

cfx_value onnx_import_dft(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0);
    transform t = {.inverse = onnx_attr_int(n, "inverse", 0)};
    bool onesided = onnx_attr_int(n, "onesided", 0);
    int rank = onnx_rank(n, x);
    int64_t axis = n->opset < 20 ? onnx_attr_int(n, "axis", 1) : -2;

    if (rank < 2 || (n->opset >= 20 && !known_int(n, 2, -2, &axis)))
        return CFX_NOTHING;
    int at = onnx_axis(n, axis, rank);
    t.half = t.inverse && onesided;
    int64_t size = onnx_known_size(n, x, at);
    int64_t usual = t.half && size <= MAX_LENGTH ? 2 * (size - 1) : size;
    if (!known_int(n, 1, usual, &t.length) || !check_length(n, t.length) ||
        !take_parts(n, &t, x))
        return CFX_NOTHING;
    if (at == rank - 1 || (t.half && !t.im.kind))
        return onnx_fail(
            n, CFX_EINVAL,
            "its axis is that of pairs, or a spectrum has no imaginary part");
    t.in = t.half ? t.length / 2 + 1 : t.length;
    t.out = onesided && !t.inverse ? t.length / 2 + 1 : t.length;
    cfx_value from = cfx_int(at), last = cfx_int(-1);
    t.re = cfx_transpose(s, t.re, from, last);
    if (t.im.kind)
        t.im = cfx_transpose(s, t.im, from, last);
    return cfx_transpose(s, apply(n, &t), from, cfx_int(-2));
}

/* Frames of the signal [batch, length, 1 or 2], times the window. */
cfx_value onnx_import_stft(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), window = onnx_optional(n, 2);
    bool onesided = onnx_attr_int(n, "onesided", 1);
    transform t = {0};
    int64_t step;

    if (onnx_rank(n, x) != 3)
        return onnx_fail(n, CFX_ESHAPE, "its signal has not 3 axes");
    int64_t usual = window.kind ? onnx_known_size(n, window, 0) : 0;
    if (!known_int(n, 1, 0, &step) || !known_int(n, 3, usual, &t.length) ||
        !check_length(n, t.length) || !take_parts(n, &t, x))
        return CFX_NOTHING;
    if (step < 1 || (window.kind && usual != t.length))
        return onnx_fail(
            n, CFX_EINVAL,
            "its step is %lld, or its window is not as long as its frames",
            (long long)step);
    cfx_value *part[] = {&t.re, &t.im};
    for (size_t i = 0; i < 2 && part[i]->kind; i++) {
        *part[i] = cfx_unfold_dim(s, *part[i], cfx_int(1), cfx_int(t.length),
                                  cfx_int(step));
        if (window.kind)
            *part[i] = cfx_mul(s, *part[i], window);
    }
    t.in = t.length;
    t.out = onesided ? t.length / 2 + 1 : t.length;
    return apply(n, &t);
}
