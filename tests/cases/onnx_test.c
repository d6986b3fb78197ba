/*
 * onnx_test -- run cases of ONNX's test data, and compare the results.
 *
 *     onnx DIR...
 *
 * A case is a folder: model.onnx, and test_data_set_0, 1, ... with input_0.pb,
 * ..., output_0.pb, ... A file `tolerance` beside the model, two numbers, says
 * where a case is compared less closely than others. Inputs of few numbers that
 * decide shapes are taken as constants. Prints a line for each case that
 * failed, with the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/compare.h>
#include <cfx/file.h>
#include <cfx/interp.h>

#include "tests/cases/program.h"

/* Integers of at most so many elements may be taken as constants. Seconds after
 * which the program gives up. */
enum { MAX_VALUES = 64, CONSTANT_MAX = 64, TIMEOUT = 600 };

/* Those of the ONNX project. */
static const cfx_tolerance usual = {.given = true, .rtol = 1e-3, .atol = 1e-7};

/* The values of one data set. */
struct data {
    size_t nin, nout;
    cfx_value in[MAX_VALUES], out[MAX_VALUES];
};

static void data_release(struct data *d)
{
    for (size_t i = 0; i < d->nin; i++)
        cfx_value_unref(d->in[i]);
    for (size_t i = 0; i < d->nout; i++)
        cfx_value_unref(d->out[i]);
    *d = (struct data){0};
}

/* Read input_0.pb, input_1.pb, ..., or output_0.pb, ..., of a folder. */
static cfx_status read_values(cfx_context *ctx, const char *dir, int set,
                              bool output, cfx_value *v, size_t *n,
                              cfx_error *err)
{
    const char *kind = output ? "output" : "input";
    char path[4096], model[4096];

    snprintf(model, sizeof(model), "%s/model.onnx", dir);
    for (*n = 0; *n < MAX_VALUES; ++*n) {
        snprintf(path, sizeof(path), "%s/test_data_set_%d/%s_%zu.pb", dir, set,
                 kind, *n);
        if (access(path, F_OK))
            return CFX_OK;
        cfx_status st = cfx_onnx_value_read(&v[*n], ctx, model, output, *n,
                                            path, err);
        if (st)
            return st;
    }
    return cfx_fail(err, CFX_EUNSUPPORTED, "%s: has more than %d %ss", dir,
                    MAX_VALUES, kind);
}

static cfx_status data_read(struct data *d, cfx_context *ctx, const char *dir,
                            int set, cfx_error *err)
{
    *d = (struct data){0};
    cfx_status st = read_values(ctx, dir, set, false, d->in, &d->nin, err);

    if (!st)
        st = read_values(ctx, dir, set, true, d->out, &d->nout, err);
    if (st)
        data_release(d);
    return st;
}

static cfx_tolerance tolerance_of(const char *dir)
{
    cfx_tolerance t = usual;
    char path[4096];

    snprintf(path, sizeof(path), "%s/tolerance", dir);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lf %lf", &t.rtol, &t.atol) != 2)
        t = usual;
    if (f)
        fclose(f);
    return t;
}

/* ---- Running a case ---- */

static cfx_status compare(const struct data *d, cfx_value result,
                          const cfx_tolerance *t, cfx_error *err)
{
    bool one = d->nout == 1;
    size_t n = one ? 1 : cfx_value_is_seq(result) ? result.u.seq->len : 0;
    cfx_difference by;
    cfx_status st = CFX_OK;

    if (n != d->nout)
        return cfx_fail(err, CFX_EINVAL, "the model has %zu outputs, not %zu",
                        n, d->nout);
    for (size_t i = 0; i < n && !st; i++) {
        st = cfx_value_compare(&by, d->out[i],
                               one ? result : result.u.seq->item[i], t, err);
        if (!st && by.differs)
            st = cfx_fail(err, CFX_EINVAL, "output %zu: %s", i, by.text);
    }
    return st;
}

