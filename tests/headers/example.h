/*
 * example.h -- what the programs around the headers' examples share.
 */
#ifndef HEADERS_EXAMPLE_H
#define HEADERS_EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx.h>

static cfx_error err = {0};
static cfx_context *ctx;

#define require(what)                                                         \
    do {                                                                      \
        if (!(what)) {                                                        \
            fprintf(stderr, "%s:%d: not %s: %s\n", __FILE__, __LINE__, #what, \
                    err.text);                                                \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

CFX_INLINE void begin(void)
{
    require(!cfx_context_new(&ctx, NULL, &err));
}

CFX_INLINE cfx_module *model(const char *text)
{
    cfx_module *gm = NULL;
    require(!cfx_parse_model(&gm, ctx, text, strlen(text), "text", &err));
    return gm;
}

/* A float tensor of ones, as a value that the caller owns. */
CFX_INLINE cfx_value ones(int64_t rows, int64_t columns)
{
    cfx_tensor *t = NULL;
    const int64_t shape[] = {rows, columns};
    require(!cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err));
    for (int64_t i = 0; i < rows * columns; i++)
        ((float *)t->data)[i] = 1;
    return cfx_value_of_tensor(t);
}

CFX_INLINE float first(cfx_value v)
{
    require(v.kind == CFX_TENSOR);
    return *(const float *)v.u.tensor->data;
}

/* relu(x) + x */
#define SUM                                                                   \
    "graph():\n"                                                              \
    "    %x : [num_users=2] = placeholder[target=x]\n"                        \
    "    %relu : [num_users=1] = call_function[target=torch.relu]"            \
    "(args = (%x,), kwargs = {})\n"                                           \
    "    %add : [num_users=1] = call_function[target=operator.add]"           \
    "(args = (%relu, %x), kwargs = {})\n"                                     \
    "    return add\n"

/* relu(linear(x)) */
#define LINEAR                                                                \
    "Net(\n  (fc): Linear(in_features=4, out_features=4, bias=True)\n)\n\n"   \
    "graph():\n"                                                              \
    "    %x : [num_users=1] = placeholder[target=x]\n"                        \
    "    %fc : [num_users=1] = call_module[target=fc]"                        \
    "(args = (%x,), kwargs = {})\n"                                           \
    "    %relu : [num_users=1] = call_function[target=torch.relu]"            \
    "(args = (%fc,), kwargs = {})\n"                                          \
    "    return relu\n"

#endif
