/*
 * whole -- what the program does with a model after it was read, as one fuzz
 * target: check, print, shapes, costs, passes, optimization, quantization, run.
 * The targets pt2 and onnx do this with what they read, too.
 *
 * The first line has the inputs, as cfx shapes -i takes them (several in a
 * tuple); the rest is a model. A model is printed and run, and one more step is
 * taken, which follows from the bytes: so an input takes a millisecond. Seeds
 * take each step.
 */
#include "tests/fuzz/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/memory_plan.h>
#include <cfx/optimize.h>
#include <cfx/pass.h>
#include <cfx/quantize.h>
#include <cfx/roofline.h>
#include <cfx/shape_prop.h>
#include <cfx/text.h>
#include <cfx/to_aten.h>

enum { INPUTS = 16, PASSES = 4, SYMBOL = 3 };

typedef struct work {
    cfx_context *ctx;
    cfx_shape_env *env;
    cfx_module *gm;
    cfx_value in[INPUTS];      /* with symbols */
    cfx_value numbers[INPUTS]; /* tensors with data */
    size_t n;
    uint32_t chance;
    cfx_error err;
} work;

/* A failure has one line. */
static void judge(work *w, cfx_status st, const char *what)
{
    if (st && (!*w->err.text || strchr(w->err.text, '\n'))) {
        fprintf(stderr, "%s fails without one line: %s\n", what, w->err.text);
        abort();
    }
    cfx_error_clear(&w->err);
}

static cfx_status forget(void *user, const char *text, size_t len)
{
    (void)text;
    *(size_t *)user += len;
    return CFX_OK;
}

bool fuzz_each_step;

static size_t printed;
static const cfx_sink nowhere = {forget, &printed};

/* ---- Inputs ---- */

static bool three(void *user, const char *name, int64_t *v)
{
    (void)user;
    (void)name;
    *v = SYMBOL;
    return true;
}

/* A tensor of a meta's type, with data; its symbols are 3. */
static cfx_status with_data(void *user, cfx_value v, cfx_value *out)
{
    work *w = user;
    int64_t shape[CFX_MAX_RANK], n = 1;
    cfx_tensor *t;
    *out = v;
    if (v.kind == CFX_SYMINT)
        *out = cfx_int(SYMBOL);
    if (v.kind != CFX_TENSOR) {
        cfx_value_ref(*out);
        return CFX_OK;
    }
    for (int i = 0; i < v.u.tensor->rank; i++) {
        if (cfx_dim_eval(&shape[i], v.u.tensor->shape[i], three, NULL,
                         &w->err))
            return CFX_EINVAL;
        if (shape[i] < 0 || shape[i] > 4096 || (n *= shape[i]) > 16384)
            return cfx_fail(&w->err, CFX_ELIMIT, "the input is too large");
    }
    cfx_status st = cfx_tensor_new(&t, w->ctx, (cfx_dtype)v.u.tensor->dtype,
                                   v.u.tensor->rank, shape, &w->err);
    if (st)
        return st;
    cfx_tensor_randomize(t, 1, "x", NULL);
    *out = cfx_value_of_tensor(t);
    return CFX_OK;
}

static bool read_inputs(work *w, const char *text, size_t len)
{
    cfx_value all = CFX_NOTHING;
    if (cfx_parse_shape(&all, w->ctx, w->env, text, len, &w->err))
        return false;
    bool several = all.kind == CFX_TUPLE;
    size_t n = several ? all.u.seq->len : 1;
    cfx_status st = n > INPUTS ? CFX_ELIMIT : CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        cfx_value one = several ? all.u.seq->item[i] : all;
        st = cfx_value_map(&w->numbers[i], w->ctx, one, with_data, w, &w->err);
        if (!st)
            w->in[w->n++] = cfx_value_ref(one);
    }
    cfx_value_unref(all);
    return !st;
}

/* Give the parameters that have no data numbers. */
static void randomize(work *w)
{
    judge(w, cfx_module_randomize(w->gm, 1, &w->err), "weights");
}

