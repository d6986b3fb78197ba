/*
 * pt2_archive -- the files of a .pt2: which there are, and which is the model.
 *
 * torch 2.8 and later write a folder whose file `archive_format` says "pt2";
 * torch 2.1 to 2.7 write a few files without a folder. Either is told by the
 * names in the archive, not by the name of the file.
 */
#include "format/pt2/pt2.h"

#define FLAT_MODEL "serialized_exported_program.json"

/* ---- Kinds of archives ---- */

static bool has(const cfx_pt2_archive *a, const char *name)
{
    return cfx_map_get(&a->files, name, strlen(name)) != NULL;
}

/* Say what an archive is that is no .pt2. */
static cfx_status refuse(const cfx_pt2_archive *a, cfx_error *err)
{
    if (has(a, "data.pkl") && has(a, "constants.pkl"))
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "is TorchScript (torch.jit.save): export the model in Python with torch.export.save(torch.export.export(model, (x,)), \"m.pt2\")");
    if (has(a, "data.pkl"))
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "has tensors without a graph (torch.save): export the model in Python with torch.export.save(torch.export.export(model, (x,)), \"m.pt2\")");
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "is a zip archive, but not of torch.export.save");
}

static cfx_status check_file(cfx_pt2_archive *a, const char *name,
                             const char *wanted, cfx_error *err)
{
    cfx_bytes b;
    cfx_status st = cfx_pt2__read(&b, a, name, err);

    if (st)
        return st;
    size_t n = strlen(wanted);
    if (b.len < n || memcmp(b.data, wanted, n) ||
        (b.len > n && b.data[n] != '\n'))
        st = cfx_fail(
            err, CFX_EUNSUPPORTED, "%s is '%.*s', where cfx reads '%s'", name,
            (int)(b.len < 32 ? b.len : 32), (const char *)b.data, wanted);
    cfx_bytes_release(&b);
    return st;
}

static cfx_status check_byte_order(cfx_pt2_archive *a, cfx_error *err)
{
    cfx_bytes b;

    if (!has(a, "byteorder"))
        return CFX_OK;
    cfx_status st = cfx_pt2__read(&b, a, "byteorder", err);
    if (st)
        return st;
    bool little = b.len == 6 && !memcmp(b.data, "little", 6);
    if (!little && (b.len != 3 || memcmp(b.data, "big", 3) != 0))
        st = cfx_fail(err, CFX_EPARSE, "byteorder is neither little nor big");
    a->swapped = little != cfx_little_endian();
    cfx_bytes_release(&b);
    return st;
}

/* ---- The model ---- */

static bool is_model(const char *name, size_t len)
{
    return len > 12 && !memcmp(name, "models/", 7) &&
           !memcmp(name + len - 5, ".json", 5);
}

/* The model's name: "model", or that of the only one. */
static cfx_status find_model(cfx_pt2_archive *a, cfx_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < a->files.cap; i++) {
        const cfx_map_entry *e = &a->files.entry[i];
        if (!e->key || !e->v.p || !is_model(e->key, e->len))
            continue;
        if (n++ == 0 || (e->len == 17 && !memcmp(e->key + 7, "model", 5))) {
            a->model = e->key + 7;
            a->model_len = e->len - 12;
        }
    }
    if (!n)
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "has no models/*.json: archives of compiled code (AOTInductor) hold no graph; export the model with torch.export.save");
    if (n > 1 && (a->model_len != 5 || memcmp(a->model, "model", 5) != 0))
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "has %zu models, and none is called 'model'", n);
    return CFX_OK;
}

static cfx_status find_kind(cfx_pt2_archive *a, cfx_error *err)
{
    a->flat = has(a, FLAT_MODEL);
    if (a->flat)
        return CFX_OK;
    if (!has(a, "archive_format"))
        return refuse(a, err);
    cfx_status st = check_file(a, "archive_format", "pt2", err);
    if (!st && has(a, "archive_version"))
        st = check_file(a, "archive_version", "0", err);
    if (!st)
        st = check_byte_order(a, err);
    return st ? st : find_model(a, err);
}

/* ---- The list of files ---- */

/* The length of the root folder's name with its slash: that of the first
 * entry; 0 if it is not in a folder. */
static size_t root_of(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash ? (size_t)(slash - name) + 1 : 0;
}

/* Flat archives have folders, too (extra_files/), but not around all. */
static cfx_status list_files(cfx_pt2_archive *a, cfx_error *err)
{
    const char *first = NULL, *name;
    size_t root = 0;
    cfx_status st = CFX_OK;

    a->file = cfx_calloc(a->zip.ctx, a->zip.n, sizeof(*a->file));
    if (!a->file && a->zip.n)
        return cfx_no_memory(err);
    for (size_t i = 0; i < a->zip.n && !st; i++) {
        bool added = false;
        a->file[i].index = i;
        st = cfx_zip_entry(&name, &a->file[i].size, &a->zip, i, err);
        if (!st)
            st = cfx_zip_check_name(name, err);
        if (st)
            return st;
        if (!first) {
            first = name;
            root = strncmp(name, "extra_files/", 12) ? root_of(name) : 0;
        }
        if (strncmp(name, first, root) != 0)
            return cfx_fail(err, CFX_EPARSE,
                            "has '%s' outside of the folder '%.*s'", name,
                            (int)root, first);
        cfx_map_entry *e = cfx_map_put(&a->files, name + root,
                                       strlen(name + root), &added);
        if (!e)
            return cfx_no_memory(err);
        if (!added)
            return cfx_fail(err, CFX_EPARSE, "has '%s' twice", name);
        e->v.p = &a->file[i];
    }
    return st;
}

