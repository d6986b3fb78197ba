/*
 * roofline_json.h -- reports as JSON. Not installed.
 */
#ifndef CFX_ROOFLINE_JSON_H
#define CFX_ROOFLINE_JSON_H

#include <jansson.h>

#include "format/print.h"
#include "shapeprop/text/json_value.h"
#include "shapeprop/roofline/roofline_impl.h"

/* An object under construction; NULL after lack of memory. */
typedef struct cfx_json_object {
    json_t *json;
} cfx_json_object;

/* Return the document of a report, a new reference; NULL on lack of memory. */
json_t *cfx_roofline__json(const cfx_roofline *r, const char *model);

/* Print the document, with line breaks or compact, and a final newline. */
void cfx_roofline__put_json(cfx_out *o, const cfx_roofline *r,
                            const char *model, bool compact);

/* Write a document with a final newline and free it; NULL fails with
 * CFX_ENOMEM. */
cfx_status cfx_json__write(cfx_sink to, json_t *j, cfx_error *err);

#endif
