/*
 * roofline_test -- floors on a machine of round numbers: levels, bounds, what
 * the caches hold; along symbols; measured; as documents.
 */
#include <cfx/file.h>
#include <cfx/roofline.h>

#include <jansson.h>
#include <math.h>

#include "tests/unit/shape/cost_test.h"
#include "tests/unit/unit.h"

/* A million operations a millisecond, and so on: one L1 of 32 KiB, an L2 of 1
 * MiB, memory a tenth as fast. */
static const char round_numbers[] =
    "{\"schema\": \"cfx.machine/1\", \"name\": \"round\", \"cores\": 1,"
    " \"threads\": [{\"threads\": 1,"
    "  \"peak_flops_per_second\": {\"float64\": 5e10, \"float32\": 1e11},"
    "  \"levels\": ["
    "   {\"level\": \"L1\", \"bytes\": 32768,"
    "    \"read_bytes_per_second\": 2e11, \"write_bytes_per_second\": 1e11,"
    "    \"update_bytes_per_second\": 3e11},"
    "   {\"level\": \"L2\", \"bytes\": 1048576,"
    "    \"read_bytes_per_second\": 1e11, \"write_bytes_per_second\": 5e10},"
    "   {\"level\": \"memory\", \"bytes\": null,"
    "    \"read_bytes_per_second\": 1e10, \"write_bytes_per_second\": 5e9}]"
    "}]}";

static cfx_machine *machine;
static cfx_roofline *r;

static void machine_setup(void)
{
    setup();
    ck_assert_msg(!cfx_machine_parse(&machine, ctx, round_numbers,
                                     strlen(round_numbers), &err),
                  "%s", err.text);
    r = NULL;
}

static void machine_teardown(void)
{
    cfx_roofline_free(r);
    cfx_machine_free(machine);
    teardown();
}

static void analyse(const char *text)
{
    const cfx_roofline_options o = {
        .size = sizeof(o), .machine = machine, .env = env};
    cfx_value x = shape(text);
    cfx_roofline_free(r);
    ck_assert_msg(!cfx_roofline_new(&r, gm, &x, 1, &o, &err), "%s", err.text);
    cfx_value_unref(x);
}

static const cfx_roofline_node *node(const char *name)
{
    for (size_t i = 0; i < r->nnodes; i++)
        if (!strcmp(r->node[i].cost->node->name, name))
            return &r->node[i];
    ck_abort_msg("no node %s", name);
    return NULL;
}

static void assert_floor(const char *name, double seconds, cfx_bound_by bound,
                         const char *level)
{
    const cfx_roofline_floor *f = &node(name)->floor;
    ck_assert_int_eq(f->bound, bound);
    ck_assert_double_eq_tol(f->seconds, seconds, 1e-9 * seconds);
    ck_assert_str_eq(r->rates->level[f->level].name, level);
}

