/*
 * control_golden_test -- exported programs whose operators take graphs: their
 * text, their code, their results and the types that are known before, against
 * PyTorch's. tests/oracle/control.py wrote the golden, and tells its form.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/text.h>

#include "tests/unit/unit.h"

enum { MAX_VALUES = 8 };

static cfx_context *ctx;
static cfx_module *gm;
static cfx_error err;
static char *golden;

static void setup(void)
{
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
}

static void teardown(void)
{
    cfx_module_unref(gm);
    gm = NULL;
    cfx_context_free(ctx);
}

static bool read_golden(void)
{
    char path[512];
    const char *src = getenv("srcdir");
    size_t size = 1 << 20;
    snprintf(path, sizeof(path), "%s/tests/golden/control.txt",
             src ? src : ".");
    FILE *f = fopen(path, "r");
    char *text = calloc(1, size);
    if (f && text) {
        size_t n = fread(text, 1, size - 1, f);
        text[n] = '\0';
        fclose(f);
    }
    golden = text;
    return text != NULL;
}

/* ---- Lines of the golden ---- */

/* The rest of the line at *at, which goes to the next. */
static const char *take_line(const char **at, char *buf, size_t size)
{
    size_t n = strcspn(*at, "\n");
    ck_assert_uint_lt(n, size);
    memcpy(buf, *at, n);
    buf[n] = '\0';
    *at += n;
    *at += **at == '\n';
    return buf;
}

static bool begins(const char *at, const char *word)
{
    return !strncmp(at, word, strlen(word));
}

static cfx_dtype read_dtype(const char **s)
{
    char name[8] = "";
    size_t n = strcspn(*s, "[");
    cfx_dtype t;
    ck_assert_uint_lt(n, sizeof(name));
    memcpy(name, *s, n);
    *s += n + 1;
    ck_assert(cfx_dtype_parse(&t, name));
    return t;
}

/* "f32[2,3] : 1.0 ..." or "int : 4"; the caller's. */
static cfx_value read_value(const char *s)
{
    int64_t shape[CFX_MAX_RANK];
    int rank = 0;
    char *end;
    cfx_tensor *t;
    if (begins(s, "int : "))
        return cfx_int(strtoll(s + 6, NULL, 10));
    cfx_dtype type = read_dtype(&s);
    while (*s != ']') {
        shape[rank++] = strtoll(s, &end, 10);
        s = end + (*end == ',');
    }
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, type, rank, shape, &err), 0);
    s += strlen("] : ");
    size_t size = cfx_dtype_size(type);
    for (int64_t i = 0, n = cfx_tensor_numel(t); i < n; i++) {
        double x = strtod(s, &end);
        ck_assert_ptr_ne(end, s);
        s = end;
        cfx_element_set_double(type, (char *)t->data + (size_t)i * size, x);
    }
    return cfx_value_of_tensor(t);
}

/* ---- Comparing ---- */

static void assert_type(cfx_value have, cfx_value want)
{
    char a[128], b[128];
    ck_assert_int_eq(have.kind, CFX_TENSOR);
    cfx_tensor_format_type(have.u.tensor, a, sizeof(a));
    cfx_tensor_format_type(want.u.tensor, b, sizeof(b));
    ck_assert_str_eq(a, b);
}

static void assert_same(cfx_value have, cfx_value want)
{
    if (want.kind == CFX_INT) {
        ck_assert(cfx_value_equal(have, want));
        return;
    }
    assert_type(have, want);
    cfx_tensor *flat;
    ck_assert_int_eq(cfx_tensor_contiguous(&flat, have.u.tensor, &err), 0);
    cfx_dtype type = (cfx_dtype)flat->dtype;
    size_t size = cfx_dtype_size(type);
    for (int64_t i = 0, n = cfx_tensor_numel(flat); i < n; i++) {
        double x = cfx_element_double(type,
                                      (char *)flat->data + (size_t)i * size);
        double y = cfx_element_double(type, (char *)want.u.tensor->data +
                                                (size_t)i * size);
        ck_assert_double_le(fabs(x - y), 1e-6 * (1 + fabs(y)));
    }
    cfx_tensor_unref(flat);
}

/* ---- The parts of a program ---- */

static void check_text(bool lossless)
{
    char *a = NULL, *b = NULL;
    size_t na, nb;
    cfx_module *again;
    FILE *f = open_memstream(&a, &na);
    ck_assert_msg(!cfx_print_model(cfx_sink_file(f), gm, lossless, &err), "%s",
                  err.text);
    fclose(f);
    ck_assert_msg(!cfx_parse_model(&again, ctx, a, na, "again", &err), "%s",
                  err.text);
    f = open_memstream(&b, &nb);
    ck_assert_int_eq(cfx_print_model(cfx_sink_file(f), again, lossless, &err),
                     0);
    fclose(f);
    ck_assert_str_eq(a, b);
    cfx_module_unref(again);
    free(a);
    free(b);
}

static void check_code(const char *want, size_t len)
{
    char *have = NULL;
    size_t n;
    FILE *f = open_memstream(&have, &n);
    ck_assert_int_eq(
        cfx_print_code(cfx_sink_file(f), cfx_graph_module_graph(gm), &err), 0);
    fclose(f);
    const char *begin = have;
    while (*begin == '\n')
        begin++;
    ck_assert_msg(!strncmp(begin, want, len), "%s\n---- is not\n%.*s", begin,
                  (int)len, want);
    free(have);
}

