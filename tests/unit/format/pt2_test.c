/*
 * pt2_test -- models that torch.export.save wrote run as PyTorch ran them, and
 * archives that are broken are refused. tests/oracle/pt2.py wrote the files.
 */
#include "tests/unit/format/file_test.h"

#include <math.h>

#include <cfx/interp.h>
#include <cfx/to_aten.h>

#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

#ifdef HAVE_LIBZIP

#include <zip.h>

/* ---- Running ---- */

static const char *golden(const char *name, const char *suffix)
{
    static char path[2][1024];
    static int next;

    next = !next;
    snprintf(path[next], sizeof(path[next]), "golden/pt2/%s%s", name, suffix);
    return data_path(path[next]);
}

static cfx_module *load(cfx_context *ctx, const char *path)
{
    cfx_module *gm = NULL;
    cfx_error err = {0};

    ck_assert_msg(!cfx_model_load(&gm, ctx, path, NULL, &err), "%s", err.text);
    return gm;
}

/* The inputs t0, t1, ... for the placeholders that have no default. */
static size_t fill_inputs(cfx_value *in, const cfx_module *gm,
                          const cfx_tensors *given)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    size_t n = 0, used = 0;
    char name[16];

    for (const cfx_node *p = cfx_graph_first(g); p; p = cfx_node_next(p)) {
        if (p->op != CFX_PLACEHOLDER)
            continue;
        if (p->nargs) {
            in[n++] = p->args[0];
            continue;
        }
        snprintf(name, sizeof(name), "t%zu", used++);
        in[n] = cfx_value_of_tensor(cfx_tensors_get(given, name));
        ck_assert_ptr_nonnull(in[n++].u.tensor);
    }
    return n;
}

static void assert_near(const cfx_tensor *have, const cfx_tensor *want)
{
    cfx_tensor *flat;

    ck_assert_int_eq(have->dtype, want->dtype);
    ck_assert_int_eq(have->rank, want->rank);
    for (int i = 0; i < have->rank; i++)
        ck_assert_int_eq(cfx_tensor_size(have, i), cfx_tensor_size(want, i));
    ck_assert_int_eq(cfx_tensor_contiguous(&flat, have, NULL), CFX_OK);
    for (int64_t i = 0; i < cfx_tensor_numel(flat); i++) {
        size_t at = (size_t)i * cfx_dtype_size((cfx_dtype)have->dtype);
        double x = cfx_element_double((cfx_dtype)have->dtype,
                                      (char *)flat->data + at);
        double y = cfx_element_double((cfx_dtype)have->dtype,
                                      (char *)want->data + at);
        ck_assert_msg(fabs(x - y) <= 1e-4 * fmax(1, fabs(y)), "%g, not %g", x,
                      y);
    }
    cfx_tensor_unref(flat);
}

/* The tensors and numbers of a result, in order, as PyTorch's. */
struct results {
    const cfx_tensors *want;
    size_t n;
    bool compare;
};

static cfx_status check_result(void *user, cfx_value v)
{
    struct results *r = user;
    char key[16];

    if (v.kind != CFX_TENSOR && v.kind != CFX_INT)
        return CFX_OK;
    snprintf(key, sizeof(key), "t%zu", r->n++);
    const cfx_tensor *want = cfx_tensors_get(r->want, key);
    ck_assert_ptr_nonnull(want);
    if (v.kind == CFX_INT)
        ck_assert_int_eq(*(const int64_t *)want->data, v.u.i);
    else if (r->compare)
        assert_near(v.u.tensor, want);
    return CFX_OK;
}

static void assert_runs(const char *file_name, const char *name, int times)
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden(file_name, ".pt2"));
    cfx_tensors given = {0}, want = {0};
    cfx_value in[8], out = cfx_none();
    cfx_error err = {0};
    cfx_interp it = {0};

    ck_assert(!cfx_safetensors_read(
        &given, ctx, golden(name, ".in.safetensors"), false, &err));
    ck_assert(!cfx_safetensors_read(
        &want, ctx, golden(name, ".out.safetensors"), false, &err));
    size_t n = fill_inputs(in, gm, &given);
    for (int k = 0; k < times; k++) {
        ck_assert_msg(!cfx_interp_init(&it, &cfx_interp_base, gm, &err), "%s",
                      err.text);
        ck_assert_msg(!cfx_interp_run(&it, in, n, &out, &err), "%s", err.text);
        struct results r = {&want, 0, k == 0};
        ck_assert(!cfx_value_visit(out, check_result, &r));
        ck_assert_uint_eq(r.n, want.n);
        cfx_value_unref(out);
        cfx_interp_release(&it);
    }
    cfx_tensors_release(&given);
    cfx_tensors_release(&want);
    cfx_module_unref(gm);
    free_context(ctx);
}

