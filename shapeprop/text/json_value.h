/*
 * json_value.h -- values and extents in JSON, as the reports have them. Not
 * installed.
 *
 * An extent is a number, or where it is an expression a string. All give a new
 * reference, or NULL on lack of memory.
 */
#ifndef CFX_JSON_VALUE_H
#define CFX_JSON_VALUE_H

#include <cfx/graph.h>

#include <jansson.h>

json_t *cfx_json_dim(cfx_dim d);

/* {"dtype": "float32", "shape": [...], "stride": [...]} of a tensor, a list of
 * a tuple or list, {"dict": {...}} of a dict, whose keys are text, a number or
 * a string of an int; null of anything else. */
json_t *cfx_json_value(cfx_value v);

/* {"N": {"min": 1, "max": null}, ...} of the symbols of an environment, and its
 * guards. `env` may be NULL. */
json_t *cfx_json_symbols(const cfx_shape_env *env);
json_t *cfx_json_guards(const cfx_shape_env *env);

/* A string of UTF-8 that may hold anything else: what is none is replaced. */
json_t *cfx_json_text(const char *s, size_t len);

#endif
