/*
 * spectrum -- torch.fft: transforms of any length and number of axes, by those
 * of fft.c.
 *
 * shape   that of the argument, the axes cut or padded with 0 to the lengths
 *         that are given; rfft and ihfft give n / 2 + 1 numbers, irfft and hfft
 *         take so many.
 * cost    that of what is called.
 */
#include <stdio.h>
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"
#include "ops/create/create.h"

CFX_PARAMS(params, SELF, N, S, DIM, NORM, D, DTYPE, LAYOUT, DEVICE, PIN_MEMORY,
           REQUIRES_GRAD);

/* cfx_op.code */
enum { FORWARD = 1, FROM_REAL = 2, TO_REAL = 4, HERMITIAN = 8, ONE = 16 };

struct plan {
    int n;
    int axis[CFX_MAX_RANK];
    bool given[CFX_MAX_RANK]; /* the axis gets this length */
    cfx_dim length[CFX_MAX_RANK];
};

#define IN(k) cfx_call_value(call, k)

static cfx_value refuse(cfx_scope *s, cfx_status st, const char *why)
{
    return cfx_scope_fail(s, st, "%s", why);
}

/* ---- Axes and lengths ---- */

/* Item i of an argument that is an int or a list. */
static cfx_value item_at(cfx_value v, int i)
{
    return cfx_value_is_seq(v) ? v.u.seq->item[i] : v;
}

static int count_of(cfx_value v)
{
    return cfx_value_is_seq(v) ? (int)v.u.seq->len : 1;
}

/* The length of axis i of the plan. In a list -1 leaves it as it is. */
static bool read_length(cfx_scope *s, const cfx_call *call, struct plan *p,
                        int i)
{
    bool one = call->op->code & ONE;
    char text[64];
    int k = one ? N : S;
    p->given[i] = cfx_call_has(call, k);
    if (!p->given[i])
        return true;
    cfx_value n = item_at(IN(k), i);
    p->given[i] = one || n.kind != CFX_INT || n.u.i != -1;
    p->length[i] = cfx_value_dim(n);
    if (!p->given[i] || (!cfx_dim_is_bad(p->length[i]) &&
                         cfx_dim_le(s->env, cfx_dim_int(1), p->length[i])))
        return true;
    if (n.kind == CFX_INT)
        snprintf(text, sizeof(text), "%lld", (long long)n.u.i);
    else
        cfx_dim_format(p->length[i], text, sizeof(text));
    cfx_scope_fail(s, CFX_ESHAPE,
                   "Invalid number of data points (%s) specified for axis %d",
                   text, p->axis[i]);
    return false;
}

static bool read_plan(cfx_scope *s, const cfx_call *call, struct plan *p)
{
    bool one = call->op->code & ONE;
    int lengths = one ? N : S, rank = cfx_call_tensor(call, SELF)->rank;
    bool given = cfx_call_has(call, lengths), axes = cfx_call_has(call, DIM);
    uint32_t seen = 0;
    p->n = axes ? count_of(IN(DIM)) : given ? count_of(IN(lengths)) : rank;
    if (p->n && !rank) {
        refuse(s, CFX_EINVAL,
               "the tensor has no dimensions that can be transformed");
        return false;
    }
    if (p->n > rank || (axes && given && count_of(IN(lengths)) != p->n)) {
        refuse(
            s, CFX_EINVAL,
            "dim and shape arguments must have the same length, and no more items than the tensor has dimensions");
        return false;
    }
    for (int i = 0; i < p->n; i++) {
        int64_t axis = axes ? item_at(IN(DIM), i).u.i : rank - p->n + i;
        if (axis < -rank || axis >= rank ||
            seen >> (axis < 0 ? axis + rank : axis) & 1) {
            refuse(s, CFX_EINVAL,
                   "FFT dims must be unique, and those of the tensor");
            return false;
        }
        p->axis[i] = (int)(axis < 0 ? axis + rank : axis);
        seen |= 1u << p->axis[i];
        if (!read_length(s, call, p, i))
            return false;
    }
    return true;
}

/* Cut an axis, or pad it with 0. Where symbols do not tell which it is, a margin
 * that may be negative does both; of a tensor that is not row-major the strides
 * depend on it. */
static cfx_value resized(cfx_scope *s, cfx_value x, int axis, cfx_dim n)
{
    const cfx_tensor *t = x.kind == CFX_TENSOR ? x.u.tensor : NULL;
    cfx_value margin[2 * CFX_MAX_RANK];
    if (!t || cfx_dim_same(t->shape[axis], n))
        return x;
    if (cfx_dim_known_le(s->env, n, t->shape[axis]))
        return CFX_CALL(s, "torch.narrow", x, cfx_int(axis), cfx_int(0),
                        cfx_value_of_dim(n));
    if (!cfx_dim_known_le(s->env, t->shape[axis], n) &&
        !cfx_tensor_is_contiguous(t))
        return refuse(s, CFX_EUNSUPPORTED,
                      "symbols do not tell whether an axis is cut or padded");
    int count = 2 * (t->rank - axis);
    for (int i = 0; i < count; i++)
        margin[i] = cfx_int(0);
    margin[count - 1] = cfx_value_of_dim(
        cfx_dim_sub(s->env, n, t->shape[axis]));
    return CFX_CALL(s, "torch.constant_pad_nd", x,
                    cfx_list_of(s, CFX_LIST, (size_t)count, margin));
}

