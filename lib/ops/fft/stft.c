/*
 * stft -- Fourier transforms of the overlapping windows of a signal, and the
 * signal of such transforms: stft, istft.
 *
 * shape   stft: (batch, frequencies, windows) of (batch, length), with a last
 *         axis of 2 where the result is not complex; istft: (batch, length).
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, N_FFT, HOP_LENGTH, WIN_LENGTH, WINDOW, CENTER,
           PAD_MODE, NORMALIZED, ONESIDED, RETURN_COMPLEX, ALIGN_TO_WINDOW,
           LENGTH);

#define IN(k) cfx_call_value(call, k)
#define TORCH(name, ...) CFX_CALL(s, "torch." name, __VA_ARGS__)

/* PyTorch's numbers of normalizations. */
enum { BY_NOTHING, BY_ROOT, BY_LENGTH };

struct windows {
    int64_t n, hop, length;
    cfx_value window; /* of n elements, or None: all are 1 */
};

static cfx_value slice(cfx_scope *s, cfx_value x, int at, cfx_value from,
                       cfx_value to)
{
    return CFX_CALL(s, "torch.ops.aten.slice.Tensor", x, cfx_int(at), from,
                    to);
}

/* A window of 1, `length` elements like those of x. */
static cfx_value ones(cfx_scope *s, cfx_value x, int64_t length)
{
    return CFX_CALL(s, "Tensor.new_ones", x, cfx_tuple(s, cfx_int(length)));
}

/* The window in the middle of n elements. `like` gives the type of a window
 * that is not given; without, it stays None where it has n elements. */
static cfx_value padded(cfx_scope *s, const struct windows *w, cfx_value like)
{
    int64_t left = (w->n - w->length) / 2, right = w->n - w->length - left;
    cfx_value window = w->window;
    if (cfx_value_is_none(window))
        window = ones(s, like, w->length);
    if (w->length == w->n)
        return window;
    cfx_value margin = cfx_list(s, cfx_int(left), cfx_int(right));
    return TORCH("constant_pad_nd", window, margin);
}

static bool read_windows(cfx_scope *s, const cfx_call *call, struct windows *w)
{
    *w = (struct windows){.n = cfx_call_int(call, N_FFT),
                          .window = IN(WINDOW)};
    w->hop = cfx_call_has(call, HOP_LENGTH) ? cfx_call_int(call, HOP_LENGTH)
                                            : w->n / 4;
    w->length = cfx_call_has(call, WIN_LENGTH) ? cfx_call_int(call, WIN_LENGTH)
                                               : w->n;
    const cfx_tensor *t = cfx_call_tensor(call, WINDOW);
    if (w->n < 1 || w->hop < 1)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "expected n_fft and hop_length to be at least 1, but got %lld and %lld",
            (long long)w->n, (long long)w->hop);
    else if (w->length < 1 || w->length > w->n)
        cfx_scope_fail(s, CFX_EINVAL, "expected 0 < win_length <= n_fft");
    else if (t && (t->rank != 1 ||
                   !cfx_dim_eq(s->env, t->shape[0], cfx_dim_int(w->length))))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected a 1D window tensor of size equal to win_length=%lld",
            (long long)w->length);
    return !cfx_scope_failed(s);
}

/* ---- stft ---- */

/* n / 2 elements put in before and after, by the mode. */
static cfx_value centered(cfx_scope *s, const cfx_call *call, cfx_value x)
{
    const cfx_tensor *t = x.u.tensor;
    cfx_value pad = cfx_int(cfx_call_int(call, N_FFT) / 2);
    for (int i = t->rank; i < 3; i++)
        x = TORCH("unsqueeze", x, cfx_int(0));
    x = CFX_CALL(s, "torch.nn.functional.pad", x, cfx_list(s, pad, pad),
                 IN(PAD_MODE));
    for (int i = t->rank; i < 3; i++)
        x = TORCH("squeeze", x, cfx_int(0));
    return x;
}

static cfx_value transformed(cfx_scope *s, const cfx_call *call, cfx_value x)
{
    bool whole = cfx_dtype_is_complex((cfx_dtype)cfx_meta_of(s, x)->dtype);
    bool half = cfx_call_has(call, ONESIDED) ? cfx_call_bool(call, ONESIDED)
                                             : !whole;
    cfx_value axes = cfx_list(s, cfx_int(2));
    cfx_value mode = cfx_int(cfx_call_bool(call, NORMALIZED) ? BY_ROOT
                                                             : BY_NOTHING);
    if (whole && half)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "Cannot have onesided output if window or input is complex");
    return whole ? TORCH("_fft_c2c", x, axes, mode, cfx_bool(true))
                 : TORCH("_fft_r2c", x, axes, mode, cfx_bool(half));
}

