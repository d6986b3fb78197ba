/*
 * own_pass -- a pass of one rule: max_pool(relu(x)) becomes relu(max_pool(x)), which
 * gives the same result, and computes relu of fewer elements.
 *
 *     own_pass MODEL.fx
 *
 * A rule has a pattern and what is built in its place, both written as functions
 * over values. Once it is registered, the pass is applied by its name, like those
 * of `cfx passes`.
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/ops.h>
#include <cfx/pass.h>
#include <cfx/text.h>

static cfx_value pool_of_relu(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value y = cfx_named(s, "relu", cfx_pattern_module(s, "ReLU", in, 1));
    return cfx_named(s, "pool", cfx_pattern_module(s, "MaxPool2d", &y, 1));
}

/* The path of the module that a node of the match calls. */
static const char *path_of(const cfx_match *m, const char *name)
{
    return cfx_match_named(m, name).u.node->target->text;
}

static cfx_value relu_of_pool(cfx_scope *s, const cfx_value *in,
                              const cfx_match *m, void *user)
{
    cfx_module *gm = ((cfx_pass_call *)user)->gm;
    cfx_value y = cfx_call_module(s, gm, path_of(m, "pool"), in[0]);
    return cfx_call_module(s, gm, path_of(m, "relu"), y);
}

static const cfx_rewrite_rule rules[] = {
    {.params = "x", .pattern = pool_of_relu, .build = relu_of_pool},
    {0},
};

static const cfx_pass pool_before_relu = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "pool_before_relu()",
    .doc = "Compute relu behind the pooling that follows it.",
    .rules = rules,
};

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_load_options load = {.size = sizeof(load), .no_weights = true};
    size_t changed = 0;

    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    int failed = cfx_model_load(&model, ctx, argv[1], &load, &err) ||
                 cfx_register_pass(ctx, &pool_before_relu, &err) ||
                 cfx_pass_apply(model, "pool_before_relu", false, &changed,
                                &err) ||
                 cfx_print_model(cfx_sink_file(stdout), model, false, &err);
    if (failed)
        fprintf(stderr, "own_pass: %s\n", err.text);
    else
        fprintf(stderr, "%zu nodes changed\n", changed);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
