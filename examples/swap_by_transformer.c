/*
 * swap_by_transformer -- rewrite a model: multiply where it adds.
 *
 *     swap_by_transformer models/mymodule.fx
 *
 * A Transformer is an interpreter whose values are nodes of a new graph. A hook
 * that chains up with another target records that target.
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/text.h>
#include <cfx/transformer.h>

struct swap {
    cfx_transformer base;
    cfx_value mul;
};

static const cfx_interp_class swap_class;

static cfx_status swap_function(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    cfx_call other = *call;
    if (cfx_call_is(call, "add"))
        other.target = ((struct swap *)it)->mul;
    return CFX_SUPER(&swap_class, call_function)(it, &other, out);
}

static const cfx_interp_class swap_class = {
    .size = sizeof(cfx_interp_class),
    .name = "swap",
    .super = &cfx_transformer_class,
    .call_function = swap_function,
};

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL, *swapped = NULL;
    cfx_load_options load = {.size = sizeof(load), .no_weights = true};
    struct swap t = {0};

    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    t.mul = cfx_keyword(ctx, "operator.mul");
    int failed = cfx_model_load(&model, ctx, argv[1], &load, &err) ||
                 cfx_transformer_init(&t.base, &swap_class, model, NULL,
                                      &err) ||
                 cfx_transform(&t.base, &swapped, &err) ||
                 cfx_print_model(cfx_sink_file(stdout), swapped, false, &err);
    if (failed)
        fprintf(stderr, "swap_by_transformer: %s\n", err.text);
    cfx_transformer_release(&t.base);
    cfx_module_unref(swapped);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
