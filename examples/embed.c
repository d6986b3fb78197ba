/*
 * embed -- a program that contains its model and opens no file.
 *
 * digits_model.h has the bytes of digits.fx and digits.safetensors as two
 * arrays, model_text and model_weights, as `xxd -i` writes them; weights are
 * borrowed, so they should be aligned, and nothing may write to them.
 */
#include <stdio.h>
#include <string.h>

#include <cfx.h>

#include "digits_model.h"

static const char *const picture[8] = {
    "   =%*  ", "  .@+@  ", "  .=:#  ", "   .%-. ",
    "   .@@@-", "      *=", "   -*%. ", "  :@#-  ",
};

int main(void)
{
    static const char ink[] = " .:-=+*#%@";
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    cfx_value y = CFX_NOTHING;
    float pixel[64];

    for (int i = 0; i < 64; i++)
        pixel[i] = (float)(strchr(ink, picture[i / 8][i % 8]) - ink) / 9;
    int failed = cfx_context_new(&ctx, NULL, &err) ||
                 cfx_parse_model(&model, ctx, (const char *)model_text,
                                 sizeof(model_text), "digits", &err) ||
                 cfx_module_parse_weights(model, model_weights,
                                          sizeof(model_weights), true, &err) ||
                 cfx_tensor_from(&x, ctx, CFX_F32, 4, (int64_t[]){1, 1, 8, 8},
                                 NULL, pixel, sizeof(pixel), NULL, NULL,
                                 &err) ||
                 cfx_graph_module_call(model, CFX_ARGS(cfx_value_of_tensor(x)),
                                       &y, &err);
    if (failed) {
        fprintf(stderr, "embed: %s\n", err.text);
    } else {
        const float *score = y.u.tensor->data;
        int best = 0;
        for (int i = 1; i < 10; i++)
            best = score[i] > score[best] ? i : best;
        printf("%d\n", best);
    }
    cfx_value_unref(y);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
