/*
 * zoo_text_test -- the texts of all 42 models of the zoo: read, checked, and
 * printed back byte for byte, from the graph, from copies of it, by way of
 * the lossless form, and under other names. $CFX_ZOO is where they are.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "tests/unit/unit.h"
#include "tests/zoo/zoo.h"

enum { MAX_MODELS = 64 };

static char names[MAX_MODELS][64];
static int nmodels;
static char digests[512];
static const char *place;

static cfx_context *ctx;
static cfx_error err;
static zoo_model model;

/* ---- The models ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool find_models(void)
{
    const char *src = getenv("srcdir");
    place = getenv("CFX_ZOO");
    snprintf(digests, sizeof(digests), "%s/tests/golden/zoo", src ? src : ".");
    DIR *dir = place ? opendir(place) : NULL;
    if (!dir)
        return false;
    for (struct dirent *e; (e = readdir(dir)) && nmodels < MAX_MODELS;) {
        size_t n = strlen(e->d_name);
        if (n > 3 && n < 64 && !strcmp(e->d_name + n - 3, ".fx"))
            snprintf(names[nmodels++], 64, "%.*s", (int)n - 3, e->d_name);
    }
    closedir(dir);
    qsort(names, (size_t)nmodels, sizeof(names[0]), by_name);
    return nmodels > 0;
}

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
}

static void open_model(int i)
{
    if (zoo_open(&model, ctx, place, digests, names[i], &err))
        ck_abort_msg("%s: %s", names[i], err.text);
}

/* ---- Texts ---- */

static cfx_status into_buf(void *user, const char *text, size_t len)
{
    cfx_buf_add(user, text, len);
    return CFX_OK;
}

/* str(graph), for free(). */
static char *print_graph(const cfx_graph *g)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_msg(!cfx_print_graph((cfx_sink){into_buf, &b}, g, false, &err),
                  "%s", err.text);
    char *text = strdup(cfx_buf_str(&b));
    cfx_buf_release(&b);
    return text;
}

static char *print_model(const cfx_module *gm, bool lossless)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_msg(
        !cfx_print_model((cfx_sink){into_buf, &b}, gm, lossless, &err), "%s",
        err.text);
    char *text = strdup(cfx_buf_str(&b));
    cfx_buf_release(&b);
    return text;
}

/* Equal, or a message with the first line that differs. */
static void assert_same(const char *have, const char *want, const char *name)
{
    size_t i = 0;
    while (have[i] && have[i] == want[i])
        i++;
    if (!have[i] && !want[i])
        return;
    while (i && have[i - 1] != '\n')
        i--;
    ck_abort_msg("%s: '%.*s' is not '%.*s'", name,
                 (int)strcspn(have + i, "\n"), have + i,
                 (int)strcspn(want + i, "\n"), want + i);
}

static void assert_prints(const cfx_graph *g, const char *want,
                          const char *name)
{
    char *have = print_graph(g);
    assert_same(have, want, name);
    free(have);
}

/* ---- The graph as it is, and copies of it ---- */

TEST_EACH(zoo_graph_is_well_formed_and_prints_back, nmodels)
{
    size_t len;
    open_model(_i);
    cfx_graph *g = cfx_graph_module_graph(model.gm);
    char *file = zoo_read(model.path, &len);
    ck_assert_msg(!cfx_graph_lint(g, &err), "%s: %s", names[_i], err.text);
    char *whole = print_model(model.gm, false), *graph = print_graph(g);
    assert_same(whole, file, names[_i]);
    const char *at = strstr(file, "graph():");
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(at), strlen(graph) + 1);
    ck_assert(!strncmp(at, graph, strlen(graph)));
    free(graph);
    free(whole);
    free(file);
    zoo_close(&model);
}

struct copies {
    cfx_node **of;
};

static cfx_node *copied(void *user, cfx_node *n)
{
    return ((struct copies *)user)->of[n->id];
}

/* A graph made of copies, node by node. */
static cfx_graph *copy_nodes(const cfx_graph *g)
{
    cfx_graph *to;
    struct copies c = {calloc(cfx_graph_ids(g), sizeof(cfx_node *))};
    ck_assert_int_eq(cfx_graph_new(&to, ctx, &err), CFX_OK);
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        c.of[n->id] = cfx_graph_node_copy(to, n, copied, &c, &err);
        ck_assert_msg(c.of[n->id] != NULL, "%s: %s", n->name, err.text);
    }
    free(c.of);
    return to;
}

TEST_EACH(zoo_graph_copied_node_by_node_prints_the_same, nmodels)
{
    cfx_graph *whole;
    open_model(_i);
    cfx_graph *g = cfx_graph_module_graph(model.gm);
    char *want = print_graph(g);
    cfx_graph *nodes = copy_nodes(g);
    ck_assert_msg(!cfx_graph_lint(nodes, &err), "%s", err.text);
    assert_prints(nodes, want, names[_i]);
    ck_assert_int_eq(cfx_graph_copy(&whole, g, &err), CFX_OK);
    ck_assert_msg(!cfx_graph_lint(whole, &err), "%s", err.text);
    assert_prints(whole, want, names[_i]);
    ck_assert_uint_eq(cfx_graph_len(nodes), cfx_graph_len(g));
    /* The copies stand for themselves when the first is gone. */
    zoo_close(&model);
    assert_prints(nodes, want, names[_i]);
    assert_prints(whole, want, names[_i]);
    free(want);
    cfx_graph_free(nodes);
    cfx_graph_free(whole);
}

