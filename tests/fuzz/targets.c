/* targets -- each reader behind one function. */
#define _GNU_SOURCE 1
#include "tests/fuzz/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef HAVE_LIBZIP
#include <zip.h>
#endif

#include <cfx/dim.h>
#include <cfx/file.h>
#include <cfx/graph_module.h>
#include <cfx/machine.h>
#include <cfx/shape_prop.h>
#include <cfx/text.h>

#include "base/context_impl.h"
#include "format/io.h"

/* ---- Contexts ---- */

/* Beyond these a reader is to fail with CFX_ELIMIT or CFX_ENOMEM. */
#define MOST_MEMORY ((size_t)128 << 20)
#define MOST_SECONDS 5

/* Filling the registries of a context takes longer than most inputs. */
enum { INPUTS_OF_CONTEXT = 256 };

static cfx_context *shared;
static int ninputs; /* that the context served */

cfx_context *fuzz_context(void)
{
    const cfx_options o = {.size = sizeof(o),
                           .threads = 1,
                           .max_memory = MOST_MEMORY,
                           .timeout = MOST_SECONDS};

    if (!shared && cfx_context_new(&shared, &o, NULL))
        abort();
    shared->deadline = cfx_clock_ns() + (int64_t)MOST_SECONDS * 1000000000;
    shared->has_batches = shared->device_noted = false;
    cfx_context_seed(shared, 0);
    return shared;
}

void fuzz_context_done(cfx_context *ctx)
{
    if (++ninputs < INPUTS_OF_CONTEXT)
        return;
    cfx_context_free(ctx);
    shared = NULL;
    ninputs = 0;
}

/* ---- What was printed ---- */

typedef struct text {
    char *data;
    size_t len;
} text;

static cfx_status append(void *user, const char *data, size_t len)
{
    text *t = user;
    char *more = realloc(t->data, t->len + len + 1);

    if (!more)
        abort();
    memcpy(more + t->len, data, len);
    t->data = more;
    t->len += len;
    more[t->len] = '\0';
    return CFX_OK;
}

static cfx_sink sink_of(text *t)
{
    *t = (text){NULL};
    return (cfx_sink){append, t};
}

/* Both were printed by what was read of the other: they are one. */
static void must_be_same(const text *a, const text *b)
{
    if (a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len)))
        return;
    fprintf(stderr, "printed and read again:\n%s\n---- then:\n%s\n",
            a->data ? a->data : "", b->data ? b->data : "");
    abort();
}

/* ---- Text ---- */

/* Print a model, read that, and print the same. */
static void print_twice(cfx_context *ctx, const cfx_module *gm)
{
    cfx_module *again = NULL;
    cfx_error err = {0};
    text a = {NULL}, b = {NULL};

    if (!cfx_print_model(sink_of(&a), gm, true, &err)) {
        if (cfx_parse_model(&again, ctx, a.data, a.len, "again", &err)) {
            if (err.code != CFX_ELIMIT && err.code != CFX_ENOMEM) {
                fprintf(stderr, "%s\n%s\n", err.text, a.data);
                abort();
            }
        } else if (!cfx_print_model(sink_of(&b), again, true, &err)) {
            must_be_same(&a, &b);
        }
    }
    free(a.data);
    free(b.data);
    cfx_module_unref(again);
}

static void read_model(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_module *gm = NULL;

    if (!cfx_parse_model(&gm, ctx, (const char *)data, size, "m", NULL))
        print_twice(ctx, gm);
    cfx_module_unref(gm);
    fuzz_context_done(ctx);
}

static void read_python(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_module *gm = NULL;
    text code;

    if (!cfx_parse_python(&gm, ctx, (const char *)data, size, "m", NULL)) {
        print_twice(ctx, gm);
        cfx_print_readable(sink_of(&code), gm, NULL);
        free(code.data);
    }
    cfx_module_unref(gm);
    fuzz_context_done(ctx);
}

/* The first line tells the inputs, as cfx shapes -i takes them; the rest is a
 * model. */
static void propagate(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t line = end ? (size_t)(end - data) : size;
    cfx_context *ctx = fuzz_context();
    cfx_shape_env *env = NULL;
    cfx_module *gm = NULL;
    cfx_value in = cfx_none(), out = cfx_none();
    cfx_error err = {0};
    text t = {NULL};

    if (end && !cfx_shape_env_new(&env, ctx, &err) &&
        !cfx_parse_shape(&in, ctx, env, (const char *)data, line, &err) &&
        !cfx_parse_model(&gm, ctx, (const char *)end + 1, size - line - 1, "m",
                         &err)) {
        if (!cfx_propagate_shapes(gm, env, &in, 1, &out, &err))
            cfx_print_annotated(sink_of(&t), gm, &err);
    }
    free(t.data);
    cfx_value_unref(in);
    cfx_value_unref(out);
    cfx_module_unref(gm);
    cfx_shape_env_free(env);
    fuzz_context_done(ctx);
}

