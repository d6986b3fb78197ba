/*
 * report_test -- roofline documents as a picture and as a page.
 *
 * The text of pages, for all kinds of documents; report_browser.sh tries pages
 * in a browser.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/counted.h"
#include "tests/unit/format/report_document.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

typedef cfx_status print_fn(cfx_sink to, cfx_context *ctx, const char *json,
                            size_t len, cfx_error *err);

static cfx_context *ctx;
static cfx_error err;
static cfx_buf text;

static void setup(void)
{
    err = (cfx_error){0};
    ctx = counted_context();
    cfx_buf_init(&text, ctx);
}

static void teardown(void)
{
    cfx_buf_release(&text);
    free_counted(ctx);
}

static const char *print(print_fn *fn, const char *json)
{
    cfx_buf_clear(&text);
    if (fn(cfx_sink_buf(&text), ctx, json, strlen(json), &err))
        ck_abort_msg("%s", err.text);
    return cfx_buf_str(&text);
}

static size_t count(const char *s, const char *part)
{
    size_t n = 0;
    for (; (s = strstr(s, part)); s += strlen(part))
        n++;
    return n;
}

static void assert_has(const char *s, const char *part)
{
    ck_assert_msg(strstr(s, part), "no %s in\n%.6000s", part, s);
}

/* ---- Documents ---- */

#define MACHINE                                                               \
    "\"machine\": {\"name\": \"m\", \"threads\": 2, "                         \
    "\"peak_flops_per_second\": {\"float32\": 100e9, \"int8\": null, "        \
    "\"float64\": 50e9}, \"levels\": ["                                       \
    "{\"level\": \"L1\", \"bytes\": 32768, "                                  \
    "\"triad_bytes_per_second\": 200e9, \"read_bytes_per_second\": 190e9},"   \
    "{\"level\": \"memory\", \"bytes\": null, "                               \
    "\"triad_bytes_per_second\": null, \"read_bytes_per_second\": 10e9},"     \
    "{\"level\": \"L9\"}]}"

static const char *document(const char *nodes)
{
    static char json[8192];
    snprintf(json, sizeof(json),
             "{\"schema\": \"cfx.roofline/1\", \"model\": \"net\", " MACHINE
             ", \"modules\": [{\"path\": \"fc\", \"type\": \"Linear\"}], "
             "\"nodes\": [%s]}",
             nodes);
    return json;
}

/* 1e9 operations on 1e8 bytes: intensity 10. */
#define NODE(name, more)                                                      \
    "{\"name\": \"" name "\", \"op\": \"call_function\", \"target\": "        \
    "\"torch.mm\", \"dtype\": \"float32\", \"flops\": 1000000000, "           \
    "\"bytes_read\": 60000000, \"bytes_written\": 40000000, " more "}"

#define CONV                                                                  \
    "\"floor_seconds\": 0.01, \"seconds\": 0.02, \"bound\": "                 \
    "\"compute\", \"efficiency\": 0.5"

static const char *const evil =
    "</script><script>alert(1)</script><!--<svg onload=\\\"x\\\">&amp;'";

static const char *evil_document(void)
{
    static char json[8192];
    snprintf(
        json, sizeof(json),
        "{\"schema\": \"cfx.roofline/1\", \"model\": \"%s\", \"machine\": "
        "{\"name\": \"%s\", \"peak_flops_per_second\": {\"%s\": 1e11}, "
        "\"levels\": [{\"level\": \"%s\", \"read_bytes_per_second\": 1e10}"
        "]}, \"nodes\": [{\"name\": \"%s\", \"op\": \"call_function\", "
        "\"target\": \"%s\", \"bound\": \"%s\", \"flops\": 1, "
        "\"bytes_read\": 1, \"bytes_written\": 0, \"floor_seconds\": 1}"
        "]}",
        evil, evil, evil, evil, evil, evil, evil);
    return json;
}

/* ---- The picture ---- */

