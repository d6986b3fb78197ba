/*
 * code_test -- generated Python code with all its options.
 *
 * golden/code has what PyTorch wrote of each (tests/oracle/code_golden.py).
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/text.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/counted.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;

static void setup(void)
{
    memset(&err, 0, sizeof(err));
    ctx = counted_context();
}

static void teardown(void)
{
    free_counted(ctx);
}

/* ---- Transforms and code generators ---- */

static cfx_status add_first(void *user, const cfx_code_line *line, size_t n,
                            cfx_code_body *to, cfx_error *error)
{
    const char *text = user;
    cfx_status st = cfx_code_add(to, text, strlen(text), NULL, error);
    for (size_t i = 0; i < n && !st; i++)
        st = cfx_code_add(to, line[i].text, line[i].len, line[i].node, error);
    return st;
}

static cfx_status add_behind(void *user, const cfx_code_line *line, size_t n,
                             cfx_code_body *to, cfx_error *error)
{
    const char *text = user;
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        st = cfx_code_add(to, line[i].text, line[i].len, line[i].node, error);
        if (!st)
            st = cfx_code_add(to, text, strlen(text), line[i].node, error);
    }
    return st;
}

static char pdb_line[] = "import pdb", behind_line[] = "# behind";
static const cfx_code_transform behind = {add_behind, behind_line, NULL};
static const cfx_code_transform first = {add_first, pdb_line, &behind};

static cfx_status put(cfx_sink to, const char *text)
{
    return to.write(to.user, text, strlen(text));
}

static cfx_status unpack_begin(void *user, cfx_sink to,
                               const cfx_code_signature *sig, cfx_error *error)
{
    (void)user;
    (void)error;
    cfx_status st = put(to, "def forward(self, args_list: "
                            "List[torch.Tensor])");
    st = st ? st : put(to, sig->result);
    st = st ? st : put(to, ":\n    ");
    for (size_t i = 0; i < sig->nparams && !st; i++) {
        st = i ? put(to, ", ") : CFX_OK;
        st = st ? st : put(to, sig->params[i]);
    }
    return st ? st : put(to, " = args_list");
}

static cfx_status unpack_end(void *user, cfx_sink to, const char *value,
                             cfx_error *error)
{
    (void)user;
    (void)error;
    cfx_status st = put(to, "return [");
    st = st ? st : put(to, value);
    return st ? st : put(to, "]");
}

static const cfx_codegen unpacked = {
    .size = sizeof(cfx_codegen), .begin = unpack_begin, .end = unpack_end};

/* ---- Forms ---- */

static cfx_status note_line(void *user, size_t number, const cfx_node *n)
{
    cfx_buf *b = user;
    if (n)
        cfx_buf_printf(b, "%zu %s\n", number, n->name);
    return b->failed ? CFX_ENOMEM : CFX_OK;
}

static const char *const keys[] = {"seq_nr", "stage"};

static const struct form {
    const char *name;
    bool readable;
    cfx_code_options how;
} forms[] = {
    {"verbose", false, {.verbose = true}},
    {"places", true, {.include_stride = true, .include_device = true}},
    {"colored",
     true,
     {.include_stride = true, .include_device = true, .colored = true}},
    {"expanded", true, {.expanded_def = true}},
    {"meta", true, {.additional_meta = keys, .nadditional_meta = 2}},
    {"boxed", false, {.codegen = &cfx_codegen_boxed}},
    {"unpacked", false, {.codegen = &unpacked}},
    {"changed", false, {.transform = &first}},
    {"lines", false, {.line = note_line}},
};

enum { NFORMS = sizeof(forms) / sizeof(forms[0]) };

static cfx_status drop_text(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
    return CFX_OK;
}

/* Print into `b`, which the caller releases. */
static cfx_status print_form(cfx_buf *b, const struct form *f,
                             const cfx_module *gm)
{
    cfx_code_options how = f->how;
    cfx_sink to = cfx_sink_buf(b);
    how.size = sizeof(how);
    how.line_user = b;
    if (how.line)
        to.write = drop_text;
    return f->readable ? cfx_print_readable_with(to, gm, &how, &err)
                       : cfx_print_code_with(to, cfx_graph_module_graph(gm),
                                             &how, &err);
}

static const struct form *find_form(const char *name)
{
    for (int i = 0; i < NFORMS; i++)
        if (!strcmp(name, forms[i].name))
            return &forms[i];
    return NULL;
}

/* ---- Tests ---- */

static size_t trimmed(const char *s)
{
    size_t len = strlen(s);
    while (len && s[len - 1] == '\n')
        len--;
    return len;
}

static void check_section(const char *name, const section *s,
                          const cfx_module *gm)
{
    const struct form *f = find_form(s->name);
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_msg(f != NULL, "%s is no form", s->name);
    if (print_form(&b, f, gm))
        ck_abort_msg("%s: %s", name, err.text);
    size_t n = trimmed(s->text);
    if (trimmed(cfx_buf_str(&b)) != n || memcmp(cfx_buf_str(&b), s->text, n))
        ck_abort_msg("%s, %s:\n%s\n---- is not\n%s", name, s->name,
                     cfx_buf_str(&b), s->text);
    cfx_buf_release(&b);
}

