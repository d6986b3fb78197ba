/*
 * dead_code_pass -- erase nodes without users and effects.
 */
#include <cfx/pass.h>

static cfx_status dead_code_run(cfx_pass_call *p)
{
    const cfx_dce_options o = {
        .size = sizeof(o),
        .drop_random = p->in[0].u.i != 0,
        .keep_children = !p->in[1].u.i,
    };
    return cfx_graph_eliminate_dead_code(p->graph, &o, &p->changed, p->err);
}

const cfx_pass cfx_pass__dead_code = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "dead_code(bool random=False, bool children=True)",
    .doc =
        "Erase nodes without users and effects; random: also random ones; children: also in nested graphs.",
    .run = dead_code_run,
};
