/*
 * random_models_test -- models by chance compute the same before and after
 * cfx_optimize, at each level of instructions, on one to three threads.
 *
 *     random_models [-n COUNT] [-s SEED] [-d DIR] [-v]
 *
 * tries the models of COUNT seeds from SEED on. A model is run, optimized (in
 * float32, bfloat16 or int8, or after it was quantized; with a symbol for the batch),
 * run again, with another batch, too, and printed and read back. With -d the texts of
 * those that fail are written to a folder, -v tells each seed before it is tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/compare.h>
#include <cfx/file.h>
#include <cfx/optimize.h>
#include <cfx/quantize.h>
#include <cfx/text.h>

#include "base/util.h"
#include "tests/cases/program.h"
#include "tests/cases/random_model.h"

/* ---- Trials ---- */

typedef enum how { FLOAT, SYMBOLS, BFLOAT16, INT8, QUANTIZED, NHOW } how;

static const char *const names_of_how[] = {"float32", "symbols", "bfloat16",
                                           "int8 weights", "quantized"};

/* What results may differ by, relative to the largest; of narrow numbers, the least
 * signal-to-noise ratio of the results in dB, or what each node may differ by. */
#define ROUNDED 3e-4
#define LEAST_SNR 15.0
#define FINE_SNR 60.0
#define NARROWED 0.1

typedef struct trial {
    const random_model *m;
    uint64_t seed;
    how how;
    cfx_context *ctx;
    cfx_module *gm, *fast;
    cfx_value in[MODEL_INPUTS], other[MODEL_INPUTS];
    cfx_shape_env *env;
    cfx_error err;
    char why[400];
} trial;

static cfx_status make_inputs(trial *t, cfx_value *in, int64_t more)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < t->m->ninputs && !st; i++) {
        const model_value *v = &t->m->input[i];
        int64_t shape[MODEL_RANK];
        cfx_tensor *x;
        memcpy(shape, v->shape, sizeof(shape));
        shape[0] += v->rank > 1 ? more : 0;
        st = cfx_tensor_new(&x, t->ctx, v->below ? CFX_I64 : CFX_F32, v->rank,
                            shape, &t->err);
        if (st)
            break;
        in[i] = cfx_value_of_tensor(x);
        st = cfx_tensor_randomize(x, t->seed + (uint64_t)i, v->name, &t->err);
    }
    return st;
}

/* A model may write to its inputs. */
static cfx_status copy_inputs(trial *t, const cfx_value *in, cfx_value *out)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < t->m->ninputs && !st; i++) {
        cfx_tensor *copy, *x = in[i].u.tensor;
        int64_t shape[MODEL_RANK];
        for (int k = 0; k < x->rank; k++)
            shape[k] = cfx_tensor_size(x, k);
        st = cfx_tensor_new(&copy, t->ctx, (cfx_dtype)x->dtype, x->rank, shape,
                            &t->err);
        if (st)
            break;
        out[i] = cfx_value_of_tensor(copy);
        st = cfx_tensor_copy(copy, x, &t->err);
    }
    return st;
}

/* Run a model on copies of the inputs. *y has its results and the copies. */
static cfx_status run(trial *t, cfx_module *gm, const cfx_value *in,
                      cfx_value *y)
{
    cfx_value all[MODEL_INPUTS + 1] = {CFX_NOTHING};
    int n = t->m->ninputs;
    cfx_interp it = {0};
    cfx_status st = copy_inputs(t, in, all + 1);
    *y = CFX_NOTHING;
    if (!st)
        st = cfx_interp_init(&it, &cfx_interp_base, gm, &t->err);
    if (!st)
        st = cfx_interp_run(&it, all + 1, (size_t)n, &all[0], &t->err);
    if (!st)
        *y = cfx_tuple_new(t->ctx, (size_t)n + 1, all);
    cfx_interp_release(&it);
    for (int i = 0; i <= n; i++)
        cfx_value_unref(all[i]);
    return st;
}

