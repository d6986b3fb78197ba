/*
 * c_names.h -- what operators and their parameters are called in cfx/ops.h.
 * Not installed.
 */
#ifndef CFX_C_NAMES_H
#define CFX_C_NAMES_H

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <cfx/op.h>

/* cfx_add; of the spelling that writes cfx_add_inplace, of ATen's _softmax
 * cfx_aten_softmax: names must not differ by an underscore alone. */
CFX_INLINE void cfx_c_function_name(char *buf, size_t size,
                                    const cfx_schema *s, bool inplace)
{
    int n = snprintf(buf, size, "cfx_%s%s%s", *s->name == '_' ? "aten" : "",
                     s->name, inplace ? "_inplace" : "");
    for (int i = 4; i < n && (size_t)i < size; i++)
        buf[i] = (char)tolower((unsigned char)buf[i]);
}

/* The number of positional parameters of the C function. */
CFX_INLINE int cfx_c_required(const cfx_schema *s)
{
    int n = 0;
    while (n < s->nparams && s->params[n].required)
        n++;
    return n;
}

/* C's keywords and words that its headers may define. */
CFX_INLINE const char *cfx_c_param_name(const char *name)
{
    static const char *const taken[][2] = {
        {"default", "default_"},   {"float", "float_"},   {"int", "int_"},
        {"register", "register_"}, {"return", "return_"}, {"short", "short_"},
        {"static", "static_"},     {"double", "double_"},
    };
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
        if (!strcmp(taken[i][0], name))
            return taken[i][1];
    return name;
}

#endif