/* The types that a file declares; what has none takes its default, or None. */
static bool declared_inputs(work *w)
{
    cfx_status st = CFX_OK;
    const cfx_node *p = cfx_graph_first(cfx_graph_module_graph(w->gm));
    for (; p && !st; p = cfx_node_next(p)) {
        cfx_value type = cfx_node_meta(p, "val");
        if (p->op != CFX_PLACEHOLDER)
            continue;
        if (w->n == INPUTS)
            return false;
        if (!type.kind)
            type = p->nargs ? p->args[0] : cfx_none();
        st = cfx_value_map(&w->numbers[w->n], w->ctx, type, with_data, w,
                           &w->err);
        if (!st)
            w->in[w->n++] = cfx_value_ref(type);
    }
    return !st;
}

/* ---- What is done ---- */

static void print_all(work *w, cfx_module *gm)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    judge(w, cfx_graph_lint(g, &w->err), "lint");
    judge(w, cfx_print_graph(nowhere, g, true, &w->err), "graph");
    judge(w, cfx_print_tabular(nowhere, g, &w->err), "tabular");
    judge(w, cfx_print_code(nowhere, g, &w->err), "code");
    judge(w, cfx_print_readable(nowhere, gm, &w->err), "readable");
    judge(w, cfx_print_model(nowhere, gm, false, &w->err), "model");
    judge(w, cfx_print_annotated(nowhere, gm, &w->err), "annotated");
}

/* The result is printed after the graph is gone. */
static void run_take(work *w, cfx_module *gm)
{
    cfx_interp it = {0};
    cfx_value out = CFX_NOTHING;
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, &w->err);
    if (!st)
        st = cfx_interp_run(&it, w->numbers, w->n, &out, &w->err);
    cfx_interp_release(&it);
    cfx_module_unref(gm);
    judge(w, st, "run");
    judge(w, cfx_print_value(nowhere, out, CFX_STYLE_REPR, &w->err), "result");
    cfx_value_unref(out);
}

static cfx_module *copy(work *w)
{
    cfx_module *gm = NULL;
    judge(w, cfx_module_copy(&gm, w->gm, &w->err), "copy");
    return gm;
}

static void shapes(work *w, const cfx_value *in)
{
    cfx_module *gm = copy(w);
    cfx_value out = CFX_NOTHING;
    if (!gm)
        return;
    judge(w, cfx_propagate_shapes(gm, w->env, in, w->n, &out, &w->err),
          "shapes");
    print_all(w, gm);
    cfx_module_unref(gm);
    cfx_print_shape(nowhere, out, true, NULL);
    cfx_value_unref(out);
}

static void roofline(work *w, const cfx_value *in)
{
    typedef cfx_status print_fn(cfx_sink to, const cfx_roofline *r,
                                const cfx_roofline_view *view, cfx_error *err);
    static print_fn *const print[] = {
        cfx_roofline_print,      cfx_roofline_print_markdown,
        cfx_roofline_print_csv,  cfx_roofline_print_json,
        cfx_roofline_print_html, cfx_roofline_print_svg,
        cfx_roofline_print_dot,  cfx_roofline_print_trace};
    const cfx_roofline_options o = {.size = sizeof(o), .env = w->env};
    const cfx_roofline_view view = {.parts = true, .model = "m"};
    cfx_roofline *r = NULL;
    cfx_memory_plan *plan = NULL;
    judge(w, cfx_roofline_new(&r, w->gm, in, w->n, &o, &w->err), "roofline");
    if (r)
        judge(w,
              print[w->chance % (sizeof(print) / sizeof(*print))](
                  nowhere, r, &view, &w->err),
              "roofline's text");
    cfx_roofline_free(r);
    judge(w, cfx_memory_plan_new(&plan, w->gm, in, w->n, NULL, &w->err),
          "memory");
    if (plan)
        judge(w, cfx_print_memory(nowhere, plan, CFX_MEMORY_TABLE, &w->err),
              "memory's text");
    cfx_memory_plan_free(plan);
}

static void optimize(work *w)
{
    const cfx_optimize_options o = {.size = sizeof(o),
                                    .bfloat16 = w->chance >> 8 & 1,
                                    .int8_weights = w->chance >> 9 & 1};
    cfx_module *gm = copy(w);
    if (!gm)
        return;
    judge(w, cfx_optimize(gm, w->numbers, w->n, &o, &w->err), "optimize");
    print_all(w, gm);
    run_take(w, gm);
}

