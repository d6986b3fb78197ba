/*
 * own_module -- a module class in C with one forward, which runs, propagates
 * shapes, and is traced into a graph.
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
    cfx_dim extent = cfx_attr_dim(self, "n");
    cfx_value n = cfx_attr(self, "n");
    cfx_status st = cfx_module_param(self, "scale", CFX_F32, 1, &extent, err);
    return st ? st : cfx_module_add(self, "fc", "Linear", CFX_ARGS(n, n), err);
}

static cfx_value mlp_forward(cfx_scope *s, cfx_module *self,
                             const cfx_value *in)
{
    cfx_value h = cfx_relu(s, cfx_call_module(s, self, "fc", in[0]));
    return cfx_mul(s, h, cfx_param_of(s, self, "scale"));
}

static const cfx_module_type mlp = {
    .schema = "Mlp(int n)",
    .repr = "n",
    .doc = "A layer, its output scaled.",
    .init = mlp_init,
    .forward_schema = "forward(Tensor x) -> Tensor",
    .forward = mlp_forward,
};

/* Call the module on ones in a scope of the given class. */
static cfx_status call(const cfx_scope_class *cls, cfx_module *self)
{
    cfx_scope s;
    cfx_scope_init(&s, cls, cfx_module_context(self), NULL);
    cfx_value x = cfx_ones(&s, cfx_tuple(&s, cfx_int(2), cfx_int(4)));
    cfx_value y = mlp_forward(&s, self, &x);
    cfx_value n = cfx_size(&s, y, 0), m = cfx_size(&s, y, 1);
    printf("%s: %d by %d\n", cls->name, (int)n.u.i, (int)m.u.i);
    cfx_scope_release(&s);
    return s.error.code;
}

int main(void)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *m = NULL, *gm = NULL;
    cfx_value n = cfx_int(4);

    int failed = cfx_context_new(&ctx, NULL, &err) ||
                 cfx_module_new(&m, ctx, &mlp, NULL, CFX_ARGS(n), &err) ||
                 cfx_module_randomize(m, 1, &err) ||
                 call(&cfx_eager_class, m) || call(&cfx_meta_class, m) ||
                 cfx_symbolic_trace(&gm, m, NULL, &err) ||
                 cfx_print_model(cfx_sink_file(stdout), gm, false, &err);
    cfx_module_unref(gm);
    cfx_module_unref(m);
    cfx_context_free(ctx);
    return failed;
}
