/*
 * device_test -- devices are labels: metas carry them as PyTorch's fake tensors
 * do (oracle/devices.py wrote golden/devices.tsv), runs map them to the CPU.
 */
#include <cfx/scope.h>

#include "tests/unit/golden_text.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_shape_env *env;
static cfx_scope scope;
static int notes;
static char note[256];

static void keep_note(void *user, cfx_level level, const char *text)
{
    (void)user;
    notes += level == CFX_NOTE;
    snprintf(note, sizeof(note), "%s", text);
}

static void setup(void)
{
    cfx_options o = {.size = sizeof(o), .message = keep_note};
    notes = 0;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
    cfx_scope_init(&scope, &cfx_meta_class, ctx, env);
}

static void teardown(void)
{
    cfx_scope_release(&scope);
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
}

/* From here on calls compute. */
static void use_numbers(void)
{
    cfx_scope_release(&scope);
    cfx_scope_init(&scope, &cfx_eager_class, ctx, NULL);
}

static cfx_value shape(const char *text)
{
    cfx_value v = CFX_NOTHING;
    cfx_error err = {0};
    ck_assert_msg(!cfx_parse_shape(&v, ctx, env, text, strlen(text), &err),
                  "%s: %s", text, err.text);
    return cfx_scope_take(&scope, v);
}

/* Call a function or method with what a tuple and a dict hold. */
static cfx_value call(const char *target, cfx_value args, cfx_value kwargs)
{
    const cfx_seq *a = args.u.seq, *k = kwargs.u.seq;
    bool method = !strncmp(target, "Tensor.", 7);
    return method ? cfx_call_method(
                        &scope, target + 7,
                        (cfx_args){a->item, a->len, k->item, k->len / 2})
                  : cfx_call_function(
                        &scope, target,
                        (cfx_args){a->item, a->len, k->item, k->len / 2});
}

static cfx_value call_text(const char *target, const char *args,
                           const char *kwargs)
{
    cfx_value dict = CFX_NOTHING;
    cfx_error err = {0};
    ck_assert_msg(!cfx_parse_value(&dict, ctx, kwargs, strlen(kwargs), &err),
                  "%s: %s", kwargs, err.text);
    return call(target, shape(args), cfx_scope_take(&scope, dict));
}

/* "error" where the call failed. */
static void device_of(cfx_value v, char *buf, size_t size)
{
    snprintf(buf, size, "error");
    if (v.kind == CFX_TENSOR)
        cfx_device_format(v.u.tensor->device, buf, size);
}

TEST_CASE(results_are_where_fake_tensors_are)
{
    char *text = golden_read("devices.tsv"), *line = strchr(text, '\n') + 1;
    int lines = 0;
    for (char *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        char *part[4], have[32], *at = line;
        *end = '\0';
        for (int i = 0; i < 4; i++) {
            part[i] = at;
            at += strcspn(at, "\t");
            *at++ = '\0';
        }
        cfx_value v = call_text(part[0], part[1], part[2]);
        device_of(v, have, sizeof(have));
        ck_assert_msg(!strcmp(have, part[3]), "%s%s %s is on %s, not %s; %s",
                      part[0], part[1], part[2], have, part[3],
                      scope.error.text);
        if (cfx_scope_failed(&scope))
            ck_assert_msg(
                strstr(scope.error.text,
                       "Expected all tensors to be "
                       "on the same device, but found at least two "
                       "devices, cuda:0 and ") ||
                    strstr(scope.error.text, "devices, cpu and cuda:0"),
                "%s", scope.error.text);
        cfx_scope_release(&scope);
        cfx_scope_init(&scope, &cfx_meta_class, ctx, env);
    }
    ck_assert_int_eq(lines, 65);
    free(text);
}

