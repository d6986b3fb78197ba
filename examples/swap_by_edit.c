/*
 * swap_by_edit -- rewrite a model: multiply where it adds, by editing its
 * graph.
 *
 *     swap_by_edit models/mymodule.fx
 */
#include <stdio.h>

#include <cfx/file.h>
#include <cfx/text.h>

/* Nodes may be created and erased during the walk. */
static cfx_status swap(cfx_graph *g, cfx_error *err)
{
    cfx_node *n = NULL, *mul;
    const char *add = "operator.add";

    while ((n = cfx_graph_find_nodes(g, CFX_CALL_FUNCTION, add, n))) {
        cfx_graph_inserting_before(g, n);
        mul = cfx_graph_call_function(g, "operator.mul",
                                      cfx_args_of(n->args, n->nargs), err);
        if (!mul || cfx_node_inherit(mul, n, err) ||
            cfx_node_replace_all_uses_with(n, mul, NULL, NULL, err) ||
            cfx_graph_erase_node(g, n, err))
            return err->code;
    }
    return cfx_graph_lint(g, err);
}

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;

    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    int failed = cfx_model_load(&model, ctx, argv[1], NULL, &err) ||
                 swap(cfx_graph_module_graph(model), &err) ||
                 cfx_print_graph(cfx_sink_file(stdout),
                                 cfx_graph_module_graph(model), false, &err);
    if (failed)
        fprintf(stderr, "swap_by_edit: %s\n", err.text);
    else
        printf("\n");
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return failed;
}
