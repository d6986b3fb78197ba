/*
 * run -- load a model, run it on one input and print the result.
 *
 *     run MODEL.fx INPUT.npy
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/interp.h>

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    cfx_interp it = {0};
    cfx_value y = CFX_NOTHING;
    char *text = NULL;
    size_t size = 0;

    if (argc != 3)
        return 2;
    int failed = cfx_context_new(&ctx, NULL, &err) ||
                 cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 cfx_npy_read(&x, ctx, argv[2], &err) ||
                 cfx_interp_init(&it, &cfx_interp_base, model, &err) ||
                 cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                                &y, &err) ||
                 (y.kind == CFX_TENSOR &&
                  cfx_tensor_print(&text, &size, y.u.tensor, &err));
    if (failed)
        fprintf(stderr, "run: %s\n", err.text);
    else
        puts(text ? text : "(no tensor)");
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    if (ctx)
        cfx_free(ctx, text, size);
    cfx_context_free(ctx);
    return failed != 0;
}