TEST_CASE(tensors_that_say_nothing_go_with_any)
{
    char name[32];
    device_of(call_text("torch.add", "(f32[N,3], f32[3]cuda:1)", "{}"), name,
              sizeof(name));
    ck_assert_str_eq(name, "cuda:1");
    cfx_value x = call_text("torch.add", "(f32[N,3], f32[3])", "{}");
    ck_assert_int_eq(x.u.tensor->device, 0);
}

TEST_CASE(attributes_tell_the_device)
{
    cfx_value x = shape("f32[2,3]cuda:1");
    cfx_value args[] = {x, cfx_str(&scope, "device")};
    cfx_value v = cfx_call_function(&scope, "builtins.getattr",
                                    cfx_args_of(args, 2));
    ck_assert_int_eq(v.kind, CFX_DEVICE);
    ck_assert_str_eq(v.u.str->text, "cuda:1");
    args[1] = cfx_str(&scope, "is_cuda");
    v = cfx_call_function(&scope, "builtins.getattr", cfx_args_of(args, 2));
    ck_assert(v.u.i);
    args[1] = cfx_str(&scope, "is_cpu");
    v = cfx_call_function(&scope, "builtins.getattr", cfx_args_of(args, 2));
    ck_assert(!v.u.i);
    v = cfx_call_method(&scope, "get_device", CFX_ARGS(x));
    ck_assert_int_eq(v.u.i, 1);
}

TEST_CASE(names_are_read_and_written)
{
    static const char *const names[][2] = {
        {"cpu", "cpu"},       {"cpu:0", "cpu"}, {"cuda", "cuda:0"},
        {"cuda:7", "cuda:7"}, {"mps", "mps:0"}, {"meta", "meta"},
    };
    static const char *const wrong[] = {
        "",       "gpu",       "cuda:", "cuda:-1", "cuda:01",
        "cuda:x", "cuda:1000", "cudax", ":0"};
    cfx_device_label d;
    char have[32];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        ck_assert(cfx_device_parse(&d, names[i][0]));
        cfx_device_format(d, have, sizeof(have));
        ck_assert_str_eq(have, names[i][1]);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        ck_assert_msg(!cfx_device_parse(&d, wrong[i]), "%s", wrong[i]);
}

static const char *zeros = "{'size': (2,), 'device': 'cuda:0'}";

TEST_CASE(runs_are_on_the_cpu_and_say_so_once)
{
    use_numbers();
    for (int i = 0; i < 3; i++) {
        cfx_value v = call_text("torch.zeros", "()", zeros);
        ck_assert_msg(v.kind == CFX_TENSOR, "%s", scope.error.text);
        ck_assert(v.u.tensor->data);
        ck_assert_int_eq(v.u.tensor->device, 0);
        v = cfx_call_method(&scope, "cuda", CFX_ARGS(v));
        ck_assert_int_eq(v.kind, CFX_TENSOR);
    }
    ck_assert_int_eq(notes, 1);
    ck_assert_str_eq(note, "the graph asks for device 'cuda:0'; all is "
                           "computed on the CPU");
}

TEST_CASE(strict_runs_refuse_other_devices)
{
    use_numbers();
    cfx_context_set_strict_devices(ctx, true);
    call_text("torch.zeros", "()", zeros);
    ck_assert_ptr_nonnull(strstr(scope.error.text, "there is no device "
                                                   "'cuda:0', only 'cpu'"));
    ck_assert_int_eq(notes, 0);
}

TEST_CASE(what_is_no_device_or_has_no_numbers_is_refused)
{
    use_numbers();
    call_text("torch.zeros", "()", "{'size': (2,), 'device': 'gpu'}");
    ck_assert_ptr_nonnull(strstr(scope.error.text, "no device type 'gpu'"));
    use_numbers();
    call_text("torch.zeros", "()", "{'size': (2,), 'device': 'meta'}");
    ck_assert_ptr_nonnull(strstr(scope.error.text, "have no data"));
}

TEST_SUITE(device, .setup = setup, .teardown = teardown)