static cfx_status run_set(const char *dir, cfx_module *gm,
                          const struct data *d, cfx_error *err)
{
    const cfx_interp_options how = {.size = sizeof(how)};
    const cfx_tolerance t = tolerance_of(dir);
    cfx_value result = {0};
    cfx_interp it = {0};

    cfx_status st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &how, err);
    if (!st)
        st = cfx_interp_run(&it, d->in, d->nin, &result, err);
    if (!st)
        st = compare(d, result, &t, err);
    cfx_value_unref(result);
    cfx_interp_release(&it);
    return st;
}

static bool has_few(cfx_value v)
{
    return v.kind != CFX_TENSOR ||
           (v.u.tensor->rank < 2 &&
            cfx_tensor_numel(v.u.tensor) <= CONSTANT_MAX);
}

/* Find the inputs that may decide shapes: few numbers, which real models have as
 * constants, sequences and optional values. */
static void find_constants(const struct data *d, cfx_named_value *out)
{
    for (size_t i = 0; i < d->nin; i++)
        out[i] = (cfx_named_value){"",
                                   has_few(d->in[i]) ? d->in[i] : CFX_NOTHING};
}

static cfx_status load(cfx_context *ctx, cfx_module **out, const char *dir,
                       const cfx_named_value *constants, size_t n,
                       cfx_error *err)
{
    const cfx_load_options o = {
        .size = sizeof(o), .constants = constants, .nconstants = n};
    char path[4096];

    snprintf(path, sizeof(path), "%s/model.onnx", dir);
    return cfx_model_load(out, ctx, path, &o, err);
}

/* May a model that was not read with this status be read for certain inputs? */
static bool needs_inputs(cfx_status st)
{
    return st == CFX_EUNDECIDED || st == CFX_ESHAPE || st == CFX_EINVAL ||
           st == CFX_EUNSUPPORTED;
}

/* Load the model; where an input decides shapes, once more with those that may
 * as constants. */
static cfx_status load_for(cfx_context *ctx, cfx_module **out, const char *dir,
                           const struct data *d, cfx_error *err)
{
    cfx_named_value constants[MAX_VALUES];
    cfx_status st = load(ctx, out, dir, NULL, 0, err);

    if (!needs_inputs(st))
        return st;
    find_constants(d, constants);
    cfx_error_clear(err);
    return load(ctx, out, dir, constants, d->nin, err);
}

/* All data sets of a case; *nsets of them were found. */
static cfx_status run_case(cfx_context *ctx, const char *dir, int *nsets,
                           cfx_error *err)
{
    struct data d;
    cfx_status st = CFX_OK;

    for (*nsets = 0; !st; ++*nsets) {
        cfx_module *gm = NULL;
        char path[4096];
        snprintf(path, sizeof(path), "%s/test_data_set_%d", dir, *nsets);
        if (access(path, F_OK))
            return CFX_OK;
        st = data_read(&d, ctx, dir, *nsets, err);
        if (st)
            break;
        st = load_for(ctx, &gm, dir, &d, err);
        if (!st)
            st = run_set(dir, gm, &d, err);
        cfx_module_unref(gm);
        data_release(&d);
    }
    return st;
}

static const char *name_of(const char *dir)
{
    const char *slash = strrchr(dir, '/');

    return slash && slash[1] ? slash + 1 : dir;
}

TEST_PROGRAM(onnx)
{
    const cfx_options how = {.size = sizeof(how), .timeout = TIMEOUT};
    int passed = 0, failed = 0, skipped = 0;
    cfx_context *ctx;

    if (argc < 2 || cfx_context_new(&ctx, &how, NULL)) {
        fprintf(stderr, "usage: onnx DIR...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        cfx_error err = {0};
        int nsets = 0;
        cfx_status st = run_case(ctx, argv[i], &nsets, &err);
        if (st == CFX_ECANCEL || st == CFX_ELIMIT || st == CFX_ENOMEM) {
            fprintf(stderr, "%s: %s\n", name_of(argv[i]), err.text);
            return 2;
        }
        passed += !st && nsets;
        skipped += !st && !nsets;
        failed += st != CFX_OK;
        if (st)
            printf("FAIL %s: %s\n", name_of(argv[i]), err.text);
        else if (!nsets)
            printf("SKIP %s: no test_data_set_0\n", name_of(argv[i]));
    }
    cfx_context_free(ctx);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed > 0;
}
