/*
 * quantize_test -- quantizers as classes, observers in a graph, converting.
 */
#include "tests/unit/rewrite/pass_test.h"

#include <math.h>

#include <cfx/quantize.h>

#include "tests/unit/unit.h"

static const char small_model[] =
    "M(\n"
    "  (fc): Linear(in_features=3, out_features=4, bias=True)\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = "
    "{})\n"
    "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
    "(%fc,), kwargs = {})\n"
    "    %erf : [num_users=1] = call_function[target=torch.erf](args "
    "= (%relu,), kwargs = {})\n"
    "    %reshape : [num_users=1] = call_function[target=torch.reshape](args "
    "= (%relu, [-1]), kwargs = {})\n"
    "    return (erf, reshape)\n";

static cfx_quant_report report;
static cfx_value batch;

static cfx_status make(void)
{
    static const int64_t shape[] = {5, 3};
    cfx_tensor *t;
    cfx_status st = cfx_parse_model(&gm, ctx, small_model, strlen(small_model),
                                    "m.fx", &err);
    if (!st)
        st = cfx_module_randomize(gm, 1, &err);
    if (!st)
        st = cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err);
    if (!st)
        batch = cfx_value_of_tensor(t);
    return st ? st : cfx_tensor_randomize(t, 1, "x", &err);
}

static void drop(void)
{
    cfx_quant_report_release(&report, ctx);
    cfx_value_unref(batch);
    batch = CFX_NOTHING;
    cfx_module_unref(gm);
    gm = NULL;
}

static void end(void)
{
    drop();
    teardown();
}

static cfx_status prepare(const cfx_quantizer_class *cls)
{
    cfx_quantizer q;
    cfx_quantizer_init(&q, cls);
    return cfx_quantize_prepare(gm, &q, &batch, 1, &report, &err);
}

static cfx_status calibrate(void)
{
    cfx_interp it = {0};
    cfx_value out = CFX_NOTHING;
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, &err);
    if (!st)
        st = cfx_interp_run(&it, &batch, 1, &out, &err);
    cfx_value_unref(out);
    cfx_interp_release(&it);
    return st;
}

/* The observers that are called on a node. */
static const cfx_node *observer_of(const char *name)
{
    const cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), name);
    ck_assert_ptr_nonnull(n);
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (u->user->op == CFX_CALL_MODULE)
            return u->user;
    return NULL;
}

static const cfx_quant_row *row_of(const char *name)
{
    for (size_t i = 0; i < report.n; i++)
        if (!strcmp(report.row[i].node, name))
            return &report.row[i];
    return NULL;
}

/* ---- Preparing ---- */

TEST_CASE(observers_follow_what_is_marked)
{
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_x86));
    g = cfx_graph_module_graph(gm);
    assert_ok(cfx_graph_lint(g, &err));
    ck_assert_str_eq(observer_of("x")->name, "activation_post_process_0");
    ck_assert_str_eq(observer_of("fc_weight")->name,
                     "activation_post_process_1");
    ck_assert_str_eq(observer_of("relu")->name, "activation_post_process_2");
    ck_assert_ptr_null(observer_of("linear"));
    ck_assert_ptr_null(observer_of("fc_bias"));
    ck_assert_ptr_null(observer_of("erf"));
    ck_assert_str_eq(observer_of("reshape")->target->text,
                     "activation_post_process_2");
    ck_assert_str_eq(row_of("erf")->reason,
                     "the quantizer has no rule for it");
}

TEST_CASE(dead_code_keeps_observers)
{
    size_t erased = 1;
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_x86));
    g = cfx_graph_module_graph(gm);
    cfx_node *seen = node("activation_post_process_2");
    assert_ok(
        cfx_node_replace_all_uses_with(seen, node("relu"), NULL, NULL, &err));
    ck_assert_uint_eq(seen->nusers, 0);
    assert_ok(cfx_graph_eliminate_dead_code(g, NULL, &erased, &err));
    ck_assert_uint_eq(erased, 0);
}

TEST_CASE(the_base_leaves_everything_float)
{
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_base));
    ck_assert_ptr_null(observer_of("x"));
    assert_ok(cfx_quantize_convert(gm, &report, &err));
    ck_assert_ptr_nonnull(cfx_module_state(gm, "fc_weight"));
}

/* ---- A quantizer of one's own, and one derived from it ---- */

static const cfx_quant_spec narrow = {
    .observer = "MinMaxObserver",
    .dtype = CFX_I8,
    .least = -8,
    .most = 7,
};

static cfx_status erf_annotate(cfx_quantizer *q, const cfx_node *n,
                               cfx_quant_mark *mark);
static const cfx_quantizer_class with_erf = {
    .size = sizeof(cfx_quantizer_class),
    .name = "with erf",
    .super = &cfx_quantizer_x86,
    .annotate = erf_annotate,
};

