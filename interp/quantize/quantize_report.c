/*
 * quantize_report -- the outcome of quantizing for each node.
 */
#include <string.h>

#include "base/util.h"
#include "interp/quantize/quantize_impl.h"

cfx_status cfx_quant__copy_name(cfx_context *ctx, char **out, const char *name,
                                cfx_error *err)
{
    size_t size = strlen(name) + 1;
    *out = cfx_alloc(ctx, size);
    if (!*out)
        return cfx_no_memory(err);
    memcpy(*out, name, size);
    return CFX_OK;
}

void cfx_quant__free_name(cfx_context *ctx, char *name)
{
    if (name)
        cfx_free(ctx, name, strlen(name) + 1);
}

cfx_status cfx_quant_report__add(cfx_quant_report *report, cfx_context *ctx,
                                 const cfx_quant_row *row, const char *node,
                                 cfx_error *err)
{
    if (!report)
        return CFX_OK;
    if (cfx_grow(ctx, report->row, report->cap, report->n + 1, err))
        return CFX_ENOMEM;
    cfx_quant_row *to = &report->row[report->n];
    *to = *row;
    cfx_status st = cfx_quant__copy_name(ctx, &to->node, node, err);
    report->n += !st;
    return st;
}

void cfx_quant_report_release(cfx_quant_report *report, cfx_context *ctx)
{
    for (size_t i = 0; i < report->n; i++)
        cfx_quant__free_name(ctx, report->row[i].node);
    cfx_free(ctx, report->row, report->cap * sizeof(*report->row));
    *report = (cfx_quant_report){0};
}
