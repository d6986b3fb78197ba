/*
 * cfx/quantize.h -- quantization as a rewrite of the graph: prepare it with
 * observers, run it on data, convert it.
 *
 *     struct cfx_quantizer q;
 *     cfx_quantizer_init(&q, &cfx_quantizer_x86);
 *     cfx_quantize_prepare(gm, &q, first, n, NULL, &err);
 *     for (size_t i = 0; i < nbatches; i++)
 *         cfx_graph_module_call(gm, CFX_ARGS(batch[i]), &y, &err);
 *     cfx_quantize_convert(gm, NULL, &err);
 *
 * The result is a reference graph: float operators between
 * torch.ops.quantized_decomposed.quantize_per_tensor and dequantize_per_tensor,
 * with scales and zero points as literals, and weights as buffers of integers
 * that dequantize_per_channel reads. Any interpreter runs it, and it shows what
 * a backend with integer arithmetic computes. Numbers are PyTorch's.
 *
 * Weights in int4 are buffers u8[out, in / 2]: two integers a byte, the first
 * in the lower half, 8 added. bitwise_and, bitwise_right_shift, stack, flatten,
 * convert_element_type and sub make int8[out, in] of them, which
 * dequantize_per_channel_group reads with scales f32[out, in / group] and, if
 * ranges are asymmetric, zero points i8[out, in / group]; a transpose follows for
 * addmm. Dynamic values are quantized by
 * what choose_qparams.tensor or choose_qparams_per_token_asymmetric finds in a
 * run.
 *
 * A quantizer decides what is quantized, and how. Its class is a table of hooks
 * with a `super`: a backend derives from cfx_quantizer_x86 or
 * cfx_quantizer_base, and marks its own patterns.
 *
 *     static cfx_status my_annotate(cfx_quantizer *q, const cfx_node *n,
 *                                   cfx_quant_mark *mark)
 *     {
 *         if (!cfx_node_is(n, "sigmoid"))
 *             return CFX_QUANTIZER_SUPER(&my_class, annotate)(q, n, mark);
 *         mark->input = mark->output = &my_spec;
 *         return CFX_OK;
 *     }
 *
 *     const cfx_quantizer_class my_class = {
 *         .size = sizeof(cfx_quantizer_class),
 *         .name = "mine",
 *         .super = &cfx_quantizer_x86,
 *         .annotate = my_annotate,
 *     };
 */
#ifndef CFX_QUANTIZE_H
#define CFX_QUANTIZE_H

#include <cfx/graph_module.h>
#include <cfx/observer.h>

/* How a tensor is quantized. */
typedef struct cfx_quant_spec {
    const char *observer; /* a module type, "HistogramObserver" */
    cfx_dtype dtype;      /* int8 or uint8 */
    int64_t least, most;  /* the range of integers */
    bool symmetric;       /* 0 is in the middle of the range */
    bool by_channel;      /* a scale for each channel of `axis` */
    int axis;
    double scale; /* of "FixedQParamsObserver" */
    int64_t zero_point;
    int64_t group; /* of "PerGroupMinMaxObserver": a scale for so many elements
                      of a channel */
    /* With "PlaceholderObserver": each run chooses a scale and zero point for the
     * whole value, or with by_token for each row. */
    bool dynamic, by_token;
} cfx_quant_spec;

/* The decision for one node; NULL: stays float. */
typedef struct cfx_quant_mark {
    const cfx_quant_spec *input;  /* tensors that the node reads */
    const cfx_quant_spec *weight; /* those that are parameters of rank 2 or
                                     more */
    const cfx_quant_spec *output; /* its result */
    /* The result has the scale and zero point of the first input, if that is
     * quantized. */
    bool passes;
    /* Result and inputs share scale and zero point. */
    bool shares;
    /* It belongs to the pattern of its first input, and stays float with it. */
    bool fused;
    /* A node that stays float may keep others in float. With reads_float these
     * are sums that it reads, and other results that only such nodes read;
     * with gives_float, pointwise nodes that read its result. What is kept so
     * keeps others in the same way. */
    bool reads_float, gives_float;
    bool pointwise, is_sum; /* for this: what the node is */
    const char *reason;     /* why a node without marks stays float */
} cfx_quant_mark;

typedef struct cfx_quantizer cfx_quantizer;
typedef struct cfx_quantizer_class cfx_quantizer_class;

