/*
 * text_test -- graphs, values and models as text, both ways.
 *
 * Reads cases/values.test and cases/models.test, whose heads say what they
 * hold, and golden/text, in which PyTorch wrote each form of a graph. Paths
 * begin at $srcdir/tests, or at ./tests. (The zoo: zoo_text_test.)
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/text.h>

#include "base/util.h"
#include "format/print.h"
#include "base/unicode.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

/* ---- An allocator that counts, and fails when it is told to ---- */

static cfx_context *ctx;
static cfx_error err;
static char note[1024];

static void keep_note(void *user, cfx_level level, const char *text)
{
    (void)user;
    (void)level;
    size_t n = strlen(note);
    snprintf(note + n, sizeof(note) - n, "%s\n", text);
}

static void setup(void)
{
    cfx_options options = {
        .size = sizeof(options),
        .allocator = {test_alloc, test_free, NULL},
        .threads = 1,
        .message = keep_note,
    };
    allowed = -1;
    note[0] = '\0';
    memset(&err, 0, sizeof(err));
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

/* ---- Printing ---- */

typedef cfx_status print_fn(cfx_sink to, const cfx_module *gm,
                            cfx_error *error);

static cfx_status as_model(cfx_sink to, const cfx_module *gm, cfx_error *error)
{
    return cfx_print_model(to, gm, false, error);
}

static cfx_status as_lossless(cfx_sink to, const cfx_module *gm,
                              cfx_error *error)
{
    return cfx_print_model(to, gm, true, error);
}

static cfx_status as_graph(cfx_sink to, const cfx_module *gm, cfx_error *error)
{
    return cfx_print_graph(to, cfx_graph_module_graph(gm), true, error);
}

static cfx_status as_tabular(cfx_sink to, const cfx_module *gm,
                             cfx_error *error)
{
    return cfx_print_tabular(to, cfx_graph_module_graph(gm), error);
}

static cfx_status as_code(cfx_sink to, const cfx_module *gm, cfx_error *error)
{
    return cfx_print_code(to, cfx_graph_module_graph(gm), error);
}

static const struct {
    const char *name;
    print_fn *print;
} forms[] = {{"model", as_model},        {"lossless", as_lossless},
             {"graph", as_graph},        {"tabular", as_tabular},
             {"code", as_code},          {"readable", cfx_print_readable},
             {"tree", cfx_print_modules}};

enum { NFORMS = sizeof(forms) / sizeof(forms[0]) };

static print_fn *find_form(const char *name)
{
    for (int i = 0; i < NFORMS; i++)
        if (!strcmp(name, forms[i].name))
            return forms[i].print;
    return NULL;
}

static const char *print(print_fn *fn, const cfx_module *gm, cfx_buf *b)
{
    cfx_buf_init(b, ctx);
    if (fn(cfx_sink_buf(b), gm, &err))
        ck_abort_msg("%s", err.text);
    return cfx_buf_str(b);
}

/* Texts are compared but for newlines at their ends. */
static size_t trimmed(const char *s, size_t len)
{
    while (len && s[len - 1] == '\n')
        len--;
    return len;
}

static void assert_text(const char *what, const char *have, const char *want)
{
    size_t n = trimmed(have, strlen(have)), m = trimmed(want, strlen(want));
    if (n != m || memcmp(have, want, n))
        ck_abort_msg("%s:\n%s\n---- is not\n%s", what, have, want);
}

/* ---- Cases ---- */

static cfx_status parse(cfx_module **gm, const char *text, size_t len)
{
    note[0] = '\0';
    memset(&err, 0, sizeof(err));
    return cfx_parse_model(gm, ctx, text, len, "case.fx", &err);
}

/* Compare a case with one of its expected forms. */
static void check_form(const char *of, const section *form, const char *text,
                       const cfx_module *gm, cfx_status st)
{
    char name[64], what[256];
    snprintf(name, sizeof(name), "%s", form->name);
    name[strcspn(name, " ")] = '\0';
    const char *want = strstr(form->name, " same") ? text : form->text;
    snprintf(what, sizeof(what), "%s, %s", of, name);
    if (!strcmp(name, "error")) {
        size_t n = trimmed(want, strlen(want));
        ck_assert_msg(st && !strncmp(err.text, want, n),
                      "%s: \"%s\" is not \"%s\"", what, err.text, want);
        return;
    }
    if (st)
        ck_abort_msg("%s: %s", what, err.text);
    if (!strcmp(name, "note")) {
        assert_text(what, note, want);
        return;
    }
    cfx_buf b;
    print_fn *fn = find_form(name);
    ck_assert_msg(fn != NULL, "%s is no form", name);
    assert_text(what, print(fn, gm, &b), want);
    cfx_buf_release(&b);
}

/* The text with each newline as MS-DOS has it. */
static char *with_returns(const char *text, size_t *len)
{
    char *out = malloc(2 * strlen(text) + 1);
    *len = 0;
    for (; *text; text++) {
        if (*text == '\n')
            out[(*len)++] = '\r';
        out[(*len)++] = *text;
    }
    return out;
}

static void check_case(section *c)
{
    section form[8];
    cfx_module *gm;
    size_t n = split(c->text, "---- ", form, 8), len = strlen(c->text);
    /* Splitting ended the text before the newline of its last line. */
    char *text = malloc(len + 2);
    snprintf(text, len + 2, "%s%s", c->text, len ? "\n" : "");
    if (form[0].name == c->text + 5)
        text[0] = '\0';
    char *given = text;
    len = strlen(text);
    if (!strcmp(c->name, "crlf"))
        given = with_returns(text, &len);
    cfx_status st = parse(&gm, given, len);
    for (size_t i = 0; i < n; i++)
        check_form(c->name, &form[i], text, gm, st);
    cfx_module_unref(gm);
    if (given != text)
        free(given);
    free(text);
}

TEST_CASE(models_read_and_print_as_written)
{
    static section c[200];
    size_t len;
    char *text = read_file(data_path("cases/models.test"), &len);
    size_t n = split(text, "==== ", c, 200);
    ck_assert_uint_gt(n, 40);
    for (size_t i = 0; i < n; i++)
        check_case(&c[i]);
    free(text);
}

/* ---- Values ---- */

static const char *const styles[] = {"repr", "argument", "lossless"};

static void check_style(const char *given, cfx_value v, int style,
                        const char *want)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    if (cfx_print_value(cfx_sink_buf(&b), v, (cfx_value_style)style, &err))
        ck_abort_msg("%s: %s", given, err.text);
    if (strcmp(want, "-"))
        assert_text(given, cfx_buf_str(&b), want);
    cfx_buf_release(&b);
}