static void pass(work *w, const cfx_pass *p)
{
    cfx_module *gm = copy(w);
    if (!gm)
        return;
    judge(w, cfx_pass_run(p, gm, CFX_NO_ARGS, false, NULL, &w->err),
          p->schema);
    print_all(w, gm);
    run_take(w, gm);
}

static void passes(work *w)
{
    uint32_t n = 0, tries = fuzz_each_step ? PASSES : 1;
    while (cfx_pass_at(w->ctx, n))
        n++;
    for (uint32_t i = 0; i < tries && n; i++)
        pass(w, cfx_pass_at(w->ctx, (w->chance + i * 7919) % n));
}

static void quantize(work *w)
{
    size_t n = 0;
    while (cfx_quantizer_at(n))
        n++;
    cfx_quantizer q;
    cfx_module *gm = copy(w);
    cfx_value out = CFX_NOTHING;
    cfx_interp it = {0};
    if (!gm)
        return;
    cfx_quantizer_init(&q, cfx_quantizer_at((w->chance >> 4) % n));
    cfx_status st = cfx_quantize_prepare(gm, &q, w->numbers, w->n, NULL,
                                         &w->err);
    if (!st)
        st = cfx_interp_init(&it, &cfx_interp_base, gm, &w->err);
    if (!st)
        st = cfx_interp_run(&it, w->numbers, w->n, &out, &w->err);
    cfx_interp_release(&it);
    cfx_value_unref(out);
    if (!st)
        st = cfx_quantize_convert(gm, NULL, &w->err);
    judge(w, st, "quantize");
    print_all(w, gm);
    if (st)
        cfx_module_unref(gm);
    else
        run_take(w, gm);
}

static void lower(work *w)
{
    cfx_module *aten = NULL;
    judge(w, cfx_to_aten(&aten, w->gm, w->env, w->in, w->n, &w->err),
          "to_aten");
    if (!aten)
        return;
    print_all(w, aten);
    run_take(w, aten);
}

static void shapes_of_symbols(work *w)
{
    shapes(w, w->in);
}

static void shapes_of_numbers(work *w)
{
    shapes(w, w->numbers);
}

static void roofline_of_symbols(work *w)
{
    roofline(w, w->in);
}

static void roofline_of_numbers(work *w)
{
    roofline(w, w->numbers);
}

static void take_steps(work *w)
{
    typedef void step_fn(work * w);
    static step_fn *const step[] = {shapes_of_symbols,
                                    shapes_of_numbers,
                                    roofline_of_symbols,
                                    roofline_of_numbers,
                                    optimize,
                                    passes,
                                    quantize,
                                    lower};
    const size_t n = sizeof(step) / sizeof(*step);
    print_all(w, w->gm);
    if (w->chance >> 12 & 1)
        randomize(w);
    for (size_t i = 0; i < n; i++)
        if (fuzz_each_step || i == (w->chance >> 16) % n)
            step[i](w);
    randomize(w);
    cfx_module *gm = w->gm;
    w->gm = NULL;
    run_take(w, gm);
}

static uint32_t hash(const uint8_t *data, size_t size)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 16777619u;
    return h;
}

static void release(work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        cfx_value_unref(w->in[i]);
        cfx_value_unref(w->numbers[i]);
    }
    cfx_module_unref(w->gm);
    cfx_shape_env_free(w->env);
}

void fuzz_whole(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    const char *text = (const char *)data;
    size_t line = end ? (size_t)(end - data) : size;
    work w = {.chance = hash(data, size)};
    if (!end)
        return;
    w.ctx = fuzz_context();
    if (!cfx_shape_env_new(&w.env, w.ctx, &w.err) &&
        read_inputs(&w, text, line) &&
        !cfx_parse_model(&w.gm, w.ctx, text + line + 1, size - line - 1, "m",
                         &w.err))
        take_steps(&w);
    release(&w);
    fuzz_context_done(w.ctx);
}

void fuzz_walk_take(cfx_context *ctx, cfx_module *gm, const uint8_t *data,
                    size_t size)
{
    work w = {.ctx = ctx, .gm = gm, .chance = hash(data, size)};
    if (!cfx_shape_env_new(&w.env, ctx, &w.err) && declared_inputs(&w))
        take_steps(&w);
    release(&w);
}