TEST_EACH(zoo_model_goes_through_the_lossless_form_and_back, nmodels)
{
    cfx_module *again;
    open_model(_i);
    char *plain = print_model(model.gm, false);
    char *lossless = print_model(model.gm, true);
    ck_assert(!strncmp(lossless, "# cfx 1\n", 8));
    zoo_close(&model);
    if (cfx_parse_model(&again, ctx, lossless, strlen(lossless), names[_i],
                        &err))
        ck_abort_msg("%s", err.text);
    char *back = print_model(again, false), *twice = print_model(again, true);
    assert_same(back, plain, names[_i]);
    assert_same(twice, lossless, names[_i]);
    cfx_module_unref(again);
    free(back);
    free(twice);
    free(plain);
    free(lossless);
}

/* ---- By way of code ---- */

static char *print_python(const cfx_module *gm, bool readable)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    cfx_sink to = {into_buf, &b};
    cfx_status st = readable
                        ? cfx_print_readable(to, gm, &err)
                        : cfx_print_code(to, cfx_graph_module_graph(gm), &err);
    ck_assert_msg(!st, "%s", err.text);
    char *text = strdup(cfx_buf_str(&b));
    cfx_buf_release(&b);
    return text;
}

TEST_EACH(zoo_code_is_read_as_the_same_graph, nmodels)
{
    cfx_module *back;
    open_model(_i);
    char *want = print_graph(cfx_graph_module_graph(model.gm));
    for (int readable = 0; readable < 2; readable++) {
        char *code = print_python(model.gm, readable);
        if (cfx_parse_python(&back, ctx, code, strlen(code), names[_i], &err))
            ck_abort_msg("%s", err.text);
        assert_prints(cfx_graph_module_graph(back), want, names[_i]);
        cfx_module_unref(back);
        free(code);
    }
    free(want);
    zoo_close(&model);
}

/* ---- Other names ---- */

/* The text with `from` in place of each identifier `%to`, also where it stands
 * without the percent sign, in the return. */
static char *reworded(const char *text, const char *from, const char *to)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    size_t n = strlen(from);
    const char *last = strstr(text, "\n    return ");
    for (const char *p = text; *p;) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        bool word = p > text && (p[-1] == '%' || (p > last && p[-1] != '_')) &&
                    !strncmp(p, from, n) &&
                    !strchr(letters, p[n] ? p[n] : ' ');
        if (word)
            cfx_buf_puts(&b, to);
        else
            cfx_buf_add(&b, p, 1);
        p += word ? n : 1;
    }
    char *out = strdup(cfx_buf_str(&b));
    cfx_buf_release(&b);
    return out;
}

TEST_EACH(zoo_nodes_renamed_print_by_their_names_everywhere, nmodels)
{
    open_model(_i);
    cfx_graph *g = cfx_graph_module_graph(model.gm);
    char *before = print_graph(g);
    size_t step = cfx_graph_len(g) / 3 + 1, at = 0;
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        if (n->op == CFX_OUTPUT || at++ % step)
            continue;
        char old[128];
        snprintf(old, sizeof(old), "%s", n->name);
        ck_assert_int_eq(cfx_node_rename(n, "another", &err), CFX_OK);
        char *want = reworded(before, old, n->name);
        ck_assert_str_ne(want, before);
        assert_prints(g, want, names[_i]);
        /* The name it had stays taken here, as in torch.fx; in a graph of
         * copies it is free. */
        cfx_graph *copy = copy_nodes(g);
        cfx_node *there = cfx_graph_find(copy, n->name);
        ck_assert_ptr_nonnull(there);
        ck_assert_int_eq(cfx_node_rename(there, old, &err), CFX_OK);
        ck_assert_msg(!cfx_graph_lint(copy, &err), "%s", err.text);
        assert_prints(copy, before, names[_i]);
        cfx_graph_free(copy);
        free(before);
        before = want;
    }
    free(before);
    zoo_close(&model);
}

/* ---- What PyTorch's text leaves out ---- */

static void assert_says(const char *name, const char *words)
{
    ck_assert_msg(strstr(err.text, words) != NULL, "%s: '%s' lacks '%s'", name,
                  err.text, words);
    ck_assert_ptr_null(strchr(err.text, '\n'));
}

TEST_EACH(zoo_attention_without_heads_is_refused_and_told_how_to_give_them,
          nmodels)
{
    size_t len;
    cfx_module *gm;
    char path[ZOO_PATH];
    if (strncmp(names[_i], "vit", 3))
        return;
    snprintf(path, sizeof(path), "%s/%s.fx", place, names[_i]);
    char *text = zoo_read(path, &len);
    ck_assert_int_eq(cfx_parse_model(&gm, ctx, text, len, "m.fx", &err),
                     CFX_EINVAL);
    ck_assert_ptr_null(gm);
    assert_says(names[_i], "m.fx:8:9: ");
    assert_says(names[_i], "self_attention");
    assert_says(names[_i], "does not tell num_heads, batch_first");
    assert_says(names[_i], "write it into this line, as in "
                           "MultiheadAttention(num_heads=");
    free(text);
}

TEST_CASE(zoo_is_complete)
{
    ck_assert_int_eq(nmodels, 42);
}

TEST_SUITE(zoo_text, .ready = find_models, .setup = setup,
           .teardown = teardown, .timeout = 300)
