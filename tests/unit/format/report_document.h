/*
 * report_document.h -- "cfx.roofline/1" documents drawn: what no roofline of
 * ours has can be drawn too.
 */
#ifndef CFX_REPORT_DOCUMENT_H
#define CFX_REPORT_DOCUMENT_H

#include <jansson.h>

#include "shapeprop/report/report_impl.h"

typedef struct report_document {
    json_t *json;
    cfx_report_source from;
    cfx_report_row *row;
    cfx_report_ceiling *peak, *level;
    cfx_report report;
} report_document;

/* Read one and choose what is drawn; release it in any case. */
cfx_status report_document_read(report_document *d, cfx_context *ctx,
                                const char *json, size_t len, cfx_error *err);
void report_document_release(report_document *d);

/* Read and print one. */
cfx_status report_svg(cfx_sink to, cfx_context *ctx, const char *json,
                      size_t len, cfx_error *err);
cfx_status report_html(cfx_sink to, cfx_context *ctx, const char *json,
                       size_t len, cfx_error *err);

#endif