static cfx_status erf_annotate(cfx_quantizer *q, const cfx_node *n,
                               cfx_quant_mark *mark)
{
    if (!cfx_node_is(n, "erf"))
        return CFX_QUANTIZER_SUPER(&with_erf, annotate)(q, n, mark);
    mark->output = &narrow;
    return CFX_OK;
}

static cfx_status no_relu_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark);
static const cfx_quantizer_class no_relu = {
    .size = sizeof(cfx_quantizer_class),
    .name = "no relu",
    .super = &with_erf,
    .annotate = no_relu_annotate,
};

static cfx_status no_relu_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark)
{
    if (!cfx_node_is(n, "relu"))
        return CFX_QUANTIZER_SUPER(&no_relu, annotate)(q, n, mark);
    mark->reason = "this test does not want it";
    return CFX_OK;
}

TEST_CASE(a_class_two_levels_above_x86_calls_up)
{
    assert_ok(make());
    assert_ok(prepare(&no_relu));
    ck_assert_ptr_nonnull(observer_of("x"));
    ck_assert_ptr_null(observer_of("relu"));
    ck_assert_str_eq(row_of("relu")->reason, "this test does not want it");
    ck_assert_str_eq(row_of("reshape")->reason, "its input is not quantized");
    const cfx_node *n = observer_of("erf");
    ck_assert_ptr_nonnull(n);
    assert_ok(calibrate());
    assert_ok(cfx_quantize_convert(gm, &report, &err));
    ck_assert_int_eq(row_of("erf")->dtype, CFX_I8);
    ck_assert_double_le(row_of("erf")->scale, 1.0 / 15 + 1e-6);
}

/* ---- Converting ---- */

TEST_CASE(converting_leaves_a_reference_graph)
{
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_x86));
    assert_ok(calibrate());
    assert_ok(cfx_quantize_convert(gm, &report, &err));
    g = cfx_graph_module_graph(gm);
    assert_ok(cfx_graph_lint(g, &err));
    ck_assert_ptr_null(cfx_module_child(gm, "activation_post_process_0"));
    ck_assert_ptr_null(cfx_module_state(gm, "fc_weight"));
    const cfx_state *w = cfx_module_state(gm, "fc_weight_quantized_0");
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->tensor->dtype, CFX_I8);
    ck_assert_ptr_nonnull(cfx_graph_find(g, "quantize_per_tensor_default"));
    ck_assert_ptr_nonnull(cfx_graph_find(g, "dequantize_per_channel_default"));
    const cfx_quant_row *relu = row_of("relu"), *view = row_of("reshape");
    ck_assert_int_eq(view->kind, CFX_QUANT_SHARED);
    ck_assert_double_eq(view->scale, relu->scale);
    ck_assert_int_eq(view->zero_point, relu->zero_point);
    ck_assert_int_eq(row_of("fc_weight")->bytes_after, 12 + 4 * 12);
    assert_ok(calibrate());
}

TEST_CASE(the_error_is_at_most_half_a_step)
{
    cfx_module *prepared;
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_x86));
    assert_ok(calibrate());
    assert_ok(cfx_module_copy(&prepared, gm, &err));
    assert_ok(cfx_quantize_convert(gm, &report, &err));
    assert_ok(cfx_quantize_measure(&report, prepared, gm, &batch, 1, &err));
    cfx_module_unref(prepared);
    ck_assert_double_eq(row_of("x")->error, 0);
    ck_assert_double_gt(row_of("relu")->error, 0);
    ck_assert_double_lt(row_of("relu")->error, 0.02);
    ck_assert_double_lt(row_of("fc_weight")->error, 0.01);
}

TEST_CASE(observers_without_data_are_named)
{
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_x86));
    ck_assert_int_eq(cfx_quantize_convert(gm, NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "activation_post_process_0: the observer has "
                              "seen no data");
}

TEST_CASE(weights_need_no_run)
{
    assert_ok(make());
    assert_ok(prepare(&cfx_quantizer_weights));
    assert_ok(cfx_quantize_convert(gm, &report, &err));
    ck_assert_int_eq(row_of("fc_weight")->channels, 4);
    ck_assert_ptr_null(cfx_graph_find(cfx_graph_module_graph(gm),
                                      "quantize_per_tensor_default"));
    assert_ok(calibrate());
}

