/*
 * quantize_impl.h -- shared by prepare and convert. Not installed.
 */
#ifndef CFX_QUANTIZE_IMPL_H
#define CFX_QUANTIZE_IMPL_H

#include <cfx/interp.h>
#include <cfx/pass.h>
#include <cfx/quantize.h>

/* A copy of a name, which cfx_quant__free_name gives back. */
cfx_status cfx_quant__copy_name(cfx_context *ctx, char **out, const char *name,
                                cfx_error *err);
void cfx_quant__free_name(cfx_context *ctx, char *name);

/* Append a row, whose `node` is copied; no effect if report is NULL. */
cfx_status cfx_quant_report__add(cfx_quant_report *report, cfx_context *ctx,
                                 const cfx_quant_row *row, const char *node,
                                 cfx_error *err);

/* Set the next index in row-major order. */
void cfx_quantize__advance(const cfx_tensor *t, int64_t *index);

/* |b - a| / |a| in L2 norms; NaN for other types than float32, or other
 * extents. */
double cfx_quantize__error(const cfx_tensor *a, const cfx_tensor *b);

/* Fold batch norms, remove dropout, inline modules, let in-place calls return
 * new tensors where that is the same, and move the parameters that the graph
 * reads to gm itself. Shapes are those of the inputs; without any, norms whose channels
 * depend on the rank stay. */
cfx_status cfx_quantize__lower(cfx_module *gm, const cfx_value *inputs,
                               size_t ninputs, cfx_error *err);

/* A value that was quantized: nodes from `first` to `with` took the place of its
 * observer, and its users read the last one. */
typedef struct cfx_quantized {
    const cfx_node *from;  /* that gives the value; NULL for a parameter */
    cfx_tensor *parameter; /* a reference, or NULL */
    const cfx_node *first, *with;
} cfx_quantized;

/* Zero it first, and release it. */
typedef struct cfx_quantized_list {
    cfx_quantized *item;
    size_t n, cap;
} cfx_quantized_list;

void cfx_quantized_list__release(cfx_quantized_list *list, cfx_context *ctx);

/* Like cfx_quantize_convert, and append to `all`, unless that is NULL. */
cfx_status cfx_quantize__convert_with(cfx_module *gm, cfx_quant_report *report,
                                      cfx_quantized_list *all, cfx_error *err);

/* The buffer of an observer that converting rounds in place of the parameter. */
#define CFX_QUANTIZE_ROUNDED "rounded"

/* Let an observer see a parameter, for which no run is needed. */
cfx_status cfx_quantize__observe(cfx_module *observer, cfx_tensor *parameter,
                                 cfx_error *err);

/* Prepare gm for a quantizer, and find the patterns that it marks. Fails with
 * CFX_EINVAL if there are none. */
cfx_status cfx_quantize__find_patterns(cfx_quant_patterns *patterns,
                                       cfx_module *gm, cfx_quantizer *q,
                                       const cfx_quant_data *data,
                                       cfx_error *err);

/* Annotate n as q does, for the quantizer `by`: errors go to its place. */
cfx_status cfx_quantizer__annotate_by(cfx_quantizer *q,
                                      const cfx_quantizer *by,
                                      const cfx_node *n, cfx_quant_mark *mark);

/* Run an interpreter on each batch; the results go to `out`, unless that is NULL. */
cfx_status cfx_quantize__run_batches(cfx_interp *it,
                                     const cfx_quant_data *data,
                                     cfx_value *out, cfx_error *err);
/* Run gm on each batch, likewise. */
cfx_status cfx_quantize__run_all(cfx_module *gm, const cfx_quant_data *data,
                                 cfx_value *out, cfx_error *err);

/* The tensor that a get_attr node reads, or NULL. */
cfx_tensor *cfx_quantize__parameter(const cfx_module *gm, const cfx_node *n);

#endif