/* A line to read, and lines `STYLE TEXT`. */
static void check_value(char *block)
{
    char *line[8] = {block};
    int n = 0;
    const char *want[3];
    for (char *s = strtok(block, "\n"); s && n < 8; s = strtok(NULL, "\n"))
        line[n++] = s;
    want[0] = want[1] = want[2] = line[0];
    cfx_value v;
    memset(&err, 0, sizeof(err));
    cfx_status st = cfx_parse_value(&v, ctx, line[0], strlen(line[0]), &err);
    for (int i = 1; i < n; i++) {
        char *text = strchr(line[i], ' ');
        *text++ = '\0';
        if (!strcmp(line[i], "error")) {
            ck_assert_msg(st && !strcmp(err.text, text),
                          "%s: \"%s\" is not \"%s\"", line[0], err.text, text);
            return;
        }
        for (int k = 0; k < 3; k++)
            if (!strcmp(line[i], styles[k]) ||
                (!strcmp(line[i], "same") && want[k] == line[0]))
                want[k] = text;
    }
    if (st)
        ck_abort_msg("%s: %s", line[0], err.text);
    for (int k = 0; k < 3; k++)
        check_style(line[0], v, k, want[k]);
    cfx_value_unref(v);
}

TEST_CASE(values_read_and_print_as_written)
{
    size_t len, count = 0;
    char *text = read_file(data_path("cases/values.test"), &len);
    for (char *block = text, *next; block; block = next) {
        next = strstr(block, "\n\n");
        if (next) {
            *next = '\0';
            next += 2;
        }
        if (*block && *block != '#') {
            check_value(block);
            count++;
        }
    }
    ck_assert_uint_gt(count, 60);
    free(text);
}

