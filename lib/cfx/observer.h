/*
 * cfx/observer.h -- observers: modules that record the range of a tensor, and
 * choose a scale and zero point for its quantization.
 *
 * They are those of torch.ao.quantization: MinMaxObserver,
 * MovingAverageMinMaxObserver, PerChannelMinMaxObserver,
 * MovingAveragePerChannelMinMaxObserver, HistogramObserver,
 * FixedQParamsObserver, PlaceholderObserver; and PerGroupMinMaxObserver, for
 * scales by groups of the elements of a channel, PercentileObserver and
 * EntropyObserver. The forward returns its
 * argument and updates the buffers min_val, max_val and histogram:
 *
 *     cfx_module_new(&observer, ctx,
 *                    cfx_find_module_type(ctx, "MinMaxObserver"), NULL,
 *                    CFX_NO_ARGS, &err);
 *     for (size_t i = 0; i < nbatches; i++)
 *         cfx_scope_call_module(&scope, observer, NULL, CFX_ARGS(batch[i]),
 *                               &unused);
 *     cfx_observer_qparams(observer, &scale, &zero_point, &err);
 *
 * A number x is then quantized to
 *
 *     clamp(round(x / scale) + zero_point, quant_min, quant_max)
 *
 * With min <= 0 <= max, the recorded range extended to 0, parameters are, by
 * `qscheme`, in the float32 arithmetic of PyTorch (determine_qparams of
 * torch/ao/quantization/utils.py):
 *
 *     affine      scale = max((max - min) / (quant_max - quant_min), eps)
 *                 zero_point = clamp(quant_min - round(min / scale))
 *     symmetric   scale = max(max(-min, max) / ((quant_max - quant_min) / 2),
 *                             eps)
 *                 zero_point = 0; of uint8 128, or the middle of a range that
 *                 was given, rounded down
 *
 * HistogramObserver first narrows the range to the part of its histogram for
 * which the L2 norm of the error is least, by the search of PyTorch
 * (_non_linear_param_search of torch/ao/quantization/observer.py).
 * PercentileObserver narrows it to a percentage of the numbers, with as many left
 * out at either end, and EntropyObserver to the part that loses the least
 * information: whose distribution in 256 steps has the least Kullback-Leibler
 * divergence from that of all numbers, among parts that reach as far below 0 as
 * above it.
 *
 * The types of PyTorch with quantized dtypes do not exist here: uint8 stands
 * for quint8, int8 for qint8, int32 for qint32. A `qscheme` is a string:
 * 'per_tensor_affine', 'per_tensor_symmetric', 'per_channel_affine',
 * 'per_channel_symmetric'.
 */
#ifndef CFX_OBSERVER_H
#define CFX_OBSERVER_H

#include <cfx/module.h>

CFX_BEGIN_DECLS

/* Is it a module that chooses scale and zero point? */
CFX_API bool cfx_module_is_observer(const cfx_module *m);

/*
 * Choose parameters for what was observed: *scale is f32[n] and *zero_point
 * i64[n], new references; n is 1, or the number of channels. An observer that
 * saw nothing gives 1 and 0, as in PyTorch. Fails with CFX_EINVAL for a module
 * that is no observer, for NaN in what was observed and for ranges whose minimum
 * is above the maximum; CFX_EUNDECIDED for hidden arguments; CFX_ENOMEM.
 */
CFX_API cfx_status cfx_observer_qparams(cfx_module *observer,
                                        cfx_tensor **scale,
                                        cfx_tensor **zero_point,
                                        cfx_error *err);

/* The range and type of the integers that an observer is for. Fails with
 * CFX_EINVAL for a module without these arguments, CFX_EUNDECIDED. */
typedef struct cfx_quant_range {
    int64_t least, most;
    cfx_dtype dtype;
} cfx_quant_range;
CFX_API cfx_status cfx_observer_range(const cfx_module *observer,
                                      cfx_quant_range *out, cfx_error *err);

/* Has it seen data? False too for one that records nothing. */
CFX_API bool cfx_observer_has_seen(const cfx_module *observer);

CFX_END_DECLS

#endif
