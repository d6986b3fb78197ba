/*
 * conv_bn_fusion -- rewrite a graph: fold each BatchNorm2d into the Conv2d
 * before it, and print the result.
 *
 *     conv_bn_fusion MODEL.fx
 *
 * Weights are random. They are computed with functions over values, as in a
 * module's forward, in an eager scope. (The pass `fuse_conv_bn` does this for
 * all convolutions, and for models that share them.)
 */
#include <string.h>

#include <cfx/file.h>
#include <cfx/ops.h>
#include <cfx/text.h>

/* Return the module of a given type that a node calls, or NULL. */
static cfx_module *calls(cfx_module *gm, const cfx_node *n, const char *type)
{
    cfx_module *m = n->op != CFX_CALL_MODULE
                        ? NULL
                        : cfx_module_at(gm, n->target->text);
    return m && !strcmp(cfx_module_class_name(m), type) ? m : NULL;
}

/* Replace `conv` by a convolution that also does the work of bn. */
#define P(module, name) cfx_param_of(s, module, name)
static bool fold(cfx_module *gm, const char *path, cfx_scope *s,
                 cfx_module *conv, cfx_module *bn, cfx_error *err)
{
    cfx_value args[9], b = P(conv, "bias");
    cfx_value zero = cfx_int(0), one = cfx_int(1);
    cfx_value all = cfx_list(s, cfx_int(-1), one, one, one);
    cfx_value var = cfx_add(s, P(bn, "running_var"), cfx_attr(bn, "eps"));
    cfx_value scale = cfx_mul(s, P(bn, "weight"), cfx_rsqrt(s, var));
    cfx_value w = cfx_mul(s, P(conv, "weight"), cfx_reshape(s, scale, all));
    b = cfx_sub(s, cfx_value_is_none(b) ? zero : b, P(bn, "running_mean"));
    b = cfx_add(s, cfx_mul(s, b, scale), P(bn, "bias"));
    memcpy(args, cfx_module_attrs(conv), sizeof(args));
    args[7] = cfx_bool(true); /* `bias` of Conv2d(in_channels, ...) */
    return !cfx_scope_status(s, err) &&
           !cfx_module_new(&conv, s->ctx, cfx_module_type_of(conv), NULL,
                           cfx_args_of(args, 9), err) &&
           !cfx_module_set(conv, "weight", w.u.tensor, err) &&
           !cfx_module_set(conv, "bias", b.u.tensor, err) &&
           !cfx_module_add_submodule_take(gm, path, conv, err);
}

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL, *bn, *conv;
    cfx_load_options load = {.size = sizeof(load), .random_weights = true};
    cfx_scope s = {0};

    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    cfx_model_load(&gm, ctx, argv[1], &load, &err);
    for (cfx_node *n = gm ? cfx_graph_first(cfx_graph_module_graph(gm)) : NULL;
         n && !err.code; n = cfx_node_next(n)) {
        cfx_node *in = n->ninputs ? cfx_node_input(n, 0) : n;
        if ((bn = calls(gm, n, "BatchNorm2d")) && in->nusers == 1 &&
            (conv = calls(gm, in, "Conv2d")) &&
            fold(gm, in->target->text, &s, conv, bn, &err) &&
            !cfx_node_replace_all_uses_with(n, in, NULL, NULL, &err))
            cfx_graph_erase_node(n->graph, n, &err);
    }
    if (err.code || (cfx_graph_module_delete_all_unused_submodules(gm),
                     cfx_print_model(cfx_sink_file(stdout), gm, false, &err)))
        fprintf(stderr, "conv_bn_fusion: %s\n", err.text);
    cfx_scope_release(&s);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return err.code != CFX_OK;
}
