#define _POSIX_C_SOURCE 200809L
/*
 * zoo -- models of the zoo, ready to run.
 */
#include "tests/zoo/zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts ---- */

char *zoo_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    *len = text ? fread(text, 1, (size_t)n, f) : 0;
    fclose(f);
    if (text)
        text[*len] = '\0';
    return text;
}

/* The text with what it leaves out: hidden arguments behind the name of each
 * module that takes them, and the shapes of bare parameters. */
static char *complete(const char *text, const json_t *digest, size_t *len)
{
    const json_t *hidden = json_object_get(digest, "hidden"), *args;
    const json_t *state = json_object_get(digest, "state"), *v;
    const char *key;
    char *out = NULL;
    FILE *f = open_memstream(&out, len);
    if (!f)
        return NULL;
    args = json_object_iter_value(json_object_iter((json_t *)hidden));
    while (*text) {
        static const char mha[] = "MultiheadAttention(";
        size_t line = strcspn(text, "\n") + 1;
        if (!strncmp(text, "graph():", 8) && json_object_size(state)) {
            fputs("state:\n", f);
            json_object_foreach((json_t *)state, key, v)
                fprintf(f, "    %s: %s\n", key, json_string_value(v));
            fputc('\n', f);
        }
        const char *at = strstr(text, mha);
        size_t n = line;
        if (args && at && at < text + line) {
            n = (size_t)(at - text) + sizeof(mha) - 1;
            fwrite(text, 1, n, f);
            fprintf(f,
                    "num_heads=%lld, batch_first=True, "
                    "add_bias_kv=False, add_zero_attn=False, kdim=None, "
                    "vdim=None",
                    (long long)json_integer_value(
                        json_object_get(args, "num_heads")));
            text += n;
            n = line - n;
        }
        fwrite(text, 1, n, f);
        text += n;
    }
    fclose(f);
    return out;
}

/* ---- Inputs ---- */

/* The shape of "f32[2,3,64,64]". */
static int read_spec(const char *spec, cfx_dtype *type, int64_t *shape)
{
    char word[16];
    int rank = 0;
    const char *p = spec + strcspn(spec, "[");
    snprintf(word, sizeof(word), "%.*s", (int)(p - spec), spec);
    cfx_dtype_parse(type, word);
    while (*p && *p != ']' && p[1] != ']') {
        char *end;
        shape[rank++] = strtoll(p + 1, &end, 10);
        p = end;
    }
    return rank;
}

static cfx_status make_inputs(zoo_model *m, uint64_t seed, cfx_error *err)
{
    const json_t *spec;
    const char *name;
    cfx_status st = CFX_OK;
    json_object_foreach(json_object_get(m->digest, "inputs"), name, spec)
    {
        int64_t shape[CFX_MAX_RANK];
        cfx_dtype type = CFX_F32;
        cfx_tensor *t;
        int rank = read_spec(json_string_value(spec), &type, shape);
        st = cfx_tensor_new(&t, cfx_module_context(m->gm), type, rank, shape,
                            err);
        if (st)
            return st;
        m->in[m->nin++] = cfx_value_of_tensor(t);
        st = cfx_tensor_randomize(t, seed, name, err);
        if (st)
            return st;
    }
    return st;
}

/* ---- Models ---- */

cfx_status zoo_open(zoo_model *m, cfx_context *ctx, const char *models,
                    const char *digests, const char *name, cfx_error *err)
{
    char path[ZOO_PATH];
    size_t len;
    snprintf(path, sizeof(path), "%s/%s.json", digests, name);
    snprintf(m->path, sizeof(m->path), "%s/%s.fx", models, name);
    m->digest = json_load_file(path, 0, NULL);
    char *text = zoo_read(m->path, &len);
    if (m->digest && text && json_object_get(m->digest, "hidden")) {
        char *full = complete(text, m->digest, &len);
        free(text);
        text = full;
    }
    cfx_status st = !m->digest ? cfx_fail(err, CFX_EIO, "%s: no digest", path)
                    : !text    ? cfx_fail(err, CFX_EIO, "cannot read it")
                            : cfx_parse_model(&m->gm, ctx, text, len, m->path,
                                              err);
    free(text);
    return st;
}

cfx_status zoo_fill(zoo_model *m, cfx_error *err)
{
    uint64_t seed = (uint64_t)json_integer_value(
        json_object_get(m->digest, "seed"));
    cfx_status st = cfx_module_randomize(m->gm, seed, err);
    return st ? st : make_inputs(m, seed, err);
}

void zoo_close(zoo_model *m)
{
    for (size_t i = 0; i < m->nin; i++)
        cfx_value_unref(m->in[i]);
    cfx_module_unref(m->gm);
    json_decref(m->digest);
}
