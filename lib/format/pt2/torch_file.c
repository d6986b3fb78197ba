/*
 * torch_file -- files of torch.save: a zip archive of a pickle, data.pkl, and of
 * the numbers of each storage, data/KEY. They are parts of a .pt2, and a format
 * of tensors by themselves.
 */
#include "format/pt2/torch_file.h"

static void init(cfx_torch_file *f, cfx_context *ctx)
{
    memset(f, 0, sizeof(*f));
    cfx_arena_init(&f->arena, ctx);
    cfx_map_init(&f->storages, ctx);
}

static cfx_status unpickle(cfx_torch_file *f, cfx_error *err)
{
    /* A tensor takes some 100 bytes of a pickle, and ten times that here. */
    enum { RATIO = 128, SPARE = 1 << 20 };
    cfx_bytes pickle = {0};
    cfx_status st = cfx_pt2__read_text(&pickle, &f->archive, "data.pkl", err);
    uint64_t size = f->archive.zip.size;

    if (!st)
        st = cfx_pickle_read(&f->value, &f->arena, pickle.data, pickle.len,
                             size < SIZE_MAX / RATIO - SPARE
                                 ? (size_t)size * RATIO + SPARE
                                 : SIZE_MAX,
                             err);
    f->pickle_size = pickle.len;
    cfx_bytes_release(&pickle);
    return st;
}

cfx_status cfx_torch_file_open(cfx_torch_file *f, cfx_pt2_archive *a,
                               const char *name, cfx_error *err)
{
    init(f, a->zip.ctx);
    cfx_status st = cfx_pt2__read(&f->bytes, a, name, err);
    if (!st)
        st = cfx_pt2__open_torch_memory(&f->archive, a, &f->bytes, err);
    return st ? st : unpickle(f, err);
}

void cfx_torch_file_close(cfx_torch_file *f)
{
    for (size_t i = 0; i < f->storages.cap; i++)
        if (f->storages.entry[i].key)
            cfx_tensor_unref(f->storages.entry[i].v.p);
    cfx_map_release(&f->storages);
    cfx_arena_release(&f->arena);
    cfx_pt2__close(&f->archive);
    cfx_bytes_release(&f->bytes);
}

/* The numbers of a storage, borrowed; read at the first call. */
static cfx_status find_storage(cfx_tensor **out, cfx_torch_file *f,
                               const cfx_pickled *storage, cfx_error *err)
{
    cfx_map_entry *e = cfx_map_put(&f->storages, storage->text, storage->len,
                                   NULL);
    cfx_buf name;

    if (!e)
        return cfx_no_memory(err);
    *out = e->v.p;
    if (*out)
        return (*out)->dtype == storage->dtype
                   ? CFX_OK
                   : cfx_fail(err, CFX_EPARSE, "a storage has two types");
    cfx_buf_init(&name, f->arena.ctx);
    cfx_buf_printf(&name, "data/%s", storage->text);
    cfx_status st = name.failed ? cfx_no_memory(err)
                                : cfx_pt2__flat(out, &f->archive, name.s,
                                                storage->dtype, err);
    cfx_buf_release(&name);
    e->v.p = st ? NULL : *out;
    return st;
}

static cfx_status read_extents(cfx_dim *out, const cfx_pickled *list,
                               cfx_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->item[i]->kind != CFX_PICKLED_INT || list->item[i]->i < 0)
            return cfx_fail(
                err, CFX_EPARSE,
                "a tensor has an extent that is not a natural number");
        out[i] = cfx_dim_int(list->item[i]->i);
        if (cfx_dim_is_bad(out[i]))
            return cfx_fail(err, CFX_ESHAPE, "an extent is too large");
    }
    return CFX_OK;
}

cfx_status cfx_torch_file_tensor(cfx_tensor **out, cfx_torch_file *f,
                                 const cfx_pickled *v, cfx_error *err)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *storage;

    *out = NULL;
    if (v->kind != CFX_PICKLED_TENSOR)
        return cfx_fail(err, CFX_EPARSE, "is not a tensor");
    if (v->size->n > CFX_MAX_RANK)
        return cfx_fail(err, CFX_EUNSUPPORTED, "has rank %zu, more than %d",
                        v->size->n, CFX_MAX_RANK);
    cfx_dim offset = cfx_dim_int(v->i);
    if (v->i < 0 || cfx_dim_is_bad(offset))
        return cfx_fail(err, CFX_EPARSE, "has an offset that cannot be");
    cfx_status st = read_extents(shape, v->size, err);
    if (!st)
        st = read_extents(stride, v->stride, err);
    if (!st)
        st = find_storage(&storage, f, v->storage, err);
    return st ? st
              : cfx_tensor_view(out, storage, (int)v->size->n, shape, stride,
                                offset, err);
}