/* A truncated expression would have another value. */
TEST_CASE(long_extents_are_printed_whole)
{
    cfx_module *gm;
    cfx_buf in, out;
    cfx_buf_init(&in, ctx);
    cfx_buf_init(&out, ctx);
    cfx_buf_puts(&in, "# cfx 1\nM()\n\ngraph():\n    %x : Tensor \"f32[");
    for (int i = 0; i < 300; i++)
        cfx_buf_printf(&in, "%sS%03d*T", i ? " + " : "", i);
    cfx_buf_puts(&in, "][1]cpu\"[num_users=1] = placeholder[target=x]\n"
                      "    return %x\n");
    ck_assert_uint_gt(in.len, 2500);
    ck_assert_int_eq(parse(&gm, in.s, in.len), CFX_OK);
    ck_assert_int_eq(cfx_print_model(cfx_sink_buf(&out), gm, true, &err),
                     CFX_OK);
    ck_assert_str_eq(cfx_buf_str(&out), cfx_buf_str(&in));
    cfx_module_unref(gm);
    cfx_buf_release(&in);
    cfx_buf_release(&out);
}

TEST_CASE(lossless_values_read_back_equal)
{
    static const char *const text[] = {
        "{'a': [1, 1.0, True, 1j], 'b': (slice(None, -1, 2), ...)}",
        "[nan, -inf, complex(nan, -0.0), -0.0, 1e-310]",
        "('\\x00', \"'\\\"\", '\\udc80\\u4e2d\\U0010ffff', b.c)",
        "(torch.bool, torch.strided, torch.channels_last_3d, device('a:1'))",
        "[range(1, 2, 3), None, {}, (), [], {1: {2: 3}}]"};
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        cfx_value v, w;
        cfx_buf b;
        cfx_buf_init(&b, ctx);
        ck_assert_int_eq(
            cfx_parse_value(&v, ctx, text[i], strlen(text[i]), &err), CFX_OK);
        ck_assert_int_eq(
            cfx_print_value(cfx_sink_buf(&b), v, CFX_STYLE_LOSSLESS, &err),
            CFX_OK);
        ck_assert_int_eq(cfx_parse_value(&w, ctx, b.s, b.len, &err), CFX_OK);
        ck_assert_msg(cfx_value_equal(v, w), "%s -> %s", text[i], b.s);
        cfx_value_unref(v);
        cfx_value_unref(w);
        cfx_buf_release(&b);
    }
}

TEST_CASE(utf8_is_checked)
{
    static const struct {
        const char *s;
        size_t len;
        uint32_t c;
    } cases[] = {{"a", 1, 'a'},
                 {"\xc3\xa9", 2, 0xe9},
                 {"\xe4\xb8\xad", 3, 0x4e2d},
                 {"\xf0\x9f\x98\x80", 4, 0x1f600},
                 {"\x80", 0, 0},
                 {"\xc0\x80", 0, 0},
                 {"\xe0\x80\x80", 0, 0},
                 {"\xed\xa0\x80", 0, 0},
                 {"\xf4\x90\x80\x80", 0, 0},
                 {"\xc3", 0, 0},
                 {"\xff", 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t c = 0;
        char back[4];
        size_t n = cfx_utf8_decode(&c, cases[i].s, strlen(cases[i].s));
        ck_assert_uint_eq(n, cases[i].len);
        if (!n)
            continue;
        ck_assert_uint_eq(c, cases[i].c);
        ck_assert_uint_eq(cfx_utf8_encode(back, c), n);
        ck_assert_mem_eq(back, cases[i].s, n);
    }
}

/* ---- What PyTorch wrote ---- */

static void check_golden(const char *name)
{
    char path[512];
    section s[8];
    size_t len;
    cfx_module *gm;
    cfx_buf b;
    snprintf(path, sizeof(path), "golden/text/%s", name);
    char *text = read_file(data_path(path), &len);
    size_t n = split(text, "==== ", s, 8);
    ck_assert_str_eq(s[0].name, "lossless");
    if (parse(&gm, s[0].text, s[0].len))
        ck_abort_msg("%s: %s", name, err.text);
    add_types(gm, ctx);
    bool tensors = strstr(s[0].text, "tensor(") != NULL;
    for (size_t i = 0; i + 1 < n; i++) {
        bool numbers = tensors && strcmp(s[i].name, "lossless") &&
                       strcmp(s[i].name, "code") &&
                       strcmp(s[i].name, "readable");
        snprintf(path, sizeof(path), "%s: %s", name, s[i].name);
        if (!numbers)
            assert_text(path, print(find_form(s[i].name), gm, &b), s[i].text);
        if (!numbers)
            cfx_buf_release(&b);
    }
    cfx_module_unref(gm);
    /* PyTorch's own text prints back, too, with what it hides given. */
    if (strstr(s[1].text, "MultiheadAttention"))
        goto out;
    if (parse(&gm, s[1].text, s[1].len))
        ck_abort_msg("%s: %s", name, err.text);
    assert_text(name, print(as_model, gm, &b), s[1].text);
    cfx_buf_release(&b);
    cfx_module_unref(gm);
out:
    free(text);
}

TEST_CASE(every_form_is_what_pytorch_prints)
{
    DIR *dir = opendir(data_path("golden/text"));
    int count = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".txt")) {
            check_golden(e->d_name);
            count++;
        }
    closedir(dir);
    ck_assert_int_gt(count, 30);
}

