/*
 * picture_test -- graphs drawn: what stands in dot. picture.sh asks Graphviz
 * whether it is well-formed.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/picture.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/counted.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;
static cfx_buf text;

static void setup(void)
{
    memset(&err, 0, sizeof(err));
    ctx = counted_context();
    cfx_buf_init(&text, ctx);
}

static void teardown(void)
{
    cfx_buf_release(&text);
    free_counted(ctx);
}

static cfx_module *parse(const char *s)
{
    cfx_module *gm = parsed(ctx, s);
    add_types(gm, ctx);
    return gm;
}

static const char *dot(const cfx_module *gm, cfx_picture_options how)
{
    cfx_buf_clear(&text);
    how.size = sizeof(how);
    if (cfx_print_dot(cfx_sink_buf(&text), gm, &how, &err))
        ck_abort_msg("%s", err.text);
    return cfx_buf_str(&text);
}

/* ---- A graph ---- */

static const char model[] =
    "# cfx 1\n"
    "Net(\n"
    "  (block): Module(\n"
    "    (fc): Linear(in_features=4, out_features=4, bias=True)\n"
    "    (act): ReLU()\n"
    "  )\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=2] = placeholder[target=x] meta = "
    "{'type': 'f32[2, 4]'}\n"
    "    %block_fc : [num_users=1] = call_module[target=block.fc]"
    "(args = (%x,), kwargs = {})\n"
    "    %add : [num_users=1] = call_function[target=operator.add]"
    "(args = (%block_fc, 1.5), kwargs = {})\n"
    "    %block_act : [num_users=1] = call_module[target=block.act]"
    "(args = (%add,), kwargs = {})\n"
    "    %w : [num_users=1] = get_attr[target=block.fc.weight]\n"
    "    %einsum : [num_users=1] = call_function[target=torch.einsum]"
    "(args = ('a{b}|<c>', %block_act, %w, [1, 2, 3, 4, 5, 6, 7, 8, 9]), "
    "kwargs = {out: \"it's \\\"\", dim: (1, 2)})\n"
    "    return (%x, %einsum)\n";

/* ---- Dot ---- */

#define BOX(fill)                                                             \
    "shape=record, fillcolor=" fill ", style=\"filled,rounded\", "            \
    "fontcolor=\"#000000\"];\n"

TEST_CASE(dot_has_the_columns_of_the_drawer)
{
    cfx_module *gm = parse(model);
    const char *s = dot(gm, (cfx_picture_options){.no_clusters = true});
    static const char *const parts[] = {
        /* clang-format off */
        "digraph \"Net\" {\n    rankdir=TB;\n",
        "    \"x\" [label=\"{name=%x|op_code=placeholder\\n|target=x\\n"
        "|num_users=2\\n|dtype=torch.float32\\n|shape=(2, 4)\\n"
        "|requires_grad=False\\n|stride=(4, 1)\\n}\", " BOX("AliceBlue"),
        "    \"block_fc\" [label=\"{name=%block_fc|op_code=call_module\\n"
        "Linear\\n|in_features: 4\\nout_features: 4\\nbias: True\\n",
        "    \"add\" [label=\"{name=%add|op_code=call_function\\n"
        "|target=operator.add\\n|args=(1.5,)|num_users=1\\n}\", ",
        "|target=torch.einsum\\n|args=(\\la\\{b\\}\\|\\<c\\>,\\l[1, 2, 3, 4, "
        "5, 6, 7, 8, ...[total_len=9]],\\l)\\l|kwargs=\\{\\lout: it's \\\","
        "\\ldim: (1, 2),\\l\\}\\l|num_users=1\\n}",
        "    \"w\" [label=\"{name=%w|op_code=get_attr\\n"
        "|target=block.fc.weight\\n|num_users=1\\n}\", " BOX("LightGrey"),
        "    \"block_fc.weight\" [label=\"{block_fc.weight"
        "|op_code=get_parameter\\n|torch.float32[4, 4]\\n}\", " BOX("Salmon"),
        "    \"block_fc.weight\" -> \"block_fc\";\n",
        "    \"x\" -> \"block_fc\";\n", "    \"x\" -> \"output\";\n"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        ck_assert_msg(strstr(s, parts[i]) != NULL, "no\n%s\nin\n%s", parts[i],
                      s);
    cfx_module_unref(gm);
}

TEST_CASE(dot_has_a_cluster_for_each_module)
{
    cfx_module *gm = parse(model);
    const char *s = dot(
        gm, (cfx_picture_options){.ignore_parameters_and_buffers = true,
                                  .ignore_getattr = true});
    const char *open = strstr(s, "    subgraph \"cluster_block\" {\n"
                                 "        label=\"block (Module)\"");
    const char *fc = strstr(s, "        \"block_fc\" [");
    const char *add = strstr(s, "        \"add\" [");
    const char *act = strstr(s, "        \"block_act\" [");
    const char *close = strstr(s, "    }\n");
    ck_assert(open && fc && add && act && close);
    ck_assert(open < fc && fc < add && add < act && act < close);
    ck_assert_ptr_null(strstr(s, "Salmon"));
    ck_assert_ptr_null(strstr(s, "get_attr"));
    ck_assert_ptr_null(strstr(s, "\"w\""));
    cfx_module_unref(gm);
}

TEST_CASE(names_of_nodes_in_arguments_are_a_choice)
{
    cfx_module *gm = parse(model);
    const char *s = dot(gm, (cfx_picture_options){.node_names_in_args = true,
                                                  .shape = "Mrecord"});
    ck_assert_ptr_nonnull(strstr(s, "|args=(\\l%block_fc,\\l1.5,\\l)\\l"));
    ck_assert_ptr_nonnull(strstr(s, "shape=Mrecord"));
    cfx_module_unref(gm);
}

/* ---- Failures ---- */

TEST_CASE(each_failed_allocation_is_told)
{
    cfx_module *gm = parse(model);
    for (long n = 0;; n++) {
        cfx_buf b;
        cfx_buf_init(&b, ctx);
        memset(&err, 0, sizeof(err));
        allowed = n;
        cfx_status st = cfx_print_dot(cfx_sink_buf(&b), gm, NULL, &err);
        allowed = -1;
        cfx_buf_release(&b);
        if (!st)
            break;
        ck_assert_int_eq(st, CFX_ENOMEM);
        ck_assert_int_eq(err.code, CFX_ENOMEM);
    }
    cfx_module_unref(gm);
}

TEST_CASE(a_sink_may_refuse)
{
    cfx_module *gm = parse(model);
    for (int n = 0; n < 2; n++) {
        int calls = n;
        ck_assert_int_eq(
            cfx_print_dot((cfx_sink){refuse_after, &calls}, gm, NULL, &err),
            CFX_EIO);
    }
    cfx_module_unref(gm);
}

TEST_CASE(a_module_without_a_graph_is_refused)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new_container(&m, ctx, "Net", &err), CFX_OK);
    ck_assert_int_eq(cfx_print_dot(cfx_sink_buf(&text), m, NULL, &err),
                     CFX_EINVAL);
    ck_assert_str_eq(err.text, "Net has no graph");
    cfx_module_unref(m);
}

TEST_SUITE(picture, .setup = setup, .teardown = teardown, .timeout = 600)