static bool check_signal(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = IN(SELF).u.tensor;
    if (x->rank != 1 && x->rank != 2)
        cfx_scope_fail(s, CFX_ESHAPE, "expected a 1D or 2D tensor");
    else if (!cfx_is_complex_tensor(IN(SELF)) &&
             !cfx_is_complex_tensor(IN(WINDOW)) &&
             !cfx_call_has(call, RETURN_COMPLEX))
        cfx_scope_fail(
            s, CFX_EINVAL,
            "stft requires the return_complex parameter be given for real inputs");
    else if (cfx_call_has(call, ALIGN_TO_WINDOW) &&
             cfx_call_bool(call, CENTER))
        cfx_scope_fail(
            s, CFX_EINVAL,
            "stft align_to_window should only be set when center = false");
    return !cfx_scope_failed(s);
}

static cfx_value stft_build(cfx_scope *s, const cfx_call *call)
{
    struct windows w;
    cfx_value x = IN(SELF);
    bool one = x.u.tensor->rank == 1;
    bool complex = cfx_call_has(call, RETURN_COMPLEX)
                       ? cfx_call_bool(call, RETURN_COMPLEX)
                       : true;
    if (!check_signal(s, call) || !read_windows(s, call, &w))
        return cfx_none();
    if (cfx_call_has(call, CENTER) && cfx_call_bool(call, CENTER))
        x = centered(s, call, x);
    if (cfx_call_has(call, ALIGN_TO_WINDOW) &&
        cfx_call_bool(call, ALIGN_TO_WINDOW)) {
        int64_t pad = w.n - w.length;
        x = TORCH("constant_pad_nd", x,
                  cfx_list(s, cfx_int(pad / 2), cfx_int(pad - pad / 2)));
    }
    if (one)
        x = TORCH("unsqueeze", x, cfx_int(0));
    if (cfx_scope_failed(s))
        return cfx_none();
    if (!cfx_dim_le(s->env, cfx_dim_int(w.n), cfx_meta_of(s, x)->shape[1]))
        return cfx_scope_fail(
            s, CFX_ESHAPE, "expected 0 < n_fft <= the length of the signal");
    x = CFX_CALL(s, "Tensor.unfold", x, cfx_int(1), cfx_int(w.n),
                 cfx_int(w.hop));
    if (!cfx_value_is_none(w.window) || w.length < w.n)
        x = TORCH("mul", x, padded(s, &w, IN(SELF)));
    if (cfx_scope_failed(s))
        return cfx_none();
    x = TORCH("transpose", transformed(s, call, x), cfx_int(1), cfx_int(2));
    if (one)
        x = TORCH("squeeze", x, cfx_int(0));
    return complex ? x : TORCH("view_as_real", x);
}

CFX_COMPOSITE(stft)

/* ---- istft ---- */

/* Add up windows (batch, count, n) where they overlap. */
static cfx_value overlapped(cfx_scope *s, const struct windows *w, cfx_value x,
                            cfx_value length)
{
    cfx_value one = cfx_int(1);
    if (cfx_is_complex_tensor(x)) {
        cfx_value real = overlapped(s, w, TORCH("real", x), length);
        return TORCH("complex", real,
                     overlapped(s, w, TORCH("imag", x), length));
    }
    x = TORCH("transpose", x, cfx_int(1), cfx_int(2));
    x = CFX_CALL(s, "torch.nn.functional.fold", x, cfx_tuple(s, one, length),
                 cfx_tuple(s, one, cfx_int(w->n)), one, cfx_int(0),
                 cfx_tuple(s, one, cfx_int(w->hop)));
    return TORCH("flatten", x, one);
}

/* Are all n frequencies given, not the first n / 2 + 1? */
static bool is_whole(const cfx_call *call)
{
    const cfx_tensor *x = IN(SELF).u.tensor;
    return cfx_call_has(call, ONESIDED)
               ? !cfx_call_bool(call, ONESIDED)
               : cfx_dim_is(x->shape[x->rank - 2], cfx_call_int(call, N_FFT));
}

/* The windows of the signal: (batch, count, n). */
static cfx_value windows_of(cfx_scope *s, const cfx_call *call,
                            const struct windows *w, cfx_value x)
{
    cfx_value axes = cfx_list(s, cfx_int(2));
    cfx_value mode = cfx_int(cfx_call_bool(call, NORMALIZED) ? BY_ROOT
                                                             : BY_LENGTH);
    x = TORCH("transpose", x, cfx_int(1), cfx_int(2));
    if (cfx_call_bool(call, RETURN_COMPLEX))
        return TORCH("_fft_c2c", x, axes, mode, cfx_bool(false));
    if (is_whole(call))
        x = slice(s, x, 2, cfx_int(0), cfx_int(w->n / 2 + 1));
    return TORCH("_fft_c2r", x, axes, mode, cfx_int(w->n));
}

