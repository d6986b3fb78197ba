/*
 * own_module -- a module class in C, whose one forward runs, propagates shapes,
 * and is traced into a graph.
 *
 *     own_module
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/ops.h>
#include <cfx/text.h>
#include <cfx/tracer.h>

/* def __init__(self, n): self.scale = Parameter(n); self.fc = Linear(n, n) */
static cfx_status mlp_init(cfx_module *self, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(self);
    cfx_dim n = cfx_attr_dim(self, "n");
    cfx_value args[] = {cfx_attr(self, "n"), cfx_attr(self, "n")};
    const cfx_module_type *linear = cfx_find_module_type(ctx, "Linear");
    cfx_module *fc;
    return cfx_module_param(self, "scale", CFX_F32, 1, &n, err) ||
           cfx_module_new(&fc, ctx, linear, NULL, args, 2, NULL, 0, err) ||
           cfx_module_add_take(self, "fc", fc, err) ? err->code : CFX_OK;
}

static cfx_value mlp_forward(cfx_scope *s, cfx_module *self,
                             const cfx_value *in)
{
    cfx_value h = cfx_relu(s, cfx_call_module(s, self, "fc", in[0]));
    return cfx_clamp(s, cfx_mul(s, h, cfx_param_of(s, self, "scale")),
                     .max = cfx_num(1));
}

static const cfx_module_type mlp = {
    .schema = "Mlp(int n)",
    .repr = "n",
    .doc = "A layer, scaled and clamped.",
    .init = mlp_init,
    .forward_schema = "forward(Tensor x) -> Tensor",
    .forward = mlp_forward,
};

/* What it gives in a scope of that class. */
static cfx_status call(const cfx_scope_class *cls, cfx_module *m, cfx_tensor *x)
{
    cfx_scope s;
    char type[64];
    cfx_scope_init(&s, cls, cfx_module_context(m), NULL);
    cfx_value in = cfx_value_of_tensor(x), y = mlp_forward(&s, m, &in);
    if (!cfx_scope_failed(&s))
        cfx_tensor_format_type(y.u.tensor, type, sizeof(type));
    printf("%s: %s\n", cls->name, s.error.code ? s.error.text : type);
    cfx_scope_release(&s);
    return s.error.code;
}

int main(void)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *m = NULL, *gm = NULL;
    cfx_tensor *x = NULL, *meta = NULL;
    cfx_value n = cfx_int(4);
    cfx_dim shape[] = {cfx_dim_int(1000000), cfx_dim_int(4)};

    int failed =
        cfx_context_new(&ctx, NULL, &err) ||
        cfx_module_new(&m, ctx, &mlp, NULL, &n, 1, NULL, 0, &err) ||
        cfx_module_randomize(m, 1, &err) ||
        cfx_tensor_new(&x, ctx, CFX_F32, 2, (int64_t[]){2, 4}, &err) ||
        cfx_tensor_randomize(x, 1, "x", &err) ||
        cfx_tensor_meta(&meta, ctx, CFX_F32, 2, shape, NULL, &err) ||
        call(&cfx_eager_class, m, x) || call(&cfx_meta_class, m, meta) ||
        cfx_symbolic_trace(&gm, m, NULL, &err) ||
        cfx_print_model(cfx_sink_file(stdout), gm, false, &err);
    cfx_tensor_unref(meta);
    cfx_tensor_unref(x);
    cfx_module_unref(gm);
    cfx_module_unref(m);
    cfx_context_free(ctx);
    return failed;
}
