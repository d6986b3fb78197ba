/*
 * json.h -- parse JSON with its memory accounted. Not installed.
 */
#ifndef CFX_FORMAT_JSON_H
#define CFX_FORMAT_JSON_H

#include <jansson.h>

#include <cfx/context.h>

typedef struct cfx_json {
    json_t *root;
    cfx_context *ctx;
    size_t charged; /* bytes */
} cfx_json;

/*
 * Parse a text. jansson takes its memory from malloc, so what it may take at
 * most (cfx_json_bound) is charged to the context beforehand, until
 * cfx_json_release. Error messages have line and column, or, for a text at
 * byte `prefix` > 0 of its file, the byte. Fails with CFX_EPARSE, and with
 * CFX_ENOMEM, also at the context's limit.
 */
cfx_status cfx_json_parse(cfx_json *out, cfx_context *ctx, const char *text,
                          size_t len, size_t flags, size_t prefix,
                          cfx_error *err);
void cfx_json_release(cfx_json *j);

/* The most bytes that jansson can take for a text. */
uint64_t cfx_json_bound(const char *text, size_t len);

/* Fails with CFX_ELIMIT for a text that may need more than 1 GiB; no
 * description of tensors does. */
cfx_status cfx_json_check_bound(const char *text, size_t len, cfx_error *err);

#endif
