/*
 * swap_by_pattern -- rewrite a model: each x + y becomes x * y, in any
 * notation.
 *
 *     swap_by_pattern models/mymodule.fx
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/ops.h>
#include <cfx/pattern.h>
#include <cfx/text.h>

static cfx_value pattern(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_add(s, in[0], in[1]);
}

static cfx_value replacement(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_mul(s, in[0], in[1]);
}

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_matches done = {0};
    const cfx_rewrite_options options = {.match = {.by_operator = true}};

    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    int failed = cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 cfx_replace_function(model, pattern, replacement, NULL, "x y",
                                      &options, &done, &err) ||
                 cfx_print_graph(cfx_sink_file(stdout),
                                 cfx_graph_module_graph(model), false, &err);
    if (failed)
        fprintf(stderr, "swap_by_pattern: %s\n", err.text);
    else
        printf("\n%zu replaced\n", done.n);
    cfx_matches_release(&done);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