static void read_value(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_value v = cfx_none(), again = cfx_none();
    text a = {NULL}, b = {NULL};

    if (!cfx_parse_value(&v, ctx, (const char *)data, size, NULL) &&
        !cfx_print_value(sink_of(&a), v, CFX_STYLE_LOSSLESS, NULL)) {
        if (cfx_parse_value(&again, ctx, a.data, a.len, NULL) ||
            cfx_print_value(sink_of(&b), again, CFX_STYLE_LOSSLESS, NULL))
            abort();
        must_be_same(&a, &b);
    }
    free(a.data);
    free(b.data);
    cfx_value_unref(v);
    cfx_value_unref(again);
    fuzz_context_done(ctx);
}

static void read_shape(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_shape_env *env = NULL;
    cfx_value v = cfx_none();
    text t = {NULL};

    if (!cfx_shape_env_new(&env, ctx, NULL) &&
        !cfx_parse_shape(&v, ctx, env, (const char *)data, size, NULL))
        cfx_print_shape(sink_of(&t), v, true, NULL);
    free(t.data);
    cfx_value_unref(v);
    cfx_shape_env_free(env);
    fuzz_context_done(ctx);
}

static bool is_known_less(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return cfx_dim_known_le(env, cfx_dim_add(env, a, cfx_dim_int(1)), b);
}

/* The text of an extent is parsed as an extent that is not known to differ:
 * guards of the first parse may simplify the second. */
static void read_extent(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_shape_env *env = NULL;
    char *s = malloc(size + 1), printed[4096];
    cfx_dim d, again;

    if (!s)
        abort();
    memcpy(s, data, size);
    s[size] = '\0';
    if (!cfx_shape_env_new(&env, ctx, NULL) &&
        !cfx_dim_parse(&d, env, s, NULL) &&
        cfx_dim_format(d, printed, sizeof(printed)) < sizeof(printed) &&
        !cfx_dim_parse(&again, env, printed, NULL) &&
        (is_known_less(env, d, again) || is_known_less(env, again, d))) {
        fprintf(stderr, "%s is not %s\n", s, printed);
        abort();
    }
    free(s);
    cfx_shape_env_free(env);
    fuzz_context_done(ctx);
}

/* ---- Tensors ---- */

/* Read each number, so that all of them are there. */
static void touch(const cfx_tensors *list)
{
    for (size_t i = 0; i < list->n; i++) {
        cfx_value v = cfx_value_of_tensor(list->item[i].tensor);
        text t;
        if (cfx_tensor_numel(v.u.tensor) > 4096)
            continue;
        cfx_print_value(sink_of(&t), v, CFX_STYLE_REPR, NULL);
        free(t.data);
    }
}

static void read_safetensors(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_tensors list = {0};

    for (int borrow = 0; borrow < 2; borrow++) {
        if (!cfx_safetensors_parse(&list, ctx, data, size, borrow, NULL)) {
            touch(&list);
            cfx_tensors_release(&list);
        }
    }
    fuzz_context_done(ctx);
}