struct cfx_quantizer_class {
    size_t size; /* sizeof(cfx_quantizer_class) */
    const char *name;
    const cfx_quantizer_class *super;
    /* Decide about a call of a function or method whose result is a float32
     * tensor; *mark is zeroed. Modules were inlined before. */
    cfx_status (*annotate)(cfx_quantizer *q, const cfx_node *n,
                           cfx_quant_mark *mark);
};

/* Derived structs begin with this one. */
struct cfx_quantizer {
    const cfx_quantizer_class *cls;
    /* How x86 and x86_all observe activations, but for those of operators with a fixed
     * range; NULL: by HistogramObserver. */
    const cfx_quant_spec *activations;
    cfx_error *err; /* of the call in progress */
};

/* One row of a report. */
typedef enum cfx_quant_kind {
    CFX_QUANT_FLOAT,  /* stays float: `reason` */
    CFX_QUANT_VALUE,  /* a quantized result or input */
    CFX_QUANT_WEIGHT, /* a quantized parameter */
    CFX_QUANT_SHARED, /* a result with the parameters of another one */
    CFX_QUANT_DYNAMIC /* a value that each run quantizes by its own range */
} cfx_quant_kind;

typedef struct cfx_quant_row {
    char *node;
    cfx_quant_kind kind;
    const char *reason; /* of CFX_QUANT_FLOAT; else NULL */
    cfx_dtype dtype;
    int bits;         /* of an integer; two of 4 bits are packed in one of 8 */
    int64_t channels; /* number of scales */
    double scale;     /* the first; of several the largest */
    int64_t zero_point;
    int64_t bytes_before, bytes_after; /* of a parameter */
    double error; /* |quantized - float| / |float| in L2 norms; of a
                            result as cfx_quantize_measure finds it, else NaN */
} cfx_quant_row;

/* The outcome for each node. Zero it first, and release it. */
typedef struct cfx_quant_report {
    cfx_quant_row *row;
    size_t n, cap;
    /* The signal-to-noise ratio of the outputs in dB, as cfx_quantize_measure
     * finds it. */
    bool has_snr;
    double snr;
} cfx_quant_report;

/* A node that a quantizer marks, and the activation that is fused with it:
 * NULL, or the only user of the node, which asks for the result only. */
typedef struct cfx_quant_pattern {
    char *node, *activation;
    double snr; /* of the outputs in dB, if nothing else is quantized; infinity
                   without noise, NaN if elements that differ are not finite */
    bool keep_float; /* for cfx_quantizer_partial */
} cfx_quant_pattern;

/* Zero it first, and release it. */
typedef struct cfx_quant_patterns {
    cfx_quant_pattern *row;
    size_t n, cap;
} cfx_quant_patterns;

/* Leaves patterns of another quantizer in float. */
typedef struct cfx_quantizer_partial {
    cfx_quantizer base; /* of cfx_quantizer_partial_class */
    cfx_quantizer *of;
    const cfx_quant_patterns *patterns;
    const char *reason; /* of the report's rows */
} cfx_quantizer_partial;

/* Calibration data: n batches. */
typedef struct cfx_quant_data cfx_quant_data;

struct cfx_quant_data {
    /* Set *inputs to those of batch i, borrowed until the next call. */
    cfx_status (*batch)(void *user, size_t i, const cfx_value **inputs,
                        size_t *ninputs, cfx_error *err);
    void *user;
    size_t n;
    /* A few samples to measure single patterns on; NULL: all data. */
    const cfx_quant_data *sample;
};

CFX_BEGIN_DECLS

/* Every node stays float. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_base;
/* For int8 arithmetic as x86 processors have it: activations in uint8, by
 * histograms; weights in int8, symmetric, by output channel. Convolutions,
 * linear layers, matrix products, sums and products with a relu after them,
 * activations, pooling, reshapes, concatenations. layer_norm, rms_norm, softmax
 * and the sums that they read stay float: the residual stream of a transformer
 * has a few large channels, and their scale leaves little of the others. So
 * does arithmetic with sub, div, pow, sqrt, rsqrt, reciprocal, exp and log. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_x86;
/* Everything that has an integer form; x86 keeps norms, softmax and sums before them in
 * float. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_x86_all;
/* Weights only, of convolutions, linear layers and embeddings, in int8 by
 * channel. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_weights;
/* Weights only, of linear layers and embeddings, in int4 by groups of 32, 64 or
 * 128 elements of an output channel or a row. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_weights_int4_g32;
CFX_API extern const cfx_quantizer_class cfx_quantizer_weights_int4_g64;
CFX_API extern const cfx_quantizer_class cfx_quantizer_weights_int4_g128;
/* The same with zero points: the range of a group is from its least to its greatest
 * element. */
