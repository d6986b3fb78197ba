/*
 * Module types, scopes, observers.
 */
#include "example.h"

@module.h.1
@module.h.2
@module.h.3
@scope.h.1
@codegen.h.1

struct count {
    cfx_scope base;
    int n;
};
extern const cfx_scope_class count_class;
@scope.h.2
@scope.h.3

static void children(void)
{
    cfx_module *m = NULL;
    require(!cfx_module_new_container(&m, ctx, "Net", &err));
    @module.h.4
    cfx_module_add(m, "fc1", "Linear", CFX_ARGS(cfx_int(3), cfx_int(3)), &err);
    cfx_module_add(m, "fc2", "Linear", CFX_ARGS(cfx_int(3), cfx_int(2)), &err);
    cfx_module_add(m, "conv1", "Linear", CFX_ARGS(cfx_int(3), cfx_int(1)),
                   &err);
    require(!cfx_module_randomize(m, 1, &err));
    require(cfx_module_add(m, "a", "Nope", CFX_NO_ARGS, &err) == CFX_ENAME);
    cfx_error_clear(&err);
    struct count s = {.n = 0};
    cfx_value x = ones(2, 3);
    cfx_scope_init(&s.base, &count_class, ctx, NULL);
    require(cfx_tensor_size(mlp(&s.base, m, x).u.tensor, 1) == 2);
    require(cfx_tensor_size(net_forward(&s.base, m, x).u.tensor, 1) == 1);
    require(!cfx_scope_status(&s.base, &err) && s.n == 6);
    cfx_scope_release(&s.base);
    cfx_value_unref(x);
    cfx_module_unref(m);
}

static void registered(void)
{
    cfx_module *m = NULL;
    require(!cfx_register_module_type(ctx, &scale, &err));
    require(!cfx_module_new_container(&m, ctx, "Net", &err));
    require(!cfx_module_add(m, "s", "Scale", CFX_ARGS(cfx_int(3)), &err));
    cfx_module_unref(m);
}

static void observed(void)
{
    cfx_scope scope;
    cfx_module *observer = NULL;
    cfx_tensor *scale = NULL, *zero_point = NULL;
    cfx_value batch[] = {ones(2, 2)}, unused;
    size_t nbatches = 1;
    cfx_scope_init(&scope, &cfx_eager_class, ctx, NULL);
    @observer.h.1
    require(!err.code && *(float *)scale->data > 0);
    cfx_value_unref(unused);
    cfx_value_unref(batch[0]);
    cfx_tensor_unref(scale);
    cfx_tensor_unref(zero_point);
    cfx_module_unref(observer);
    cfx_scope_release(&scope);
}

int main(void)
{
    begin();
    children();
    registered();
    observed();
    cfx_context_free(ctx);
    return 0;
}
