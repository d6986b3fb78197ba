/*
 * picture_test -- graphs drawn: what stands in dot, and where in SVG.
 *
 * The geometry is read back from the picture. Models of the zoo come from
 * $CFX_ZOO, where that is set; whether both texts are well-formed for others
 * is asked by picture.sh.
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

static const char *svg(const cfx_module *gm)
{
    cfx_buf_clear(&text);
    if (cfx_print_svg(cfx_sink_buf(&text), gm, NULL, &err))
        ck_abort_msg("%s", err.text);
    return cfx_buf_str(&text);
}

static const char *dot(const cfx_module *gm, cfx_picture_options how)
{
    cfx_buf_clear(&text);
    how.size = sizeof(how);
    if (cfx_print_dot(cfx_sink_buf(&text), gm, &how, &err))
        ck_abort_msg("%s", err.text);
    return cfx_buf_str(&text);
}

/* ---- Graphs ---- */

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

/* A graph whose nodes take some of the nodes before them. */
static cfx_module *random_graph(size_t n, uint64_t key, size_t reach)
{
    cfx_graph *g;
    cfx_module *gm;
    cfx_node **node = calloc(n, sizeof(cfx_node *));
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), CFX_OK);
    node[0] = cfx_graph_placeholder(g, "x", &err);
    for (size_t i = 1; i < n; i++) {
        uint64_t bits = cfx_random_bits(key, i);
        size_t near = i < reach ? i : reach, far = bits >> 60 ? near : i;
        cfx_value args[] = {
            cfx_value_of_node(node[i - 1 - (bits & 0xffff) % near % 3 % near]),
            cfx_value_of_node(node[i - 1 - (bits >> 20 & 0xffff) % far])};
        node[i] = bits >> 40 & 15
                      ? cfx_graph_call_function(g, "torch.add",
                                                cfx_args_of(args, 2), &err)
                      : cfx_graph_get_attr(g, "w", &err);
        ck_assert_ptr_nonnull(node[i]);
    }
    ck_assert_ptr_nonnull(
        cfx_graph_output(g, cfx_value_of_node(node[n - 1]), &err));
    free(node);
    ck_assert_int_eq(
        cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Random", &err),
        CFX_OK);
    return gm;
}

/* ---- Geometry ---- */

typedef struct box {
    double x, y, width, height;
} box;

static double number(const char *s, const char *name)
{
    const char *at = strstr(s, name);
    ck_assert_ptr_nonnull(at);
    return strtod(at + strlen(name), NULL);
}

static box read_rect(const char *s)
{
    const char *rect = strstr(s, "<rect");
    ck_assert_ptr_nonnull(rect);
    return (box){number(rect, " x=\""), number(rect, " y=\""),
                 number(rect, " width=\""), number(rect, " height=\"")};
}

static bool overlap(box a, box b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width &&
           a.y < b.y + b.height && b.y < a.y + a.height;
}

static bool inside(box a, box outer)
{
    return a.x >= outer.x && a.y >= outer.y &&
           a.x + a.width <= outer.x + outer.width + 0.2 &&
           a.y + a.height <= outer.y + outer.height + 0.2;
}

static size_t read_boxes(const char *s, const char *mark, box *out,
                         size_t room)
{
    size_t n = 0;
    while ((s = strstr(s, mark))) {
        ck_assert_uint_lt(n, room);
        out[n++] = read_rect(s);
        s++;
    }
    return n;
}

/* Widths are counted at 6.8 a character, of at most 40. */
static void check_text_fits(const char *s, box b)
{
    const char *end = strstr(s, "</g>");
    for (s = strstr(s, "<text"); s && s < end; s = strstr(s + 1, "<text")) {
        const char *from = strchr(s, '>') + 1, *to = strchr(from, '<');
        double chars = 0;
        for (const char *c = from; c < to; c++) {
            chars += ((unsigned char)*c & 0xc0) != 0x80;
            if (*c == '&')
                c = strchr(c, ';');
        }
        double x = number(s, " x=\""), y = number(s, " y=\"");
        ck_assert_double_ge(x, b.x);
        ck_assert_double_le(x + 6.8 * chars, b.x + b.width + 0.1);
        ck_assert_double_ge(y - 11, b.y);
        ck_assert_double_le(y + 2, b.y + b.height);
    }
}

/* All points of an edge, and of curves their control points, go down. */
static bool check_edge(const char *line)
{
    static const char begin[] = "<path class=\"edge\" d=\"";
    double last = -1;
    if (strncmp(line, begin, strlen(begin)) != 0)
        return false;
    for (const char *s = line + strlen(begin); *s != '"';) {
        char *end;
        s += strspn(s, "MLC, ");
        strtod(s, &end);
        double y = strtod(end, &end);
        ck_assert_double_ge(y, last);
        last = y;
        s = end;
    }
    return true;
}

/* Lines are copied: address sanitizer measures the rest of the text in each call. */
static size_t check_edges(const char *s)
{
    static char line[1 << 20];
    size_t count = 0;
    for (size_t n; *s; s += n + (s[n] == '\n')) {
        n = strcspn(s, "\n");
        ck_assert_uint_lt(n, sizeof(line));
        memcpy(line, s, n);
        line[n] = '\0';
        count += check_edge(line);
    }
    return count;
}