static const char *const names[] = {
    "mlp",       "tied",  "mutated",   "cond",  "views",
    "constants", "dicts", "structure", "sizes", "vmap"};
static const char *const all[] = {"mlp",      "tied",      "mutated", "cond",
                                  "views",    "constants", "dicts",   "sizes",
                                  "mlp_flat", "structure"};

TEST_EACH(pt2_runs_as_pytorch_does, COUNT(names))
{
    assert_runs(names[_i], names[_i], 1);
}

/* torch 2.1 to 2.7 wrote files without folders, and pickled the weights. */
TEST_CASE(pt2_reads_flat_archives_with_pickled_weights)
{
    assert_runs("mlp_flat", "mlp", 1);
}

/* ---- Graphs and weights ---- */

TEST_CASE(pt2_keeps_tied_weights_tied)
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden("tied", ".pt2"));
    cfx_value a, b;

    ck_assert(!cfx_module_fetch_attr(&a, gm, "embed.weight", NULL));
    ck_assert(!cfx_module_fetch_attr(&b, gm, "head.weight", NULL));
    ck_assert(cfx_tensor_shares(a.u.tensor, b.u.tensor));
    cfx_module_unref(gm);
    free_context(ctx);
}

/* The weights that are mapped are those that are read. */
TEST_EACH(pt2_maps_what_it_would_read, COUNT(names))
{
    cfx_context *ctx = make_context();
    cfx_load_options o = {.size = sizeof(o), .no_map = true};
    cfx_module *mapped = load(ctx, golden(names[_i], ".pt2")), *read;

    ck_assert(
        !cfx_model_load(&read, ctx, golden(names[_i], ".pt2"), &o, NULL));
    for (cfx_module *a = mapped, *b = read; a;
         a = cfx_module_next(a, mapped), b = cfx_module_next(b, read)) {
        ck_assert_uint_eq(cfx_module_nstate(a), cfx_module_nstate(b));
        for (size_t i = 0; i < cfx_module_nstate(a); i++) {
            cfx_tensor *x, *y;
            cfx_tensor_contiguous(&x, cfx_module_state_at(a, i)->tensor, NULL);
            cfx_tensor_contiguous(&y, cfx_module_state_at(b, i)->tensor, NULL);
            assert_near(x, y);
            cfx_tensor_unref(x);
            cfx_tensor_unref(y);
        }
    }
    cfx_module_unref(mapped);
    cfx_module_unref(read);
    free_context(ctx);
}

/* As ExportedProgram.module() does. */
TEST_CASE(pt2_drops_nodes_without_users_of_decomposed_programs)
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden("twice", ".pt2"));
    const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));

    for (; n; n = cfx_node_next(n))
        ck_assert_msg(n->op == CFX_OUTPUT || n->nusers > 0, "%s", n->name);
    cfx_module_unref(gm);
    free_context(ctx);
}

TEST_CASE(pt2_keeps_strides_types_and_flags_of_buffers)
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden("views", ".pt2"));
    cfx_value v;

    ck_assert(!cfx_module_fetch_attr(&v, gm, "turned", NULL));
    ck_assert_int_eq(cfx_tensor_stride(v.u.tensor, 0), 1);
    ck_assert(!cfx_module_fetch_attr(&v, gm, "wide", NULL));
    ck_assert_int_eq(cfx_tensor_stride(v.u.tensor, 1), 0);
    ck_assert(!cfx_module_fetch_attr(&v, gm, "scalar", NULL));
    ck_assert_int_eq(v.u.tensor->dtype, CFX_I32);
    cfx_module_unref(gm);
    gm = load(ctx, golden("mutated", ".pt2"));
    ck_assert(cfx_module_state(gm, "n")->persistent);
    ck_assert(!cfx_module_state(gm, "scale")->persistent);
    cfx_module_unref(gm);
    free_context(ctx);
}

