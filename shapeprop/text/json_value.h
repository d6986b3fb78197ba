/*
 * json_value.h -- convert values and extents to JSON for reports. Not
 * installed.
 *
 * An extent is a number, or a string if it is an expression. All functions
 * return a new reference, or NULL on lack of memory.
 */
#ifndef CFX_JSON_VALUE_H
#define CFX_JSON_VALUE_H

#include <cfx/graph.h>

#include <jansson.h>

json_t *cfx_json_dim(cfx_dim d);

/* Convert a tensor to {"dtype": "float32", "shape": [...], "stride": [...]}, a
 * tuple or list to an array, a dict to {"dict": {...}} with keys that are
 * texts, numbers or strings of ints, anything else to null. */
json_t *cfx_json_value(cfx_value v);

/* Return {"N": {"min": 1, "max": null}, ...} for the symbols of an environment,
 * and its guards. `env` may be NULL. */
json_t *cfx_json_symbols(const cfx_shape_env *env);
json_t *cfx_json_guards(const cfx_shape_env *env);

/* Make a string; if it is not UTF-8, all bytes beyond ASCII become "?". */
json_t *cfx_json_text(const char *s, size_t len);

#endif
