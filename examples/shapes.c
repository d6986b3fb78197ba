/*
 * shapes -- subclass ShapeProp: add up the bytes of all results, for any size.
 *
 *     shapes MODEL.fx 'f32[N,3,224,224]'
 *
 * The base class gives the node's value. Extents may be symbols, and the sum is
 * then an expression.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/shape_prop.h>

struct adding {
    cfx_shape_prop base;
    cfx_dim bytes;
};

static const cfx_interp_class adding_class;

static cfx_status add_node(cfx_interp *it, const cfx_node *n, cfx_value *out)
{
    struct adding *a = (struct adding *)it;
    cfx_status st = CFX_SUPER(&adding_class, run_node)(it, n, out);
    if (st || n->op == CFX_OUTPUT || out->kind != CFX_TENSOR)
        return st;
    const cfx_tensor *t = out->u.tensor;
    cfx_dim d = cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++)
        d = cfx_dim_mul(a->base.env, d, t->shape[i]);
    a->bytes = cfx_dim_add(a->base.env, a->bytes, d);
    return CFX_OK;
}

static const cfx_interp_class adding_class = {
    .size = sizeof(cfx_interp_class),
    .name = "adding",
    .super = &cfx_shape_prop_class,
    .run_node = add_node,
};

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_value x = CFX_NOTHING, y = CFX_NOTHING;
    struct adding a = {.bytes = cfx_dim_int(0)};
    cfx_shape_prop_options options = {.size = sizeof(options)};
    char text[4096];

    if (argc != 3 || cfx_context_new(&ctx, NULL, &err) ||
        cfx_shape_env_new(&options.env, ctx, &err))
        return 2;
    int failed = cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 cfx_parse_shape(&x, ctx, options.env, argv[2],
                                 strlen(argv[2]), &err) ||
                 cfx_shape_prop_init(&a.base, &adding_class, model, &options,
                                     &err) ||
                 cfx_interp_run(&a.base.base, &x, 1, &y, &err);
    cfx_dim_format(a.bytes, text, sizeof(text));
    if (failed)
        fprintf(stderr, "shapes: %s\n", err.text);
    else
        printf("%s bytes\n", text);
    cfx_value_unref(x);
    cfx_value_unref(y);
    cfx_interp_release(&a.base.base);
    cfx_module_unref(model);
    cfx_shape_env_free(options.env);
    cfx_context_free(ctx);
    return failed != 0;
}
