/*
 * pass_cases_test -- what passes make of graphs, from tests/cases/passes/.
 * Arguments: [-k TEXT] [--update] FILE...
 *
 *     ==== NAME
 *     # a comment
 *     a model
 *     ---- PASS: 2 changed
 *     the model afterwards
 *     ---- PASS: 0 changed
 *
 * A PASS is as `cfx transform` takes it, `reverse PASS` undoes it. Each works
 * on what the one before left, which is then well-formed. Where the model stays
 * as it was, it is not repeated. A pass that fails has the line `error: TEXT`.
 * A model that begins with `# cfx` is printed with its state and meta.
 * Other steps are
 *
 *     ---- weights            the weights get random numbers
 *     ---- train              the model is in training mode
 *     ---- shapes f32[2]; ... inputs, from which each node's shape is known
 *     ---- run f32[2]; ...    inputs; each pass that follows keeps the results
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include <cfx/compare.h>
#include <cfx/file.h>
#include <cfx/pass.h>
#include <cfx/shape_prop.h>

#include "tests/cases/expect.h"
#include "tests/cases/program.h"

enum { MAX_INPUTS = 8 };

struct pass_case {
    cfx_context *ctx;
    cfx_shape_env *env;
    cfx_module *gm;
    cfx_value in[MAX_INPUTS];
    size_t nin;
    bool runs;
    bool bare;     /* the text of the case is a graph only */
    bool superset; /* it is the superset */
    bool shaped;   /* shapes are known */
    char *model;   /* gm as text */
    cfx_error err;
    FILE *out;
};

/* ---- Models as text ---- */

/* The model's text, for free(). */
static char *model_text(struct pass_case *c)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        abort();
    cfx_sink to = cfx_sink_file(f);
    cfx_status st = c->shaped ? cfx_print_annotated(to, c->gm, &c->err)
                    : c->bare
                        ? cfx_print_graph(to, cfx_graph_module_graph(c->gm),
                                          false, &c->err)
                        : cfx_print_model(to, c->gm, c->superset, &c->err);
    if (st)
        fprintf(f, "error: %s", c->err.text);
    if (st || c->bare)
        fputc('\n', f);
    fclose(f);
    return text;
}

/* Print the model if it is not as it was. */
static void print_changed(struct pass_case *c)
{
    char *now = model_text(c);
    if (strcmp(now, c->model) != 0)
        fputs(now, c->out);
    free(c->model);
    c->model = now;
}

/* ---- Inputs and results ---- */

static void release_inputs(struct pass_case *c)
{
    while (c->nin)
        cfx_value_unref(c->in[--c->nin]);
}

/* A tensor of random numbers like the meta, which is given back. */
static cfx_status fill_input(struct pass_case *c, cfx_value *v)
{
    cfx_tensor *t, *meta = v->u.tensor;
    int64_t shape[CFX_MAX_RANK];
    if (v->kind != CFX_TENSOR)
        return CFX_OK;
    for (int i = 0; i < meta->rank; i++)
        shape[i] = cfx_tensor_size(meta, i);
    if (cfx_tensor_new(&t, c->ctx, (cfx_dtype)meta->dtype, meta->rank, shape,
                       &c->err))
        return c->err.code;
    cfx_tensor_unref(meta);
    *v = cfx_value_of_tensor(t);
    return cfx_tensor_randomize(t, 7, "x", &c->err);
}

static cfx_status read_inputs(struct pass_case *c, const char *text, bool fill)
{
    release_inputs(c);
    while (*text && c->nin < MAX_INPUTS) {
        size_t n = strcspn(text, ";");
        cfx_value *v = &c->in[c->nin];
        if (cfx_parse_shape(v, c->ctx, c->env, text, n, &c->err))
            return c->err.code;
        c->nin++;
        if (fill && fill_input(c, v))
            return c->err.code;
        text += n + (text[n] == ';');
    }
    return CFX_OK;
}

static cfx_status copy_tensor(void *user, cfx_value v, cfx_value *out)
{
    struct pass_case *c = user;
    int64_t shape[CFX_MAX_RANK];
    cfx_tensor *copy, *t = v.u.tensor;
    if (v.kind != CFX_TENSOR) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_tensor_size(t, i);
    cfx_status st = cfx_tensor_new(&copy, c->ctx, (cfx_dtype)t->dtype, t->rank,
                                   shape, &c->err);
    if (st)
        return st;
    *out = cfx_value_of_tensor(copy);
    return cfx_tensor_copy(copy, t, &c->err);
}

/* The model may write to its inputs. */
static cfx_status run_model(struct pass_case *c, cfx_value *out)
{
    cfx_value in[MAX_INPUTS] = {CFX_NOTHING};
    cfx_interp it = {0};
    *out = CFX_NOTHING;
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, c->gm, &c->err);
    for (size_t i = 0; i < c->nin && !st; i++)
        st = cfx_value_map(&in[i], c->ctx, c->in[i], copy_tensor, c, &c->err);
    if (!st)
        st = cfx_interp_run(&it, in, c->nin, out, &c->err);
    cfx_interp_release(&it);
    for (size_t i = 0; i < c->nin; i++)
        cfx_value_unref(in[i]);
    return st;
}

/* Rounding is allowed where the pass says that it rounds. */
static cfx_tolerance tolerance_of(const cfx_pass *pass)
{
    if (pass && pass->flags & CFX_PASS_NARROWS)
        return (cfx_tolerance){.given = true, .rmax = 2e-2};
    if (pass && pass->flags & CFX_PASS_ROUNDS)
        return (cfx_tolerance){.given = true, .rtol = 1e-6, .atol = 1e-6};
    return (cfx_tolerance){.given = true};
}

