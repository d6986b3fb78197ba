/*
 * replace_targets -- replace one target by another: torch.fx's
 * replace_target_nodes_with.
 */
#include <cfx/pass.h>

#include <string.h>

static cfx_status read_opcode(cfx_pass_call *p, int k, cfx_opcode *out)
{
    const char *name = p->in[k].u.str->text;
    for (int op = 0; op < CFX_NOPCODES; op++)
        if (!strcmp(cfx_opcode_names[op], name)) {
            *out = (cfx_opcode)op;
            return CFX_OK;
        }
    return cfx_fail(p->err, CFX_EINVAL,
                    "replace_targets: '%s' is not an opcode", name);
}

static cfx_status replace_targets_run(cfx_pass_call *p)
{
    const char *from = p->in[1].u.str->text, *to = p->in[3].u.str->text;
    cfx_opcode old, new;
    cfx_status st = read_opcode(p, 0, &old);
    if (!st)
        st = read_opcode(p, 2, &new);
    for (cfx_node *n = st ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        if (n->op == old && !strcmp(n->target->text, from)) {
            st = cfx_node_set_op(n, new, to, p->err);
            p->changed++;
        }
    return st;
}

const cfx_pass cfx_pass__replace_targets = {
    .abi = CFX_ABI(cfx_pass),
    .schema =
        "replace_targets(str old_op, str old_target, str new_op, str new_target)",
    .doc =
        "Replace the opcode and target of nodes by others, with the same arguments.",
    .run = replace_targets_run,
};
