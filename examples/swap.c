/*
 * swap -- subclass the interpreter: run a model with one function in place of
 * another.
 *
 *     swap MODEL.fx FROM TO
 *     swap models/mymodule.fx operator.add operator.sub
 *
 * The model has one input, a matrix of 3 by 4 ones.
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/text.h>

struct swap {
    cfx_interp base;
    const char *from;
    cfx_value to;
};

static const cfx_interp_class swap_class;

/* Chain up with another target. */
static cfx_status swap_function(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    struct swap *self = (struct swap *)it;
    cfx_call other = *call;
    if (cfx_call_is(call, self->from))
        other.target = self->to;
    return CFX_SUPER(&swap_class, call_function)(it, &other, out);
}

static const cfx_interp_class swap_class = {
    .size = sizeof(cfx_interp_class),
    .name = "swap",
    .super = &cfx_interp_base,
    .call_function = swap_function,
};

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    struct swap it = {0};
    cfx_value y = CFX_NOTHING;

    if (argc != 4 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    it.from = argv[2];
    it.to = cfx_keyword(ctx, argv[3]);
    int failed = cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 cfx_tensor_new(&x, ctx, CFX_F32, 2, (int64_t[]){3, 4}, &err);
    for (int i = 0; i < 12 && !failed; i++)
        ((float *)x->data)[i] = 1;
    failed = failed || cfx_interp_init(&it.base, &swap_class, model, &err) ||
             cfx_interp_run(&it.base, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                            &y, &err) ||
             cfx_print_tensor(cfx_sink_file(stdout), y.u.tensor, &err);
    if (failed)
        fprintf(stderr, "swap: %s\n", err.text);
    else
        puts("");
    cfx_value_unref(y);
    cfx_interp_release(&it.base);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
