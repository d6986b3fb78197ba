/*
 * decompose_relu -- rewrite a model with proxies: each relu, function or
 * module, becomes (x > 0) * x.
 *
 *     decompose_relu MODEL.fx
 *
 * The values of a Transformer are proxies. Calls with them in its scope are
 * recorded in the new graph, so a decomposition is written like a computation.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/ops.h>
#include <cfx/text.h>
#include <cfx/transformer.h>

static const cfx_interp_class relu_class;

static cfx_status decompose(cfx_interp *it, cfx_value x, cfx_value *out)
{
    cfx_scope *s = it->scope;
    *out = cfx_mul(s, cfx_gt(s, x, cfx_int(0)), x);
    return cfx_scope_status(s, it->err);
}

static cfx_status relu_function(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    if (cfx_call_is(call, "relu"))
        return decompose(it, call->args[0], out);
    return CFX_SUPER(&relu_class, call_function)(it, call, out);
}

static cfx_status relu_module(cfx_interp *it, const cfx_call *call,
                              cfx_value *out)
{
    const cfx_module *m = cfx_module_at(it->module, call->target.u.str->text);
    if (m && !strcmp(cfx_module_class_name(m), "ReLU"))
        return decompose(it, call->args[0], out);
    return CFX_SUPER(&relu_class, call_module)(it, call, out);
}

static const cfx_interp_class relu_class = {
    .size = sizeof(cfx_interp_class),
    .name = "decompose_relu",
    .super = &cfx_transformer_class,
    .call_function = relu_function,
    .call_module = relu_module,
};

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL, *without = NULL;
    cfx_load_options load = {.size = sizeof(load), .no_weights = true};
    cfx_transformer t = {0};

    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    int failed = cfx_model_load(&model, ctx, argv[1], &load, &err) ||
                 cfx_transformer_init(&t, &relu_class, model, NULL, &err) ||
                 cfx_transform(&t, &without, &err) ||
                 cfx_print_model(cfx_sink_file(stdout), without, false, &err);
    if (failed)
        fprintf(stderr, "decompose_relu: %s\n", err.text);
    cfx_transformer_release(&t);
    cfx_module_unref(without);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
