/*
 * torch_file -- files of torch.save: a zip archive of a pickle, data.pkl, and of
 * the numbers of each storage, data/KEY.
 */
#include "format/pt2/torch_file.h"

#ifdef HAVE_LIBZIP

cfx_status cfx_torch_file_open(cfx_torch_file *f, cfx_pt2_archive *a,
                               const char *name, cfx_error *err)
{
    cfx_context *ctx = a->zip.ctx;
    cfx_bytes pickle = {0};

    memset(f, 0, sizeof(*f));
    cfx_arena_init(&f->arena, ctx);
    cfx_map_init(&f->storages, ctx);
    cfx_status st = cfx_pt2__read(&f->bytes, a, name, err);
    if (!st)
        st = cfx_pt2__open_torch(&f->archive, ctx, &f->bytes, err);
    if (!st)
        st = cfx_pt2__read(&pickle, &f->archive, "data.pkl", err);
    if (!st)
        st = cfx_pickle_read(&f->value, &f->arena, pickle.data, pickle.len,
                             err);
    cfx_bytes_release(&pickle);
    return st;
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
                "a tensor has an extent that is no natural number");
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
        return cfx_fail(err, CFX_EPARSE, "is no tensor");
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

#endif
