// What programs in C++ write: zeroed structs, arguments in place, lists,
// operators with optional arguments, a class of hooks, a plugin's entry.
#include "example.h"

struct count {
    cfx_interp base;
    int n;
};

static cfx_interp_class count_class;

static cfx_status count_function(cfx_interp *it, const cfx_call *call,
                                 cfx_value *out)
{
    reinterpret_cast<count *>(it)->n++;
    return CFX_SUPER(&count_class, call_function)(it, call, out);
}

static cfx_value f(cfx_scope *s, const cfx_value *in, void *)
{
    cfx_value y = cfx_sum(s, cfx_cat(s, cfx_list(s, in[0], in[0])));
    y = cfx_clamp(s, y, cfx_float(0), cfx_float(7));
    cfx_value alpha = cfx_keyword(s->ctx, "alpha");
    return cfx_call_function(
        s, "torch.add",
        cfx_args{CFX_ITEMS(y, y), CFX_PAIRS(alpha, cfx_int(2))});
}

static cfx_op nothing;

CFX_PLUGIN_INIT(context, error)
{
    nothing.abi = CFX_ABI(cfx_op);
    nothing.schema = "nothing(Tensor self) -> Tensor";
    nothing.aliases = "my.nothing";
    return cfx_register_op(context, &nothing, error);
}

int main()
{
    begin();
    cfx_module *gm = nullptr;
    cfx_value x = ones(2, 2), y = {0};
    require(!cfx_trace_function(&gm, ctx, f, nullptr, "x", &err));
    require(!cfx_graph_module_call(gm, CFX_ARGS(x), &y, &err));
    require(first(y) == 21);
    cfx_value_unref(y);

    count_class.size = sizeof(count_class);
    count_class.name = "count";
    count_class.super = &cfx_interp_base;
    count_class.call_function = count_function;
    count c = {};
    require(!cfx_interp_init(&c.base, &count_class, gm, &err));
    require(!cfx_interp_run(&c.base, &x, 1, &y, &err) && c.n == 4);
    cfx_value_unref(y);
    cfx_interp_release(&c.base);

    cfx_module *net = nullptr;
    require(!cfx_module_new_container(&net, ctx, "Net", &err));
    require(!cfx_module_add(net, "fc", "Linear",
                            CFX_ARGS(cfx_int(4), cfx_int(5)), &err));
    require(!cfx_plugin_init(ctx, &err));
    cfx_module_unref(net);
    cfx_value_unref(x);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return 0;
}