/* Go on with an archive that was opened with the status `st`. */
static cfx_status open_kind(cfx_pt2_archive *a, cfx_context *ctx,
                            cfx_status (*find)(cfx_pt2_archive *a,
                                               cfx_error *err),
                            cfx_status st, cfx_error *err)
{
    cfx_map_init(&a->files, ctx);
    if (!st)
        st = list_files(a, err);
    if (!st)
        st = find(a, err);
    if (st)
        cfx_pt2__close(a);
    return st;
}

cfx_status cfx_pt2__open(cfx_pt2_archive *a, cfx_file *f, cfx_error *err)
{
    *a = (cfx_pt2_archive){.model = NULL};
    cfx_status st = cfx_zip_open(&a->zip, f, err);
    return open_kind(a, f->ctx, find_kind, st, err);
}

static cfx_status find_pickle(cfx_pt2_archive *a, cfx_error *err)
{
    return has(a, "constants.pkl") || !has(a, "data.pkl")
               ? refuse(a, err)
               : check_byte_order(a, err);
}

cfx_status cfx_pt2__open_torch(cfx_pt2_archive *a, cfx_file *f, cfx_error *err)
{
    *a = (cfx_pt2_archive){.model = NULL};
    cfx_status st = cfx_zip_open(&a->zip, f, err);
    return open_kind(a, f->ctx, find_pickle, st, err);
}

cfx_status cfx_pt2__open_torch_memory(cfx_pt2_archive *a,
                                      const cfx_pt2_archive *outer,
                                      const cfx_bytes *bytes, cfx_error *err)
{
    cfx_context *ctx = outer->zip.ctx;

    *a = (cfx_pt2_archive){.model = NULL};
    cfx_status st = cfx_zip_open_memory(&a->zip, ctx, bytes->data, bytes->len,
                                        outer->zip.size, err);
    return open_kind(a, ctx, find_pickle, st, err);
}

void cfx_pt2__close(cfx_pt2_archive *a)
{
    if (a->file)
        cfx_free(a->zip.ctx, a->file, a->zip.n * sizeof(*a->file));
    if (a->place)
        cfx_free(a->zip.ctx, a->place, a->zip.n * sizeof(*a->place));
    cfx_mapping_unref(a->map);
    cfx_map_release(&a->files);
    cfx_zip_close(&a->zip);
    *a = (cfx_pt2_archive){.model = NULL};
}

/* ---- Reading ---- */

const cfx_pt2_file *cfx_pt2__find(const cfx_pt2_archive *a, const char *name)
{
    const cfx_map_entry *e = cfx_map_get(&a->files, name, strlen(name));

    return e ? e->v.p : NULL;
}

cfx_status cfx_pt2__read(cfx_bytes *out, cfx_pt2_archive *a, const char *name,
                         cfx_error *err)
{
    const cfx_pt2_file *file = cfx_pt2__find(a, name);

    *out = (cfx_bytes){0};
    cfx_status st = file ? cfx_zip_read(out, &a->zip, file->index, file->size,
                                        err)
                         : cfx_fail(err, CFX_EPARSE, "is missing");
    if (st)
        cfx_fail_at(err, "%s", name);
    return st;
}

cfx_status cfx_pt2__read_text(cfx_bytes *out, cfx_pt2_archive *a,
                              const char *name, cfx_error *err)
{
    enum { RATIO = 16, SPARE = 65536 };
    const cfx_pt2_file *file = cfx_pt2__find(a, name);

    *out = (cfx_bytes){0};
    if (file && file->size / RATIO > a->zip.size + SPARE / RATIO)
        return cfx_fail(err, CFX_ELIMIT,
                        "%s: inflates to %llu bytes, in a file of %llu", name,
                        (unsigned long long)file->size,
                        (unsigned long long)a->zip.size);
    return cfx_pt2__read(out, a, name, err);
}

cfx_status cfx_pt2__read_json(cfx_json *out, cfx_pt2_archive *a,
                              const char *name, cfx_error *err)
{
    cfx_bytes b;
    cfx_status st = cfx_pt2__read_text(&b, a, name, err);

    *out = (cfx_json){0};
    if (st)
        return st;
    st = cfx_json_check_bound((const char *)b.data, b.len, err);
    if (!st)
        st = cfx_json_parse(out, a->zip.ctx, (const char *)b.data, b.len,
                            JSON_REJECT_DUPLICATES, 0, err);
    cfx_bytes_release(&b);
    if (st)
        cfx_fail_at(err, "%s", name);
    return st;
}

cfx_status cfx_pt2__read_model(cfx_json *out, cfx_pt2_archive *a,
                               cfx_error *err)
{
    cfx_buf name;

    cfx_buf_init(&name, a->zip.ctx);
    if (a->flat)
        cfx_buf_puts(&name, FLAT_MODEL);
    else
        cfx_buf_printf(&name, "models/%.*s.json", (int)a->model_len, a->model);
    cfx_status st = name.failed ? cfx_no_memory(err)
                                : cfx_pt2__read_json(out, a, name.s, err);
    cfx_buf_release(&name);
    return st;
}
