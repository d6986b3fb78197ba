/*
 * run -- load a model, run it on one input and print the result.
 *
 *     run MODEL.fx INPUT.npy
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/text.h>

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    cfx_value y = CFX_NOTHING;

    if (argc != 3)
        return 2;
    int failed = cfx_context_new(&ctx, NULL, &err) ||
                 cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 cfx_npy_read(&x, ctx, argv[2], &err) ||
                 cfx_graph_module_call(model, CFX_ARGS(cfx_value_of_tensor(x)),
                                       &y, &err) ||
                 cfx_print_value(cfx_sink_file(stdout), y, CFX_STYLE_REPR,
                                 &err);
    if (failed)
        fprintf(stderr, "run: %s\n", err.text);
    else
        puts("");
    cfx_value_unref(y);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
