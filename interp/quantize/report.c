/*
 * report -- what became of each node.
 */
#include <string.h>

#include "base/util.h"
#include "interp/quantize/quantize_impl.h"

cfx_status cfx_quant_report__add(cfx_quant_report *report, cfx_context *ctx,
                                 const cfx_quant_row *row, const char *node,
                                 cfx_error *err)
{
    if (!report)
        return CFX_OK;
    if (cfx_grow(ctx, report->row, report->cap, report->n + 1, err))
        return CFX_ENOMEM;
    size_t size = strlen(node) + 1;
    char *copy = cfx_alloc(ctx, size);
    if (!copy)
        return cfx_no_memory(err);
    memcpy(copy, node, size);
    report->row[report->n] = *row;
    report->row[report->n++].node = copy;
    return CFX_OK;
}

void cfx_quant_report_release(cfx_quant_report *report, cfx_context *ctx)
{
    for (size_t i = 0; i < report->n; i++)
        cfx_free(ctx, report->row[i].node, strlen(report->row[i].node) + 1);
    cfx_free(ctx, report->row, report->cap * sizeof(*report->row));
    *report = (cfx_quant_report){0};
}