TEST_CASE(pt2_knows_the_modules_of_its_nodes)
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden("tied", ".pt2"));
    const cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), "linear");

    ck_assert_ptr_nonnull(n);
    cfx_value stack = cfx_node_meta(n, "nn_module_stack");
    ck_assert_int_eq(stack.kind, CFX_DICT);
    cfx_value last = stack.u.seq->item[stack.u.seq->len - 1];
    ck_assert_str_eq(last.u.seq->item[0].u.str->text, "head");
    ck_assert_str_eq(last.u.seq->item[1].u.str->text,
                     "torch.nn.modules.linear.Linear");
    cfx_module_unref(gm);
    free_context(ctx);
}

TEST_CASE(pt2_loads_no_weights_when_told)
{
    cfx_context *ctx = make_context();
    cfx_load_options o = {.size = sizeof(o), .no_weights = true};
    cfx_module *gm;
    cfx_value v;

    ck_assert(!cfx_model_load(&gm, ctx, golden("mlp", ".pt2"), &o, NULL));
    ck_assert(!cfx_module_fetch_attr(&v, gm, "0.weight", NULL));
    ck_assert(cfx_tensor_is_meta(v.u.tensor));
    ck_assert_int_eq(cfx_tensor_size(v.u.tensor, 0), 8);
    cfx_module_unref(gm);
    free_context(ctx);
}

TEST_CASE(pt2_lists_its_inputs_with_their_types_and_samples)
{
    cfx_context *ctx = make_context();
    cfx_model_file *f, *none;
    cfx_module *gm;
    cfx_model_inputs in = {0};
    cfx_error err = {0};
    size_t n = 0;

    ck_assert(!cfx_model_file_open(&f, ctx, golden("dicts", ".pt2"), NULL));
    ck_assert(!cfx_model_file_open(&none, ctx, "none.pt2", NULL));
    ck_assert_str_eq(cfx_model_file_format(none)->base.name, "pt2");
    ck_assert_str_eq(cfx_model_file_version(f), "");
    ck_assert(!cfx_model_file_load(&gm, f, NULL, &err));
    ck_assert_ptr_nonnull(strstr(cfx_model_file_version(f), "schema "));
    ck_assert_msg(!cfx_model_inputs_list(&in, gm, f, &err), "%s", err.text);
    for (size_t i = 0; i < in.n; i++) {
        ck_assert_int_eq(in.item[i].node->op, CFX_PLACEHOLDER);
        ck_assert_int_ne(in.item[i].name[0], '*');
        n += in.item[i].sample.kind == CFX_TENSOR;
        if (in.item[i].sample.kind != CFX_TENSOR)
            continue;
        ck_assert_int_eq(in.item[i].type.kind, CFX_TENSOR);
        ck_assert(cfx_tensor_is_meta(in.item[i].type.u.tensor));
        ck_assert_int_eq(in.item[i].type.u.tensor->rank,
                         in.item[i].sample.u.tensor->rank);
    }
    ck_assert_uint_gt(n, 0);
    cfx_model_inputs_release(&in);
    ck_assert(!cfx_model_inputs_list(&in, gm, NULL, &err));
    ck_assert_uint_ge(in.n, n);
    ck_assert_int_eq(in.item[0].sample.kind, CFX_ABSENT);
    cfx_model_inputs_release(&in);
    cfx_model_inputs_release(&in);
    ck_assert_int_eq(cfx_model_inputs_list(&in, gm, none, &err), CFX_EIO);
    cfx_model_inputs_release(&in);
    cfx_model_file_close(none);
    cfx_model_file_close(f);
    cfx_module_unref(gm);
    free_context(ctx);
}

/* ---- Broken files ---- */

static void assert_refused(cfx_context *ctx, const char *path,
                           const char *words)
{
    cfx_module *gm;
    cfx_error err = {0};

    ck_assert_int_ne(cfx_model_load(&gm, ctx, path, NULL, &err), CFX_OK);
    ck_assert_ptr_null(gm);
    assert_text(&err, path, words);
}

TEST_CASE(pt2_says_what_to_do_with_torchscript)
{
    cfx_context *ctx = make_context();

    assert_refused(ctx, golden("torchscript", ".pt"), "torch.export.save");
    free_context(ctx);
}

static size_t get_golden(const char *name, unsigned char *bytes, size_t room)
{
    return get(golden(name, ".pt2"), bytes, room);
}