/* The plain text of a device is a word like any other. */
TEST_CASE(operators_of_exports_take_devices)
{
    section s[8];
    size_t len;
    cfx_module *gm;
    cfx_buf b;
    char *text = read_file(data_path("golden/text/devices_of_exports.txt"),
                           &len);
    size_t n = split(text, "==== ", s, 8);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(s[i].name, "code"))
            continue;
        if (parse(&gm, s[1].text, s[1].len))
            ck_abort_msg("%s", err.text);
        assert_text("code", print(as_code, gm, &b), s[i].text);
        cfx_buf_release(&b);
        cfx_module_unref(gm);
    }
    free(text);
}

/* ---- Broken texts ---- */

static const char *const sound[] = {
    "Net(\n"
    "  (a): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), bias=False)\n"
    "  (l): ModuleList(\n"
    "    (0-2): 3 x Sub(\n"
    "      (fc): Linear(in_features=2, out_features=3, bias=True)\n"
    "    )\n"
    "  )\n"
    ")\n\n"
    "graph():\n"
    "    %x : torch.Tensor [num_users=2] = placeholder[target=x](default=None)"
    "\n"
    "    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = {})"
    "\n"
    "    %_assert : [num_users=0] = call_function[target=torch._assert](args ="
    " (%x, It's (not, [a {b), \"c, 'd'), kwargs = {})\n"
    "    %cat : [num_users=1] = call_function[target=torch.cat](args = "
    "([%x, %a, slice(1, %x, (2+3j))], {k: (1,)}), kwargs = {dim: -1, m: a})\n"
    "    return {'a': (cat, [1.5, 's'])}\n",
    "# cfx 1\n"
    "Net(training=True\n"
    "  ('o)dd'): Dropout(p=0.5, inplace=False, training=True)\n"
    "  (sub): Inner()\n"
    ")\n\n"
    "state:\n"
    "    w: f32[2, 3]\n"
    "    sub.b: i64[] parameter\n\n"
    "graph():\n"
    "    %x : 'a type' [num_users=2] = placeholder[target=x](default='d')\n"
    "    %y : [num_users=1] = call_function[target=my.f](args = (%x, tensor("
    "'%tensor0', f32[2]), [1, {'k': complex(1.0, nan)}], device('cuda:1')), "
    "kwargs = {a: 'it\\'s', 'b\\xe9': ...}) meta = {'m': [1, ('s',)]}\n"
    "    return (%y, {'x': %x}) -> 'T' as %end\n\n"
    "graph sub():\n"
    "    return None\n"};

enum { NSOUND = sizeof(sound) / sizeof(sound[0]) };

static cfx_status swallow(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
    return CFX_OK;
}

/* Read a text, which may be broken, and print what came of it. */
static bool survive(const char *text, size_t len)
{
    cfx_module *gm;
    /* A copy of its own, so that reading behind its end is seen. */
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    cfx_status st = parse(&gm, copy, len);
    free(copy);
    if (st) {
        ck_assert_ptr_null(gm);
        ck_assert_int_eq(err.code, st);
        ck_assert(strlen(err.text) > 0 && !strchr(err.text, '\n'));
        return false;
    }
    for (int i = 0; i < NFORMS; i++) {
        memset(&err, 0, sizeof(err));
        forms[i].print((cfx_sink){swallow, NULL}, gm, &err);
    }
    cfx_module_unref(gm);
    return true;
}