static cfx_status compare_results(struct pass_case *c, const cfx_pass *pass,
                                  cfx_value before)
{
    const cfx_tolerance tolerance = tolerance_of(pass);
    cfx_difference d;
    cfx_value after;
    cfx_status st = run_model(c, &after);
    if (!st)
        st = cfx_value_compare(&d, before, after, &tolerance, &c->err);
    if (!st && d.differs)
        fprintf(c->out, "error: the results differ: %s\n", d.text);
    cfx_value_unref(after);
    return st;
}

/* ---- Steps ---- */

static const cfx_pass *pass_of(cfx_context *ctx, const char *text)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "("), text);
    return cfx_find_pass(ctx, name);
}

/* Cut off ": 2 changed". */
static void cut_count(char *pass)
{
    static const char word[] = " changed";
    size_t n = strlen(pass), m = strlen(word);
    if (n < m || strcmp(pass + n - m, word) != 0)
        return;
    for (n -= m; n && strchr("0123456789", pass[n - 1]);)
        n--;
    if (n > 1 && pass[n - 1] == ' ' && pass[n - 2] == ':')
        pass[n - 2] = '\0';
}

static cfx_status apply(struct pass_case *c, char *step)
{
    static const char reverse[] = "reverse ";
    const size_t skip = strncmp(step, reverse, strlen(reverse))
                            ? 0
                            : strlen(reverse);
    size_t changed = 0;
    cfx_value before = CFX_NOTHING;
    cut_count(step);
    if (c->runs && run_model(c, &before))
        return c->err.code;
    cfx_status st = cfx_pass_apply(c->gm, step + skip, skip != 0, &changed,
                                   &c->err);
    if (st) {
        fprintf(c->out, "---- %s\nerror: %s\n", step, c->err.text);
        memset(&c->err, 0, sizeof(c->err));
    } else {
        fprintf(c->out, "---- %s: %zu changed\n", step, changed);
    }
    print_changed(c);
    cfx_graph *g = cfx_graph_module_graph(c->gm);
    if (cfx_graph_owning_module(g) != c->gm)
        fputs("error: the graph belongs to another module\n", c->out);
    st = cfx_graph_lint(g, &c->err);
    if (!st && c->runs)
        st = compare_results(c, pass_of(c->ctx, step + skip), before);
    cfx_value_unref(before);
    return st;
}

static cfx_status take_step(struct pass_case *c, char *step)
{
    bool run = !strncmp(step, "run ", 4),
         shapes = !strncmp(step, "shapes ", 7);
    if (!run && !shapes && strcmp(step, "weights") && strcmp(step, "train"))
        return apply(c, step);
    fprintf(c->out, "---- %s\n", step);
    if (!strcmp(step, "weights"))
        return cfx_module_randomize(c->gm, 1, &c->err);
    if (!strcmp(step, "train")) {
        cfx_module_train(c->gm, true);
        return CFX_OK;
    }
    c->runs = run;
    cfx_status st = read_inputs(c, strchr(step, ' ') + 1, run);
    if (!st && shapes)
        st = cfx_propagate_shapes(c->gm, c->env, c->in, c->nin, NULL, &c->err);
    if (shapes) {
        c->shaped = true;
        c->bare = false;
        free(c->model);
        c->model = model_text(c);
    }
    return st;
}

/* ---- Cases ---- */

static bool is_step(const char *line)
{
    return !strncmp(line, "---- ", 5);
}

/* The model's text up to the first step, which *text is moved to. */
static cfx_status read_model(struct pass_case *c, char **text)
{
    char *p = *text;
    while (*p && !is_step(p)) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    size_t n = (size_t)(p - *text);
    fwrite(*text, 1, n, c->out);
    c->superset = !strncmp(*text, "# cfx", 5);
    c->bare = !strncmp(*text, "graph(", 6);
    cfx_status st = cfx_parse_model(&c->gm, c->ctx, *text, n, "model",
                                    &c->err);
    if (!st && c->superset && strstr(*text, ": Tensor \"") &&
        strstr(*text, ": Tensor \"") < p)
        c->shaped = true;
    if (!st)
        c->model = model_text(c);
    *text = p;
    return st;
}

static cfx_status run_steps(struct pass_case *c, char *text)
{
    char *line;
    cfx_status st = CFX_OK;
    while (!st && (line = expect_line(&text)))
        if (is_step(line))
            st = take_step(c, line + 5);
    return st;
}

static void write_case(char *text, FILE *out)
{
    struct pass_case c = {.out = out};
    const cfx_options options = {.size = sizeof(options), .threads = 1};
    fprintf(out, "%s\n", expect_line(&text));
    while (!strncmp(text, "# ", 2) && strncmp(text, "# cfx", 5))
        fprintf(out, "%s\n", expect_line(&text));
    cfx_status st = cfx_context_new(&c.ctx, &options, &c.err);
    if (!st)
        st = cfx_shape_env_new(&c.env, c.ctx, &c.err);
    if (!st)
        st = read_model(&c, &text);
    if (!st)
        st = run_steps(&c, text);
    if (st)
        fprintf(out, "error: %s\n", c.err.text);
    release_inputs(&c);
    free(c.model);
    cfx_module_unref(c.gm);
    cfx_shape_env_free(c.env);
    cfx_context_free(c.ctx);
}

static expect_line_kind kind(const char *line)
{
    return strncmp(line, "==== ", 5) ? EXPECT_MORE : EXPECT_CASE;
}

TEST_PROGRAM(pass_cases)
{
    return expect_main(argc, argv, kind, write_case);
}