static cfx_status load(trial *t)
{
    cfx_status st = cfx_parse_model(&t->gm, t->ctx, t->m->text,
                                    strlen(t->m->text), t->m->kind, &t->err);
    if (st)
        return st;
    cfx_module_train(t->gm, false);
    st = cfx_module_randomize(t->gm, t->seed, &t->err);
    if (!st)
        st = make_inputs(t, t->in, 0);
    return st ? st : make_inputs(t, t->other, 1);
}

/* Let a model be a reference of its quantized self. */
static cfx_status quantize(trial *t, cfx_module *gm,
                           const cfx_quantizer_class *cls)
{
    cfx_quantizer q;
    cfx_value y = CFX_NOTHING, in[MODEL_INPUTS] = {CFX_NOTHING};
    cfx_quantizer_init(&q, cls);
    cfx_status st = copy_inputs(t, t->in, in);
    if (!st)
        st = cfx_quantize_prepare(gm, &q, in, (size_t)t->m->ninputs, NULL,
                                  &t->err);
    for (int i = 0; i < t->m->ninputs; i++)
        cfx_value_unref(in[i]);
    if (!st)
        st = run(t, gm, t->in, &y);
    cfx_value_unref(y);
    return st ? st : cfx_quantize_convert(gm, NULL, &t->err);
}

/* The patterns of x86 with integers so fine that results hardly differ. */
static cfx_status fine_annotate(cfx_quantizer *q, const cfx_node *n,
                                cfx_quant_mark *mark);

static const cfx_quantizer_class fine = {
    .size = sizeof(cfx_quantizer_class),
    .name = "fine",
    .super = &cfx_quantizer_x86,
    .annotate = fine_annotate,
};

static cfx_status fine_annotate(cfx_quantizer *q, const cfx_node *n,
                                cfx_quant_mark *mark)
{
    static const cfx_quant_spec spec = {.observer = "MinMaxObserver",
                                        .dtype = CFX_I32,
                                        .least = -(1 << 23),
                                        .most = (1 << 23) - 1};
    cfx_status st = CFX_QUANTIZER_SUPER(&fine, annotate)(q, n, mark);
    if (mark->input)
        mark->input = &spec;
    if (mark->weight)
        mark->weight = &spec;
    if (mark->output)
        mark->output = &spec;
    return st;
}

/* The inputs with a symbol for the first extent. */
static cfx_status with_symbols(trial *t, cfx_value *metas)
{
    cfx_status st = cfx_shape_env_new(&t->env, t->ctx, &t->err);
    for (int i = 0; i < t->m->ninputs && !st; i++) {
        const model_value *v = &t->m->input[i];
        char text[160];
        size_t len = (size_t)snprintf(text, sizeof(text), "%s[n",
                                      v->below ? "i64" : "f32");
        for (int k = 1; k < v->rank; k++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, ",%lld",
                                    (long long)v->shape[k]);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "]");
        st = cfx_parse_shape(&metas[i], t->ctx, t->env, text, len, &t->err);
    }
    return st;
}

static cfx_status optimize(trial *t)
{
    cfx_value metas[MODEL_INPUTS] = {CFX_NOTHING};
    cfx_optimize_options o = {.size = sizeof(o)};
    const cfx_value *in = t->in;
    cfx_status st = CFX_OK;
    o.bfloat16 = t->how == BFLOAT16;
    o.int8_weights = t->how == INT8;
    if (t->how == SYMBOLS) {
        st = with_symbols(t, metas);
        in = metas;
        o.env = t->env;
    }
    if (!st)
        st = cfx_optimize(t->fast, in, (size_t)t->m->ninputs, &o, &t->err);
    for (int i = 0; i < t->m->ninputs; i++)
        cfx_value_unref(metas[i]);
    return st;
}

/* ---- Claims ---- */

static bool fail(trial *t, const char *what, const char *text)
{
    snprintf(t->why, sizeof(t->why), "%s: %.300s", what, text);
    return false;
}

/* Is the error small that each node makes itself? Some models make much of the errors
 * before: a norm of two features has little more than the sign of their difference. */