/* A file that has the bytes: its path, and its descriptor to close. */
static int file_of(char path[64], const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void read_npy(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    char path[64];
    int fd = file_of(path, data, size);
    cfx_tensor *t;

    if (!cfx_npy_read(&t, ctx, path, NULL)) {
        cfx_named_tensor item = {"x", t};
        touch(&(cfx_tensors){ctx, 1, &item});
        cfx_tensor_unref(t);
    }
    close(fd);
    fuzz_context_done(ctx);
}

static void read_npz(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    char path[64];
    int fd = file_of(path, data, size);
    cfx_tensors list = {0};

    if (!cfx_npz_read(&list, ctx, path, NULL)) {
        touch(&list);
        cfx_tensors_release(&list);
    }
    close(fd);
    fuzz_context_done(ctx);
}

/* ---- Models with weights ---- */

#ifdef HAVE_LIBZIP

typedef struct entry {
    const char *name;
    const void *data;
    size_t size;
} entry;

/* A zip archive in memory, for free(). */
static uint8_t *pack(size_t *size, const entry *e, size_t n)
{
    zip_source_t *s = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_t *zip = s ? zip_open_from_source(s, ZIP_TRUNCATE, NULL) : NULL;

    if (!zip)
        abort();
    zip_source_keep(s);
    for (size_t i = 0; i < n; i++) {
        zip_source_t *from = zip_source_buffer(zip, e[i].data, e[i].size, 0);
        if (zip_file_add(zip, e[i].name, from, 0) != (zip_int64_t)i ||
            zip_set_file_compression(zip, i, ZIP_CM_STORE, 0))
            abort();
    }
    if (zip_close(zip) || zip_source_open(s) ||
        zip_source_seek(s, 0, SEEK_END))
        abort();
    *size = (size_t)zip_source_tell(s);
    uint8_t *out = malloc(*size + 1);
    if (!out || zip_source_seek(s, 0, SEEK_SET) ||
        zip_source_read(s, out, *size) != (zip_int64_t)*size)
        abort();
    zip_source_close(s);
    zip_source_free(s);
    return out;
}

/* A model with one parameter, `w`. */
static const char one_parameter[] =
    "{\"schema_version\":{\"major\":8},\"graph_module\":{\"graph\":{"
    "\"inputs\":[{\"as_tensor\":{\"name\":\"p\"}}],\"outputs\":[],"
    "\"nodes\":[],\"tensor_values\":{\"p\":{\"dtype\":7,\"sizes\":[{"
    "\"as_int\":2}],\"strides\":[{\"as_int\":1}],\"layout\":7}}},"
    "\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":"
    "\"p\"},\"parameter_name\":\"w\"}}],\"output_specs\":[]}}}";

/* An archive of torch 2.7 whose weights are pickled so. */
static uint8_t *pack_pickle(size_t *size, const uint8_t *data, size_t len)
{
    static const float numbers[4] = {1, 2, 3, 4};
    const entry weights[] = {{"a/data.pkl", data, len},
                             {"a/data/0", numbers, sizeof(numbers)}};
    size_t inner_size;
    uint8_t *inner = pack(&inner_size, weights, 2);
    const entry files[] = {{"serialized_exported_program.json", one_parameter,
                            sizeof(one_parameter) - 1},
                           {"serialized_state_dict.pt", inner, inner_size}};
    uint8_t *out = pack(size, files, 2);

    free(inner);
    return out;
}

/* The graph that was read is well-formed, and can be printed. */
static void read_archive(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    char path[64];
    int fd = file_of(path, data, size);
    cfx_module *gm = NULL;
    text t;

    if (!cfx_model_load(&gm, ctx, path, NULL, NULL)) {
        if (cfx_graph_lint(cfx_graph_module_graph(gm), NULL) == CFX_EGRAPH)
            abort();
        cfx_print_model(sink_of(&t), gm, true, NULL);
        free(t.data);
        fuzz_walk_take(ctx, gm, data, size);
    }
    close(fd);
    fuzz_context_done(ctx);
}

/* An archive; or, since random changes of one fail its checksums, the JSON or
 * the pickle in one. */
static void read_pt2(const uint8_t *data, size_t size)
{
    const entry files[] = {{"m/archive_format", "pt2", 3},
                           {"m/models/model.json", data, size}};
    size_t packed;
    uint8_t *archive;

    if (size > 1 && data[0] == 'P' && data[1] == 'K') {
        read_archive(data, size);
        return;
    }
    archive = size && data[0] == 0x80 ? pack_pickle(&packed, data, size)
                                      : pack(&packed, files, 2);
    read_archive(archive, packed);
    free(archive);
}

#endif

/* ---- ONNX ---- */

/* A model that is read is printed. */
static void read_onnx(const uint8_t *data, size_t size)
{
#ifdef HAVE_ONNX
    cfx_context *ctx = fuzz_context();
    cfx_module *gm = NULL;
    char path[64];
    int fd = file_of(path, data, size);
    cfx_error err = {0};
    text t;

    cfx_model_file *f;
    if (cfx_model_file_open(&f, ctx, path, &err))
        abort();
    if (!cfx_model_format__onnx.read(&gm, f, &(cfx_load_options){0}, &err)) {
        cfx_print_graph(sink_of(&t), cfx_graph_module_graph(gm), false, NULL);
        free(t.data);
        fuzz_walk_take(ctx, gm, data, size);
    } else if (!*err.text) {
        abort();
    }
    cfx_model_file_close(f);
    close(fd);
    fuzz_context_done(ctx);
#else
    (void)data;
    (void)size;
#endif
}

/* ---- JSON ---- */

static void read_machine(const uint8_t *data, size_t size)
{
    cfx_context *ctx = fuzz_context();
    cfx_machine *m = NULL, *again = NULL;
    text a = {NULL}, b = {NULL};

    if (!cfx_machine_parse(&m, ctx, (const char *)data, size, NULL) &&
        !cfx_print_machine(sink_of(&a), m, NULL)) {
        if (cfx_machine_parse(&again, ctx, a.data, a.len, NULL) ||
            cfx_print_machine(sink_of(&b), again, NULL))
            abort();
        must_be_same(&a, &b);
    }
    free(a.data);
    free(b.data);
    cfx_machine_free(m);
    cfx_machine_free(again);
    fuzz_context_done(ctx);
}

const fuzz_target fuzz_targets[] = {
    {"model", read_model, NULL},
    {"shapes", propagate, NULL},
    {"value", read_value, NULL},
    {"shape", read_shape, NULL},
    {"extent", read_extent, NULL},
    {"safetensors", read_safetensors, NULL},
    {"npy", read_npy, NULL},
    {"npz", read_npz, NULL},
    {"machine", read_machine, NULL},
#ifdef HAVE_LIBZIP
    {"pt2", read_pt2, NULL},
#endif
    {"onnx", read_onnx, NULL},
    {"python", read_python, NULL},
    {"whole", fuzz_whole, fuzz_change_text},
    {NULL, NULL, NULL},
};

const fuzz_target *fuzz_target_find(const char *name)
{
    const fuzz_target *t = fuzz_targets;

    while (t->name && strcmp(t->name, name))
        t++;
    return t->name ? t : NULL;
}
