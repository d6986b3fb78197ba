/*
 * count_flops -- subclass the interpreter: add up multiply-adds by opcode.
 *
 *     count_flops MODEL.fx INPUT.npy
 *
 * An interpreter in a meta scope propagates shapes and computes nothing. The
 * scope's class is subclassed too: it sees every operator call, including those
 * in modules' forwards and in both branches of torch.cond.
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/interp.h>

struct counting_scope {
    cfx_scope base;
    double macs[CFX_NOPCODES];
};

static cfx_status count_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct counting_scope *c = (struct counting_scope *)s;
    cfx_cost cost;
    cfx_status st = cfx_call_cost(call, &cost, out);
    if (!st)
        c->macs[s->node->op] += (double)cfx_dim_value(cost.macs);
    return st;
}

static const cfx_scope_class counting_class = {
    .size = sizeof(cfx_scope_class),
    .name = "counting",
    .super = &cfx_meta_class,
    .call_op = count_op,
};

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    cfx_interp it = {0};
    cfx_value y = CFX_NOTHING;
    struct counting_scope s = {0};
    cfx_interp_options options = {.size = sizeof(options), .scope = &s.base};
    cfx_load_options load = {.size = sizeof(load), .no_weights = true};

    if (argc != 3 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    cfx_scope_init(&s.base, &counting_class, ctx, NULL);
    int failed = cfx_model_load(&model, ctx, argv[1], &load, &err) ||
                 cfx_npy_read(&x, ctx, argv[2], &err) ||
                 cfx_interp_init_with(&it, &cfx_interp_base, model, &options,
                                      &err) ||
                 cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                                &y, &err);
    if (failed)
        fprintf(stderr, "count_flops: %s\n", err.text);
    for (int op = 0; op < CFX_NOPCODES && !failed; op++)
        printf("%-14s %12.0f flops\n", cfx_opcode_names[op], 2 * s.macs[op]);
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_scope_release(&s.base);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed != 0;
}
