/*
 * digits -- classify hand-written digits, draw some of them, and print the
 * accuracy.
 *
 *     digits MODEL.fx IMAGES.npy LABELS.npy [--shuffle]
 *
 * --shuffle gives every image the label of another one, to check that the
 * accuracy depends on the labels.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>

enum { SHOWN = 4, SIDE = 8 }; /* 80 columns */

/* Draw ink of 0 to 1 as characters, two per pixel, since they are narrow. */
static void draw(const float *image, int row)
{
    static const char ink[] = " .:-=+*#%@";
    for (int column = 0; column < SIDE; column++) {
        float v = image[row * SIDE + column];
        int level = (int)(v * 9.0f + 0.5f);
        char c = ink[level < 0 ? 0 : level > 9 ? 9 : level];
        printf("%c%c", c, c);
    }
}

static int64_t best(const float *score, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (score[i] > score[at])
            at = i;
    return at;
}

static void show(const float *images, const float *scores, int64_t classes)
{
    for (int row = 0; row < SIDE; row++) {
        for (int i = 0; i < SHOWN; i++) {
            draw(images + i * SIDE * SIDE, row);
            printf("  ");
        }
        printf("\n");
    }
    for (int i = 0; i < SHOWN; i++)
        printf(
            "%-18s",
            (char[]){(char)('0' + best(scores + i * classes, classes)), '\0'});
    printf("\n\n");
}

static void judge(const cfx_tensor *scores, const cfx_tensor *labels,
                  const float *images, int64_t shift)
{
    int64_t n = cfx_tensor_size(scores, 0);
    int64_t classes = cfx_tensor_size(scores, 1), right = 0;
    const float *score = scores->data;
    const int64_t *label = labels->data;
    for (int64_t i = 0; i < n; i++)
        right += best(score + i * classes, classes) == label[(i + shift) % n];
    if (n >= SHOWN)
        show(images, score, classes);
    printf("%lld of %lld right: %.2f %%\n", (long long)right, (long long)n,
           100.0 * (double)right / (double)n);
}

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *images = NULL, *labels = NULL;
    cfx_value y = CFX_NOTHING;
    bool shuffle = argc == 5 && !strcmp(argv[4], "--shuffle");

    if (argc != 4 && !shuffle) {
        fprintf(stderr, "usage: digits MODEL IMAGES LABELS [--shuffle]\n");
        return 2;
    }
    int failed = cfx_context_new(&ctx, NULL, &err) ||
                 cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 cfx_npy_read(&images, ctx, argv[2], &err) ||
                 cfx_npy_read(&labels, ctx, argv[3], &err) ||
                 cfx_graph_module_call(
                     model, CFX_ARGS(cfx_value_of_tensor(images)), &y, &err);
    if (failed)
        fprintf(stderr, "digits: %s\n", err.text);
    else
        judge(y.u.tensor, labels, images->data, shuffle ? 7 : 0);
    cfx_value_unref(y);
    cfx_tensor_unref(images);
    cfx_tensor_unref(labels);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed != 0;
}
