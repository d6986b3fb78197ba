/*
 * onnx_unknown -- all operators of an ONNX model that have no rule.
 *
 * The import stops at the first one. The message is more useful with the others,
 * which are found without importing: in the graph, in the graphs of its nodes
 * and in the model's functions.
 */
#include <stdio.h>

#include "format/onnx/onnx.h"
#include "graph/graph_operators.h"

typedef struct finder {
    const onnx_importer *im;
    Onnx__OperatorSetIdProto **opset; /* of the graph or function at hand */
    size_t nopsets;
    cfx_operators ops;
} finder;

/* Count a node that has no rule, under "domain.name". */
static cfx_status see_node(finder *f, const Onnx__NodeProto *p)
{
    const char *domain = onnx_domain(p->domain), *op = onnx_text(p->op_type);
    char full[128];

    if (onnx_find_function(f->im->model, p) ||
        onnx_find_rule(f->im, domain, op,
                       onnx_opset_of(f->opset, f->nopsets, domain)))
        return CFX_OK;
    snprintf(full, sizeof(full), "%.60s%s%.60s", domain, *domain ? "." : "",
             op);
    const cfx_operator_count call = {
        .name = full, .op = CFX_CALL_FUNCTION, .first = onnx_node_name(p)};
    return cfx_operators__count(&f->ops, &call, NULL);
}

static cfx_status see_nodes(finder *f, Onnx__NodeProto **node, size_t n,
                            int depth)
{
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < n && !st; i++) {
        st = see_node(f, node[i]);
        for (size_t k = 0; k < node[i]->n_attribute && !st; k++) {
            const Onnx__GraphProto *g = node[i]->attribute[k]->g;
            if (g && depth < ONNX_MAX_DEPTH)
                st = see_nodes(f, g->node, g->n_node, depth + 1);
        }
    }
    return st;
}

static cfx_status see_model(finder *f)
{
    const Onnx__ModelProto *m = f->im->model;

    f->opset = m->opset_import;
    f->nopsets = m->n_opset_import;
    cfx_status st = see_nodes(f, m->graph->node, m->graph->n_node, 0);
    for (size_t i = 0; i < m->n_functions && !st; i++) {
        f->opset = m->functions[i]->opset_import;
        f->nopsets = m->functions[i]->n_opset_import;
        st = see_nodes(f, m->functions[i]->node, m->functions[i]->n_node, 0);
    }
    return st;
}

static void try_rules(void *user, cfx_nearest *near,
                      const cfx_operator_count *unknown)
{
    const onnx_rule *rule;

    (void)user;
    (void)unknown;
    for (size_t i = 0; (rule = onnx_rule_at(i)); i++)
        cfx_nearest_try(near, rule->name, strlen(rule->name));
}

void onnx_name_unknown(const onnx_importer *im, cfx_error *err)
{
    finder f = {.im = im};
    cfx_status st = cfx_operators__begin(&f.ops, im->r.base.ctx, NULL);

    if (!st)
        st = see_model(&f);
    if (!st)
        st = cfx_operators__end(&f.ops, try_rules, NULL, NULL);
    if (!st && f.ops.nunknown > 1) {
        cfx_error_clear(err);
        cfx_operators__fail(&f.ops, err);
    }
    cfx_operators_release(&f.ops);
}
