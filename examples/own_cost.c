/*
 * own_cost -- count costs differently: subclass the cost class.
 *
 *     own_cost MODEL.fx 'f32[N,3,224,224]'
 *
 * On some machines an exp, a division or a square root takes as long as sixteen
 * additions. So each counts as sixteen here. The program prints the resulting
 * cost of each operator of the model, for every N.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/cost.h>
#include <cfx/file.h>

static cfx_status slow_call_cost(cfx_cost_prop *p, cfx_call *call,
                                 cfx_cost *cost, cfx_value *out);

static const cfx_cost_prop_class slow_class = {
    .base = {.size = sizeof(cfx_cost_prop_class),
             .name = "slow",
             .super = &cfx_cost_prop_default.base},
    .call_cost = slow_call_cost,
};

static cfx_status slow_call_cost(cfx_cost_prop *p, cfx_call *call,
                                 cfx_cost *cost, cfx_value *out)
{
    cfx_status st = CFX_COST_SUPER(&slow_class, call_cost)(p, call, cost, out);
    for (int i = 1; i < 16; i++)
        cost->ops = cfx_dim_add(call->env, cost->ops, cost->transcendental);
    return st;
}

static void print(const cfx_cost_groups *g, cfx_shape_env *env)
{
    char flops[256];
    for (size_t i = 0; i < g->n; i++) {
        cfx_dim d = cfx_cost_flops(env, &g->group[i].sum.cost);
        cfx_dim_format(d, flops, sizeof(flops));
        printf("%-24s %s flops\n", g->group[i].key, flops);
    }
}

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_shape_env *env = NULL;
    cfx_module *model = NULL;
    cfx_cost_prop p = {0};
    cfx_cost_groups groups = {0};
    cfx_value x = CFX_NOTHING;
    cfx_load_options load = {.size = sizeof(load), .no_weights = true};

    if (argc != 3 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    int failed = cfx_shape_env_new(&env, ctx, &err) ||
                 cfx_parse_shape(&x, ctx, env, argv[2], strlen(argv[2]),
                                 &err) ||
                 cfx_model_load(&model, ctx, argv[1], &load, &err) ||
                 cfx_cost_prop_init(&p, &slow_class, model, env, &err) ||
                 cfx_cost_prop_run(&p, &x, 1, &err) ||
                 cfx_cost_groups_make(&groups, &p, CFX_COST_BY_OPERATOR, &err);
    if (failed)
        fprintf(stderr, "own_cost: %s\n", err.text);
    else
        print(&groups, env);
    cfx_cost_groups_release(&groups);
    cfx_cost_prop_release(&p);
    cfx_module_unref(model);
    cfx_value_unref(x);
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
    return failed != 0;
}