static void set_state(const char *path, cfx_value v)
{
    char buf[128];
    snprintf(buf, sizeof(buf), "%s", path);
    char *dot = strrchr(buf, '.');
    if (dot)
        *dot = '\0';
    cfx_module *m = cfx_module_at(gm, dot ? buf : "");
    ck_assert_ptr_nonnull(m);
    ck_assert_msg(!cfx_module_set(m, dot ? dot + 1 : buf, v.u.tensor, &err),
                  "%s", err.text);
}

/* A copy of a value with meta tensors. The caller releases it. */
static cfx_value meta_of(cfx_value v)
{
    cfx_tensor *t;
    if (v.kind != CFX_TENSOR)
        return v;
    ck_assert_int_eq(cfx_tensor_meta(&t, ctx, (cfx_dtype)v.u.tensor->dtype,
                                     v.u.tensor->rank, v.u.tensor->shape, NULL,
                                     &err),
                     0);
    return cfx_value_of_tensor(t);
}

static void run(bool meta, const cfx_value *in, size_t nin,
                const cfx_value *want, size_t nwant)
{
    cfx_interp it = {0};
    cfx_scope s;
    cfx_shape_env *env;
    cfx_value args[MAX_VALUES], out;
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), 0);
    cfx_scope_init(&s, meta ? &cfx_meta_class : &cfx_eager_class, ctx,
                   meta ? env : NULL);
    cfx_interp_options o = {.size = sizeof(o), .scope = &s};
    for (size_t i = 0; i < nin; i++)
        args[i] = meta ? meta_of(in[i]) : cfx_value_ref(in[i]);
    ck_assert_msg(!cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                  "%s", err.text);
    ck_assert_msg(!cfx_interp_run(&it, args, nin, &out, &err), "%s", err.text);
    ck_assert(cfx_value_is_seq(out));
    ck_assert_uint_eq(out.u.seq->len, nwant);
    for (size_t i = 0; i < nwant; i++)
        if (!meta)
            assert_same(out.u.seq->item[i], want[i]);
        else if (want[i].kind == CFX_TENSOR)
            assert_type(out.u.seq->item[i], want[i]);
    cfx_value_unref(out);
    for (size_t i = 0; i < nin; i++)
        cfx_value_unref(args[i]);
    cfx_interp_release(&it);
    cfx_scope_release(&s);
    cfx_shape_env_free(env);
}

static void check_run(const char **at)
{
    char line[8192];
    cfx_value in[MAX_VALUES], want[MAX_VALUES];
    size_t nin = 0, nwant = 0;
    while (begins(*at, "in "))
        in[nin++] = read_value(take_line(at, line, sizeof(line)) + 3);
    while (begins(*at, "out "))
        want[nwant++] = read_value(take_line(at, line, sizeof(line)) + 4);
    run(true, in, nin, want, nwant);
    run(false, in, nin, want, nwant);
    for (size_t i = 0; i < nin; i++)
        cfx_value_unref(in[i]);
    for (size_t i = 0; i < nwant; i++)
        cfx_value_unref(want[i]);
}

static void check_program(const char *at)
{
    char line[8192];
    const char *text = at, *end = strstr(at, "\n-- ");
    ck_assert_ptr_nonnull(end);
    ck_assert_msg(!cfx_parse_model(&gm, ctx, text, (size_t)(end + 1 - text),
                                   "golden", &err),
                  "%s", err.text);
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        if (cfx_graph_module_graph(m))
            ck_assert_msg(!cfx_graph_lint(cfx_graph_module_graph(m), &err),
                          "%s", err.text);
    check_text(true);
    for (at = end + 1; begins(at, "-- ");) {
        char part[128];
        snprintf(part, sizeof(part), "%s", take_line(&at, line, 128));
        if (begins(part, "-- code")) {
            const char *stop = strstr(at, "\n    \n");
            check_code(at, (size_t)(stop - at));
            at = stop + strlen("\n    \n");
        } else if (begins(part, "-- state ")) {
            cfx_value v = read_value(take_line(&at, line, sizeof(line)) + 3);
            set_state(part + strlen("-- state "), v);
            cfx_value_unref(v);
        } else {
            check_run(&at);
        }
    }
    ck_assert(!*at || begins(at, "== "));
}

/* The number of programs in the golden. */
static int count_programs(void)
{
    int n = 0;
    for (const char *at = golden; at && (at = strstr(at, "== ")); at += 3)
        n++;
    return n;
}

TEST_EACH(exported_programs_give_what_pytorch_gives, count_programs())
{
    const char *at = golden;
    for (int i = 0; i < _i; i++)
        at = strstr(at, "\n== ") + 1;
    check_program(strchr(at, '\n') + 1);
}

TEST_CASE(the_golden_has_programs)
{
    ck_assert_int_gt(count_programs(), 0);
}

TEST_SUITE(control_golden, .ready = read_golden, .setup = setup,
           .teardown = teardown, .timeout = 60)