static cfx_module *parse(const char *text, size_t len)
{
    cfx_module *gm = NULL;
    if (cfx_parse_model(&gm, ctx, text, len, "case.fx", &err))
        ck_abort_msg("%s", err.text);
    add_types(gm, ctx);
    return gm;
}

static void check_file(const char *name)
{
    char path[512];
    section s[NFORMS + 2];
    size_t len;
    snprintf(path, sizeof(path), "golden/code/%s", name);
    char *text = read_file(data_path(path), &len);
    size_t n = split(text, "==== ", s, NFORMS + 2);
    ck_assert_str_eq(s[0].name, "lossless");
    ck_assert_uint_eq(n, NFORMS + 2);
    cfx_module *gm = parse(s[0].text, s[0].len);
    for (size_t i = 1; i + 1 < n; i++)
        check_section(name, &s[i], gm);
    cfx_module_unref(gm);
    free(text);
}

TEST_CASE(every_option_gives_what_pytorch_prints)
{
    DIR *dir = opendir(data_path("golden/code"));
    int count = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".txt")) {
            check_file(e->d_name);
            count++;
        }
    closedir(dir);
    ck_assert_int_gt(count, 40);
}

static const char model[] =
    "# cfx 1\nNet()\n\ngraph():\n"
    "    %x : [num_users=1] = placeholder[target=x] meta = {'type': 'f32[2]'}\n"
    "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,)"
    ", kwargs = {}) meta = {'type': 'f32[2]', 'seq_nr': 1}\n"
    "    %neg : [num_users=1] = call_function[target=operator.neg](args = "
    "(%relu,), kwargs = {})\n"
    "    return (%neg,)\n";

TEST_CASE(each_failed_allocation_is_told)
{
    cfx_module *gm = parse(model, strlen(model));
    for (int i = 0; i < NFORMS; i++)
        for (long n = 0;; n++) {
            cfx_buf b;
            cfx_buf_init(&b, ctx);
            memset(&err, 0, sizeof(err));
            allowed = n;
            cfx_status st = print_form(&b, &forms[i], gm);
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
    cfx_module *gm = parse(model, strlen(model));
    for (int i = 0; i < NFORMS; i++) {
        int calls = 0;
        cfx_code_options how = forms[i].how;
        how.line = NULL;
        ck_assert_int_eq(cfx_print_code_with((cfx_sink){refuse_after, &calls},
                                             cfx_graph_module_graph(gm), &how,
                                             &err),
                         CFX_EIO);
    }
    cfx_module_unref(gm);
}

static cfx_status fail_transform(void *user, const cfx_code_line *line,
                                 size_t n, cfx_code_body *to, cfx_error *error)
{
    (void)line;
    (void)n;
    (void)to;
    return cfx_fail(error, CFX_EUSER, "%s", (const char *)user);
}

TEST_CASE(a_transform_may_refuse)
{
    cfx_module *gm = parse(model, strlen(model));
    char words[] = "not today";
    cfx_code_transform t = {fail_transform, words, NULL};
    cfx_code_transform chain = {add_first, pdb_line, &t};
    cfx_code_options how = {.transform = &chain};
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_int_eq(cfx_print_code_with(cfx_sink_buf(&b),
                                         cfx_graph_module_graph(gm), &how,
                                         &err),
                     CFX_EUSER);
    ck_assert_str_eq(err.text, "not today");
    ck_assert_uint_eq(b.len, 0);
    cfx_buf_release(&b);
    cfx_module_unref(gm);
}

/* torch.fx's lineno_map, in classes one below the other. */
TEST_CASE(lines_are_counted_through_classes)
{
    static const char text[] =
        "# cfx 1\nNet(\n  (child): Inner()\n)\n\ngraph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %c : [num_users=1] = call_module[target=child](args = (%x,), "
        "kwargs = {})\n"
        "    return %c\n\n"
        "graph child():\n"
        "    %y : [num_users=1] = placeholder[target=y]\n"
        "    %neg : [num_users=1] = call_function[target=operator.neg](args ="
        " (%y,), kwargs = {})\n"
        "    return %neg\n";
    cfx_module *gm = parse(text, strlen(text));
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    cfx_code_options how = {.line = note_line, .line_user = &b};
    ck_assert_int_eq(
        cfx_print_readable_with((cfx_sink){drop_text, NULL}, gm, &how, &err),
        CFX_OK);
    ck_assert_str_eq(cfx_buf_str(&b), "3 c\n4 c\n5 output\n"
                                      "9 neg\n10 neg\n11 output\n");
    cfx_buf_release(&b);
    cfx_module_unref(gm);
}

TEST_SUITE(code, .setup = setup, .teardown = teardown, .timeout = 600)