static void check_geometry(const cfx_module *gm, size_t edges)
{
    size_t n = cfx_graph_len(cfx_graph_module_graph(gm));
    box *node = calloc(n + 1, sizeof(*node));
    box *cluster = calloc(n + 1, sizeof(*cluster));
    const char *s = svg(gm);
    box all = {0, 0, number(s, " width=\""), number(s, " height=\"")};
    ck_assert_uint_eq(read_boxes(s, "<g class=\"node ", node, n + 1), n);
    size_t nc = read_boxes(s, "<g class=\"cluster\"", cluster, n + 1);
    for (size_t i = 0; i < n; i++) {
        ck_assert(inside(node[i], all));
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(!overlap(node[i], node[k]), "boxes %zu and %zu", k,
                          i);
        for (size_t k = 0; k < nc; k++)
            ck_assert_msg(!overlap(node[i], cluster[k]) ||
                              inside(node[i], cluster[k]),
                          "box %zu, cluster %zu", i, k);
    }
    size_t i = 0;
    for (const char *at = s; (at = strstr(at, "<g class=\"node ")); at++)
        check_text_fits(at, node[i++]);
    ck_assert_uint_ge(check_edges(s), edges);
    free(node);
    free(cluster);
}

TEST_CASE(boxes_do_not_overlap_and_edges_go_down)
{
    cfx_module *gm = parse(model);
    check_geometry(gm, 7);
    ck_assert_ptr_nonnull(strstr(cfx_buf_str(&text), ">block</text>"));
    cfx_module_unref(gm);
}

TEST_EACH(random_graphs_are_laid_out, 5)
{
    size_t n = (size_t[]){1, 2, 30, 300, 900}[_i];
    for (uint64_t key = 0; key < 3; key++) {
        cfx_module *gm = random_graph(n, key, 20);
        check_geometry(gm, 1);
        cfx_module_unref(gm);
    }
}

/* Edges over thousands of layers would be millions of boxes in chains. */
TEST_CASE(long_edges_go_beside_all_boxes)
{
    cfx_graph *g;
    cfx_module *gm;
    enum { N = 20000 };
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), CFX_OK);
    cfx_node *last = cfx_graph_placeholder(g, "x", &err);
    cfx_node **all = calloc(N, sizeof(cfx_node *));
    for (int i = 0; i < N; i++) {
        cfx_value args[] = {
            cfx_value_of_node(last),
            cfx_value_of_node(i < N / 2 ? last : all[N - 1 - i])};
        all[i] = last = cfx_graph_call_function(g, "torch.add",
                                                cfx_args_of(args, 2), &err);
    }
    cfx_graph_output(g, cfx_value_of_node(last), &err);
    free(all);
    ck_assert_int_eq(
        cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Long", &err),
        CFX_OK);
    ck_assert_uint_ge(check_edges(svg(gm)), N + N / 2 - 20);
    ck_assert_uint_lt(text.len, 40u << 20);
    cfx_module_unref(gm);
}

static const char *const zoo[] = {"resnet18", "inception_v3", "vit_b_32",
                                  "efficientnet_b0"};

TEST_EACH(models_of_the_zoo_are_laid_out, 4)
{
    const char *dir = getenv("CFX_ZOO");
    char path[1024];
    size_t len;
    snprintf(path, sizeof(path), "%s/%s.fx", dir ? dir : "", zoo[_i]);
    FILE *f = dir ? fopen(path, "rb") : NULL;
    if (!f)
        return;
    fclose(f);
    char *s = read_file(path, &len);
    cfx_module *gm = NULL;
    if (!cfx_parse_model(&gm, ctx, s, len, path, &err))
        check_geometry(gm, 50);
    cfx_module_unref(gm);
    free(s);
}

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

typedef cfx_status print_fn(cfx_sink to, const cfx_module *gm,
                            const cfx_picture_options *how, cfx_error *error);
static print_fn *const prints[] = {cfx_print_dot, cfx_print_svg};

TEST_EACH(each_failed_allocation_is_told, 2)
{
    cfx_module *gm = parse(model);
    for (long n = 0;; n++) {
        cfx_buf b;
        cfx_buf_init(&b, ctx);
        memset(&err, 0, sizeof(err));
        allowed = n;
        cfx_status st = prints[_i](cfx_sink_buf(&b), gm, NULL, &err);
        allowed = -1;
        cfx_buf_release(&b);
        if (!st)
            break;
        ck_assert_int_eq(st, CFX_ENOMEM);
        ck_assert_int_eq(err.code, CFX_ENOMEM);
    }
    cfx_module_unref(gm);
}

TEST_EACH(a_sink_may_refuse, 2)
{
    cfx_module *gm = parse(model);
    for (int n = 0; n < 2; n++) {
        int calls = n;
        ck_assert_int_eq(
            prints[_i]((cfx_sink){refuse_after, &calls}, gm, NULL, &err),
            CFX_EIO);
    }
    cfx_module_unref(gm);
}

TEST_EACH(a_module_without_a_graph_is_refused, 2)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new_container(&m, ctx, "Net", &err), CFX_OK);
    ck_assert_int_eq(prints[_i](cfx_sink_buf(&text), m, NULL, &err),
                     CFX_EINVAL);
    ck_assert_str_eq(err.text, "Net has no graph");
    cfx_module_unref(m);
}

TEST_SUITE(picture, .setup = setup, .teardown = teardown, .timeout = 600)