/* ---- As tensors by name ---- */

/* Visits the tensors of a dict, and of dicts in it. */
struct naming {
    cfx_torch_file *file;
    cfx_tensors *out; /* NULL: they are counted */
    size_t n, visits;
    size_t letters; /* of all names */
    cfx_buf name;
};

static cfx_status add_tensor(struct naming *a, const cfx_pickled *v,
                             cfx_error *err)
{
    enum { RATIO = 16 };
    size_t i = a->n++;

    /* Nested dicts with long keys have names that are longer than the file. */
    a->letters += a->name.len;
    if (a->letters / RATIO > a->file->pickle_size)
        return cfx_fail(
            err, CFX_ELIMIT,
            "its names are out of proportion to the bytes of the pickle");
    if (!a->out)
        return CFX_OK;
    if (a->name.failed)
        return cfx_no_memory(err);
    cfx_status st = cfx_tensors_name(a->out, i, cfx_buf_str(&a->name),
                                     a->name.len, err);
    if (!st)
        st = cfx_torch_file_tensor(&a->out->item[i].tensor, a->file, v, err);
    return st ? cfx_fail_at(err, "%.200s", cfx_buf_str(&a->name)) : CFX_OK;
}

/* Numbers, and what has no name, are passed over: a checkpoint has them. A dict
 * that is in many has many names, but no more than the file has bytes. */
static cfx_status add_value(struct naming *a, const cfx_pickled *v, int depth,
                            cfx_error *err)
{
    cfx_status st = CFX_OK;

    if (v->kind == CFX_PICKLED_TENSOR)
        return add_tensor(a, v, err);
    if (v->kind != CFX_PICKLED_DICT)
        return CFX_OK;
    if (depth > CFX_MAX_DEPTH || a->visits++ > a->file->pickle_size)
        return cfx_fail(err, CFX_ELIMIT, "its dicts nest too deep");
    for (size_t i = 0, len = a->name.len; i + 1 < v->n && !st; i += 2) {
        const cfx_pickled *key = v->item[i];
        a->visits++;
        if (key->kind != CFX_PICKLED_STR)
            continue;
        cfx_buf_puts(&a->name, len ? "." : "");
        cfx_buf_add(&a->name, key->text, key->len);
        st = add_value(a, v->item[i + 1], depth + 1, err);
        a->name.len = a->name.failed ? 0 : len;
    }
    return st;
}

static cfx_status read_all(cfx_tensors *out, cfx_torch_file *f, cfx_error *err)
{
    cfx_context *ctx = f->arena.ctx;
    struct naming a = {.file = f};

    cfx_buf_init(&a.name, ctx);
    cfx_status st = add_value(&a, f->value, 0, err);
    if (!st)
        st = cfx_tensors_init(out, ctx, a.n, err);
    a.out = out;
    a.n = a.visits = a.letters = 0;
    cfx_buf_clear(&a.name);
    if (!st)
        st = add_value(&a, f->value, 0, err);
    if (!st)
        st = cfx_tensors_sort(out, err);
    cfx_buf_release(&a.name);
    return st;
}

static cfx_status torch_read(cfx_tensors *out, cfx_file *file, bool map,
                             cfx_error *err)
{
    cfx_torch_file f;

    *out = (cfx_tensors){0};
    init(&f, file->ctx);
    cfx_status st = cfx_pt2__open_torch(&f.archive, file, err);
    if (!st && map)
        cfx_pt2__map(&f.archive, file);
    if (!st)
        st = unpickle(&f, err);
    if (!st)
        st = read_all(out, &f, err);
    cfx_torch_file_close(&f);
    if (st) {
        cfx_tensors_release(out);
        cfx_fail_at(err, "%s", file->path);
    }
    return st;
}

static bool torch_probe(const unsigned char *head, size_t n)
{
    return cfx_head_is_zip_of(head, n, "/data.pkl");
}

const cfx_tensor_format cfx_tensor_format__torch = {
    .base = {.name = "torch",
             .suffix = ".pt",
             .doc = "Tensors by name that torch.save wrote.",
             .probe = torch_probe},
    .keyed = true,
    .read = torch_read,
};
