/*
 * pt2 -- models that torch.export.save wrote, with their weights.
 *
 * archive finds the files; schema reads the plain parts of the JSON; graph,
 * argument and outputs make the nodes; signature makes of them a graph that
 * runs, declared gives its inputs their types, and tree makes of its results
 * what the program returns; weights loads its numbers. Nothing of Python is
 * executed. Configured without libzip, reading fails with CFX_EUNSUPPORTED.
 */

#include "format/io.h"
#include "format/print.h"
#include "format/pt2/pt2_write.h"

#ifdef HAVE_LIBZIP
#include "format/pt2/pt2.h"

/* ---- The program ---- */

static cfx_status check_version(const json_t *program, cfx_error *err)
{
    const json_t *version = json_object_get(program, "schema_version");
    const json_t *major = json_is_object(version)
                              ? json_object_get(version, "major")
                              : NULL;

    /* The schemas 5 (torch 2.4) to 8 do not differ in what is read here. */
    if (json_is_integer(major) && json_integer_value(major) >= 5 &&
        json_integer_value(major) <= 8)
        return CFX_OK;
    return json_is_integer(major)
               ? cfx_fail(
                     err, CFX_EUNSUPPORTED,
                     "has version %lld of the schema, where cfx reads 5 to 8 (torch 2.4 and later)",
                     (long long)json_integer_value(major))
               : cfx_fail(err, CFX_EPARSE, "does not tell its version");
}

/* Is it of run_decompositions, not the IR that torch.export.export makes? */
static bool is_decomposed(const json_t *program)
{
    const json_t *list = json_object_get(program, "verifiers");
    const char *dialect = json_string_value(json_array_get(list, 0));

    return dialect && strcmp(dialect, "TRAINING") != 0;
}

static cfx_status read_program(cfx_module **out, cfx_context *ctx,
                               const json_t *program, cfx_error *err)
{
    cfx_pt2_graph g = {.ctx = ctx, .decomposed = is_decomposed(program)};
    cfx_module *gm = NULL;
    const json_t *module = NULL, *signature = NULL;
    cfx_status st = check_version(program, err);

    if (!st)
        st = cfx_pt2__member(&module, program, "graph_module", JSON_OBJECT,
                             err);
    if (!st)
        st = cfx_pt2__member(&g.json, module, "graph", JSON_OBJECT, err);
    if (!st)
        st = cfx_pt2__member(&signature, module, "signature", JSON_OBJECT,
                             err);
    if (!st)
        st = cfx_module_new_container(&gm, ctx, "GraphModule", err);
    g.owner = gm;
    if (!st)
        st = cfx_pt2__read_graph(&g, err);
    if (!st)
        st = cfx_pt2__unlift(&g, gm, signature, err);
    if (!st)
        st = cfx_pt2__declare(&g, program, err);
    if (!st)
        st = cfx_pt2__shape_result(&g, module, err);
    if (!st) {
        st = cfx_graph_module_new_take_both(out, ctx, gm, g.graph,
                                            "GraphModule", err);
        gm = NULL;
        g.graph = NULL;
    }
    cfx_pt2__graph_release(&g);
    cfx_module_unref(gm);
    return st;
}

/* ---- The file ---- */

/* The archive of a file, opened at the first call. */
static cfx_status open_archive(cfx_pt2_archive **out, cfx_model_file *f,
                               cfx_error *err)
{
    cfx_pt2_archive *a = *out = f->opened;

    if (a)
        return CFX_OK;
    a = cfx_alloc(f->file.ctx, sizeof(*a));
    if (!a)
        return cfx_no_memory(err);
    cfx_status st = cfx_pt2__open(a, &f->file, err);
    if (st)
        cfx_free(f->file.ctx, a, sizeof(*a));
    else
        *out = f->opened = a;
    return st;
}

static void pt2_close(cfx_model_file *f)
{
    if (!f->opened)
        return;
    cfx_pt2__close(f->opened);
    cfx_free(f->file.ctx, f->opened, sizeof(cfx_pt2_archive));
}

/* Does the reader use a file, or is it a note of the archive's writer? Others
 * are objects of C++ and Python, compiled code, and what users add. */
