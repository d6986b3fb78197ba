/*
 * measure -- how far quantized results are from those in float.
 */
#include <cfx/compare.h>

#include <math.h>

#include "interp/quantize/quantize_impl.h"

static bool same_extents(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_tensor_size(a, i) == cfx_tensor_size(b, i);
    return same;
}

void cfx_quantize__advance(const cfx_tensor *t, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++index[i] < cfx_tensor_size(t, i))
            return;
        index[i] = 0;
    }
}

double cfx_quantize__error(const cfx_tensor *a, const cfx_tensor *b)
{
    int64_t index[CFX_MAX_RANK] = {0};
    double error = 0, norm = 0;
    if (a->dtype != CFX_F32 || b->dtype != CFX_F32 || !same_extents(a, b))
        return NAN;
    for (int64_t i = 0, n = cfx_tensor_numel(a); i < n; i++) {
        double x = (double)*(const float *)cfx_tensor_at(a, index);
        double d = (double)*(const float *)cfx_tensor_at(b, index) - x;
        error += d * d;
        norm += x * x;
        cfx_quantize__advance(a, index);
    }
    return error == 0 ? 0 : sqrt(error / norm);
}

static double error_at(const cfx_interp *a, const cfx_interp *b,
                       const char *name)
{
    const cfx_node *x = cfx_graph_find(a->graph, name);
    const cfx_node *y = cfx_graph_find(b->graph, name);
    cfx_value v = x ? cfx_interp_env(a, x) : CFX_NOTHING;
    cfx_value w = y ? cfx_interp_env(b, y) : CFX_NOTHING;
    return v.kind == CFX_TENSOR && w.kind == CFX_TENSOR
               ? cfx_quantize__error(v.u.tensor, w.u.tensor)
               : NAN;
}

static cfx_status run(cfx_interp *it, cfx_module *gm, const cfx_value *inputs,
                      size_t n, cfx_value *result, cfx_error *err)
{
    const cfx_interp_options how = {.size = sizeof(how), .keep_values = true};
    cfx_status st = cfx_interp_init_with(it, &cfx_interp_base, gm, &how, err);
    return st ? st : cfx_interp_run(it, inputs, n, result, err);
}

static cfx_status measure_outputs(cfx_quant_report *report, cfx_value a,
                                  cfx_value b, cfx_error *err)
{
    static const cfx_tolerance exact = {.given = true};
    cfx_difference d;
    cfx_status st = cfx_value_compare(&d, a, b, &exact, err);
    report->has_snr = !st && d.floats > 0;
    report->snr = report->has_snr ? cfx_difference_snr(&d) : 0;
    return st;
}

cfx_status cfx_quantize_measure(cfx_quant_report *report, cfx_module *prepared,
                                cfx_module *converted, const cfx_value *inputs,
                                size_t ninputs, cfx_error *err)
{
    cfx_interp a = {0}, b = {0};
    cfx_value x = CFX_NOTHING, y = CFX_NOTHING;
    cfx_status st = run(&a, prepared, inputs, ninputs, &x, err);
    if (!st)
        st = run(&b, converted, inputs, ninputs, &y, err);
    if (!st)
        st = measure_outputs(report, x, y, err);
    for (size_t i = 0; i < report->n && !st; i++) {
        cfx_quant_row *row = &report->row[i];
        if (row->kind != CFX_QUANT_WEIGHT)
            row->error = error_at(&a, &b, row->node);
    }
    cfx_value_unref(x);
    cfx_value_unref(y);
    cfx_interp_release(&a);
    cfx_interp_release(&b);
    return st;
}
