/*
 * Operators of one's own, their costs, and the entry of a plugin.
 */
#include "example.h"

@op.h.1
@op.h.2
@op.h.3
@op.h.4
@op.h.5
@op.h.9

/* Another file's parameters. */
#define SELF SUM_SELF
#define params sum_params
@op.h.7
#undef SELF
#undef params

static cfx_status sum_infer(cfx_call *call)
{
    @op.h.8
    return keep ? CFX_EINVAL : cfx_call_out_like(call, call->in[0].u.tensor);
}

static const cfx_op sum = {
    .abi = CFX_ABI(cfx_op),
    .schema = "my_sum(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
    .params = sum_params,
    .aliases = "my.sum",
    .infer = sum_infer,
};

@compiler.h.1
@context.h.3

static void run(void)
{
    cfx_scope s;
    cfx_value x = ones(2, 3);
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    require(first(cfx_call_function(&s, "my.scale", CFX_ARGS(x))) == 2);
    cfx_scope_release(&s);
    cfx_scope_init(&s, &cfx_meta_class, ctx, NULL);
    cfx_value dim = cfx_list(&s, cfx_int(0));
    require(cfx_call_function(&s, "my.sum", CFX_ARGS(x, dim)).kind ==
            CFX_TENSOR);
    cfx_scope_release(&s);
    cfx_value_unref(x);
}

int main(void)
{
    begin();
    @op.h.6
    @op.h.10
    require(!err.code && !cfx_register_op(ctx, &sum, &err));
    require(!cfx_plugin_init(ctx, &err));
    run();
    cfx_context_free(ctx);
    return 0;
}