static bool check_spectrum(cfx_scope *s, const cfx_call *call,
                           const struct windows *w)
{
    const cfx_tensor *x = IN(SELF).u.tensor;
    if (!cfx_is_complex_tensor(IN(SELF)))
        cfx_scope_fail(
            s, CFX_EDTYPE,
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True");
    else if (x->rank != 2 && x->rank != 3)
        cfx_scope_fail(s, CFX_ESHAPE,
                       "expected a tensor with 2 or 3 dimensions");
    else if (!cfx_call_has(call, ONESIDED) &&
             !cfx_dim_is_int(x->shape[x->rank - 2]))
        cfx_scope_fail(
            s, CFX_EUNSUPPORTED,
            "whether all frequencies are given depends on symbols; give onesided");
    else if (!cfx_dim_eq(s->env, x->shape[x->rank - 2],
                         cfx_dim_int(is_whole(call) ? w->n : w->n / 2 + 1)))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected the frequencies of n_fft=%lld, that many or with onesided the first half of them and one",
            (long long)w->n);
    else if (cfx_call_bool(call, RETURN_COMPLEX) && !is_whole(call))
        cfx_scope_fail(
            s, CFX_EINVAL,
            "cannot have onesided output if window or input is complex");
    return !cfx_scope_failed(s);
}

static cfx_value istft_build(cfx_scope *s, const cfx_call *call)
{
    struct windows w;
    cfx_value x = IN(SELF), one = cfx_int(1);
    bool single = x.u.tensor->rank == 2;
    bool center = cfx_call_bool(call, CENTER);
    if (!read_windows(s, call, &w) || !check_spectrum(s, call, &w))
        return cfx_none();
    if (single)
        x = TORCH("unsqueeze", x, cfx_int(0));
    cfx_value count = cfx_size(s, x, 2);
    cfx_dim whole = cfx_dim_add(
        s->env, cfx_dim_int(w.n - w.hop),
        cfx_dim_mul(s->env, cfx_dim_int(w.hop), cfx_value_dim(count)));
    cfx_value length = cfx_value_of_dim(whole);
    x = windows_of(s, call, &w, x);
    cfx_value window = padded(s, &w, TORCH("real", IN(SELF)));
    cfx_value y = overlapped(s, &w, TORCH("mul", x, window), length);
    cfx_value square = CFX_CALL(s, "Tensor.expand",
                                TORCH("pow", window, cfx_int(2)),
                                cfx_tuple(s, one, count, cfx_int(w.n)));
    square = overlapped(s, &w, square, length);
    cfx_dim from = cfx_dim_int(center ? w.n / 2 : 0);
    cfx_dim to = cfx_call_has(call, LENGTH)
                     ? cfx_dim_add(s->env, from, cfx_value_dim(IN(LENGTH)))
                     : cfx_dim_sub(s->env, whole, from);
    y = slice(s, y, 1, cfx_value_of_dim(from), cfx_value_of_dim(to));
    square = slice(s, square, 1, cfx_value_of_dim(from), cfx_value_of_dim(to));
    TORCH(
        "_assert_async",
        TORCH("all", TORCH("gt", TORCH("abs", square), cfx_float(1e-11))),
        cfx_str(
            s,
            "window overlap add min: the squares of the windows add up to 0 at some element of the signal"));
    y = TORCH("div", y, square);
    cfx_dim more = cfx_dim_max(s->env, cfx_dim_sub(s->env, to, whole),
                               cfx_dim_int(0));
    if (!cfx_dim_is(more, 0))
        y = TORCH("constant_pad_nd", y,
                  cfx_list(s, cfx_int(0), cfx_value_of_dim(more)));
    return single ? TORCH("squeeze", y, cfx_int(0)) : y;
}

CFX_COMPOSITE(istft)

#define HEAD                                                                  \
    "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "    \
    "Tensor? window=None, "
#define TAIL                                                                  \
    "bool normalized=False, bool? onesided=None, bool? return_complex=None"

static const cfx_op stft_plain = {
    .schema = "stft(" HEAD TAIL ") -> Tensor",
    .params = params,
    .aliases = "aten.",
    .doc = "Fourier transforms of overlapping windows.",
    .flags = CFX_OP_COMPLEX,
    .infer = stft_infer,
    .cost = stft_cost,
    .run = stft_run,
};

const cfx_op cfx_op__stft = {
    .schema = "stft.center(" HEAD
              "bool center=True, str pad_mode='reflect', " TAIL
              ", bool? align_to_window=None) -> Tensor",
    .params = params,
    .aliases = "torch. torch.functional.stft Tensor. aten.",
    .doc = "Fourier transforms of overlapping windows.",
    .flags = CFX_OP_COMPLEX,
    .infer = stft_infer,
    .cost = stft_cost,
    .run = stft_run,
    .next = &stft_plain,
};

const cfx_op cfx_op__istft = {
    .schema =
        "istft(" HEAD
        "bool center=True, bool normalized=False, bool? onesided=None, SymInt? length=None, bool return_complex=False) -> Tensor",
    .params = params,
    .aliases = "torch. torch.functional.istft Tensor. aten.",
    .doc = "The signal whose stft is given.",
    .flags = CFX_OP_COMPLEX,
    .infer = istft_infer,
    .cost = istft_cost,
    .run = istft_run,
};
