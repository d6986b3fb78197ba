/*
 * split_pass -- cut the graph into stages of about equal weight, as submodules.
 */
#include <cfx/pass.h>
#include <cfx/split.h>

#include <string.h>

static cfx_status split_run(cfx_pass_call *p)
{
    const char *by = p->in[1].u.str->text;
    bool flops = !strcmp(by, "flops");
    if (!flops && strcmp(by, "size"))
        return cfx_fail(p->err, CFX_EINVAL, "by is size or flops, not %s", by);
    if (p->in[0].u.i < 1 || p->in[0].u.i > UINT32_MAX)
        return cfx_fail(p->err, CFX_EINVAL, "%lld is not a number of parts",
                        (long long)p->in[0].u.i);
    size_t before = cfx_graph_len(p->graph);
    cfx_status st = cfx_split_stages_in_place(
        p->gm, (uint32_t)p->in[0].u.i, flops ? CFX_BY_FLOPS : CFX_BY_SIZE,
        NULL, 0, p->err);
    if (!st)
        p->changed += before;
    return st;
}

const cfx_pass cfx_pass__split = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "split(int parts=2, str by='size')",
    .doc =
        "Split the graph into stages of about equal weight; parts: their number; by: 'size' of parameters, or 'flops'.",
    .run = split_run,
};