static bool nodes_agree(trial *t, const char *what, const cfx_value *in)
{
    cfx_comparison c = {.size = sizeof(c),
                        .tolerance = {.given = true, .rmax = NARROWED},
                        .all = true,
                        .same_inputs = true};
    cfx_value copy[MODEL_INPUTS] = {CFX_NOTHING};
    size_t n = (size_t)t->m->ninputs;
    cfx_interp a = {0}, b = {0};
    cfx_status st = copy_inputs(t, in, copy);
    if (!st)
        st = cfx_interp_init(&a, &cfx_interp_base, t->gm, &t->err);
    if (!st)
        st = cfx_interp_init(&b, &cfx_interp_base, t->fast, &t->err);
    if (!st)
        st = cfx_compare_runs(&a, &b, copy, n, copy, n, &c, &t->err);
    if (st)
        fail(t, what, t->err.text);
    else if (c.ndiffer)
        snprintf(t->why, sizeof(t->why), "%s, node %s: %.300s", what,
                 c.first_a->name, c.first.text);
    cfx_interp_release(&a);
    cfx_interp_release(&b);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(copy[i]);
    return !st && !c.ndiffer;
}

static bool agree(trial *t, const char *what, const cfx_value *in, cfx_value a,
                  cfx_value b)
{
    const cfx_tolerance near = {.given = true, .rmax = ROUNDED, .atol = 1e-6};
    cfx_difference d = {.differs = false};
    if (cfx_value_compare(&d, a, b, &near, &t->err))
        return fail(t, what, t->err.text);
    return !d.differs ||
           (t->how > SYMBOLS ? cfx_difference_snr(&d) > LEAST_SNR ||
                                   nodes_agree(t, what, in)
                             : fail(t, what, d.text));
}

/* A graph that computes parts of a concatenation in place takes no other shapes. */
static bool asserts_shapes(const trial *t)
{
    return cfx_graph_find_nodes(cfx_graph_module_graph(t->fast),
                                CFX_CALL_FUNCTION,
                                "torch.ops.aten._assert_tensor_metadata."
                                "default",
                                NULL) != NULL;
}

/* Run both, unless the first cannot run. */
static bool same(trial *t, const char *what, const cfx_value *in)
{
    cfx_value a, b = CFX_NOTHING;
    bool ok = true;
    if (!run(t, t->gm, in, &a))
        ok = !run(t, t->fast, in, &b) ? agree(t, what, in, a, b)
             : in == t->other && asserts_shapes(t)
                 ? true
                 : fail(t, what, t->err.text);
    t->err = (cfx_error){0};
    cfx_value_unref(a);
    cfx_value_unref(b);
    return ok;
}

static cfx_status append(void *user, const char *text, size_t len)
{
    cfx_buf_add(user, text, len);
    return CFX_OK;
}

static bool reads_back(trial *t)
{
    cfx_buf text;
    cfx_module *again = NULL;
    bool equal = false;
    cfx_buf_init(&text, t->ctx);
    cfx_status st = cfx_print_model((cfx_sink){append, &text}, t->fast, true,
                                    &t->err);
    if (!st)
        st = cfx_parse_model(&again, t->ctx, cfx_buf_str(&text), text.len,
                             "printed", &t->err);
    if (!st)
        st = cfx_graph_equal(&equal, cfx_graph_module_graph(t->fast),
                             cfx_graph_module_graph(again), &t->err);
    cfx_module_unref(again);
    cfx_buf_release(&text);
    return equal || fail(t, "read back", st ? t->err.text : "another graph");
}

/* Does a quantized model compute what the model does, up to its integers? */
static bool quantizes(trial *t, cfx_value y)
{
    const cfx_tolerance any = {.given = true};
    cfx_difference d = {.differs = false};
    cfx_module *gm = NULL;
    cfx_value z = CFX_NOTHING;
    cfx_status st = cfx_module_copy(&gm, t->gm, &t->err);
    if (!st)
        st = quantize(t, gm, &fine);
    if (!st)
        st = run(t, gm, t->in, &z);
    if (!st)
        st = cfx_value_compare(&d, y, z, &any, &t->err);
    cfx_value_unref(z);
    cfx_module_unref(gm);
    if (st)
        return fail(t, "quantize", t->err.text);
    return !d.differs || cfx_difference_snr(&d) > FINE_SNR ||
           fail(t, "quantize", d.text);
}