/* ---- The transforms ---- */

/* _fft_c2c and its kin: none, by the root of n, by n. -1: no such word. */
static int mode_of(const cfx_call *call)
{
    const char *norm = cfx_call_has(call, NORM) ? cfx_call_str(call, NORM)
                                                : "backward";
    bool forward = call->op->code & FORWARD;
    return !strcmp(norm, "ortho")      ? 1
           : !strcmp(norm, "backward") ? (forward ? 0 : 2)
           : !strcmp(norm, "forward")  ? (forward ? 2 : 0)
                                       : -1;
}

static cfx_value axes_of(cfx_scope *s, const struct plan *p, int from, int to)
{
    cfx_value axis[CFX_MAX_RANK];
    for (int i = from; i < to; i++)
        axis[i - from] = cfx_int(p->axis[i]);
    return cfx_list_of(s, CFX_LIST, (size_t)(to - from), axis);
}

/* Along one axis, the half of the spectrum of real numbers gives the other. The
 * inverse is the conjugate of the forward one. */
static cfx_value spectrum_of_real(cfx_scope *s, const cfx_call *call,
                                  const struct plan *p, cfx_value x)
{
    x = CFX_CALL(s, "torch._fft_r2c", x, axes_of(s, p, 0, 1),
                 cfx_int(mode_of(call)), cfx_bool(false));
    return call->op->code & FORWARD ? x : CFX_CALL(s, "torch.conj", x);
}

static cfx_value complex_to_complex(cfx_scope *s, const cfx_call *call,
                                    const struct plan *p, int n, cfx_value x)
{
    return n ? CFX_CALL(s, "torch._fft_c2c", x, axes_of(s, p, 0, n),
                        cfx_int(mode_of(call)),
                        cfx_bool(call->op->code & FORWARD))
             : x;
}

/* Is this a transform of complex numbers that takes real ones as they are? */
static bool takes_real(const cfx_call *call)
{
    return (call->op->code & (ONE | FROM_REAL | TO_REAL)) == ONE;
}

/* The argument as numbers that are transformed; integers as float32. */
static cfx_value promoted(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype, type = own;
    bool real = call->op->code & FROM_REAL;
    if (cfx_dtypes[own].category < CFX_CAT_FLOAT)
        type = CFX_F32;
    if (own == CFX_F16 || own == CFX_BF16 ||
        (real && cfx_dtype_is_complex(own)))
        return cfx_scope_fail(s, CFX_EDTYPE, "Unsupported dtype %s",
                              cfx_dtypes[own].name);
    if (!real && !takes_real(call) && !cfx_dtype_is_complex(type))
        type = type == CFX_F64 ? CFX_C128 : CFX_C64;
    return type == own
               ? IN(SELF)
               : CFX_CALL(s, "Tensor.to", IN(SELF), cfx_value_of_dtype(type));
}

static cfx_value from_real(cfx_scope *s, const cfx_call *call,
                           const struct plan *p, cfx_value x)
{
    cfx_value mode = cfx_int(mode_of(call)), half = cfx_bool(true);
    if (!(call->op->code & HERMITIAN))
        return CFX_CALL(s, "torch._fft_r2c", x, axes_of(s, p, 0, p->n), mode,
                        half);
    x = CFX_CALL(s, "torch._fft_r2c", x, axes_of(s, p, p->n - 1, p->n), mode,
                 half);
    x = CFX_CALL(s, "torch.conj", x);
    return complex_to_complex(s, call, p, p->n - 1, x);
}

static cfx_value to_real(cfx_scope *s, const cfx_call *call,
                         const struct plan *p, cfx_value x, cfx_dim n)
{
    bool hermitian = call->op->code & HERMITIAN;
    if (hermitian)
        x = CFX_CALL(s, "torch.conj",
                     complex_to_complex(s, call, p, p->n - 1, x));
    return CFX_CALL(s, "torch._fft_c2r", x,
                    axes_of(s, p, hermitian ? p->n - 1 : 0, p->n),
                    cfx_int(mode_of(call)), cfx_value_of_dim(n));
}