CFX_API extern const cfx_quantizer_class
    cfx_quantizer_weights_int4_asymmetric_g32;
CFX_API extern const cfx_quantizer_class
    cfx_quantizer_weights_int4_asymmetric_g64;
CFX_API extern const cfx_quantizer_class
    cfx_quantizer_weights_int4_asymmetric_g128;
/* The inputs of linear layers in uint8 by the range that they have in a run, or
 * in int8 by the range of each row; weights in int8 by channel. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_dynamic;
CFX_API extern const cfx_quantizer_class cfx_quantizer_dynamic_per_token;
/* The tables of embeddings in uint8, with a scale for each row. */
CFX_API extern const cfx_quantizer_class cfx_quantizer_embedding;
CFX_API extern const cfx_quantizer_class cfx_quantizer_partial_class;

/* A class by its name, or NULL; those from x86 to embedding have names that end
 * as those of the variables. Never fails. */
CFX_API const cfx_quantizer_class *cfx_find_quantizer(const char *name);
/* Class i of them, or NULL if there are fewer. Never fails. */
CFX_API const cfx_quantizer_class *cfx_quantizer_at(size_t i);

/* The specification of activations by the name of their observer: HistogramObserver,
 * MinMaxObserver, MovingAverageMinMaxObserver, PercentileObserver or EntropyObserver;
 * NULL for another name. Never fails. */
CFX_API const cfx_quant_spec *cfx_find_activations(const char *observer);

/*
 * A quantizer that chooses a class for each node, as torch.ao's QConfigMapping
 * chooses a QConfig. The text is JSON, with the name of a class, or null for
 * float, for each key:
 *
 *     {"global": "x86",
 *      "object_type": {"torch.nn.Linear": "weights", "add": null},
 *      "module_name_regex": {"layer[34]": null},
 *      "module_name": {"layer4.0": "x86"}}
 *
 * Instead of a name there may be an object, which chooses the observer of activations,
 * too: {"quantizer": "x86", "observer": "PercentileObserver"}. An object type is a name of an operator, or a class of modules. Regular
 * expressions are POSIX's extended ones, and match from the beginning of the
 * path of the innermost module. A module name is the path of that module or of
 * one around it, or the name of a node. The last section that has a matching key
 * wins, in it the first expression or the longest path; nodes without a match
 * stay float. Fails with CFX_EPARSE for an unknown key or class, which is named,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_quantizer_config_parse(cfx_quantizer **out,
                                              cfx_context *ctx,
                                              const char *text, size_t len,
                                              cfx_error *err);
/* Read it from a file, whose path stands before errors. */
CFX_API cfx_status cfx_quantizer_config_read(cfx_quantizer **out,
                                             cfx_context *ctx,
                                             const char *path, cfx_error *err);
/* Fails with CFX_EINVAL if a key has matched no node yet. */
CFX_API cfx_status cfx_quantizer_config_check(const cfx_quantizer *q,
                                              cfx_error *err);
CFX_API void cfx_quantizer_config_free(cfx_quantizer *q);

/* The super's hook of class `class_`, its own or inherited. */
#define CFX_QUANTIZER_SUPER(class_, hook)                                     \
    (cfx_quantizer_class_with((class_)->super,                                \
                              offsetof(cfx_quantizer_class, hook))            \
         ->hook)
CFX_API const cfx_quantizer_class *cfx_quantizer_class_with(
    const cfx_quantizer_class *cls, size_t offset);

CFX_API void cfx_quantizer_init(cfx_quantizer *q,
                                const cfx_quantizer_class *cls);

/*
 * Move the range of channels from what linear layers read to their weights
 * (SmoothQuant), where a layer_norm or rms_norm gives it to such layers only: the norm
 * divides each channel, and the layers multiply it. Results stay the same but for
 * rounding. Call it before cfx_quantize_prepare; it lowers gm likewise. Fails as
 * preparing and runs do.
 */
CFX_API cfx_status cfx_quantize_smooth(cfx_module *gm,
                                       const cfx_quant_data *data,
                                       cfx_error *err);