/* Set *ran if the model itself runs. */
static bool check(trial *t, bool *ran)
{
    cfx_value y = CFX_NOTHING;
    cfx_status st = load(t);
    if (!st)
        st = run(t, t->gm, t->in, &y);
    *ran = !st;
    bool ok = st ? fail(t, "not run", t->err.text)
                 : t->how != QUANTIZED || quantizes(t, y);
    cfx_value_unref(y);
    if (!ok)
        return false;
    if (t->how == QUANTIZED && quantize(t, t->gm, &cfx_quantizer_x86))
        return fail(t, "quantize", t->err.text);
    if (cfx_module_copy(&t->fast, t->gm, &t->err))
        return fail(t, "copy", t->err.text);
    if (optimize(t))
        return t->how == SYMBOLS || fail(t, "optimize", t->err.text);
    return same(t, "run", t->in) && same(t, "another batch", t->other) &&
           reads_back(t);
}

/* ---- All ---- */

typedef struct totals {
    int passed[NHOW], failed, refused;
    const char *folder;
    bool tell;
} totals;

static void save(const totals *all, const trial *t)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s%llu.fx", all->folder, t->m->kind,
             (unsigned long long)t->seed);
    FILE *f = all->folder ? fopen(path, "w") : NULL;
    if (f) {
        fputs(t->m->text, f);
        fclose(f);
    }
}

static void release(trial *t)
{
    for (int i = 0; i < MODEL_INPUTS; i++) {
        cfx_value_unref(t->in[i]);
        cfx_value_unref(t->other[i]);
    }
    cfx_module_unref(t->gm);
    cfx_module_unref(t->fast);
    cfx_shape_env_free(t->env);
    cfx_context_free(t->ctx);
}

/* The context's level, one of those that the processor has. */
static cfx_status make_context(trial *t)
{
    cfx_options o = {.size = sizeof(o),
                     .threads = 1 + (int)(t->seed / 3 % 3),
                     .max_memory = (size_t)1 << 30,
                     .cpu = (cfx_cpu)(t->seed / 9 % (CFX_CPU_AVX512 + 1))};
    cfx_status st = cfx_context_new(&t->ctx, &o, NULL);
    o.cpu = CFX_CPU_BEST;
    return st ? cfx_context_new(&t->ctx, &o, NULL) : CFX_OK;
}

static void try_seed(totals *all, random_model *m, uint64_t seed)
{
    static const how hows[] = {FLOAT,     FLOAT,   BFLOAT16, FLOAT,
                               QUANTIZED, SYMBOLS, INT8};
    trial t = {.m = m, .seed = seed};
    bool ran = false;
    t.how = hows[seed / 45 % (sizeof(hows) / sizeof(*hows))];
    if (!random_model_make(m, seed) || make_context(&t)) {
        all->refused++;
        return;
    }
    if (all->tell)
        fprintf(stderr, "%llu %s %s\n", (unsigned long long)seed, m->kind,
                names_of_how[t.how]);
    if (check(&t, &ran)) {
        all->passed[t.how]++;
    } else {
        *(ran ? &all->failed : &all->refused) += 1;
        if (ran || all->tell)
            printf("seed %llu, %s, %s, %s: %s\n", (unsigned long long)seed,
                   m->kind, names_of_how[t.how],
                   cfx_cpu_name(cfx_context_cpu(t.ctx)), t.why);
        if (ran)
            save(all, &t);
    }
    release(&t);
}

TEST_PROGRAM(random_models)
{
    static random_model m;
    totals all = {.failed = 0};
    uint64_t seed = 1;
    int count = 300, passed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v"))
            all.tell = true;
        else if (!strcmp(argv[i], "-n") && i + 1 < argc)
            count = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-s") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "-d") && i + 1 < argc)
            all.folder = argv[++i];
        else
            return 2;
    }
    for (int i = 0; i < count; i++)
        try_seed(&all, &m, seed + (uint64_t)i);
    for (int i = 0; i < NHOW; i++) {
        printf("%s: %d; ", names_of_how[i], all.passed[i]);
        passed += all.passed[i];
    }
    printf("cannot be run: %d\n%d passed, %d failed\n", all.refused, passed,
           all.failed);
    return all.failed || passed < 9 * count / 10;
}