TEST_CASE(what_is_written_stays_float)
{
    static const char text[] =
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %relu : [num_users=2] = call_function[target=torch.relu](args = "
        "(%x,), kwargs = {})\n"
        "    %view : [num_users=1] = call_method[target=view](args = (%relu, "
        "-1), kwargs = {})\n"
        "    %add_ : [num_users=0] = call_method[target=add_](args = (%view, "
        "1), kwargs = {})\n"
        "    return relu\n";
    assert_ok(make());
    cfx_module_unref(gm);
    assert_ok(cfx_parse_model(&gm, ctx, text, strlen(text), "m.fx", &err));
    assert_ok(prepare(&cfx_quantizer_x86));
    ck_assert_ptr_null(observer_of("relu"));
    ck_assert_str_eq(row_of("relu")->reason,
                     "its result is written to in place");
}

/* ---- Sensitivity ---- */

static cfx_quant_patterns patterns;

static cfx_status only_batch(void *user, size_t i, const cfx_value **inputs,
                             size_t *n, cfx_error *e)
{
    (void)user;
    (void)i;
    (void)e;
    *inputs = &batch;
    *n = 1;
    return CFX_OK;
}

static cfx_status rank(const cfx_quantizer_class *cls, size_t nbatches)
{
    const cfx_quant_data data = {.batch = only_batch, .n = nbatches};
    cfx_quantizer q;
    cfx_quantizer_init(&q, cls);
    return cfx_quantize_sensitivity(&patterns, gm, &q, &data, &err);
}

TEST_CASE(a_pattern_has_its_activation)
{
    assert_ok(make());
    assert_ok(rank(&cfx_quantizer_x86, 2));
    ck_assert_uint_eq(patterns.n, 1);
    ck_assert_str_eq(patterns.row[0].node, "linear");
    ck_assert_str_eq(patterns.row[0].activation, "relu");
    ck_assert_double_gt(patterns.row[0].snr, 20);
    ck_assert_double_lt(patterns.row[0].snr, 60);
    ck_assert(!patterns.row[0].keep_float);
    cfx_quant_patterns_release(&patterns, ctx);
}

TEST_CASE(a_ranking_needs_data_and_patterns)
{
    assert_ok(make());
    ck_assert_int_eq(rank(&cfx_quantizer_x86, 0), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "there is no calibration data");
    err = (cfx_error){0};
    ck_assert_int_eq(rank(&cfx_quantizer_base, 1), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "the quantizer base marks no node");
}

/* Run `work` with each number of allocations up to the one that it needs: how often it
 * failed, each time for lack of memory. */
static size_t failures_of(cfx_status (*work)(const void *arg), const void *arg)
{
    size_t failures = 0;
    bool complete = false;
    for (long n = 0; !complete; n++) {
        allowed = n;
        refused = false;
        err = (cfx_error){0};
        cfx_status st = work(arg);
        allowed = -1;
        if (st)
            ck_assert_msg(st == CFX_ENOMEM, "%s", err.text);
        failures += st != CFX_OK;
        complete = !refused;
        cfx_quant_patterns_release(&patterns, ctx);
        drop();
    }
    return failures;
}

static cfx_status make_and_rank(const void *arg)
{
    cfx_status st = make();
    return st ? st : rank(arg, 1);
}

TEST_CASE(memory_may_lack_while_ranking)
{
    ck_assert_uint_gt(failures_of(make_and_rank, &cfx_quantizer_x86), 300);
}

/* ---- GPTQ ---- */

static cfx_status round_weights(const void *arg)
{
    const cfx_quant_data data = {.batch = only_batch, .n = 1};
    cfx_status st = make();
    if (!st)
        st = prepare(arg);
    if (!st)
        st = cfx_quantize_gptq(gm, &data, &err);
    return st ? st : cfx_quantize_convert(gm, &report, &err);
}

TEST_CASE(memory_may_lack_while_rounding_weights)
{
    ck_assert_uint_gt(failures_of(round_weights, &cfx_quantizer_weights), 100);
}

/* ---- A configuration ---- */

static const char config[] =
    "{\"global\": \"x86\", \"object_type\": {\"torch.nn.Linear\": null}, "
    "\"module_name_regex\": {\"f[a-c]\": null}, "
    "\"module_name\": {\"reshape\": null}}";

static cfx_status configure(cfx_quantizer **q, const char *text)
{
    return cfx_quantizer_config_parse(q, ctx, text, strlen(text), &err);
}

TEST_CASE(a_configuration_chooses_by_node)
{
    cfx_quantizer *q;
    assert_ok(make());
    assert_ok(configure(&q, config));
    ck_assert_int_eq(cfx_quantizer_config_check(q, &err), CFX_EINVAL);
    err = (cfx_error){0};
    assert_ok(cfx_quantize_prepare(gm, q, &batch, 1, &report, &err));
    assert_ok(cfx_quantizer_config_check(q, &err));
    ck_assert_ptr_null(observer_of("fc_weight"));
    ck_assert_ptr_null(observer_of("reshape"));
    ck_assert_ptr_null(observer_of("relu"));
    ck_assert_str_eq(row_of("linear")->reason,
                     "the configuration keeps it in float");
    ck_assert_str_eq(row_of("relu")->reason, row_of("linear")->reason);
    cfx_quantizer_config_free(q);
}

TEST_CASE(every_prefix_of_a_configuration_is_refused)
{
    for (size_t n = 0; n + 1 < sizeof(config); n++) {
        cfx_quantizer *q;
        err = (cfx_error){0};
        ck_assert_int_eq(cfx_quantizer_config_parse(&q, ctx, config, n, &err),
                         CFX_EPARSE);
        ck_assert_ptr_null(q);
    }
    cfx_quantizer_config_free(NULL);
}

TEST_CASE(memory_may_lack_for_a_configuration)
{
    size_t failures = 0;
    bool complete = false;
    for (long n = 0; !complete; n++) {
        cfx_quantizer *q;
        allowed = n;
        refused = false;
        err = (cfx_error){0};
        cfx_status st = configure(&q, config);
        allowed = -1;
        ck_assert_int_eq(st, refused ? CFX_ENOMEM : CFX_OK);
        failures += refused;
        complete = !refused;
        cfx_quantizer_config_free(q);
    }
    ck_assert_uint_ge(failures, 2);
}

/* A cache may do without memory; the result is then the same. */
TEST_CASE(memory_may_lack_anywhere)
{
    size_t rows = 0, failures = 0;
    for (long n = 0; !rows; n++) {
        allowed = n;
        refused = false;
        err = (cfx_error){0};
        cfx_status st = make();
        if (!st)
            st = prepare(&cfx_quantizer_x86);
        if (!st)
            st = calibrate();
        if (!st)
            st = cfx_quantize_convert(gm, &report, &err);
        allowed = -1;
        if (st)
            ck_assert_msg(st == CFX_ENOMEM, "%s", err.text);
        else
            ck_assert_uint_eq(report.n, 5);
        failures += st != CFX_OK;
        rows = refused ? 0 : report.n;
        drop();
    }
    ck_assert_uint_gt(failures, 300);
}

/* ---- Without data ---- */

static const char wide_model[] =
    "M(\n"
    "  (fc): Linear(in_features=64, out_features=4, bias=True)\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = "
    "{})\n"
    "    return fc\n";

static cfx_status quantize_without_data(const void *cls)
{
    cfx_quantizer q;
    cfx_quantizer_init(&q, cls);
    cfx_status st = cfx_parse_model(&gm, ctx, wide_model, strlen(wide_model),
                                    "m.fx", &err);
    if (!st)
        st = cfx_module_randomize(gm, 1, &err);
    if (!st)
        st = cfx_quantize_prepare(gm, &q, NULL, 0, &report, &err);
    return st ? st : cfx_quantize_convert(gm, &report, &err);
}

TEST_CASE(each_quantizer_has_its_name)
{
    const cfx_quantizer_class *cls;
    size_t n = 0;
    for (; (cls = cfx_quantizer_at(n)); n++)
        ck_assert_ptr_eq(cfx_find_quantizer(cls->name), cls);
    ck_assert_uint_gt(n, 5);
    ck_assert_ptr_null(cfx_find_quantizer("arm"));
}

TEST_CASE(two_integers_of_4_bits_are_in_a_byte)
{
    assert_ok(quantize_without_data(&cfx_quantizer_weights_int4_g32));
    const cfx_state *w = cfx_module_state(gm, "fc_weight_packed_0");
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->tensor->dtype, CFX_U8);
    ck_assert_int_eq(cfx_tensor_size(w->tensor, 1), 32);
    w = cfx_module_state(gm, "fc_weight_scale_0");
    ck_assert_int_eq(cfx_tensor_size(w->tensor, 1), 2);
    ck_assert_int_eq(row_of("fc_weight")->bits, 4);
    ck_assert_int_eq(row_of("fc_weight")->bytes_after, 4 * 32 + 4 * 8);
}

TEST_CASE(data_is_needed_by_observers_of_values_only)
{
    ck_assert_int_eq(quantize_without_data(&cfx_quantizer_x86), CFX_EINVAL);
    assert_failed(CFX_EINVAL,
                  "activation_post_process_0: the observer has seen no data: "
                  "run the prepared model on calibration data");
    drop();
    err = (cfx_error){0};
    assert_ok(quantize_without_data(&cfx_quantizer_dynamic));
    ck_assert_int_eq(row_of("x")->kind, CFX_QUANT_DYNAMIC);
}

TEST_CASE(memory_may_lack_without_data)
{
    static const cfx_quantizer_class *const by[] = {
        &cfx_quantizer_weights_int4_g32, &cfx_quantizer_dynamic,
        &cfx_quantizer_dynamic_per_token};
    for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
        failures_of(quantize_without_data, by[i]);
    }
}

TEST_SUITE(quantize, .setup = setup, .teardown = end, .timeout = 120)