TEST_CASE(a_mark_stands_where_its_numbers_say)
{
    report_document d;
    const char *json = document(NODE("mm", CONV));
    ck_assert_int_eq(report_document_read(&d, ctx, json, strlen(json), &err),
                     CFX_OK);
    const cfx_report r = d.report;
    ck_assert_uint_eq(r.nnodes, 1);
    ck_assert_double_eq_tol(r.node[0].intensity, 10, 1e-9);
    ck_assert_double_eq_tol(r.node[0].rate, 5e10, 1);
    ck_assert_uint_eq(r.npeaks, 1);
    ck_assert_str_eq(r.peak[0].name, "float32");
    ck_assert_uint_eq(r.nlevels, 2);
    ck_assert_double_eq(r.level[0].rate, 200e9);
    ck_assert_double_eq(r.level[1].rate, 10e9);
    report_document_release(&d);
    const char *s = print(report_svg, json);
    assert_has(s, ">mm (mm)&#10;20\u00a0ms, 50\u00a0GFLOP/s, "
                  "10\u00a0FLOP/byte&#10;bound: compute&#10;efficiency 50 %<");
    assert_has(s, ">float32 100\u00a0GFLOP/s<");
    assert_has(s, ">L1 200\u00a0GB/s<");
    assert_has(s, ">memory 10\u00a0GB/s<");
    assert_has(s, ">m, 2 threads; the area of a mark is its time<");
}

TEST_CASE(equal_levels_are_one_ceiling)
{
    const char *s = print(
        report_svg,
        "{\"schema\": \"cfx.roofline/1\", \"nodes\": [], \"machine\": "
        "{\"levels\": [{\"level\": \"L2\", \"read_bytes_per_second\": 5e10},"
        "{\"level\": \"L1\", \"read_bytes_per_second\": 5e10}, {\"level\": "
        "\"memory\", \"write_bytes_per_second\": 1e10}]}}");
    ck_assert_uint_eq(count(s, "class=\"roof\""), 2);
    assert_has(s, ">L1, L2 50\u00a0GB/s<");
    assert_has(s, ">memory 10\u00a0GB/s<");
}

TEST_CASE(without_times_marks_stand_on_the_roof)
{
    const char *s = print(report_svg,
                          document(NODE("mm", "\"floor_seconds\": 0.01, "
                                              "\"seconds\": null")));
    assert_has(s, "at least 10\u00a0ms, 100\u00a0GFLOP/s");
    assert_has(s, "not measured");
}

TEST_CASE(what_cannot_be_drawn_is_counted)
{
    const char *s = print(
        report_svg,
        document(NODE(
            "a", CONV) ","
                       "{\"name\": \"b\", \"flops\": 0, \"bytes_read\": 4, "
                       "\"bytes_written\": 4, \"seconds\": 1},"
                       "{\"name\": \"c\", \"flops\": 4, \"bytes_read\": 0, "
                       "\"bytes_written\": 0, \"seconds\": 1},"
                       "{\"name\": \"d\", \"flops\": \"2*N\", \"bytes_read\": "
                       "\"N\", "
                       "\"bytes_written\": 3},"
                       "{\"name\": \"e\", \"flops\": 3, \"bytes_read\": 1, "
                       "\"bytes_written\": 3, \"seconds\": null},"
                       "{\"name\": \"f\"}"));
    ck_assert_uint_eq(count(s, "<title>"), 2);
    assert_has(s, "Not drawn: 1 node without arithmetic, 1 node without "
                  "bytes, 3 nodes with unknown costs.");
}

TEST_CASE(a_picture_of_nothing_says_so)
{
    const char *s = print(report_svg,
                          "{\"schema\": \"cfx.roofline/1\", \"nodes\": []}");
    assert_has(s, "No node has both arithmetic and bytes.");
    ck_assert_uint_eq(count(s, "class=\"mark "), 0);
    s = print(report_svg,
              document("{\"name\": \"a\", \"flops\": \"2*N\", "
                       "\"bytes_read\": \"N\", \"bytes_written\": \"N\"}"));
    assert_has(s, "Costs are expressions");
}

TEST_CASE(operators_are_named_as_people_name_them)
{
    static const char *const targets[][3] = {
        {"call_function", "torch.nn.functional.linear", "linear"},
        {"call_function", "aten.conv2d.default", "conv2d"},
        {"call_function", "torch.ops.aten.add.Tensor", "add"},
        {"call_function", "operator.add", "add"},
        {"call_function", "abs", "abs"},
        {"call_method", "relu", "relu"},
        {"call_module", "fc", "Linear"},
        {"call_module", "layer1.0.conv1", "conv1"},
        {"get_attr", "weight", "get_attr"},
    };
    assert_has(
        print(report_svg,
              document(NODE("n", CONV ", \"operator\": \"operator.matmul\""))),
        ">n (matmul)&#10;");
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        char node[512], want[128];
        snprintf(node, sizeof(node),
                 "{\"name\": \"n\", \"op\": \"%s\", "
                 "\"target\": \"%s\", \"flops\": 1, \"bytes_read\": 1, "
                 "\"bytes_written\": 1, \"floor_seconds\": 1}",
                 targets[i][0], targets[i][1]);
        snprintf(want, sizeof(want), ">n (%s)&#10;", targets[i][2]);
        assert_has(print(report_svg, document(node)), want);
    }
}

