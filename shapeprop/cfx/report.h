/*
 * cfx/report.h -- a roofline report as a page, or as a picture.
 *
 *     cfx_report_html(cfx_sink_file(f), ctx, json, len, &err);
 *     cfx_report_svg(cfx_sink_file(f), ctx, json, len, &err);
 *
 * Both take the text of a JSON document of the schema "cfx.roofline/1", such
 * as cfx roofline prints, so that a report that was kept can be drawn later.
 * Only its `schema` and the array `nodes` must be there: what is missing or
 * null is left out of the drawing, and what is a formula (a string where a
 * number is expected) is shown as text. Names in it are shown as they are,
 * whatever stands in them.
 */
#ifndef CFX_REPORT_H
#define CFX_REPORT_H

#include <cfx/context.h>
#include <cfx/text.h>

CFX_BEGIN_DECLS

/*
 * One file of HTML that needs nothing else and asks no network for anything:
 * totals, the roofline, the tree of modules, memory over the walk and the
 * table of nodes, bound together. Without JavaScript it shows the picture of
 * cfx_report_svg. Fails with CFX_EPARSE where the text is no JSON, CFX_EINVAL
 * where it is no such document, CFX_ENOMEM, and as the sink does.
 */
CFX_API cfx_status cfx_report_html(cfx_sink to, cfx_context *ctx,
                                   const char *json, size_t len,
                                   cfx_error *err);

/*
 * The roofline alone, as SVG: the ceilings of the machine, and a mark a node,
 * its area its time (the time of its floor where it was not measured), its
 * shape and colour its operator. Nodes without arithmetic, bytes or numbers
 * are counted below the plot. Fails as cfx_report_html does.
 */
CFX_API cfx_status cfx_report_svg(cfx_sink to, cfx_context *ctx,
                                  const char *json, size_t len,
                                  cfx_error *err);

CFX_END_DECLS

#endif