static cfx_value spectrum_build(cfx_scope *s, const cfx_call *call)
{
    int code = call->op->code;
    struct plan p;
    cfx_dim two = cfx_dim_int(2), one = cfx_dim_int(1), n = one;
    if (mode_of(call) < 0)
        return refuse(
            s, CFX_EINVAL,
            "Invalid normalization mode: it is 'forward', 'backward' or 'ortho'");
    if (!read_plan(s, call, &p))
        return cfx_none();
    if (!p.n && code & (FROM_REAL | TO_REAL))
        return refuse(s, CFX_EINVAL, "must transform at least one axis");
    cfx_value x = promoted(s, call);
    if (cfx_scope_failed(s))
        return cfx_none();
    if (code & TO_REAL) {
        int last = p.n - 1;
        cfx_dim have = cfx_call_tensor(call, SELF)->shape[p.axis[last]];
        n = p.given[last]
                ? p.length[last]
                : cfx_dim_mul(s->env, two, cfx_dim_sub(s->env, have, one));
        if (p.given[last])
            p.length[last] = cfx_dim_add(
                s->env, cfx_dim_floordiv(s->env, n, two), one);
    }
    for (int i = 0; i < p.n; i++)
        if (p.given[i])
            x = resized(s, x, p.axis[i], p.length[i]);
    if (cfx_scope_failed(s))
        return cfx_none();
    if (takes_real(call) && !cfx_is_complex_tensor(x))
        return spectrum_of_real(s, call, &p, x);
    return code & FROM_REAL ? from_real(s, call, &p, x)
           : code & TO_REAL ? to_real(s, call, &p, x, n)
                            : complex_to_complex(s, call, &p, p.n, x);
}

CFX_COMPOSITE(spectrum)

#define SPECTRUM(name, code_, rest, doc_)                                     \
    const cfx_op cfx_op__fft_##name = {                                       \
        .schema = "fft_" #name "(Tensor self, " rest                          \
                  ", str? norm=None) -> Tensor",                              \
        .params = params,                                                     \
        .aliases = "torch.fft. torch._C._fft.fft_" #name " aten.",            \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .code = code_,                                                        \
        .infer = spectrum_infer,                                              \
        .cost = spectrum_cost,                                                \
        .run = spectrum_run,                                                  \
    };
#define SPECTRA(name, code_, doc_)                                            \
    SPECTRUM(name, (code_) | ONE, "SymInt? n=None, int dim=-1", doc_)         \
    SPECTRUM(name##2, code_, "SymInt[1]? s=None, int[1] dim=[-2, -1]",        \
             doc_ " Along two axes.")                                         \
    SPECTRUM(name##n, code_, "SymInt[1]? s=None, int[1]? dim=None",           \
             doc_ " Along some axes, or all.")

SPECTRA(fft, FORWARD, "The Fourier transform.")
SPECTRA(ifft, 0, "The inverse Fourier transform.")
SPECTRA(rfft, FORWARD | FROM_REAL, "The Fourier transform of real numbers.")
SPECTRA(irfft, TO_REAL, "The real numbers with a Fourier transform.")
SPECTRA(hfft, FORWARD | TO_REAL | HERMITIAN,
        "The Fourier transform of a Hermitian signal.")
SPECTRA(ihfft, FROM_REAL | HERMITIAN,
        "The Hermitian signal with a real Fourier transform.")

/* ---- The frequencies ---- */

static cfx_value range(cfx_scope *s, const cfx_call *call, int64_t from,
                       int64_t to)
{
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_F32);
    cfx_value ends[] = {cfx_int(from), cfx_int(to)};
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(type)};
    return cfx_call_function(s, "torch.arange", (cfx_args){ends, 2, key, 1});
}

/* 0, 1, ..., and for fftfreq then the negative ones, over n d. */
static cfx_value frequencies_build(cfx_scope *s, const cfx_call *call)
{
    int64_t n = cfx_call_int(call, N), half = n / 2;
    bool all = call->op->code;
    if (n < 1 || n > INT64_MAX / 2)
        return refuse(s, CFX_EINVAL, "n must be a number of data points");
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_F32);
    if (cfx_dtypes[type].category < CFX_CAT_FLOAT)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "frequencies are no whole numbers: dtype must be a floating point type, not %s",
            cfx_dtypes[type].name);
    cfx_value x = range(s, call, all ? -half : 0, all ? n - half : half + 1);
    if (all)
        x = CFX_CALL(s, "torch.roll", x, cfx_tuple(s, cfx_int(-half)),
                     cfx_tuple(s, cfx_int(0)));
    double by = 1 / ((double)n * cfx_call_double(call, D));
    return CFX_CALL(s, "torch.mul", x, cfx_float(by));
}

CFX_COMPOSITE(frequencies)

#define FREQUENCIES(name, code_, doc_)                                        \
    const cfx_op cfx_op__fft_##name = {                                       \
        .schema = "fft_" #name "(int n, float d=1.0, *, " CFX_CREATE_OPTIONS  \
                  ") -> Tensor",                                              \
        .params = params,                                                     \
        .aliases = "torch.fft. torch._C._fft.fft_" #name " aten.",            \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = frequencies_infer,                                           \
        .cost = frequencies_cost,                                             \
        .run = frequencies_run,                                               \
    };

FREQUENCIES(fftfreq, 1, "The frequencies of a Fourier transform.")
FREQUENCIES(rfftfreq, 0, "The frequencies of a real Fourier transform.")