static const char chain[] =
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %a : [num_users=1] = call_function[target=torch.relu](args = (%x,), "
    "kwargs = {})\n"
    "    %b : [num_users=2] = call_function[target=torch.relu](args = (%a,), "
    "kwargs = {})\n"
    "    %c : [num_users=1] = call_function[target=torch.relu](args = (%b,), "
    "kwargs = {})\n"
    "    %d : [num_users=1] = call_function[target=operator.add](args = "
    "(%c, %b), kwargs = {})\n"
    "    return d\n";

/* ---- Floors ---- */

TEST_CASE(what_is_small_stays_in_the_fastest_level)
{
    model(chain);
    analyse("f32[1024]");
    /* 4096 bytes written at 100 GB/s. */
    assert_floor("a", 4096 / 1e11, CFX_BOUND_MEMORY, "L1");
    assert_floor("d", 12288 / 2e11, CFX_BOUND_MEMORY, "L1");
    ck_assert_int_eq(node("x")->floor.bound, CFX_BOUND_FREE);
    ck_assert_double_eq(node("x")->floor.seconds, 0);
}

TEST_CASE(what_is_large_comes_from_memory_but_for_what_a_cache_holds)
{
    double whole = 4194304, cache = 1048576;
    model(chain);
    analyse("f32[1048576]");
    /* The input was pushed out by the run before; of the result as much as the
     * cache holds need not leave it. */
    assert_floor("a", (whole + whole - cache) / 1e10, CFX_BOUND_MEMORY,
                 "memory");
    /* The end of what was just written is still there. */
    assert_floor("b", 2 * (whole - cache) / 1e10, CFX_BOUND_MEMORY, "memory");
    /* b was read before c was written: only c's end is. */
    assert_floor("d", (whole - cache + whole + whole - cache) / 1e10,
                 CFX_BOUND_MEMORY, "memory");
}

TEST_CASE(what_is_done_in_place_is_an_update)
{
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %a : [num_users=1] = call_function[target=torch.relu]("
          "args = (%x,), kwargs = {})\n"
          "    %b : [num_users=1] = call_method[target=relu_](args = (%a,), "
          "kwargs = {})\n"
          "    return b\n");
    analyse("f32[1024]");
    assert_floor("a", 4096 / 1e11, CFX_BOUND_MEMORY, "L1");
    assert_floor("b", 8192 / 3e11, CFX_BOUND_MEMORY, "L1");
}

/* A module that writes nothing gives its second input: that one is read, though
 * the first was used last. */
TEST_CASE(views_are_followed_to_what_they_view)
{
    model("Net(\n  (f): Second()\n)\n\ngraph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %a : [num_users=1] = call_function[target=torch.relu]("
          "args = (%x,), kwargs = {})\n"
          "    %b : [num_users=1] = call_function[target=torch.neg]("
          "args = (%x,), kwargs = {})\n"
          "    %v : [num_users=1] = call_module[target=f](args = (%b, %a), "
          "kwargs = {})\n"
          "    %c : [num_users=1] = call_function[target=torch.relu]("
          "args = (%v,), kwargs = {})\n"
          "    return c\n"
          "\n"
          "graph f():\n"
          "    %p : [num_users=0] = placeholder[target=p]\n"
          "    %q : [num_users=1] = placeholder[target=q]\n"
          "    %w : [num_users=1] = call_method[target=view](args = (%q, -1), "
          "kwargs = {})\n"
          "    return w\n");
    analyse("f32[131072]");
    /* x and b, which were used since, fill the cache. */
    assert_floor("c", 524288 / 1e10, CFX_BOUND_MEMORY, "memory");
}

TEST_CASE(weights_are_where_the_run_before_left_them)
{
    model("Net(\n  (l): Linear(in_features=256, out_features=256, "
          "bias=False)\n)\n\ngraph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %l : [num_users=1] = call_module[target=l](args = (%x,), "
          "kwargs = {})\n    return l\n");
    analyse("f32[1,256]");
    /* Input and result lie above them in L1. */
    assert_floor("l", (262144 - 32768 + 2048) / 1e11, CFX_BOUND_MEMORY, "L2");
    analyse("f32[64,256]"); /* 8388608 FLOPs */
    assert_floor("l", 8388608 / 1e11, CFX_BOUND_COMPUTE, "L2");
}

TEST_CASE(the_ridge_divides_the_bounds)
{
    model(small_net);
    analyse("f32[1,3,64,64]");
    for (size_t i = 0; i < r->nnodes; i++) {
        const cfx_roofline_node *n = &r->node[i];
        if (n->floor.bound == CFX_BOUND_FREE)
            continue;
        double intensity = (double)cfx_dim_value(n->flops) /
                           (double)cfx_dim_value(n->bytes);
        ck_assert_int_eq(n->floor.bound == CFX_BOUND_COMPUTE,
                         intensity >= n->floor.ridge);
        ck_assert_double_eq(n->floor.seconds,
                            fmax(n->floor.compute, n->floor.memory));
    }
}

TEST_CASE(sums_are_those_of_the_nodes)
{
    double floor = 0, bounds = 0;
    model(small_net);
    analyse("f32[1,3,64,64]");
    for (size_t i = 0; i < r->nnodes; i++)
        floor += r->node[i].floor.seconds;
    for (int b = 0; b < CFX_NBOUNDS; b++)
        bounds += r->bound_sum[b].floor;
    ck_assert_double_eq_tol(r->total.floor, floor, 1e-12);
    ck_assert_double_eq_tol(bounds, floor, 1e-12);
    ck_assert_double_eq_tol(r->module_sum[0].floor, floor, 1e-12);
    ck_assert(r->known);
    /* Both convolutions, and then their sum: what the run makes. */
    ck_assert_int_eq(cfx_dim_value(node("add")->live_bytes), 3 * 65536);
    ck_assert_int_eq(cfx_dim_value(r->peak_bytes), 3 * 65536);
}

TEST_CASE(without_a_machine_there_are_no_floors)
{
    const cfx_roofline_options o = {.size = sizeof(o)};
    cfx_value x = shape("f32[1,3,8,8]");
    model(small_net);
    ck_assert_int_eq(cfx_roofline_new(&r, gm, &x, 1, &o, &err), CFX_OK);
    ck_assert_int_eq(node("fc")->floor.bound, CFX_BOUND_UNKNOWN);
    ck_assert_double_lt(cfx_roofline_share(r, node("fc")), 0);
    cfx_value_unref(x);
}

/* ---- Along symbols ---- */

typedef struct setting {
    const char *name;
    int64_t v;
} setting;

static bool value_of(void *user, const char *name, int64_t *v)
{
    const setting *s = user;
    *v = s->v;
    return !strcmp(name, s->name);
}

static const char fc_net[] =
    "Net(\n  (l): Linear(in_features=1000, out_features=1000, bias=True)\n)\n"
    "\ngraph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %l : [num_users=1] = call_module[target=l](args = (%x,), "
    "kwargs = {})\n"
    "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
    "(%l,), kwargs = {})\n    return relu\n";

TEST_CASE(nodes_turn_where_they_are_told_to)
{
    cfx_roofline_floor before[8], after[8];
    model(fc_net);
    analyse("f32[N,1000]");
    ck_assert(!r->known);
    ck_assert_int_eq(node("l")->floor.bound, CFX_BOUND_UNKNOWN);
    ck_assert_msg(!cfx_roofline_crossovers(r, NULL, 0, 0, &err), "%s",
                  err.text);
    ck_assert_uint_ge(r->ncrossovers, 1);
    ck_assert_str_eq(r->symbol, "N");
    for (size_t i = 0; i < r->ncrossovers; i++) {
        const cfx_crossover *t = &r->crossover[i];
        setting at = {"N", t->at}, one_less = {"N", t->at - 1};
        ck_assert_int_eq(cfx_roofline_at(r, before, value_of, &one_less, &err),
                         CFX_OK);
        ck_assert_int_eq(cfx_roofline_at(r, after, value_of, &at, &err),
                         CFX_OK);
        ck_assert_int_eq(before[t->row].bound, t->before);
        ck_assert_int_eq(after[t->row].bound, t->after);
    }
    ck_assert_int_eq(r->crossover[0].after, CFX_BOUND_COMPUTE);
}

TEST_CASE(a_symbolic_floor_is_that_of_its_numbers)
{
    static const int sizes[] = {1, 3, 17, 64, 250};
    model(small_net);
    for (int i = 0; i < 5; i++) {
        cfx_roofline_floor floor[16];
        setting s = {"N", sizes[i]};
        char text[64];
        analyse("f32[N,3,32,32]");
        ck_assert_int_eq(cfx_roofline_at(r, floor, value_of, &s, &err),
                         CFX_OK);
        snprintf(text, sizeof(text), "f32[%d,3,32,32]", sizes[i]);
        analyse(text);
        for (size_t k = 0; k < r->nnodes; k++) {
            ck_assert_int_eq(floor[k].bound, r->node[k].floor.bound);
            ck_assert_double_eq(floor[k].seconds, r->node[k].floor.seconds);
        }
    }
}

TEST_CASE(a_sweep_has_the_sums_of_each_value)
{
    model(small_net);
    analyse("f32[N,3,32,32]");
    ck_assert_int_eq(cfx_roofline_sweep(r, "N", 1, 9, 4, 1, &err), CFX_OK);
    ck_assert_uint_eq(r->npoints, 3);
    ck_assert_int_eq(r->point[2].at, 9);
    cfx_roofline_point five = r->point[1];
    ck_assert_int_eq(cfx_roofline_sweep(r, "N", 1, 100, 1, 3, &err), CFX_OK);
    ck_assert_uint_eq(r->npoints, 5); /* 1, 3, 9, 27, 81 */
    ck_assert_int_eq(r->point[4].at, 81);
    analyse("f32[5,3,32,32]");
    ck_assert_double_eq(five.macs,
                        (double)cfx_dim_value(r->total.cost.cost.macs));
    ck_assert_double_eq_tol(five.floor, r->total.floor, 1e-12);
    ck_assert_double_eq(five.peak_bytes, (double)cfx_dim_value(r->peak_bytes));
}

TEST_CASE(sweeps_refuse_what_has_no_points)
{
    static const int64_t ranges[][4] = {
        {0, 4, 1, 1}, {4, 1, 1, 1}, {1, 4, 0, 1}, {1, 1 << 20, 1, 1}};
    model(small_net);
    analyse("f32[N,3,32,32]");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(cfx_roofline_sweep(r, "N", ranges[i][0], ranges[i][1],
                                            ranges[i][2], ranges[i][3], NULL),
                         CFX_EINVAL);
    ck_assert_int_eq(cfx_roofline_crossovers(r, "M", 0, 0, NULL), CFX_EINVAL);
    analyse("f32[N,3,H,W]");
    ck_assert_int_eq(cfx_roofline_crossovers(r, NULL, 0, 0, &err), CFX_EINVAL);
    ck_assert_msg(strstr(err.text, "there are 3") != NULL, "%s", err.text);
}

/* ---- Measured ---- */

TEST_CASE(measuring_gives_each_node_a_time)
{
    int64_t extents[] = {1, 3, 16, 16};
    cfx_tensor *x;
    cfx_value in;
    model(small_net);
    ck_assert_int_eq(cfx_module_randomize(gm, 1, &err), CFX_OK);
    analyse("f32[1,3,16,16]");
    ck_assert_int_eq(cfx_tensor_new(&x, ctx, CFX_F32, 4, extents, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_tensor_randomize(x, 1, "x", &err), CFX_OK);
    in = cfx_value_of_tensor(x);
    ck_assert_msg(!cfx_roofline_measure(r, &in, 1, 4, NULL, NULL, &err), "%s",
                  err.text);
    ck_assert_int_eq(r->runs, 4);
    ck_assert_double_gt(node("a_conv")->seconds, 0);
    ck_assert_double_gt(r->run_seconds, 0);
    ck_assert_double_gt(cfx_roofline_efficiency(node("a_conv")), 0);
    ck_assert_double_lt(cfx_roofline_efficiency(node("x")), 0);
    double share = 0;
    for (size_t i = 0; i < r->nnodes; i++)
        share += cfx_roofline_share(r, &r->node[i]);
    ck_assert_double_eq_tol(share, 1, 1e-9);
    cfx_tensor_unref(x);
}

TEST_CASE(metas_cannot_be_measured)
{
    cfx_value x = shape("f32[1,3,16,16]");
    model(small_net);
    ck_assert_int_eq(cfx_module_randomize(gm, 1, &err), CFX_OK);
    analyse("f32[N,3,16,16]");
    ck_assert_int_eq(cfx_roofline_measure(r, &x, 1, 1, NULL, NULL, &err),
                     CFX_EINVAL);
    ck_assert_int_eq(r->runs, 0);
    cfx_value_unref(x);
}

/* ---- Printed ---- */

typedef struct text {
    char s[1 << 16];
    size_t len;
} text;

static text out;

static cfx_status append(void *user, const char *s, size_t n)
{
    text *t = user;
    if (n >= sizeof(t->s) - t->len)
        return CFX_EIO;
    memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = '\0';
    return CFX_OK;
}

typedef cfx_status print_fn(cfx_sink to, const cfx_roofline *roof,
                            const cfx_roofline_view *view, cfx_error *error);

static print_fn *const printers[] = {
    cfx_roofline_print,     cfx_roofline_print_markdown,
    cfx_roofline_print_csv, cfx_roofline_print_json,
    cfx_roofline_print_dot, cfx_roofline_print_trace,
    cfx_roofline_print_svg};
enum { NPRINTERS = sizeof(printers) / sizeof(*printers) };

static void print(print_fn *fn, const cfx_roofline_view *view)
{
    out.len = 0;
    ck_assert_msg(!fn((cfx_sink){append, &out}, r, view, &err), "%s",
                  err.text);
}

static const cfx_roofline_view plain = {.size = sizeof(plain),
                                        .model = "net.fx"};

static json_t *parsed(void)
{
    json_error_t e;
    json_t *j = json_loadb(out.s, out.len, 0, &e);
    ck_assert_msg(j != NULL, "%d: %s", e.line, e.text);
    return j;
}

TEST_CASE(the_document_has_what_the_report_has)
{
    model(small_net);
    analyse("f32[1,3,8,8]");
    print(cfx_roofline_print_json, &plain);
    json_t *j = parsed(), *total = json_object_get(j, "total");
    json_t *conv = json_array_get(json_object_get(j, "nodes"), 1);
    ck_assert_str_eq(json_string_value(json_object_get(j, "schema")),
                     "cfx.roofline/1");
    ck_assert_int_eq(json_integer_value(json_object_get(total, "macs")), 7700);
    ck_assert_int_eq(json_integer_value(json_object_get(total, "parameters")),
                     149);
    ck_assert_str_eq(json_string_value(json_object_get(conv, "module_path")),
                     "a.conv");
    ck_assert_str_eq(json_string_value(json_object_get(conv, "algorithm")),
                     "direct");
    ck_assert(json_is_null(json_object_get(conv, "seconds")));
    ck_assert_double_eq_tol(
        json_real_value(json_object_get(conv, "floor_seconds")),
        node("a_conv")->floor.seconds, 1e-12);
    json_decref(j);
}

TEST_CASE(expressions_are_strings_in_the_document)
{
    model(small_net);
    analyse("f32[N,3,8,8]");
    ck_assert_int_eq(cfx_roofline_sweep(r, "N", 1, 2, 1, 1, &err), CFX_OK);
    print(cfx_roofline_print_json, &plain);
    json_t *j = parsed(), *total = json_object_get(j, "total");
    ck_assert_str_eq(json_string_value(json_object_get(total, "macs")),
                     "7700*N");
    ck_assert(json_is_null(json_object_get(total, "floor_seconds")));
    ck_assert_uint_eq(json_array_size(json_object_get(j, "sweep")), 2);
    ck_assert(json_object_get(json_object_get(j, "symbols"), "N") != NULL);
    json_decref(j);
}

TEST_CASE(traces_end_what_they_begin)
{
    size_t i;
    json_t *e;
    int depth = 0;
    double at = 0;
    model(small_net);
    analyse("f32[1,3,8,8]");
    print(cfx_roofline_print_trace, &plain);
    json_t *j = parsed();
    json_array_foreach(json_object_get(j, "traceEvents"), i, e)
    {
        const char *phase = json_string_value(json_object_get(e, "ph"));
        double ts = json_number_value(json_object_get(e, "ts"));
        depth += (*phase == 'B') - (*phase == 'E');
        ck_assert_int_ge(depth, 0);
        ck_assert_double_ge(ts, at);
        at = ts;
    }
    ck_assert_int_eq(depth, 0);
    ck_assert_double_eq_tol(at, 1e6 * r->total.floor, 1e-3);
    json_decref(j);
}

static int lines(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static int longest_line(const char *s)
{
    int most = 0, n = 0;
    for (; *s; s++) {
        n = *s == '\n' ? 0 : n + 1;
        most = n > most ? n : most;
    }
    return most;
}

TEST_CASE(csv_has_a_line_a_node)
{
    model(small_net);
    analyse("f32[1,3,8,8]");
    print(cfx_roofline_print_csv, &plain);
    ck_assert_int_eq(lines(out.s), 8);
    ck_assert_msg(strstr(out.s, "\"f32[1, 4, 8, 8]\"") != NULL, "%s", out.s);
}

TEST_CASE(tables_fit_the_terminal)
{
    static const int widths[] = {40, 60, 80, 100, 132};
    model(small_net);
    analyse("f32[1,3,8,8]");
    for (int i = 0; i < 5; i++) {
        cfx_roofline_view v = plain;
        v.width = widths[i];
        v.columns = "name,type,shape,macs,flops,bytes,bound,level,floor,share";
        out.len = 0;
        print(cfx_roofline_print, &v);
        char *end = strstr(out.s, "\n\nMACs"), *table;
        ck_assert(end != NULL);
        *end = '\0';
        table = strstr(out.s, "name");
        ck_assert_int_le(longest_line(table), widths[i]);
        ck_assert(strstr(table, "a_conv") != NULL);
    }
}

TEST_CASE(rows_are_sorted_and_cut)
{
    cfx_roofline_view v = plain;
    model(small_net);
    analyse("f32[1,3,8,8]");
    v.sort = "macs";
    v.top = 2;
    v.columns = "name,macs";
    print(cfx_roofline_print_csv, &v);
    ck_assert_str_eq(out.s, "name,macs\na_conv,6912\na_side,768\n");
    v.sort = "nothing";
    ck_assert_int_eq(cfx_roofline_print((cfx_sink){append, &out}, r, &v, &err),
                     CFX_EINVAL);
    ck_assert_str_eq(err.text, "there is no column 'nothing'");
    v.sort = NULL;
    v.columns = "name,,macs";
    ck_assert_int_eq(cfx_roofline_print((cfx_sink){append, &out}, r, &v, NULL),
                     CFX_EINVAL);
}

TEST_CASE(every_column_is_told_of_every_row)
{
    char columns[1024] = "";
    const char *name, *title;
    model(small_net);
    analyse("f32[N,3,8,8]");
    ck_assert_int_eq(cfx_roofline_sweep(r, "N", 1, 4, 1, 1, &err), CFX_OK);
    for (size_t i = 0; (name = cfx_roofline_column(i, &title)); i++) {
        ck_assert_uint_gt(strlen(title), 0);
        strcat(columns, i ? "," : "");
        strcat(columns, name);
    }
    for (int by = CFX_BY_NODE; by <= CFX_BY_POINT; by++) {
        cfx_roofline_view v = plain;
        v.by = (cfx_roofline_by)by;
        v.columns = columns;
        print(cfx_roofline_print, &v);
        print(cfx_roofline_print_csv, &v);
        ck_assert_int_gt(lines(out.s), 1);
    }
}

TEST_CASE(what_the_sink_refuses_is_told)
{
    static text full;
    model(small_net);
    analyse("f32[1,3,8,8]");
    full.len = sizeof(full.s) - 1;
    for (int i = 0; i < NPRINTERS; i++)
        ck_assert_int_eq(
            printers[i]((cfx_sink){append, &full}, r, &plain, NULL), CFX_EIO);
}

/* ---- Compared ---- */

TEST_CASE(a_report_against_itself_has_not_changed)
{
    static text document;
    model(small_net);
    analyse("f32[1,3,8,8]");
    print(cfx_roofline_print_json, &plain);
    document = out;
    out.len = 0;
    ck_assert_int_eq(cfx_roofline_compare_document(
                         (cfx_sink){append, &out}, r, document.s, document.len,
                         CFX_ROOFLINE_TEXT, &plain, &err),
                     CFX_OK);
    ck_assert_msg(strstr(out.s, "no node changed") != NULL, "%s", out.s);
}

TEST_CASE(what_changed_against_another_is_told)
{
    static text document;
    model(small_net);
    analyse("f32[1,3,8,8]");
    print(cfx_roofline_print_json, &plain);
    document = out;
    analyse("f32[2,3,8,8]");
    out.len = 0;
    ck_assert_int_eq(cfx_roofline_compare_document(
                         (cfx_sink){append, &out}, r, document.s, document.len,
                         CFX_ROOFLINE_JSON, &plain, &err),
                     CFX_OK);
    json_t *j = parsed(), *total = json_object_get(j, "total");
    json_t *macs = json_object_get(total, "macs");
    ck_assert_int_eq(json_integer_value(json_object_get(macs, "was")), 7700);
    ck_assert_int_eq(json_integer_value(json_object_get(macs, "now")), 15400);
    json_decref(j);
    cfx_module_unref(gm);
    gm = NULL;
    cfx_roofline_free(r);
    r = NULL;
    model(fc_net);
    analyse("f32[2,1000]");
    out.len = 0;
    ck_assert_int_eq(cfx_roofline_compare_document(
                         (cfx_sink){append, &out}, r, document.s, document.len,
                         CFX_ROOFLINE_CSV, &plain, &err),
                     CFX_OK);
    ck_assert_msg(strstr(out.s, "a_conv,removed,") != NULL, "%s", out.s);
    ck_assert_msg(strstr(out.s, "relu,added,") != NULL, "%s", out.s);
}

/* Comparing with a roofline equals comparing with its document, but for the
 * digits of times that documents round. */
TEST_CASE(another_roofline_is_compared_as_it_is)
{
    static text document, want;
    model(small_net);
    analyse("f32[1,3,8,8]");
    print(cfx_roofline_print_json, &plain);
    document = out;
    cfx_roofline *was = r;
    r = NULL;
    analyse("f32[2,3,8,8]");
    out.len = 0;
    ck_assert_int_eq(cfx_roofline_compare_document(
                         (cfx_sink){append, &out}, r, document.s, document.len,
                         CFX_ROOFLINE_TEXT, &plain, &err),
                     CFX_OK);
    want = out;
    out.len = 0;
    ck_assert_int_eq(cfx_roofline_compare((cfx_sink){append, &out}, r, was,
                                          plain.model, CFX_ROOFLINE_TEXT,
                                          &plain, &err),
                     CFX_OK);
    ck_assert_str_eq(out.s, want.s);
    ck_assert_msg(strstr(out.s, "a_conv") != NULL, "%s", out.s);
    cfx_roofline_free(was);
}

TEST_CASE(other_documents_are_refused)
{
    static const struct {
        const char *text;
        cfx_status st;
    } cases[] = {
        {"", CFX_EPARSE},
        {"{", CFX_EPARSE},
        {"[]", CFX_EINVAL},
        {"{\"schema\": \"cfx.machine/1\"}", CFX_EINVAL},
        {"{\"schema\": \"cfx.roofline/1\", \"nodes\": 3}", CFX_EINVAL},
        {"{\"schema\": \"cfx.roofline/1\", \"nodes\": [3, {}]}", CFX_EINVAL},
        {"{\"schema\": \"cfx.roofline/1\", \"nodes\": [{\"name\": \"a\", "
         "\"macs\": -1}]}",
         CFX_EINVAL},
        {"{\"schema\": \"cfx.roofline/1\", \"nodes\": [{\"name\": \"a\", "
         "\"macs\": null, \"flops\": \"N\"}]}",
         CFX_OK}};
    model(small_net);
    analyse("f32[1,3,8,8]");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        out.len = 0;
        ck_assert_int_eq(
            cfx_roofline_compare_document((cfx_sink){append, &out}, r,
                                          cases[i].text, strlen(cases[i].text),
                                          CFX_ROOFLINE_TEXT, &plain, NULL),
            cases[i].st);
    }
}

/* ---- Lack of memory ---- */

/* All of it, to the sink's end. */
static cfx_status do_all(void)
{
    const cfx_roofline_options o = {
        .size = sizeof(o), .machine = machine, .env = env};
    cfx_roofline *roof = NULL;
    cfx_value x = CFX_NOTHING;
    cfx_status st = cfx_parse_shape(&x, ctx, env, "f32[N,3,8,8]", 12, &err);
    if (!st)
        st = cfx_roofline_new(&roof, gm, &x, 1, &o, &err);
    if (!st)
        st = cfx_roofline_crossovers(roof, "N", 1, 80, &err);
    if (!st)
        st = cfx_roofline_sweep(roof, "N", 1, 8, 1, 2, &err);
    for (int i = 0; i < NPRINTERS && !st; i++) {
        out.len = 0;
        if (printers[i] != cfx_roofline_print_trace)
            st = printers[i]((cfx_sink){append, &out}, roof, &plain, &err);
    }
    cfx_roofline_free(roof);
    cfx_value_unref(x);
    return st;
}

/* Its guard says what N is, so that it is walked again. */
static const char settled_net[] =
    "Net(\n  (l): Linear(in_features=5, out_features=5, bias=True)\n)\n"
    "\ngraph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %l : [num_users=1] = call_module[target=l](args = (%x,), "
    "kwargs = {})\n    return l\n";

static cfx_status settle(void)
{
    const cfx_roofline_options o = {
        .size = sizeof(o), .machine = machine, .env = env};
    cfx_roofline *roof = NULL;
    cfx_value x = CFX_NOTHING;
    cfx_status st = cfx_parse_shape(&x, ctx, env, "f32[3,N]", 8, &err);
    if (!st)
        st = cfx_roofline_new(&roof, gm, &x, 1, &o, &err);
    if (!st)
        st = cfx_roofline_sweep(roof, "N", 4, 6, 1, 1, &err);
    if (!st) {
        ck_assert(roof->known);
        ck_assert_uint_eq(roof->npoints, 1);
        ck_assert_int_eq(roof->point[0].at, 5);
        ck_assert_double_eq(roof->point[0].macs, 75);
    }
    cfx_roofline_free(roof);
    cfx_value_unref(x);
    return st;
}

TEST_CASE(what_guards_settle_is_a_number)
{
    model(settled_net);
    ck_assert_msg(!settle(), "%s", err.text);
}

TEST_CASE(settling_may_lack_memory)
{
    cfx_status st = CFX_ENOMEM;
    model(settled_net);
    ck_assert_int_eq(settle(), CFX_OK);
    for (long n = 0; st && n < 20000; n++) {
        long before = held;
        err = (cfx_error){0};
        allowed = n;
        st = settle();
        allowed = -1;
        ck_assert_msg(st == CFX_OK || st == CFX_ENOMEM, "%d: %s", st,
                      err.text);
        ck_assert_int_le(held, before + 4096);
    }
    ck_assert_int_eq(st, CFX_OK);
}

TEST_CASE(turns_are_found_far_out)
{
    model(settled_net);
    analyse("f32[N,5]");
    ck_assert_msg(!cfx_roofline_crossovers(r, NULL, 0, 0, &err), "%s",
                  err.text);
    ck_assert_uint_ge(r->ncrossovers, 1);
    const cfx_crossover *t = &r->crossover[r->ncrossovers - 1];
    cfx_roofline_floor before[8], after[8];
    setting at = {"N", t->at}, one_less = {"N", t->at - 1};
    ck_assert_int_gt(t->at, 4096);
    ck_assert_int_eq(cfx_roofline_at(r, before, value_of, &one_less, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_roofline_at(r, after, value_of, &at, &err), CFX_OK);
    ck_assert_int_eq(before[t->row].bound, CFX_BOUND_COMPUTE);
    ck_assert_int_eq(after[t->row].bound, CFX_BOUND_MEMORY);
}

TEST_CASE(every_allocation_may_fail)
{
    cfx_status st = CFX_ENOMEM;
    model(small_net);
    ck_assert_int_eq(do_all(), CFX_OK);
    for (long n = 0; st && n < 20000; n++) {
        long before = held;
        err = (cfx_error){0};
        allowed = n;
        st = do_all();
        allowed = -1;
        ck_assert_msg(st == CFX_OK || st == CFX_ENOMEM, "%d: %s", st,
                      err.text);
        ck_assert_int_le(held, before + 4096); /* what the context keeps */
    }
    ck_assert_int_eq(st, CFX_OK);
}

TEST_SUITE(roofline, .setup = machine_setup, .teardown = machine_teardown)