TEST_CASE(pt2_refuses_every_truncation)
{
    cfx_context *ctx = make_context();
    static unsigned char bytes[1 << 16];
    size_t n = get_golden("tied", bytes, sizeof(bytes));
    const char *path = file("cut.pt2");

    for (size_t len = 0; len < n; len += len < n - 64 ? 37 : 1) {
        put(path, bytes, len);
        assert_refused(ctx, path, "");
    }
    free_context(ctx);
}

/* Load what may be broken: with an error, or without. */
static void load_any(cfx_context *ctx, const char *path)
{
    cfx_module *gm;
    cfx_error err = {0};

    if (cfx_model_load(&gm, ctx, path, NULL, &err))
        assert_text(&err, path, "");
    cfx_module_unref(gm);
}

TEST_EACH(pt2_survives_bytes_that_are_changed, COUNT(all))
{
    cfx_context *ctx = make_context();
    static unsigned char bytes[1 << 16];
    size_t n = get_golden(all[_i], bytes, sizeof(bytes));
    const char *path = file("changed.pt2");

    for (int k = 0; k < 300; k++) {
        uint32_t i = chance((uint32_t)n);
        unsigned char was = bytes[i];
        bytes[i] = (unsigned char)chance(256);
        put(path, bytes, n);
        load_any(ctx, path);
        bytes[i] = was;
    }
    free_context(ctx);
}

TEST_EACH(pt2_gives_all_back_where_memory_is_lacking, COUNT(all))
{
    cfx_context *ctx = make_context();
    const char *path = golden(all[_i], ".pt2");
    cfx_module *gm;
    cfx_error err = {0};
    long n = 0;

    for (;; n++) {
        err = (cfx_error){0};
        calls_left = n;
        cfx_status st = cfx_model_load(&gm, ctx, path, NULL, &err);
        calls_left = -1;
        if (!st)
            break;
        ck_assert_msg(st == CFX_ENOMEM, "%ld: %s", n, err.text);
        ck_assert_ptr_null(gm);
    }
    ck_assert_int_gt(n, 20);
    cfx_module_unref(gm);
    free_context(ctx);
}

/* ---- Writing ---- */

/* Retrace a model for inputs of the types that its file tells. */
static cfx_status retrace(cfx_module **out, cfx_module *gm, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_shape_env *env = NULL;
    cfx_value in[8];
    size_t n = 0;

    for (const cfx_node *p = cfx_graph_first(g); p; p = cfx_node_next(p))
        if (p->op == CFX_PLACEHOLDER)
            in[n++] = p->nargs ? p->args[0] : cfx_node_declared(p);
    *out = NULL;
    cfx_status st = cfx_shape_env_new(&env, cfx_module_context(gm), err);
    if (!st)
        st = cfx_to_aten(out, gm, env, in, n, err);
    cfx_shape_env_free(env);
    return st;
}

TEST_EACH(retracing_gives_all_back_where_memory_is_lacking, COUNT(all))
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden(all[_i], ".pt2")), *made = NULL;
    cfx_status st = CFX_ENOMEM;
    cfx_error err = {0};

    for (long n = 0; st; n++) {
        err = (cfx_error){0};
        calls_left = n;
        st = retrace(&made, gm, &err);
        calls_left = -1;
        /* Extents for which memory lacks are bad ones: other errors. */
        ck_assert_msg(!st || st == CFX_ENOMEM || !strcmp(all[_i], "sizes"),
                      "%ld: %s", n, err.text);
        ck_assert(!st || !made);
    }
    cfx_module_unref(made);
    cfx_module_unref(gm);
    free_context(ctx);
}

TEST_EACH(writing_pt2_gives_all_back_where_memory_is_lacking, COUNT(all))
{
    cfx_context *ctx = make_context();
    cfx_module *gm = load(ctx, golden(all[_i], ".pt2")), *made = NULL;
    const char *path = file("written.pt2");
    cfx_status st = CFX_ENOMEM;
    cfx_error err = {0};

    ck_assert_msg(!retrace(&made, gm, &err), "%s", err.text);
    for (long n = 0; st; n++) {
        err = (cfx_error){0};
        calls_left = n;
        st = cfx_model_save(path, made, NULL, &err);
        calls_left = -1;
        ck_assert_msg(!st || st == CFX_ENOMEM, "%ld: %s", n, err.text);
        ck_assert(!st || access(path, F_OK));
    }
    cfx_module_unref(made);
    cfx_module_unref(gm);
    gm = load(ctx, path);
    cfx_module_unref(gm);
    unlink(path);
    free_context(ctx);
}

