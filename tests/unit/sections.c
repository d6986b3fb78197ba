/*
 * sections -- files that hold texts one behind the other.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sections.h"

const char *data_path(const char *name)
{
    static char path[2][1024];
    static int next;
    const char *src = getenv("srcdir");
    next = !next;
    snprintf(path[next], sizeof(path[next]), "%s/tests/%s", src ? src : ".",
             name);
    return path[next];
}

char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        ck_abort_msg("%s cannot be read", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    *len = fread(text, 1, (size_t)size, f);
    text[*len] = '\0';
    fclose(f);
    return text;
}

size_t split(char *text, const char *mark, section *out, size_t room)
{
    size_t count = 0, n = strlen(mark);
    for (char *line = text; line;) {
        char *next = strchr(line, '\n');
        if (!strncmp(line, mark, n)) {
            ck_assert_uint_lt(count, room);
            ck_assert_ptr_nonnull(next);
            *next = '\0';
            if (line > text)
                line[-1] = '\0';
            out[count++] = (section){.name = line + n, .text = next + 1};
        }
        line = next && next[1] ? next + 1 : NULL;
    }
    for (size_t i = 0; i < count; i++)
        out[i].len = strlen(out[i].text);
    return count;
}

void add_types(cfx_module *gm, cfx_context *ctx)
{
    cfx_error err = {0};
    cfx_graph *g = cfx_graph_module_graph(gm);
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        cfx_value type = cfx_node_meta(n, "type");
        cfx_dtype dtype;
        cfx_dim shape[8];
        cfx_tensor *t;
        char name[8];
        int rank = 0;
        if (type.kind != CFX_STR)
            continue;
        const char *s = type.u.str->text;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(s, "["), s);
        ck_assert(cfx_dtype_parse(&dtype, name));
        for (s = strchr(s, '['); *s != ']' && s[1] != ']';) {
            char *end;
            shape[rank++] = cfx_dim_int(strtoll(s + 1, &end, 10));
            s = end;
        }
        ck_assert_int_eq(
            cfx_tensor_meta(&t, ctx, dtype, rank, shape, NULL, &err), CFX_OK);
        ck_assert_int_eq(
            cfx_node_set_meta(n, "tensor_meta", cfx_value_of_tensor(t), &err),
            CFX_OK);
        cfx_tensor_unref(t);
    }
}