/*
 * Prepare a GraphModule for calibration. Layers and norms that are written out
 * become operators, batch norms are folded, dropout is removed, modules are
 * inlined and their parameters become those of gm, constants are folded; then
 * observers activation_post_process_0, ... are called on what the quantizer
 * marks. Which nodes compute float32 tensors is
 * found by a run on the example inputs; `inputs` may be NULL for quantizers of
 * weights and dynamic values: all calls then count as such. `report` (may be
 * NULL) receives a row for each node that stays float. Fails as a run of gm
 * does, and with CFX_EWEIGHT, CFX_ENOMEM; gm is then partly rewritten, but
 * well-formed.
 */
CFX_API cfx_status cfx_quantize_prepare(cfx_module *gm, cfx_quantizer *q,
                                        const cfx_value *inputs,
                                        size_t ninputs,
                                        cfx_quant_report *report,
                                        cfx_error *err);

/* Run a prepared GraphModule on the data, so that its observers find the ranges of all
 * values. Fails as runs do, and as data->batch does. */
CFX_API cfx_status cfx_quantize_calibrate(cfx_module *gm,
                                          const cfx_quant_data *data,
                                          cfx_error *err);

/*
 * Round the weights of linear layers of a prepared GraphModule by GPTQ, so that the
 * errors of a row compensate each other for what the layer reads in the data.
 * Observers keep the scales; weights that several nodes read stay as they are. Fails as
 * runs do, and with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_quantize_gptq(cfx_module *gm,
                                     const cfx_quant_data *data,
                                     cfx_error *err);

/*
 * Add to the biases of linear layers and convolutions of a calibrated GraphModule, by
 * channel, the mean of what quantizing their inputs and weights takes from their results
 * over the data. A layer without a bias gets one. Fails as runs do, and with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_quantize_correct_bias(cfx_module *gm,
                                             const cfx_quant_data *data,
                                             cfx_error *err);

/*
 * Convert a GraphModule that was prepared and has run on data. `report` (may be
 * NULL) receives a row for each quantized tensor. Fails with CFX_EINVAL for an
 * observer that saw no data, NaN or infinity, which is named, CFX_EUNDECIDED,
 * CFX_EWEIGHT, CFX_ENOMEM; gm is then partly rewritten, but well-formed.
 */
CFX_API cfx_status cfx_quantize_convert(cfx_module *gm,
                                        cfx_quant_report *report,
                                        cfx_error *err);

/*
 * Run a prepared model and the model that became of its copy on the same
 * inputs, and set the errors of the report's results and the ratio of the
 * outputs. Fails as runs do.
 */
CFX_API cfx_status cfx_quantize_measure(cfx_quant_report *report,
                                        cfx_module *prepared,
                                        cfx_module *converted,
                                        const cfx_value *inputs,
                                        size_t ninputs, cfx_error *err);

/*
 * Find the patterns of a quantizer, and quantize each one of them alone in a
 * copy of gm that was calibrated on the data. The patterns are sorted by the
 * signal-to-noise ratio of the outputs over data->sample, the lowest first, NaN
 * before it. Fails as preparing, runs and converting do, with CFX_EINVAL for no
 * batches, no patterns, and outputs without a floating-point tensor.
 */
CFX_API cfx_status cfx_quantize_sensitivity(cfx_quant_patterns *patterns,
                                            const cfx_module *gm,
                                            cfx_quantizer *q,
                                            const cfx_quant_data *data,
                                            cfx_error *err);

/*
 * Find few patterns that, kept in float, let the outputs have a signal-to-noise
 * ratio of at least `least` dB over the data, and set their keep_float. *snr is
 * the ratio that the outputs then have; it is below `least` if that is out of
 * reach. If no pattern has to be kept, none is measured. Fails like
 * cfx_quantize_sensitivity.
 */
CFX_API cfx_status cfx_quantize_reach_snr(
    cfx_quant_patterns *patterns, const cfx_module *gm, cfx_quantizer *q,
    const cfx_quant_data *data, double least, double *snr, cfx_error *err);

CFX_API void cfx_quant_patterns_release(cfx_quant_patterns *patterns,
                                        cfx_context *ctx);

CFX_API void cfx_quant_report_release(cfx_quant_report *report,
                                      cfx_context *ctx);

CFX_END_DECLS

#endif