TEST_EACH(every_prefix_is_survived, NSOUND)
{
    const char *text = sound[_i];
    size_t whole = 0, len = strlen(text);
    for (size_t n = 0; n <= len; n++)
        whole += survive(text, n);
    ck_assert_uint_ge(whole, 1);
}

TEST_EACH(random_bytes_are_survived, NSOUND)
{
    static const char likely[] = "()[]{}'\",:=%.\\ \n\r-+0123456789abjeEx#$";
    const char *text = sound[_i];
    size_t len = strlen(text);
    char *copy = malloc(len);
    uint64_t at = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, text, len);
        size_t n = len;
        int changes = 1 + (int)(cfx_random_bits(7, at++) % 3);
        while (changes-- > 0) {
            size_t i = cfx_random_bits(7, at++) % n;
            uint64_t r = cfx_random_bits(7, at++);
            size_t cut = r >> 8 & 15;
            if (r & 64 && i + cut < n) {
                memmove(copy + i, copy + i + cut, n - i - cut);
                n -= cut;
            } else {
                copy[i] = r & 128 ? likely[(r >> 8) % (sizeof(likely) - 1)]
                                  : (char)(r >> 8);
            }
        }
        survive(copy, n);
    }
    free(copy);
}

/* Texts that would take too long, or too much memory, if reading were not
 * linear. */
TEST_CASE(monstrous_texts_are_survived)
{
    static const struct {
        const char *head, *body, *tail;
    } shapes[] = {
        {"graph():\n %y : [num_users=0] = call_method[target=f](args = (",
         "((((, ", "), kwargs = {})\n return None\n"},
        {"graph():\n %y : [num_users=0] = call_method[target=f](args = (",
         "['\"{(, ", "), kwargs = {})\n return None\n"},
        {"graph():\n %y : [num_users=0] = call_method[target=f](args = (", "[",
         "), kwargs = {})\n return None\n"},
        {"graph():\n %y : [num_users=0] = call_function[target=torch._assert]"
         "(args = (True, ",
         "a, ", "), kwargs = {})\n return None\n"},
        {"graph():\n %y : [num_users=0] = call_method[target=f](args = (x",
         "\nx", "\n"},
        {"graph():\n return ", "(", "\n"},
        {"graph():\n return ", "-", "\n"},
        {"graph():\n return ", "9", "\n"},
        {"A(\n", "(a): A(\n", ""},
        {"A(\n", "(a): A()\n", ""},
        {"A(\n(a): ReLU(", "[", "\n)\n"}};
    enum { TIMES = 100000 };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        size_t n = strlen(shapes[i].body);
        char *text = malloc(TIMES * n + 400),
             *to = stpcpy(text, shapes[i].head);
        for (int k = 0; k < TIMES; k++)
            to = stpcpy(to, shapes[i].body);
        to = stpcpy(to, shapes[i].tail);
        survive(text, (size_t)(to - text));
        free(text);
    }
}

/* ---- Faults ---- */

TEST_EACH(each_failed_allocation_is_told, NSOUND)
{
    bool done = false;
    const char *text = sound[_i];
    /* The registries are there: a type is not unknown for lack of memory. */
    survive(text, strlen(text));
    for (long n = 0; !done; n++) {
        cfx_module *gm;
        ck_assert_int_lt(n, 100000);
        allowed = n;
        cfx_status st = parse(&gm, text, strlen(text));
        for (int i = 0; !st && i < NFORMS; i++)
            st = forms[i].print((cfx_sink){swallow, NULL}, gm, &err);
        allowed = -1;
        done = !st;
        ck_assert_msg(!st || (st == CFX_ENOMEM && err.code == CFX_ENOMEM),
                      "%ld: %s", n, err.text);
        cfx_module_unref(gm);
    }
}

static cfx_status refuse(void *user, const char *text, size_t len)
{
    size_t *room = user;
    (void)text;
    if (len > *room)
        return CFX_EUSER;
    *room -= len;
    return CFX_OK;
}

TEST_CASE(a_sink_may_refuse)
{
    cfx_module *gm;
    ck_assert_int_eq(parse(&gm, sound[0], strlen(sound[0])), CFX_OK);
    for (int i = 0; i < NFORMS; i++) {
        size_t room = 10;
        memset(&err, 0, sizeof(err));
        ck_assert_int_eq(forms[i].print((cfx_sink){refuse, &room}, gm, &err),
                         CFX_EUSER);
        ck_assert_int_eq(err.code, CFX_EUSER);
    }
    cfx_module_unref(gm);
}