/* ---- Bombs ---- */

/* A file of torch.save with that pickle, and one storage of a float. */
static const char *make_torch(const char *name, const void *pickle, size_t len,
                              int method)
{
    const char *path = file(name);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    zip_source_t *p = zip_source_buffer(zip, pickle, len, 0);
    zip_source_t *storage = zip_source_buffer(zip, "\0\0\0\0", 4, 0);

    zip_int64_t at = zip_file_add(zip, "m/data.pkl", p, 0);
    ck_assert_int_ge(at, 0);
    zip_set_file_compression(zip, (zip_uint64_t)at, method, 9);
    ck_assert_int_ge(zip_file_add(zip, "m/data/0", storage, 0), 0);
    ck_assert_int_eq(zip_close(zip), 0);
    return path;
}

static cfx_status keep_none(void *user, const cfx_tensors *tensors,
                            const char *path, cfx_error *err)
{
    (void)user;
    (void)tensors;
    (void)path;
    (void)err;
    return CFX_OK;
}

static void assert_torch(const char *path, cfx_status want)
{
    cfx_context *ctx = make_context();
    cfx_error err = {0};
    cfx_status st = cfx_tensors_visit(ctx, path, false, keep_none, NULL, &err);

    ck_assert_msg(st == want, "%s: %s", path, err.text);
    ck_assert_uint_lt(cfx_context_peak_memory(ctx), 4u << 20);
    free_context(ctx);
}

static char *put_bytes(char *to, const char *s, size_t len, int times)
{
    for (; times > 0; times--, to += len)
        memcpy(to, s, len);
    return to;
}

#define PUT(to, s, times) put_bytes(to, s, sizeof(s) - 1, times)

/* A tensor of one number is in the memo at 1, a key of `len` letters at 0. */
static char *put_tensor(char *to, unsigned char len)
{
    to = PUT(to, "\x80\2\x8c", 1);
    *to++ = (char)len;
    memset(to, 'k', len);
    return PUT(to + len,
               "q\0ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storage"
               "ctorch\nFloatStorage\nX\1\0\0\0"
               "0X\3\0\0\0cpuK\1tQK\0"
               "K\1\x85K\1\x85\x89tRq\1",
               1);
}

/* A few kilobytes that would become many values, or long names. */
TEST_CASE(pt2_refuses_pickles_that_multiply)
{
    enum { MANY = 4000000 };
    char *pickle = malloc(MANY + 1000), *to;

    ck_assert_ptr_nonnull(pickle);
    to = put_tensor(pickle, 3);
    to = PUT(to, "}(h\0h\1u.", 1);
    assert_torch(
        make_torch("sound.pt", pickle, (size_t)(to - pickle), ZIP_CM_STORE),
        CFX_OK);
    to = PUT(pickle, "\x80\2(", 1);
    to = PUT(PUT(to, "N", MANY), "t.", 1);
    assert_torch(make_torch("inflated.pt", pickle, (size_t)(to - pickle),
                            ZIP_CM_DEFLATE),
                 CFX_ELIMIT);
    /* Dicts of the same dict twice. */
    to = put_tensor(pickle, 3);
    to = PUT(to, "}h\0h\1sq\2", 1);
    to = PUT(to, "}(h\0h\2X\1\0\0\0bh\2uq\2", 40);
    to = PUT(to, ".", 1);
    assert_torch(
        make_torch("twice.pt", pickle, (size_t)(to - pickle), ZIP_CM_STORE),
        CFX_ELIMIT);
    /* Many tensors in nested dicts, whose names are much longer than the
     * file. */
    to = put_tensor(pickle, 255);
    to = PUT(PUT(PUT(to, "}(", 1), "h\0h\1", 2000), "u", 1);
    to = PUT(PUT(to, "q\2}h\0h\2s", 60), ".", 1);
    assert_torch(
        make_torch("long.pt", pickle, (size_t)(to - pickle), ZIP_CM_STORE),
        CFX_ELIMIT);
    free(pickle);
}

#endif

TEST_SUITE(pt2, .setup_once = make_place, .teardown_once = remove_place,
           .timeout = 120)