TEST_CASE(operators_beyond_the_eighth_share_a_look)
{
    cfx_buf nodes;
    cfx_buf_init(&nodes, ctx);
    for (int i = 0; i < 12; i++)
        cfx_buf_printf(&nodes,
                       "%s{\"name\": \"n%d\", \"op\": \"call_method\", "
                       "\"target\": \"f%d\", \"flops\": 1, \"bytes_read\": 1, "
                       "\"bytes_written\": 1, \"floor_seconds\": %d}",
                       i ? "," : "", i, i, 100 - i);
    const char *s = print(report_svg, document(cfx_buf_str(&nodes)));
    cfx_buf_release(&nodes);
    assert_has(s, ">f6 <tspan");
    assert_has(s, ">others <tspan class=\"quiet\">\u00d7\u00a05, ");
    ck_assert_ptr_null(strstr(s, ">f7 <tspan"));
    assert_has(s, ">n11 (f11)");
    /* Five marks and their legend. */
    ck_assert_uint_eq(count(s, "class=\"mark k7\""), 6);
}

TEST_CASE(numbers_have_three_digits_and_a_prefix)
{
    static const struct {
        double v;
        const char *unit, *want;
    } cases[] = {
        {8.21e9, "FLOP", "8.21\u00a0GFLOP"},
        {1e9, "B/s", "1\u00a0GB/s"},
        {999.4, "B", "999\u00a0B"},
        {999.6, "B", "1\u00a0kB"},
        {12.34e-6, "s", "12.3\u00a0\u00b5s"},
        {0, "s", "0\u00a0s"},
        {1234, "s", "1234\u00a0s"},
        {1e30, "B", "1e30\u00a0B"},
        {1.5e12, "s", "1.5e12\u00a0s"},
        {5e-324, "s", "4.94e-324\u00a0s"},
        {0.05, "FLOP/byte", "50\u00a0mFLOP/byte"},
        {9.999e40, "B", "1e41\u00a0B"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cfx_out out;
        cfx_buf_clear(&text);
        cfx_out_init(&out, cfx_sink_buf(&text));
        cfx_report__put_quantity(&out, cases[i].v, cases[i].unit);
        ck_assert_int_eq(cfx_out_finish(&out, &err), CFX_OK);
        ck_assert_str_eq(cfx_buf_str(&text), cases[i].want);
    }
}

/* All coordinates are numbers that one can draw. */
TEST_CASE(all_of_the_range_of_doubles_is_drawn)
{
    static const char *const values[] = {
        "1e308", "5e-324", "1e-300", "1", "12345678901234567890123", "-3"};
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int c = 0; c < 6; c++) {
                char node[512];
                snprintf(node, sizeof(node),
                         "{\"name\": \"n\", \"flops\": %s, "
                         "\"bytes_read\": %s, \"bytes_written\": 0, "
                         "\"seconds\": %s}",
                         values[a], values[b], values[c]);
                const char *s = print(report_svg, document(node));
                ck_assert_ptr_null(strstr(s, "nan"));
                ck_assert_ptr_null(strstr(s, "inf"));
                ck_assert_ptr_null(strstr(s, "-9223372036854775808"));
            }
}

/* ---- The page ---- */

/* The document that stands in a page. */
static json_t *document_in(const char *page)
{
    const char *open = "<script type=\"application/json\" id=\"document\">";
    const char *begin = strstr(page, open);
    ck_assert_ptr_nonnull(begin);
    begin += strlen(open);
    const char *end = strstr(begin, "</script>");
    ck_assert_ptr_nonnull(end);
    return json_loadb(begin, (size_t)(end - begin), 0, NULL);
}

TEST_CASE(a_page_holds_its_document)
{
    const char *json = document(NODE("mm", CONV));
    json_t *want = json_loads(json, 0, NULL);
    json_t *have = document_in(print(report_html, json));
    ck_assert_ptr_nonnull(have);
    ck_assert(json_equal(have, want));
    json_decref(have);
    json_decref(want);
    assert_has(cfx_buf_str(&text), "<title>\nnet \u2013 roofline\n</title>");
}

