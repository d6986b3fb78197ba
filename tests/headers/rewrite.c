/*
 * Patterns, passes, partitions, splits, quantization.
 */
#include "example.h"

static void matched_nodes(const cfx_match *match)
{
    @matcher.h.3
}

static void matched(const cfx_graph *graph, const cfx_graph *pattern)
{
    @matcher.h.2
    require(!err.code);
    require(!cfx_matcher_new(&m, pattern, NULL, &err));
    require(!cfx_matcher_match(m, graph, &found, &err) && found.n == 1);
    matched_nodes(&found.item[0]);
    cfx_matches_release(&found);
    cfx_matcher_free(m);
}

static void replaced(cfx_module *gm, const cfx_graph *pattern,
                     const cfx_graph *replacement)
{
    @rewriter.h.1
    require(!err.code);
}

@pattern.h.1

static cfx_value replacement(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_linear(s, in[0], in[1], in[2]);
}

static void replaced_function(cfx_module *gm)
{
    @pattern.h.2
    require(!err.code);
}

@partition.h.1

/* A part of one call is none. */
#define TWO_ADDS                                                              \
    "graph():\n"                                                              \
    "    %x : [num_users=2] = placeholder[target=x]\n"                        \
    "    %add : [num_users=1] = call_function[target=operator.add]"           \
    "(args = (%x, 1), kwargs = {})\n"                                         \
    "    %add_1 : [num_users=1] = call_function[target=operator.add]"         \
    "(args = (%add, %x), kwargs = {})\n"                                      \
    "    return add_1\n"

static void fused(void)
{
    cfx_module *gm = model(TWO_ADDS);
    @partition.h.2
    require(!err.code && cfx_module_child(gm, "fused_0"));
    cfx_module_unref(gm);
}

@pass.h.1
@pass.h.2
@pass.h.4
@pass.h.5
@pass.h.6
@pass.h.7

static void added(void)
{
    static const char text[] =
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y]\n"
        "    %neg : [num_users=1] = call_method[target=neg](args = (%y,), "
        "kwargs = {})\n"
        "    %sub : [num_users=1] = call_function[target=operator.sub](args = "
        "(%x, %neg), kwargs = {})\n"
        "    return sub\n";
    cfx_module *gm;
    cfx_error err;
    size_t changed = 0;
    require(!cfx_parse_model(&gm, ctx, text, sizeof(text) - 1, "text", &err));
    require(!cfx_register_pass(ctx, &sub_of_neg, &err));
    require(!cfx_pass_apply(gm, "sub_of_neg", false, &changed, &err));
    require(changed == 2 && cfx_graph_len(cfx_graph_module_graph(gm)) == 4);
    cfx_module_unref(gm);
}

static void renamed(cfx_module *gm)
{
    size_t changed;
    @pass.h.3
    require(!err.code && changed);
}

static void managed(cfx_module *gm)
{
    size_t changed;
    @pass_manager.h.1
    require(!err.code);
}

static void seen_edits(cfx_graph *graph)
{
    @pass_manager.h.2
    require(cfx_graph_placeholder(graph, "z", &err) && seen.ncreated == 1);
    @pass_manager.h.3
}

static void sources(cfx_module *gm)
{
    const cfx_graph *graph = cfx_graph_module_graph(gm);
    @source_matcher.h.1
    require(!err.code);
}

@split.h.1

static void halved(cfx_module *gm)
{
    cfx_module *split = NULL;
    /* The node after x. */
    cfx_node *middle = cfx_node_next(
        cfx_graph_first(cfx_graph_module_graph(gm)));
    @split.h.2
    require(!err.code && cfx_module_child(split, "submod_1"));
    cfx_module_unref(split);
}

static const cfx_quant_spec my_spec = {.observer = "MinMaxObserver",
                                       .dtype = CFX_U8,
                                       .most = 255};
extern const cfx_quantizer_class my_class;
@quantize.h.2
@quantize.h.3

static void quantized(cfx_module *gm)
{
    cfx_value batch[] = {ones(2, 4)}, y;
    const cfx_value *first = batch;
    size_t n = 1, nbatches = 1;
    require(!cfx_module_randomize(gm, 1, &err));
    @quantize.h.1
    require(!err.code);
    cfx_value_unref(y);
    cfx_value_unref(batch[0]);
}

int main(void)
{
    begin();
    cfx_module *gm = model(SUM), *other = model(SUM), *net = model(LINEAR);
    cfx_graph *g = cfx_graph_module_graph(gm);
    matched(g, cfx_graph_module_graph(other));
    replaced(gm, cfx_graph_module_graph(other), cfx_graph_module_graph(other));
    replaced_function(net);
    sources(net);
    halved(gm);
    managed(gm);
    renamed(gm);
    added();
    fused();
    seen_edits(g);
    quantized(net);
    cfx_module_unref(net);
    cfx_module_unref(other);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return 0;
}
