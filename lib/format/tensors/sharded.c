/*
 * sharded -- weights in several safetensors files, and the index of them.
 *
 * MODEL.safetensors.index.json has a `weight_map` from the name of each tensor
 * to the file it is in. Files are named plainly: the index cannot lead out of
 * its own directory. Index and files must tell the same.
 */
#include "format/io.h"

#include "base/util.h"
#include "format/json.h"

enum { INDEX_MAX = 100000000 };

struct shards {
    cfx_context *ctx;
    const char *index; /* its path */
    const json_t *map;
    bool mmap;
    size_t seen; /* tensors */
    cfx_tensors_fn *fn;
    void *user;
};

static bool is_plain(const char *name)
{
    size_t n = strlen(name);

    return name[0] != '.' && !strchr(name, '/') && !strchr(name, '\\') &&
           n > 12 && !strcmp(name + n - 12, ".safetensors");
}

/* All tensors of a shard must be where the index says. */
static cfx_status check_shard(struct shards *s, const cfx_tensors *t,
                              const char *shard, cfx_error *err)
{
    for (size_t i = 0; i < t->n; i++) {
        const char *file = json_string_value(
            json_object_get(s->map, t->item[i].name));
        if (!file || strcmp(file, shard))
            return cfx_fail(err, CFX_EPARSE,
                            "%s: '%s' is in %s, which the index does not say",
                            s->index, t->item[i].name, shard);
    }
    s->seen += t->n;
    return CFX_OK;
}

static cfx_status read_shard(struct shards *s, const char *shard,
                             cfx_error *err)
{
    const char *slash = strrchr(s->index, '/');
    cfx_tensors tensors = {0};
    cfx_buf path;

    cfx_buf_init(&path, s->ctx);
    if (slash)
        cfx_buf_add(&path, s->index, (size_t)(slash + 1 - s->index));
    cfx_buf_puts(&path, shard);
    cfx_status st = path.failed ? cfx_no_memory(err)
                                : cfx_safetensors_read(&tensors, s->ctx,
                                                       path.s, s->mmap, err);
    if (!st)
        st = check_shard(s, &tensors, shard, err);
    if (!st)
        st = s->fn(s->user, &tensors, path.s, err);
    cfx_tensors_release(&tensors);
    cfx_buf_release(&path);
    return st;
}

/* Read each file that the map names, once. */
static cfx_status read_shards(struct shards *s, json_t *done, cfx_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)s->map, name, value)
    {
        const char *shard = json_string_value(value);
        if (!shard || !is_plain(shard))
            return cfx_fail(err, CFX_EPARSE, "%s: '%s' is in no proper file",
                            s->index, name);
        if (json_object_get(done, shard))
            continue;
        if (json_object_set_new(done, shard, json_true()))
            return cfx_no_memory(err);
        cfx_status st = read_shard(s, shard, err);
        if (st)
            return st;
    }
    if (s->seen != json_object_size(s->map))
        return cfx_fail(err, CFX_EPARSE,
                        "%s: names %zu tensors, the files have %zu", s->index,
                        json_object_size(s->map), s->seen);
    return CFX_OK;
}

static cfx_status parse_index(cfx_json *out, const cfx_file *f, cfx_error *err)
{
    cfx_bytes text = {0};
    cfx_status st = cfx_file_read(&text, f, INDEX_MAX, cfx_bytes_are_text,
                                  err);

    if (!st)
        st = cfx_json_check_bound((const char *)text.data, text.len, err);
    if (!st)
        st = cfx_json_parse(out, f->ctx, (const char *)text.data, text.len,
                            JSON_REJECT_DUPLICATES, 0, err);
    if (!st && !json_is_object(json_object_get(out->root, "weight_map")))
        st = cfx_fail(err, CFX_EPARSE, "has no weight_map");
    cfx_bytes_release(&text);
    if (st)
        cfx_fail_at(err, "%s", f->path);
    return st;
}

static cfx_status sharded_visit(cfx_file *f, bool map, cfx_tensors_fn *fn,
                                void *user, cfx_error *err)
{
    cfx_json index = {0};
    json_t *done = json_object();
    struct shards s = {
        .ctx = f->ctx, .index = f->path, .mmap = map, .fn = fn, .user = user};
    cfx_status st = done ? parse_index(&index, f, err) : cfx_no_memory(err);

    if (!st) {
        s.map = json_object_get(index.root, "weight_map");
        st = read_shards(&s, done, err);
    }
    cfx_json_release(&index);
    json_decref(done);
    return st;
}

/* Nothing else that holds tensors is JSON. The first 8 bytes of a safetensors
 * file are a number, in which zeros follow. */
static bool sharded_probe(const unsigned char *head, size_t n)
{
    return n > 1 && head[0] == '{' && memchr(" \t\r\n\"}", head[1], 6);
}

const cfx_tensor_format cfx_tensor_format__sharded = {
    .base = {.name = "sharded",
             .suffix = ".index.json",
             .doc = "The index of several .safetensors files.",
             .probe = sharded_probe},
    .keyed = true,
    .visit = sharded_visit,
};
