/*
 * min_snr -- keep in float as few patterns as it takes for the outputs to reach a
 * signal-to-noise ratio.
 *
 * The noise of the outputs is nearly the sum of that of each pattern alone. The
 * patterns with most of it are kept, as many as this sum asks for; the result is
 * run, and more are kept until the ratio is reached.
 */
#include <cfx/compare.h>

#include <math.h>

#include "interp/quantize/quantize_impl.h"

typedef struct search {
    const cfx_module *gm;
    cfx_quantizer_partial partial;
    const cfx_quant_data *data;
    cfx_value *expected; /* the outputs in float of each batch */
    cfx_error *err;
} search;

cfx_status cfx_quantize__run_batches(cfx_interp *it,
                                     const cfx_quant_data *data,
                                     cfx_value *out, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < data->n && !st; i++) {
        const cfx_value *inputs;
        size_t n;
        cfx_value result = CFX_NOTHING;
        st = data->batch(data->user, i, &inputs, &n, err);
        if (!st)
            st = cfx_interp_run(it, inputs, n, &result, err);
        if (out)
            out[i] = result;
        else
            cfx_value_unref(result);
    }
    return st;
}

cfx_status cfx_quantize__run_all(cfx_module *gm, const cfx_quant_data *data,
                                 cfx_value *out, cfx_error *err)
{
    cfx_interp it = {0};
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, err);
    if (!st)
        st = cfx_quantize__run_batches(&it, data, out, err);
    cfx_interp_release(&it);
    return st;
}

cfx_status cfx_quantize_calibrate(cfx_module *gm, const cfx_quant_data *data,
                                  cfx_error *err)
{
    return cfx_quantize__run_all(gm, data, NULL, err);
}

static void drop_outputs(cfx_value *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cfx_value_unref(out[i]);
        out[i] = CFX_NOTHING;
    }
}

/* ---- The ratio of a result ---- */

static cfx_status compare_all(const search *s, cfx_module *gm, double *snr)
{
    static const cfx_tolerance exact = {.given = true};
    cfx_context *ctx = cfx_module_context(gm);
    cfx_difference all = {.differs = false}, d;
    cfx_value *out = cfx_calloc(ctx, s->data->n, sizeof(*out));
    cfx_status st = out ? cfx_quantize__run_all(gm, s->data, out, s->err)
                        : cfx_no_memory(s->err);
    for (size_t i = 0; i < s->data->n && !st; i++) {
        st = cfx_value_compare(&d, s->expected[i], out[i], &exact, s->err);
        all.signal += st ? 0 : d.signal;
        all.noise += st ? 0 : d.noise;
    }
    *snr = cfx_difference_snr(&all);
    if (out)
        drop_outputs(out, s->data->n);
    cfx_free(ctx, out, s->data->n * sizeof(*out));
    return st;
}

/* Quantize what is not kept, and find the ratio of the outputs. */
static cfx_status measure(search *s, double *snr)
{
    const cfx_value *inputs;
    size_t n;
    cfx_module *copy = NULL;
    cfx_status st = cfx_module_copy(&copy, s->gm, s->err);
    if (!st)
        st = s->data->batch(s->data->user, 0, &inputs, &n, s->err);
    if (!st)
        st = cfx_quantize_prepare(copy, &s->partial.base, inputs, n, NULL,
                                  s->err);
    if (!st)
        st = cfx_quantize_calibrate(copy, s->data, s->err);
    if (!st)
        st = cfx_quantize_convert(copy, NULL, s->err);
    if (!st)
        st = compare_all(s, copy, snr);
    cfx_module_unref(copy);
    return st;
}

/* ---- The search ---- */

static double noise_of(double snr)
{
    return isnan(snr) ? INFINITY : pow(10, -snr / 10);
}

/* Keep the first patterns, at least one more than before, until the others have
 * less noise than `most`. */
static void keep_more(cfx_quant_patterns *p, double most)
{
    size_t n = p->n;
    for (double rest = 0; n > 0; n--) {
        rest += noise_of(p->row[n - 1].snr);
        if (!(rest < most))
            break;
    }
    for (size_t i = 0, more = 0; i < p->n && (i < n || !more); i++) {
        more += !p->row[i].keep_float;
        p->row[i].keep_float = true;
    }
}

static size_t count_kept(const cfx_quant_patterns *p)
{
    size_t n = 0;
    while (n < p->n && p->row[n].keep_float)
        n++;
    return n;
}

static cfx_status look(search *s, cfx_quant_patterns *patterns,
                       cfx_quantizer *q, double least, double *snr)
{
    double most = noise_of(least);
    cfx_status st = measure(s, snr);
    if (!st && !(*snr >= least))
        st = cfx_quantize_sensitivity(patterns, s->gm, q, s->data, s->err);
    while (!st && !(*snr >= least) && count_kept(patterns) < patterns->n) {
        keep_more(patterns, most);
        st = measure(s, snr);
        /* Noises of patterns do not add up exactly: aim lower by the error of their sum. */
        most *= fmin(1, noise_of(least) / noise_of(*snr));
    }
    return st;
}

cfx_status cfx_quantize_reach_snr(cfx_quant_patterns *patterns,
                                  const cfx_module *gm, cfx_quantizer *q,
                                  const cfx_quant_data *data, double least,
                                  double *snr, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_context *ctx = cfx_module_context(gm);
    cfx_module *copy = NULL;
    search s = {.gm = gm, .data = data, .err = err ? err : &own};
    s.partial = (cfx_quantizer_partial){.of = q, .patterns = patterns};
    cfx_quantizer_init(&s.partial.base, &cfx_quantizer_partial_class);
    *snr = NAN;
    if (!data->n)
        return cfx_fail(s.err, CFX_EINVAL, "there is no calibration data");
    s.expected = cfx_calloc(ctx, data->n, sizeof(*s.expected));
    cfx_status st = s.expected ? cfx_module_copy(&copy, gm, s.err)
                               : cfx_no_memory(s.err);
    if (!st)
        st = cfx_quantize__run_all(copy, data, s.expected, s.err);
    if (!st)
        st = look(&s, patterns, q, least, snr);
    if (s.expected)
        drop_outputs(s.expected, data->n);
    cfx_free(ctx, s.expected, data->n * sizeof(*s.expected));
    cfx_module_unref(copy);
    return st;
}