static bool is_read(const char *name)
{
    static const char *const known[] = {
        "archive_format",
        "archive_version",
        "byteorder",
        "version",
        ".data/",
        ".format_version",
        ".storage_alignment",
        "models/",
        "data/sample_inputs/",
        "data/weights/",
        "data/constants/tensor_",
        "serialized_exported_program.json",
        "serialized_state_dict.pt",
        "serialized_constants.pt",
        "serialized_example_inputs.pt",
    };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strncmp(name, known[i], strlen(known[i])))
            return true;
    return !strncmp(name, "data/constants/", 15) &&
           (strstr(name, "_config.json") || !strcmp(name + n - 3, ".pt"));
}

/* Name the files that are not read. */
static void add_unread(cfx_buf *text, const cfx_pt2_archive *a)
{
    size_t n = 0;

    for (size_t i = 0; i < a->files.cap; i++) {
        const cfx_map_entry *e = &a->files.entry[i];
        if (!e->key || is_read(e->key))
            continue;
        if (n++ < 3)
            cfx_buf_printf(text, "%s%.80s",
                           n > 1 ? ", " : ", not read: ", e->key);
    }
    if (n > 3)
        cfx_buf_printf(text, " and %zu more files", n - 3);
}

/* "schema 8.20, torch 2.13.0" */
static cfx_status set_version(cfx_model_file *f, const json_t *program,
                              cfx_error *err)
{
    const json_t *schema = json_object_get(program, "schema_version");
    const char *torch = json_string_value(
        json_object_get(program, "torch_version"));
    cfx_buf text;

    cfx_buf_init(&text, f->file.ctx);
    cfx_buf_printf(
        &text, "schema %lld.%lld",
        (long long)json_integer_value(json_object_get(schema, "major")),
        (long long)json_integer_value(json_object_get(schema, "minor")));
    if (torch)
        cfx_buf_printf(&text, ", %s%.60s",
                       strncmp(torch, "cfx ", 4) ? "torch " : "", torch);
    add_unread(&text, f->opened);
    cfx_status st = cfx_model__set_version(f, &text, err);
    cfx_buf_release(&text);
    return st;
}

/* ---- The format ---- */

static cfx_status pt2_read(cfx_module **out, cfx_model_file *f,
                           const cfx_load_options *o, cfx_error *err)
{
    cfx_pt2_archive *a;
    cfx_json json = {0};

    (void)o;
    *out = NULL;
    cfx_status st = open_archive(&a, f, err);
    if (!st)
        st = cfx_pt2__read_model(&json, a, err);
    if (!st)
        st = read_program(out, f->file.ctx, json.root, err);
    if (!st)
        st = set_version(f, json.root, err);
    if (json.root)
        cfx_json_release(&json);
    if (st)
        cfx_fail_at(err, "%s", f->path);
    return st;
}

static cfx_status pt2_read_weights(cfx_module *gm, cfx_model_file *f, bool map,
                                   cfx_error *err)
{
    cfx_pt2_archive *a;
    cfx_status st = open_archive(&a, f, err);

    if (!st && map)
        cfx_pt2__map(a, &f->file);
    if (!st)
        st = cfx_pt2__load(gm, a, err);
    if (st)
        cfx_fail_at(err, "%s", f->path);
    return st;
}

static cfx_status pt2_read_inputs(cfx_value *out, const cfx_module *gm,
                                  cfx_model_file *f, cfx_error *err)
{
    cfx_pt2_archive *a;
    cfx_status st = open_archive(&a, f, err);

    return st ? st : cfx_pt2__inputs(out, gm, a, err);
}

#else

static cfx_status pt2_read(cfx_module **out, cfx_model_file *f,
                           const cfx_load_options *o, cfx_error *err)
{
    (void)o;
    *out = NULL;
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "%s: cfx was built without libzip, which .pt2 needs",
                    f->path);
}

#define pt2_read_weights NULL
#define pt2_read_inputs NULL
#define pt2_close NULL

#endif

static bool pt2_probe(const unsigned char *head, size_t n)
{
    return n >= 4 &&
           (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
}

const cfx_model_format cfx_model_format__pt2 = {
    .base = {.name = "pt2",
             .suffix = ".pt2",
             .doc = "A model with its weights, as torch.export has it.",
             .probe = pt2_probe},
    .options = CFX_SAVE_ATEN,
    .read = pt2_read,
    .read_weights = pt2_read_weights,
    .write = cfx_pt2__write,
    .read_inputs = pt2_read_inputs,
    .close = pt2_close,
};