TEST_CASE(a_file_is_a_sink)
{
    cfx_module *gm;
    cfx_buf b;
    char text[4096];
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(parse(&gm, sound[1], strlen(sound[1])), CFX_OK);
    ck_assert_int_eq(cfx_print_model(cfx_sink_file(f), gm, true, &err),
                     CFX_OK);
    rewind(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    assert_text("the file", text, print(as_lossless, gm, &b));
    cfx_buf_release(&b);
    cfx_module_unref(gm);
}

/* ---- What has no text ---- */

TEST_CASE(what_has_no_text_is_refused)
{
    cfx_module *gm;
    cfx_tensor *t;
    static const char text[] = "graph():\n    return None\n";
    ck_assert_int_eq(parse(&gm, text, strlen(text)), CFX_OK);
    ck_assert_int_eq(cfx_tensor_meta(&t, ctx, CFX_F32, 0, NULL, NULL, &err),
                     CFX_OK);
    cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));
    cfx_value v = cfx_value_of_tensor(t);
    ck_assert_int_eq(cfx_node_set_meta(n, "tensor_meta", v, &err), CFX_OK);
    ck_assert_int_eq(as_lossless((cfx_sink){swallow, NULL}, gm, &err), CFX_OK);
    ck_assert_int_eq(cfx_node_set_meta(n, "mine", v, &err), CFX_OK);
    ck_assert_int_eq(as_lossless((cfx_sink){swallow, NULL}, gm, &err),
                     CFX_EUNSUPPORTED);
    ck_assert_str_eq(err.text, "a Tensor has no text form");
    cfx_tensor_unref(t);
    cfx_module_unref(gm);
}

static cfx_status keep_name(void *user, const char *name, cfx_tensor *t)
{
    char *names = user;
    snprintf(names + strlen(names), 100, "%s:%d ", name, t->rank);
    return CFX_OK;
}

TEST_CASE(tensors_in_arguments_have_names)
{
    cfx_module *gm;
    char names[400] = "";
    static const char text[] =
        "# cfx 1\ngraph():\n"
        "    %a : [num_users=0] = call_function[target=f](args = ([tensor('b',"
        " f32[2])], tensor('a', i64[])), kwargs = {k: tensor('b', f32[2])})\n"
        "    return None\n";
    if (parse(&gm, text, strlen(text)))
        ck_abort_msg("%s", err.text);
    cfx_node *a = cfx_graph_first(cfx_graph_module_graph(gm));
    ck_assert_ptr_eq(a->args[0].u.seq->item[0].u.tensor,
                     a->kwargs[1].u.tensor);
    ck_assert_int_eq(cfx_model_visit_tensors(gm, keep_name, names, &err),
                     CFX_OK);
    ck_assert_str_eq(names, "%tensor0:1 %tensor1:0 ");
    cfx_module_unref(gm);
}

TEST_CASE(an_empty_graph_prints)
{
    cfx_graph *g;
    cfx_module *gm;
    cfx_buf b;
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), CFX_OK);
    ck_assert_int_eq(
        cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Net", &err),
        CFX_OK);
    ck_assert_str_eq(print(as_graph, gm, &b), "graph():");
    cfx_buf_release(&b);
    ck_assert_str_eq(print(as_code, gm, &b),
                     "\n\n\ndef forward(self):\n    pass\n    ");
    cfx_buf_release(&b);
    ck_assert_str_eq(print(as_model, gm, &b), "Net()\n\ngraph():\n");
    cfx_buf_release(&b);
    ck_assert_str_eq(print(as_tabular, gm, &b),
                     "opcode    name    target    args    kwargs\n"
                     "--------  ------  --------  ------  --------\n");
    cfx_buf_release(&b);
    ck_assert_str_eq(print(cfx_print_readable, gm, &b),
                     "class Net(torch.nn.Module):\n"
                     "    def forward(self):\n"
                     "        pass\n");
    cfx_buf_release(&b);
    cfx_module_unref(gm);
}

TEST_SUITE(text, .setup = setup, .teardown = teardown, .timeout = 600)