TEST_CASE(names_cannot_break_out)
{
    const char *json = evil_document();
    json_t *want = json_loads(json, 0, NULL), *have;
    ck_assert_ptr_nonnull(want);
    const char *s = print(report_html, json);
    size_t scripts = count(s, "<script"), ends = count(s, "</script");
    ck_assert_uint_eq(scripts, 2);
    ck_assert_uint_eq(ends, 2);
    ck_assert_uint_eq(count(s, "<!--"), 0);
    ck_assert_uint_eq(count(s, "onload="),
                      count(s, "onload=\\\"") + count(s, "onload=&quot;"));
    have = document_in(s);
    ck_assert(json_equal(have, want));
    json_decref(have);
    json_decref(want);
    s = print(report_svg, json);
    ck_assert_uint_eq(count(s, "<script"), 0);
    ck_assert_uint_eq(count(s, "<!--"), 0);
    assert_has(s, "&lt;/script&gt;&lt;script&gt;");
}

TEST_CASE(characters_that_xml_has_not_are_replaced)
{
    const char *s = print(report_svg,
                          document(NODE("a\\u0001\\uffff\\u00e9\\n", CONV)));
    assert_has(s, ">a??\u00e9? (mm)");
}

TEST_CASE(a_page_asks_the_network_for_nothing)
{
    const char *s = print(report_html, document(NODE("mm", CONV)));
    const char *name = "http://www.w3.org/2000/svg";
    ck_assert_uint_eq(count(s, "http:"), count(s, name));
    ck_assert_uint_eq(
        count(s, "https:") + count(s, "@import") + count(s, "src="), 0);
    assert_has(s, "default-src 'none'");
    ck_assert_uint_eq(count(s, "eval("), 0);
    ck_assert_uint_eq(count(s, "innerHTML"), 0);
    ck_assert_uint_eq(count(s, "%%"), 0);
}

/* ---- Failures ---- */

TEST_CASE(a_sink_that_refuses_ends_it)
{
    const char *json = document(NODE("mm", CONV));
    for (int left = 0; left < 2; left++) {
        int n = left;
        cfx_sink sink = {refuse_after, &n};
        err = (cfx_error){0};
        ck_assert_int_eq(report_html(sink, ctx, json, strlen(json), &err),
                         CFX_EIO);
        n = left;
        ck_assert_int_eq(report_svg(sink, ctx, json, strlen(json), NULL),
                         CFX_EIO);
    }
}

static cfx_status drop(void *user, const char *s, size_t len)
{
    (void)user;
    (void)s;
    (void)len;
    return CFX_OK;
}

TEST_CASE(lack_of_memory_is_told)
{
    print_fn *const both[] = {report_svg, report_html};
    size_t len;
    char *json = read_file(data_path("golden/report_resnet50.json"), &len);
    ck_assert_ptr_nonnull(json);
    for (int i = 0; i < 2; i++) {
        long n = 0;
        cfx_status st;
        do {
            cfx_sink sink = {drop, NULL};
            err = (cfx_error){0};
            refused = false;
            allowed = n++;
            st = both[i](sink, ctx, json, len, &err);
            allowed = -1;
            ck_assert(st == CFX_OK || (st == CFX_ENOMEM && refused));
        } while (st);
        ck_assert_int_gt(n, 3);
    }
    free(json);
}

TEST_CASE(a_whole_model_is_drawn)
{
    size_t len;
    char *json = read_file(data_path("golden/report_resnet50.json"), &len);
    cfx_buf_clear(&text);
    ck_assert_int_eq(report_svg(cfx_sink_buf(&text), ctx, json, len, &err),
                     CFX_OK);
    /* 53 convolutions, as many normalizations, 16 sums, a mean, a product;
     * and five operators in the legend. */
    ck_assert_uint_eq(count(cfx_buf_str(&text), "class=\"mark "), 124 + 5);
    ck_assert_uint_eq(count(cfx_buf_str(&text), "class=\"roof\""), 5);
    ck_assert_uint_eq(count(cfx_buf_str(&text), "class=\"halo\""), 5);
    free(json);
}

TEST_SUITE(report, .setup = setup, .teardown = teardown)
